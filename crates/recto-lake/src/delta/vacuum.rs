//! Removes files that no reader needs.

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_collect::Store;

use crate::delta::lake::Lake;
use crate::delta::lake::runtime;
use crate::delta::news::HINTS;
use crate::error::LakeError;
use crate::schema::Table;

/// Files that nobody knows may be those of a builder at work, for so long.
const AT_WORK: SignedDuration = SignedDuration::from_hours(24);

/// Hints are read for so long.
const HINTED: SignedDuration = SignedDuration::from_hours(72);

/// What was removed, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VacuumReport {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Lake {
    /// Removes files that were replaced longer ago than `retain`, files that never were part of a
    /// table and are older than a day, old hints, and tables that were rebuilt. Without `really`, says what
    /// would go.
    pub fn vacuum(
        store: &Store,
        retain: SignedDuration,
        really: bool,
        now: Timestamp,
    ) -> Result<VacuumReport, LakeError> {
        runtime()?.block_on(async {
            let lake = Lake::open(store).await?;
            let mut report = VacuumReport::default();
            for table in Table::ALL {
                lake.vacuum_table(table, retain, really, now, &mut report).await?;
            }
            if really {
                lake.remove_done_plans().await?;
            }
            lake.vacuum_hints(retain.max(HINTED), really, now, &mut report).await?;
            let numbers = lake.numbers().await?;
            for number in numbers.into_iter().filter(|number| *number < lake.number) {
                let old = Lake { number, ..lake.clone() };
                for object in store.list_objects(&old.directory()).await? {
                    if now.duration_since(object.modified) < retain {
                        continue;
                    }
                    report.files += 1;
                    report.bytes += object.bytes;
                    if really {
                        store.remove_object(&object.key).await?;
                    }
                }
            }
            Ok(report)
        })
    }

    /// Hints say what was new; listing knows the rest.
    async fn vacuum_hints(
        &self,
        retain: SignedDuration,
        really: bool,
        now: Timestamp,
        report: &mut VacuumReport,
    ) -> Result<(), LakeError> {
        for hint in self.store.list_objects(HINTS).await? {
            if now.duration_since(hint.modified) < retain {
                continue;
            }
            report.files += 1;
            report.bytes += hint.bytes;
            if really {
                self.store.remove_object(&hint.key).await?;
            }
        }
        Ok(())
    }

    async fn vacuum_table(
        &self,
        table: Table,
        retain: SignedDuration,
        really: bool,
        now: Timestamp,
        report: &mut VacuumReport,
    ) -> Result<(), LakeError> {
        let delta = self.table(table);
        // Listed first: a file that comes later is not in the list, one that is committed
        // meanwhile is in the snapshot.
        let objects = self.store.list_objects(&delta.root).await?;
        let snapshot = delta.open().await?;
        for object in objects {
            let Some(path) = object.key.strip_prefix(&format!("{}/", delta.root)) else { continue };
            if path.contains('/') || snapshot.files.contains_key(path) {
                continue;
            }
            let is_old = match snapshot.removed.get(path) {
                Some(removed) => {
                    let age = now.as_millisecond() - removed;
                    age >= i64::try_from(retain.as_millis()).unwrap_or(i64::MAX)
                }
                None => now.duration_since(object.modified) >= AT_WORK.max(retain),
            };
            if is_old {
                report.files += 1;
                report.bytes += object.bytes;
                if really {
                    self.store.remove_object(&object.key).await?;
                }
            }
        }
        Ok(())
    }
}
