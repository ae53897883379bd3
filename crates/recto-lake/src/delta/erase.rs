//! Tables without the rows of a person, a machine or a session.
//!
//! First every table is looked at: nothing is removed if one cannot be understood. Then it is noted
//! what must not come back, and the segments go; then every table is written again without the
//! rows, and the files that had them go at once. Nobody knows what a damaged file has: it goes, too.
//! Tables that were rebuilt are removed as a whole.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::time::Duration;

use arrow_array::BooleanArray;
use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use jiff::Timestamp;
use recto_collect::Fleet;
use recto_collect::Forget;
use recto_collect::Forgotten;
use recto_collect::Store;

use crate::delta::build::ERASED;
use crate::delta::build::ERASER;
use crate::delta::build::TRIES;
use crate::delta::build::upload;
use crate::delta::ends::stem_after;
use crate::delta::lake::Lake;
use crate::delta::lake::runtime;
use crate::delta::log;
use crate::delta::log::Committed;
use crate::delta::log::DataFile;
use crate::delta::log::DeltaTable;
use crate::delta::news::HINTS;
use crate::delta::parquet_file;
use crate::delta::parquet_file::FileWriter;
use crate::delta::parquet_file::cell;
use crate::delta::plan::Ledger;
use crate::error::LakeError;
use crate::rows::Cell;
use crate::schema::Table;

/// What was erased, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EraseReport {
    /// From the archive in the store.
    pub raw: Forgotten,
    /// Rows of tables.
    pub rows: u64,
    /// Files of tables that were written again.
    pub files: u64,
    /// Files of tables that could not be read and go as a whole, and why.
    pub damaged: Vec<String>,
}

/// Whose rows go.
#[derive(Debug)]
struct Whose {
    machines: HashSet<String>,
    user: Option<String>,
    session: Option<String>,
}

impl Whose {
    fn of(what: &Forget, raw: &Forgotten) -> Whose {
        let found = raw.machines.iter().map(ToString::to_string);
        match what {
            Forget::Machine(machine) => {
                let machines = found.chain([machine.to_string()]).collect();
                Whose { machines, user: None, session: None }
            }
            Forget::User(name) => {
                Whose { machines: found.collect(), user: Some(name.clone()), session: None }
            }
            Forget::Session(id) => {
                Whose { machines: HashSet::new(), user: None, session: Some(id.to_string()) }
            }
        }
    }

    /// Which rows stay.
    fn staying(&self, batch: &RecordBatch) -> BooleanArray {
        let column = |name: &str| batch.column_by_name(name);
        let [machine, user, session] = ["machine", "user_id", "session_id"].map(column);
        (0..batch.num_rows())
            .map(|row| {
                let text = |array: Option<&arrow_array::ArrayRef>| match cell(array?, row) {
                    Cell::Text(text) => Some(text.to_owned()),
                    _ => None,
                };
                let is_gone = text(machine).is_some_and(|one| self.machines.contains(&one))
                    || self.user.is_some() && text(user) == self.user
                    || self.session.is_some() && text(session) == self.session;
                Some(!is_gone)
            })
            .collect()
    }
}

/// The tables that have rows of people.
const TABLES: [Table; 4] = [Table::Lines, Table::Blocks, Table::Usage, Table::Segments];

/// All tables of a store.
#[derive(Debug)]
struct Lakes {
    /// Those of now, and the next ones that somebody may be making.
    live: Vec<Lake>,
    /// Those that were rebuilt, and are kept for readers.
    old: Vec<Lake>,
}

impl Lakes {
    /// Finds them. Live ones that cannot be understood are an error.
    async fn find(store: &Store) -> Result<Lakes, LakeError> {
        let Some(lake) = Lake::find(store).await? else {
            return Ok(Lakes { live: Vec::new(), old: Vec::new() });
        };
        let mut numbers = lake.numbers().await?;
        numbers.extend([lake.number, lake.number + 1]);
        let all = numbers.into_iter().map(|number| Lake { number, ..lake.clone() });
        let (old, live): (Vec<Lake>, Vec<Lake>) = all.partition(|one| one.number < lake.number);
        for lake in &live {
            for table in TABLES {
                lake.table(table).open().await?;
            }
            // Without a file of this table builders would add again what the others have.
            let segments = lake.table(Table::Segments).open().await?;
            Ledger::read(lake, &segments).await?;
        }
        Ok(Lakes { live, old })
    }
}

