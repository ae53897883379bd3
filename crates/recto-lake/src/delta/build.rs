//! Segments into tables, exactly once.
//!
//! For each shard: the table of segments says how far it is. The next batch is a plan that is
//! written once; who comes second takes it over. Every table takes the rows of a batch in one
//! commit that also says so, the table of segments last. Killed anywhere, the next run does the
//! rest of the same plan.

use std::collections::HashMap;
use std::collections::HashSet;

use futures_util::StreamExt as _;
use futures_util::stream;
use jiff::Timestamp;
use recto_collect::Object;
use recto_collect::Store;
use recto_session::usage::PriceTable;
use recto_store::keep::FileKey;
use recto_store::keep::MachineId;
use sha2::Digest as _;

use crate::delta::lake::Lake;
use crate::delta::lake::runtime;
use crate::delta::log;
use crate::delta::log::Committed;
use crate::delta::log::DataFile;
use crate::delta::log::Snapshot;
use crate::delta::parquet_file::FileWriter;
use crate::delta::parquet_file::name_of;
use crate::delta::plan::Due;
use crate::delta::plan::Ledger;
use crate::delta::plan::Plan;
use crate::delta::plan::read_plan;
use crate::delta::plan::write_plan;
use crate::delta::segment_rows::read_segment;
use crate::error::LakeError;
use crate::price_rows::price_rows;
use crate::rows::Cell;
use crate::schema::Table;

/// How many segments are fetched ahead.
const AHEAD: usize = 8;
/// How often a commit is tried when others are always first.
pub(crate) const TRIES: u32 = 100;
/// Says in a table how often rows were erased from it.
pub(crate) const ERASER: &str = "recto-erase";
/// Sessions whose rows must not come back.
pub(crate) const ERASED: &str = "lake/v1/erased";

/// What was built.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildReport {
    /// Batches that were committed here.
    pub batches: u64,
    /// Segments in them.
    pub segments: u64,
    /// Bytes of logs in them.
    pub bytes: u64,
    /// Rows in all tables.
    pub rows: u64,
    /// Bytes of tables.
    pub table_bytes: u64,
    /// Segments that could not be read, and why.
    pub damaged: Vec<String>,
}

/// What must not be in the tables.
struct Gone {
    files: HashSet<(MachineId, FileKey)>,
    sessions: HashSet<String>,
}

/// A table that lacks a batch.
struct Open {
    table: Table,
    snapshot: Snapshot,
    rows: FileWriter,
    /// Rows of ends that no line end follows.
    ends: FileWriter,
}

/// How a batch went.
enum Step {
    /// It is in all tables.
    Done,
    /// Rows were erased meanwhile: it must be made again.
    Again,
}

