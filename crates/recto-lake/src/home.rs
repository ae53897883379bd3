//! The logs of this machine as tables: the home, and what only the archive has.

use std::collections::HashSet;
use std::path::Path;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::LineReader;
use recto_session::usage::PriceTable;
use recto_session::usage::may_matter;
use recto_store::Home;
use recto_store::LogFile;
use recto_store::Skipped;
use recto_store::follow::FileKind;
use recto_store::keep::FileKey;
use recto_store::open_file;
use sha2::Digest as _;
use sha2::Sha256;

use crate::cache::Cache;
use crate::cache::SourceState;
use crate::error::LakeError;
use crate::library::Needs;
use crate::price_rows::price_rows;
use crate::rows::Origin;
use crate::rows::RowMaker;
use crate::rows::Wanted;
use crate::schema::Table;

/// The machine of rows that no store has.
const LOCAL: &str = "local";

/// What is not in the tables of a home.
#[derive(Debug, Default)]
pub struct Missing {
    /// What no command reads, such as links.
    pub skipped: Vec<Skipped>,
    /// Logs that could not be read.
    pub unread: Vec<Skipped>,
}

/// Brings the tables that are needed up to date with a home. `tell` is called with the bytes that
/// were read and those of all.
pub fn load_home(
    cache: &mut Cache,
    home: &Home,
    user: Option<&str>,
    prices: &PriceTable,
    needs: &Needs,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<Missing, LakeError> {
    let priced = hash_of(prices);
    load_prices(cache, prices, &priced, needs)?;
    let inventory = home.inventory();
    let mut logs = home.every_log(&inventory);
    logs.retain(|log| log.bytes() > 0);
    // The newest first: who gives up half-way has what is asked for most.
    logs.sort_by_key(|log| std::cmp::Reverse(log.modified()));
    let tables = [Table::Lines, Table::Blocks, Table::Usage];
    let tables: Vec<Table> =
        tables.into_iter().filter(|table| needs.tables.contains(table)).collect();
    let names: Vec<String> = logs.iter().map(|log| source_name(&log.path)).collect();
    let all_names: HashSet<&str> = names.iter().map(String::as_str).collect();
    let keys = keys_of(&logs);
    let mut due = Vec::new();
    for ((log, name), key) in logs.iter().zip(&names).zip(keys) {
        let source = |table: Table| SourceState {
            name: name.clone(),
            state: state_of(log, key, if table == Table::Usage { &priced } else { "" }),
            level: u8::from(table == Table::Blocks && needs.texts),
        };
        let stale = |table: &Table| cache.is_stale(*table, &source(*table));
        let stale: Vec<(Table, SourceState)> =
            tables.iter().copied().filter(stale).map(|table| (table, source(table))).collect();
        if !stale.is_empty() {
            due.push((log, key, stale));
        }
    }
    let all: u64 = due.iter().map(|(log, ..)| log.bytes()).sum();
    let (mut done, mut unread) = (0, Vec::new());
    for (log, key, stale) in due {
        match load_log(cache, &origin_of(log, key, user), log, prices, &stale) {
            Ok(()) => {}
            Err(LakeError::Store(error)) => {
                let reason = format!("is not in the tables: {error}");
                unread.push(Skipped { path: log.path.clone(), reason });
            }
            Err(error) => return Err(error),
        }
        done += log.bytes();
        tell(done, all);
    }
    for table in tables {
        cache.keep_only(table, &all_names)?;
    }
    Ok(Missing { skipped: inventory.skipped, unread })
}

fn load_prices(
    cache: &mut Cache,
    prices: &PriceTable,
    priced: &str,
    needs: &Needs,
) -> Result<(), LakeError> {
    let source = SourceState { name: "prices".to_owned(), state: priced.to_owned(), level: 0 };
    if !needs.tables.contains(&Table::Prices) || !cache.is_stale(Table::Prices, &source) {
        return Ok(());
    }
    cache.replace::<LakeError>(&[(Table::Prices, source)], |_, take| {
        price_rows(prices, &mut |cells| take(Table::Prices, cells))
    })
}

/// A path as the name of a source: another path has another name, also one that is not Unicode.
fn source_name(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => {
            let bytes = path.as_os_str().as_encoded_bytes();
            // No path has this byte.
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("\0{hex}")
        }
    }
}

/// What a log looks like. One that is written at this moment looks like nothing: the clocks of
/// files tick slowly.
fn state_of(log: &LogFile, key: FileKey, priced: &str) -> String {
    let age = Timestamp::now().duration_since(log.modified());
    if age < SignedDuration::from_millis(200) {
        return String::new();
    }
    format!("{:?} {key} {priced}", log.state)
}

fn load_log(
    cache: &mut Cache,
    origin: &Origin,
    log: &LogFile,
    prices: &PriceTable,
    stale: &[(Table, SourceState)],
) -> Result<(), LakeError> {
    let finder = may_matter();
    let mut lines = LineReader::new(open_file(&log.path)?);
    cache.replace::<LakeError>(stale, |due, take| {
        let wanted = wanted(due);
        let only_usage = Wanted { usage: false, ..wanted } == Wanted::NONE;
        let mut maker = RowMaker::new(origin, prices, wanted);
        while let Some(line) = lines.next_line().map_err(recto_store::StoreError::from)? {
            // Most lines count nothing and need not be decoded.
            if only_usage && finder.find(line.bytes).is_none() {
                continue;
            }
            maker.line(line, line.offset, take)?;
        }
        Ok(())
    })
}

/// The rows that are due.
fn wanted(due: &[(Table, SourceState)]) -> Wanted {
    let has = |table: Table| due.iter().any(|(one, _)| *one == table);
    Wanted {
        lines: has(Table::Lines),
        blocks: has(Table::Blocks),
        texts: due.iter().any(|(_, source)| source.level > 0),
        usage: has(Table::Usage),
    }
}

/// The keys of logs. A session that two projects have is two files, as in an archive.
fn keys_of(logs: &[LogFile]) -> Vec<FileKey> {
    let mut places: Vec<usize> = (0..logs.len()).collect();
    places.sort_by_key(|at| &logs[*at].path);
    let mut taken = HashSet::new();
    let mut keys = vec![None; logs.len()];
    for at in places {
        let (kind, below) = place_of(&logs[at]);
        let usual = FileKey::of(kind, &below);
        keys[at] = Some(if taken.insert(usual) { usual } else { FileKey::of_copy(&below) });
    }
    keys.into_iter().flatten().collect()
}

/// What a log is, and where below the home.
fn place_of(log: &LogFile) -> (FileKind, String) {
    let kind = if log.is_agent() { FileKind::AgentLog } else { FileKind::MainLog };
    let file = log.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let below = match (log.is_agent(), log.session) {
        (true, Some(session)) => format!("{session}/subagents/{}", file.unwrap_or_default()),
        _ => file.unwrap_or_default(),
    };
    (kind, format!("projects/{}/{below}", log.project.key))
}

fn origin_of(log: &LogFile, key: FileKey, user: Option<&str>) -> Origin {
    Origin {
        machine: LOCAL.to_owned(),
        user: user.map(str::to_owned),
        project: Some(log.project.key.clone()),
        session: log.session.map(|session| session.to_string()),
        agent: log.agent.as_ref().map(ToString::to_string),
        file: key.to_string(),
        generation: "0".to_owned(),
        policy: "raw".to_owned(),
        modified: log.modified(),
    }
}

/// Costs are in the rows: other prices are other rows.
fn hash_of(prices: &PriceTable) -> String {
    let digest = Sha256::digest(format!("{:?}", prices.rows()));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