/// How rows are erased.
#[derive(Debug, Clone, Copy)]
pub struct EraseOptions<'a> {
    /// Without it, only says what would go.
    pub really: bool,
    /// Who erases, for the record.
    pub by: &'a str,
    /// When.
    pub now: Timestamp,
    /// How long files stay that somebody may be reading. The rows are gone from the tables before.
    pub grace: Duration,
}

impl Lake {
    /// Erases rows and segments; without `really`, says what would go.
    pub fn erase(
        store: &Store,
        what: &Forget,
        options: &EraseOptions<'_>,
    ) -> Result<EraseReport, LakeError> {
        let really = options.really;
        // Connections to a store end with the runtime that opened them. One that stays and does
        // nothing would keep them from everybody else.
        let lakes = runtime()?.block_on(Lakes::find(store))?;
        // What must not come back is noted before anything is looked for.
        if let (Forget::Session(session), true) = (what, really) {
            let key = format!("{ERASED}/{session}.json");
            runtime()?.block_on(store.write_object(&key, b"{}".to_vec().into()))?;
        }
        let raw = Fleet::new(store.clone()).forget(what, really, options.by, options.now)?;
        let whose = Whose::of(what, &raw);
        let mut report = EraseReport { raw, ..EraseReport::default() };
        runtime()?.block_on(async {
            for lake in &lakes.live {
                for table in TABLES {
                    lake.erase_table(table, &whose, really, &mut report).await?;
                }
            }
            if !really {
                return Ok(());
            }
            tokio::time::sleep(options.grace).await;
            for lake in &lakes.live {
                for table in TABLES {
                    lake.remove_old(&lake.table(table), &whose).await?;
                }
                lake.remove_done_plans().await?;
            }
            for lake in &lakes.old {
                for object in store.list_objects(&lake.directory()).await? {
                    store.remove_object(&object.key).await?;
                }
            }
            match lakes.live.first() {
                Some(lake) => lake.remove_hints(&whose).await,
                None => Ok(()),
            }
        })?;
        Ok(report)
    }

    async fn erase_table(
        &self,
        table: Table,
        whose: &Whose,
        really: bool,
        report: &mut EraseReport,
    ) -> Result<(), LakeError> {
        let delta = self.table(table);
        let mut snapshot = delta.open().await?;
        if snapshot.version < 0 {
            return Ok(());
        }
        // What is known of each file: nothing of theirs, or what takes its place.
        let mut seen: BTreeMap<String, Option<Replaced>> = BTreeMap::new();
        for _ in 0..TRIES {
            let files: Vec<DataFile> = snapshot.files.values().cloned().collect();
            for file in files {
                if !seen.contains_key(&file.path) {
                    let replaced = match self.without(&delta, &file, whose, really).await {
                        Err(LakeError::Damaged { path, reason }) => {
                            let why = Some(format!("{path} is damaged: {reason}"));
                            Some(Replaced { rows: 0, file: None, why })
                        }
                        other => other?,
                    };
                    seen.insert(file.path.clone(), replaced);
                }
            }
            let hit: Vec<(&DataFile, &Replaced)> = snapshot
                .files
                .values()
                .filter_map(|file| Some((file, seen.get(&file.path)?.as_ref()?)))
                .collect();
            let rows = hit.iter().map(|(_, replaced)| replaced.rows).sum::<u64>();
            let count = hit.len() as u64;
            let damaged: Vec<String> =
                hit.iter().filter_map(|(_, replaced)| replaced.why.clone()).collect();
            if !really {
                (report.rows, report.files) = (report.rows + rows, report.files + count);
                report.damaged.extend(damaged);
                return Ok(());
            }
            let mut actions = Vec::new();
            for (file, replaced) in &hit {
                actions.push(log::remove(file, true));
                actions.extend(replaced.file.iter().map(|file| log::add(file, true)));
            }
            // Builders that read before this commit must notice it, also if nothing was found.
            actions.push(log::writer(ERASER, snapshot.writer(ERASER) + 1));
            if delta.commit(&mut snapshot, "DELETE", actions).await? == Committed::Done {
                (report.rows, report.files) = (report.rows + rows, report.files + count);
                report.damaged.extend(damaged);
                // What was written in vain, because another writer was first.
                let made = seen.values().flatten().filter_map(|replaced| replaced.file.as_ref());
                for file in made.filter(|file| !snapshot.files.contains_key(&file.path)) {
                    self.store.remove_object(&delta.key(&file.path)).await?;
                }
                return Ok(());
            }
        }
        Err(LakeError::Busy { table: table.name().to_owned(), tries: TRIES })
    }