impl Lake {
    /// Brings the tables of a store up to date with its segments. `tell` is called with the
    /// compressed bytes that are done and those of all.
    pub fn build(
        store: &Store,
        prices: &PriceTable,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<BuildReport, LakeError> {
        runtime()?.block_on(async {
            let lake = Lake::open_or_make(store).await?;
            lake.fill(prices, tell).await
        })
    }

    /// Makes new tables of all segments beside those of now, then takes them instead.
    pub fn rebuild(
        store: &Store,
        prices: &PriceTable,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<BuildReport, LakeError> {
        runtime()?.block_on(async {
            let now = Lake::open(store).await?;
            let next = Lake { number: now.number + 1, ..now };
            let report = next.fill(prices, tell).await?;
            match next.make_current().await? {
                true => Ok(report),
                false => Err(LakeError::Busy { table: next.directory(), tries: 1 }),
            }
        })
    }

    async fn fill(
        &self,
        prices: &PriceTable,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<BuildReport, LakeError> {
        let mut news = self.news(Timestamp::now()).await?;
        let objects = std::mem::take(&mut news.objects);
        let mut users = HashMap::new();
        for beat in self.store.beats().await? {
            users.extend(beat.user.map(|user| (beat.machine, user)));
        }
        let mut report = BuildReport::default();
        let mut filling = Filling { lake: self, prices, users, objects, tell, done: 0, all: 0 };
        // Two builders that start together begin with different shards.
        let first = u64::from(std::process::id()) % self.shards;
        for shard in 0..self.shards {
            filling.shard((first + shard) % self.shards, &mut report).await?;
        }
        self.write_prices(prices).await?;
        self.note_news(&news).await?;
        Ok(report)
    }

    async fn write_prices(&self, prices: &PriceTable) -> Result<(), LakeError> {
        let table = self.table(Table::Prices);
        let mut snapshot = table.open().await?;
        let hash = sha2::Sha256::digest(format!("{:?}", prices.rows()));
        let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("prices-{hash}");
        if snapshot.writer(&name) > 0 {
            return Ok(());
        }
        let mut writer = FileWriter::new(Table::Prices)?;
        price_rows(prices, &mut |cells| writer.push(cells))?;
        let Some(file) = upload(self, Table::Prices, "prices", writer).await? else {
            return Ok(());
        };
        for _ in 0..TRIES {
            let mut actions: Vec<_> =
                snapshot.files.values().map(|old| log::remove(old, true)).collect();
            actions.push(log::add(&file, true));
            actions.push(log::writer(&name, 1));
            if table.commit(&mut snapshot, "PRICES", actions).await? == Committed::Done {
                return Ok(());
            }
            if snapshot.writer(&name) > 0 {
                self.store.remove_object(&table.key(&file.path)).await?;
                return Ok(());
            }
        }
        Err(LakeError::Busy { table: Table::Prices.name().to_owned(), tries: TRIES })
    }
}

/// A builder at work.
struct Filling<'a, 't> {
    lake: &'a Lake,
    prices: &'a PriceTable,
    /// By machine.
    users: HashMap<String, String>,
    /// Segments of the store that can be new.
    objects: Vec<Object>,
    tell: &'t mut dyn FnMut(u64, u64),
    done: u64,
    all: u64,
}

impl Filling<'_, '_> {
    /// Does all that is due of a shard.
    async fn shard(&mut self, shard: u64, report: &mut BuildReport) -> Result<(), LakeError> {
        let name = format!("shard-{shard}");
        let ledger_table = self.lake.table(Table::Segments);
        let mut is_counted = false;
        loop {
            let snapshot = ledger_table.open().await?;
            let number = snapshot.writer(&name) + 1;
            let plan = match read_plan(self.lake, shard, number).await? {
                Some(plan) => plan,
                None => {
                    let ledger = Ledger::read(self.lake, &snapshot).await?;
                    let due = ledger.due(self.lake, shard, &self.objects);
                    if !is_counted {
                        self.all += due.iter().map(|item| item.bytes).sum::<u64>();
                        is_counted = true;
                    }
                    if due.is_empty() {
                        return Ok(());
                    }
                    write_plan(self.lake, shard, number, &due).await?;
                    continue;
                }
            };
            for _ in 0..TRIES {
                if let Step::Done = self.batch(&name, number, &plan, report).await? {
                    break;
                }
            }
            // Segments that were erased leave no trace in the tables, and must not be due again.
            let done: HashSet<String> = plan.due.iter().map(|due| due.key.to_string()).collect();
            self.objects.retain(|object| !done.contains(&object.key));
        }
    }

    /// Puts a batch into every table that lacks it.
    async fn batch(
        &mut self,
        name: &str,
        number: i64,
        plan: &Plan,
        report: &mut BuildReport,
    ) -> Result<Step, LakeError> {
        // The tables are looked at before what is gone: so nobody can erase rows between the two
        // without a commit that is noticed.
        let mut open = Vec::new();
        for table in [Table::Lines, Table::Blocks, Table::Usage, Table::Segments] {
            let snapshot = self.lake.table(table).open().await?;
            if snapshot.writer(name) < number {
                let (rows, ends) = (FileWriter::new(table)?, FileWriter::new(table)?);
                open.push(Open { table, snapshot, rows, ends });
            }
        }
        let gone = self.gone().await?;
        let mut batch = BuildReport::default();
        self.read_segments(&plan.due, &gone, &mut open, &mut batch).await?;
        let mut is_ours = false;
        for Open { table, snapshot, rows, ends } in open {
            let erased = snapshot.writer(ERASER);
            let ends = self.lake.exchange_ends(table, &snapshot, name, &plan.replaced, ends).await;
            let (old, ends) = match ends {
                // A file with rows that were erased is gone for a good reason.
                Err(LakeError::Damaged { .. }) if self.is_erased_since(table, erased).await? => {
                    return Ok(Step::Again);
                }
                ends => ends?,
            };
            let stem = format!("{name}-{number}");
            let rows = upload(self.lake, table, &stem, rows).await?;
            let files: Vec<DataFile> = rows.into_iter().chain(ends).collect();
            batch.table_bytes += files.iter().map(|file| file.bytes).sum::<u64>();
            let count = |files: &[DataFile]| files.iter().map(DataFile::rows).sum::<u64>();
            batch.rows += count(&files).saturating_sub(count(&old));
            match self.commit(table, snapshot, name, number, (&old, &files)).await? {
                Some(ours) => is_ours = ours,
                None => return Ok(Step::Again),
            }
        }
        if is_ours {
            report.batches += 1;
            report.segments += batch.segments;
            report.bytes += batch.bytes;
            report.rows += batch.rows;
            report.table_bytes += batch.table_bytes;
            report.damaged.extend(batch.damaged);
        }
        Ok(Step::Done)
    }

    /// Commits a batch to a table. Says whether it was ours; nothing if it must be made again.
    async fn commit(
        &self,
        table: Table,
        mut snapshot: Snapshot,
        name: &str,
        number: i64,
        (old, files): (&[DataFile], &[DataFile]),
    ) -> Result<Option<bool>, LakeError> {
        let delta = self.lake.table(table);
        let erased = snapshot.writer(ERASER);
        for _ in 0..TRIES {
            let mut actions: Vec<_> = old.iter().map(|file| log::remove(file, true)).collect();
            actions.extend(files.iter().map(|file| log::add(file, true)));
            actions.push(log::writer(name, number));
            if delta.commit(&mut snapshot, "WRITE", actions).await? == Committed::Done {
                return Ok(Some(true));
            }
            let is_done = snapshot.writer(name) >= number;
            if is_done || snapshot.writer(ERASER) != erased {
                for file in files {
                    self.lake.store.remove_object(&delta.key(&file.path)).await?;
                }
                return Ok(is_done.then_some(false));
            }
        }
        Err(LakeError::Busy { table: table.name().to_owned(), tries: TRIES })
    }

    /// Whether rows were erased from a table since it was looked at.
    async fn is_erased_since(&self, table: Table, erased: i64) -> Result<bool, LakeError> {
        Ok(self.lake.table(table).open().await?.writer(ERASER) != erased)
    }

    async fn gone(&self) -> Result<Gone, LakeError> {
        let files = self.lake.store.forgotten().await?.into_iter().collect();
        let mut sessions = HashSet::new();
        for object in self.lake.store.list_objects(ERASED).await? {
            let name = object.key.rsplit('/').next().unwrap_or_default();
            sessions.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        Ok(Gone { files, sessions })
    }

    async fn read_segments(
        &mut self,
        plan: &[Due],
        gone: &Gone,
        open: &mut [Open],
        batch: &mut BuildReport,
    ) -> Result<(), LakeError> {
        let store = &self.lake.store;
        let wanted =
            plan.iter().filter(|due| !gone.files.contains(&(due.key.machine, due.key.file)));
        let mut fetching = stream::iter(wanted)
            .map(|due| async move { store.fetch_segment(&due.key).await.map(|file| (due, file)) })
            .buffered(AHEAD);
        while let Some(fetched) = fetching.next().await {
            let (due, file) = fetched?;
            // One that is gone was erased after the plan was made.
            let Some(file) = file else { continue };
            let stored = file.metadata()?.len();
            let user = self.users.get(&due.key.machine.to_string()).map(String::as_str);
            let mut take = |table: Table, cells: &[Cell<'_>]| match open
                .iter_mut()
                .find(|one| one.table == table)
            {
                Some(open) if !is_erased(gone, table, cells) => match due.is_end() {
                    true => open.ends.push(cells),
                    false => open.rows.push(cells),
                },
                _ => Ok(()),
            };
            let (bytes, problem) = read_segment(due, file, user, self.prices, &mut take)?;
            batch.segments += 1;
            batch.bytes += bytes;
            if let Some(problem) = problem {
                batch.damaged.push(problem);
            }
            self.done += stored;
            (self.tell)(self.done, self.all.max(self.done));
        }
        Ok(())
    }
}

/// Whether a row is of a session that was erased.
fn is_erased(gone: &Gone, table: Table, cells: &[Cell<'_>]) -> bool {
    // The session is the fourth column of all tables that have one.
    const SESSION: usize = 3;
    match (table, cells.get(SESSION)) {
        (Table::Prices, _) | (_, None) => false,
        (_, Some(Cell::Text(session))) => gone.sessions.contains(*session),
        (_, Some(_)) => false,
    }
}

/// Writes a file of a table under a name that nobody else has.
pub(crate) async fn upload(
    lake: &Lake,
    table: Table,
    stem: &str,
    writer: FileWriter,
) -> Result<Option<DataFile>, LakeError> {
    let Some((bytes, stats)) = writer.finish()? else { return Ok(None) };
    let path = name_of(stem, &bytes);
    let size = bytes.len() as u64;
    lake.store.create_object(&lake.table(table).key(&path), bytes).await?;
    let modified = Timestamp::now().as_millisecond();
    Ok(Some(DataFile { path, bytes: size, modified, stats }))
}
