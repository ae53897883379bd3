//! The tables of a store in a file of this machine, for the embedded SQLite.

use std::collections::HashSet;

use arrow_array::ArrayRef;
use recto_collect::Store;

use crate::cache::Cache;
use crate::cache::SourceState;
use crate::delta::lake::Lake;
use crate::delta::lake::runtime;
use crate::delta::log::DataFile;
use crate::delta::parquet_file;
use crate::delta::parquet_file::cell;
use crate::error::LakeError;
use crate::library::Needs;
use crate::rows::Cell;
use crate::schema::Table;

/// How often tables are looked at again when files vanish.
const TRIES: u32 = 20;

/// How loading went.
enum Loaded {
    /// The cache has what is needed. Files that could not be read are named.
    Done(Vec<String>),
    /// A file was replaced meanwhile: the table must be looked at again.
    Again,
}

impl Lake {
    /// Loads what a query needs and is not loaded yet, the newest first. Files that could not be
    /// read are named. `tell` is called with the bytes that are loaded and those of all.
    pub fn load(
        store: &Store,
        cache: &mut Cache,
        needs: &Needs,
        limit_mb: u64,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Vec<String>, LakeError> {
        runtime()?.block_on(async {
            for _ in 0..TRIES {
                let lake = Lake::open(store).await?;
                if let Loaded::Done(damaged) = lake.load_once(cache, needs, limit_mb, tell).await? {
                    return Ok(damaged);
                }
            }
            let tables: Vec<&str> = needs.tables.iter().map(|table| table.name()).collect();
            Err(LakeError::Busy { table: tables.join(", "), tries: TRIES })
        })
    }

    async fn load_once(
        &self,
        cache: &mut Cache,
        needs: &Needs,
        limit_mb: u64,
        tell: &mut dyn FnMut(u64, u64),
    ) -> Result<Loaded, LakeError> {
        let mut due = Vec::new();
        let mut bytes = 0;
        for table in needs.tables.iter().copied() {
            let snapshot = self.table(table).open().await?;
            let names: Vec<String> =
                snapshot.files.keys().map(|path| self.table(table).key(path)).collect();
            bytes += snapshot.files.values().map(|file| file.bytes).sum::<u64>();
            let mut files: Vec<DataFile> = snapshot.files.into_values().collect();
            files.sort_by_key(|file| std::cmp::Reverse(file.first_day()));
            for file in files {
                let source = SourceState {
                    name: self.table(table).key(&file.path),
                    state: "1".to_owned(),
                    level: u8::from(table == Table::Blocks && needs.texts),
                };
                if cache.is_stale(table, &source) {
                    due.push((table, source, file));
                }
            }
            let names: HashSet<&str> = names.iter().map(String::as_str).collect();
            cache.keep_only(table, &names)?;
        }
        if bytes > limit_mb.saturating_mul(1024 * 1024) {
            let (mb, url) = (bytes / 1024 / 1024, self.store.url().to_owned());
            return Err(LakeError::TooLarge { mb, limit_mb, url });
        }
        let all = due.iter().map(|(_, _, file)| file.bytes).sum();
        let (mut done, mut damaged) = (0, Vec::new());
        for (table, source, file) in due {
            match self.load_file(cache, table, source, needs.texts).await {
                Ok(()) => {}
                Err(error @ LakeError::Damaged { .. }) => {
                    // A file that was merged or had rows erased is gone for a good reason.
                    let now = self.table(table).open().await?;
                    if !now.files.contains_key(&file.path) {
                        return Ok(Loaded::Again);
                    }
                    damaged.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
            done += file.bytes;
            tell(done, all);
        }
        Ok(Loaded::Done(damaged))
    }

    async fn load_file(
        &self,
        cache: &mut Cache,
        table: Table,
        source: SourceState,
        texts: bool,
    ) -> Result<(), LakeError> {
        let key = source.name.clone();
        let damaged = |error: &dyn std::fmt::Display| LakeError::Damaged {
            path: key.clone(),
            reason: error.to_string(),
        };
        let bytes = self.store.read_object(&key).await?;
        let bytes = bytes.ok_or_else(|| damaged(&"the file is missing"))?;
        let columns = table.columns();
        let wanted: Vec<&str> = columns
            .iter()
            .map(|column| column.name)
            .filter(|name| *name != "text" || texts)
            .collect();
        let reader = parquet_file::read(bytes, &key, Some(&wanted))?;
        cache.replace::<LakeError>(&[(table, source)], |_, take| {
            for batch in reader {
                let batch = batch.map_err(|error| damaged(&error))?;
                let arrays: Vec<Option<&ArrayRef>> =
                    columns.iter().map(|column| batch.column_by_name(column.name)).collect();
                let mut cells = Vec::with_capacity(columns.len());
                for row in 0..batch.num_rows() {
                    cells.clear();
                    for array in &arrays {
                        cells.push(array.map_or(Cell::Null, |array| cell(array, row)));
                    }
                    take(table, &cells)?;
                }
            }
            Ok(())
        })
    }
}
