//! Fewer and larger files, with the same rows.

use std::collections::BTreeSet;

use recto_collect::Store;

use crate::delta::build::TRIES;
use crate::delta::build::upload;
use crate::delta::ends::is_of_ends;
use crate::delta::lake::Lake;
use crate::delta::lake::runtime;
use crate::delta::log;
use crate::delta::log::Committed;
use crate::delta::log::DataFile;
use crate::delta::log::DeltaTable;
use crate::delta::log::Snapshot;
use crate::delta::parquet_file;
use crate::delta::parquet_file::FileWriter;
use crate::error::LakeError;
use crate::schema::Table;

/// Smaller files are put together.
const SMALL: u64 = 32 * 1024 * 1024;
/// Up to this size.
const LARGE: u64 = 96 * 1024 * 1024;

/// What was put together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptimizeReport {
    /// Files before.
    pub before: u64,
    /// Files that took their place.
    pub after: u64,
    /// Tables that were changed.
    pub tables: Vec<&'static str>,
}

impl Lake {
    /// Puts small files together, where a table has more than so many.
    pub fn optimize(store: &Store, at_least: usize) -> Result<OptimizeReport, LakeError> {
        runtime()?.block_on(async {
            let lake = Lake::open(store).await?;
            let mut report = OptimizeReport::default();
            for table in Table::ALL {
                let (before, after) = lake.optimize_table(table, at_least).await?;
                report.before += before;
                report.after += after;
                if before > 0 {
                    report.tables.push(table.name());
                }
            }
            Ok(report)
        })
    }

    async fn optimize_table(&self, table: Table, at_least: usize) -> Result<(u64, u64), LakeError> {
        let delta = self.table(table);
        let (mut before, mut after) = (0, 0);
        let mut tried = 0;
        loop {
            let mut snapshot = delta.open().await?;
            let small: Vec<&DataFile> =
                snapshot.files.values().filter(|file| can_be_merged(file)).collect();
            if small.len() < at_least.max(2) && before == 0 {
                return Ok((0, 0));
            }
            let Some(group) = first_group(small) else { return Ok((before, after)) };
            let count = group.len() as u64;
            match self.replace_group(&delta, &mut snapshot, &group).await? {
                true => {
                    before += count;
                    after += 1;
                }
                false => {
                    tried += 1;
                    if tried >= TRIES {
                        return Err(LakeError::Busy {
                            table: table.name().to_owned(),
                            tries: tried,
                        });
                    }
                }
            }
        }
    }

    /// Puts files together. Says no if one of them was replaced meanwhile.
    async fn replace_group(
        &self,
        delta: &DeltaTable,
        snapshot: &mut Snapshot,
        group: &[DataFile],
    ) -> Result<bool, LakeError> {
        let mut writer = FileWriter::new(delta.table)?;
        for file in group {
            let key = delta.key(&file.path);
            // It can be gone by now, if somebody erased rows of it.
            let Some(bytes) = self.store.read_object(&key).await? else { return Ok(false) };
            for batch in parquet_file::read(bytes, &key, None)? {
                let batch = batch.map_err(|error| LakeError::Damaged {
                    path: key.clone(),
                    reason: error.to_string(),
                })?;
                writer.push_batch(&batch)?;
            }
        }
        let file = upload(self, delta.table, "optimized", writer).await?;
        for _ in 0..TRIES {
            if group.iter().any(|file| !snapshot.files.contains_key(&file.path)) {
                break;
            }
            let mut actions: Vec<_> = group.iter().map(|file| log::remove(file, false)).collect();
            actions.extend(file.iter().map(|file| log::add(file, false)));
            if delta.commit(snapshot, "OPTIMIZE", actions).await? == Committed::Done {
                return Ok(true);
            }
        }
        if let Some(file) = file {
            self.store.remove_object(&delta.key(&file.path)).await?;
        }
        Ok(false)
    }
}

/// Whether a file is small. Rows of ends stay by themselves.
fn can_be_merged(file: &DataFile) -> bool {
    file.bytes < SMALL && !is_of_ends(&file.path)
}

/// Files that make a large one together, in the order of their days.
fn first_group(mut small: Vec<&DataFile>) -> Option<Vec<DataFile>> {
    small.sort_by_key(|file| (file.first_day(), file.path.clone()));
    let mut seen = BTreeSet::new();
    let mut bytes = 0;
    let mut group = Vec::new();
    for file in small {
        if bytes + file.bytes > LARGE && group.len() > 1 {
            break;
        }
        bytes += file.bytes;
        if seen.insert(&file.path) {
            group.push(file.clone());
        }
    }
    (group.len() > 1).then_some(group)
}
