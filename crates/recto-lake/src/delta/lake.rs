//! Which tables are current in a store.
//!
//! ```text
//! lake/v1/current/00000000000000000001.json   which directory is current; the highest number counts
//! lake/v1/t1/lines/_delta_log/…               a table
//! lake/v1/t1/_plan/shard=0/…json              what its builders do
//! ```

use std::collections::BTreeSet;
use std::path::Path;

use bytes::Bytes;
use recto_collect::Store;
use serde_json::Value;
use serde_json::json;

use crate::delta::log::DataFile;
use crate::delta::log::DeltaTable;
use crate::error::LakeError;
use crate::schema::Table;

const ROOT: &str = "lake/v1";
const CURRENT: &str = "lake/v1/current";
/// How many builders can work beside each other.
const SHARDS: u64 = 4;
/// No program makes more.
const MOST_SHARDS: u64 = 256;
/// Tables are rebuilt a few times a year.
const MOST_TABLES: u64 = 1_000_000;
/// The form of what is written here.
const FORM: u64 = 1;

/// The tables of a store.
#[derive(Debug, Clone)]
pub struct Lake {
    pub(crate) store: Store,
    /// Which directory it is.
    pub(crate) number: u64,
    pub(crate) shards: u64,
}

/// A table in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableStatus {
    /// The table.
    pub table: &'static str,
    /// Its version.
    pub version: i64,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their rows.
    pub rows: u64,
}

impl Lake {
    /// Whether an address can be that of a store with tables. A directory must be there, because
    /// to open a store makes it.
    pub fn can_be_at(address: &str) -> bool {
        match address.split_once("://") {
            Some(("file", path)) => Path::new(path).is_dir(),
            Some(_) => true,
            None => Path::new(address).is_dir(),
        }
    }

    /// The tables of a store, if it has any.
    pub(crate) async fn find(store: &Store) -> Result<Option<Lake>, LakeError> {
        let objects = store.list_objects(CURRENT).await?;
        let Some(newest) = objects.iter().map(|object| &object.key).max() else { return Ok(None) };
        let damaged =
            |reason: &str| LakeError::Current { path: newest.clone(), reason: reason.to_owned() };
        let bytes = store.read_object(newest).await?.unwrap_or_default();
        let json: Value =
            serde_json::from_slice(&bytes).map_err(|error| damaged(&error.to_string()))?;
        let number = |name: &str| json[name].as_u64().ok_or_else(|| damaged("a number is missing"));
        if number("form")? > FORM {
            let what = format!("form {}", number("form")?);
            return Err(LakeError::Newer { path: newest.clone(), what });
        }
        let lake =
            Lake { store: store.clone(), number: number("tables")?, shards: number("shards")? };
        // Whoever can write to the store can write any number here.
        let is_known = newest.ends_with(&format!("/{:020}.json", lake.number));
        match is_known && (1..=MOST_SHARDS).contains(&lake.shards) && lake.number < MOST_TABLES {
            true => Ok(Some(lake)),
            false => Err(damaged("its numbers are not those of tables")),
        }
    }

    /// The numbers of all tables that the store has, those that were rebuilt too.
    pub(crate) async fn numbers(&self) -> Result<BTreeSet<u64>, LakeError> {
        let objects = self.store.list_objects(ROOT).await?;
        let number = |key: &str| -> Option<u64> {
            let (folder, _) = key.strip_prefix(ROOT)?.strip_prefix("/t")?.split_once('/')?;
            folder.parse().ok()
        };
        Ok(objects.iter().filter_map(|object| number(&object.key)).collect())
    }

    /// The tables of a store, or an error that says how to make them.
    pub(crate) async fn open(store: &Store) -> Result<Lake, LakeError> {
        let none = || LakeError::NoTables { url: store.url().to_owned() };
        Lake::find(store).await?.ok_or_else(none)
    }

    /// The tables of a store, which are made if it has none.
    pub(crate) async fn open_or_make(store: &Store) -> Result<Lake, LakeError> {
        if let Some(lake) = Lake::find(store).await? {
            return Ok(lake);
        }
        probe(store).await?;
        let first = Lake { store: store.clone(), number: 1, shards: SHARDS };
        first.make_current().await?;
        // Another builder may have been first, with other words.
        Lake::open(store).await
    }

    /// Makes these the tables that count. Says whether nobody was first.
    pub(crate) async fn make_current(&self) -> Result<bool, LakeError> {
        let key = format!("{CURRENT}/{:020}.json", self.number);
        let json = json!({"form": FORM, "tables": self.number, "shards": self.shards});
        Ok(self.store.create_object(&key, json.to_string().into_bytes().into()).await?)
    }

    /// The directory of the tables.
    pub(crate) fn directory(&self) -> String {
        format!("{ROOT}/t{}", self.number)
    }

    pub(crate) fn table(&self, table: Table) -> DeltaTable {
        DeltaTable::new(&self.store, &self.directory(), table)
    }

    /// The address of a table, for other engines.
    pub(crate) fn address(&self, table: Table) -> String {
        let url = self.store.url();
        format!("{}/{}/{}", url.trim_end_matches('/'), self.directory(), table.name())
    }

    /// All tables in numbers.
    pub fn status(store: &Store) -> Result<Vec<TableStatus>, LakeError> {
        runtime()?.block_on(async {
            let lake = Lake::open(store).await?;
            let mut all = Vec::new();
            for table in Table::ALL {
                let delta = lake.table(table);
                let mut snapshot = delta.open().await?;
                delta.look_for_more(&mut snapshot).await?;
                all.push(TableStatus {
                    table: table.name(),
                    version: snapshot.version,
                    files: snapshot.files.len() as u64,
                    bytes: snapshot.files.values().map(|file| file.bytes).sum(),
                    rows: snapshot.files.values().map(DataFile::rows).sum(),
                });
            }
            Ok(all)
        })
    }

    /// The addresses of the files of a table that count now.
    pub fn files(store: &Store, table: Table) -> Result<Vec<String>, LakeError> {
        runtime()?.block_on(async {
            let lake = Lake::open(store).await?;
            let snapshot = lake.table(table).open().await?;
            let address = lake.address(table);
            Ok(snapshot.files.keys().map(|path| format!("{address}/{path}")).collect())
        })
    }
}

/// Refuses a store that overwrites what must be written once.
pub(crate) async fn probe(store: &Store) -> Result<(), LakeError> {
    let key = format!("lake/v1/probe/{}", uuid::Uuid::new_v4());
    let (first, second) = (Bytes::from_static(b"first"), Bytes::from_static(b"second"));
    let is_new = store.create_object(&key, first.clone()).await?;
    let is_new_again = store.create_object(&key, second).await?;
    let kept = store.read_object(&key).await?;
    store.remove_object(&key).await?;
    if !is_new || is_new_again || kept != Some(first) {
        return Err(LakeError::Unconditional { url: store.url().to_owned() });
    }
    Ok(())
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, LakeError> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}