    /// Removes the files that have such rows: those that were just replaced, those that were
    /// replaced before and are kept for readers, and those of builders that were killed. A builder
    /// at work notices that rows were erased, and makes its files again.
    async fn remove_old(&self, delta: &DeltaTable, whose: &Whose) -> Result<(), LakeError> {
        let objects = self.store.list_objects(&delta.root).await?;
        let snapshot = delta.open().await?;
        for object in objects {
            let path = object.key.strip_prefix(&format!("{}/", delta.root)).unwrap_or_default();
            if path.contains('/')
                || snapshot.files.contains_key(path)
                || !path.ends_with(".parquet")
            {
                continue;
            }
            let stats = String::new();
            let file = DataFile { path: path.to_owned(), bytes: object.bytes, modified: 0, stats };
            // One that cannot be read may have them, and no table needs it.
            let is_clean = matches!(self.without(delta, &file, whose, false).await, Ok(None));
            if !is_clean {
                self.store.remove_object(&object.key).await?;
            }
        }
        Ok(())
    }

    /// Removes what machines said about their segments.
    async fn remove_hints(&self, whose: &Whose) -> Result<(), LakeError> {
        for hint in self.store.list_objects(HINTS).await? {
            let name = hint.key.rsplit('/').next().unwrap_or_default();
            let machine = name.split('-').next().unwrap_or_default();
            if whose.machines.contains(machine) {
                self.store.remove_object(&hint.key).await?;
            }
        }
        Ok(())
    }

    /// A file without some rows; nothing if it has none of them.
    async fn without(
        &self,
        delta: &DeltaTable,
        file: &DataFile,
        whose: &Whose,
        really: bool,
    ) -> Result<Option<Replaced>, LakeError> {
        const WHOSE: [&str; 3] = ["machine", "user_id", "session_id"];
        let key = delta.key(&file.path);
        // A file that is gone was replaced meanwhile; the next look at the log says so.
        let Some(bytes) = self.store.read_object(&key).await? else { return Ok(None) };
        let damaged = |error: &dyn std::fmt::Display| LakeError::Damaged {
            path: key.clone(),
            reason: error.to_string(),
        };
        let mut rows = 0;
        for batch in parquet_file::read(bytes.clone(), &key, Some(&WHOSE))? {
            let batch = batch.map_err(|error| damaged(&error))?;
            let staying = whose.staying(&batch);
            rows += (staying.len() - staying.true_count()) as u64;
        }
        if rows == 0 {
            return Ok(None);
        }
        if !really {
            return Ok(Some(Replaced { rows, file: None, why: None }));
        }
        let mut writer = FileWriter::new(delta.table)?;
        for batch in parquet_file::read(bytes, &key, None)? {
            let batch = batch.map_err(|error| damaged(&error))?;
            let staying = filter_record_batch(&batch, &whose.staying(&batch));
            writer.push_batch(&staying.map_err(|error| damaged(&error))?)?;
        }
        let file = upload(self, delta.table, stem_after(&file.path), writer).await?;
        Ok(Some(Replaced { rows, file, why: None }))
    }
}

/// What takes the place of a file.
#[derive(Debug)]
struct Replaced {
    /// So many rows fewer.
    rows: u64,
    /// Nothing if no row is left.
    file: Option<DataFile>,
    /// Why it cannot be read.
    why: Option<String>,
}
