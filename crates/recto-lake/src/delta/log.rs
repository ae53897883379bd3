//! The log of a table: commits that are written once, and checkpoints of them.
//!
//! A small part of the Delta protocol (reader 1, writer 2), because nobody else writes here. A
//! commit is one object whose name must be free, so of two writers one wins and the other looks
//! again. Versions have no gaps: the newest is found by asking for the next one. If a version is lost,
//! those behind it would not be seen, and the next commit would take its place: so the log is
//! listed before each commit.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use jiff::Timestamp;
use recto_collect::Store;
use serde_json::Value;
use serde_json::json;

use crate::delta::checkpoint;
use crate::error::LakeError;
use crate::schema::Table;

/// How many commits there are between two checkpoints.
const CHECKPOINT_EVERY: i64 = 50;
/// How many commits are asked for at the same time.
const AT_ONCE: i64 = 8;
/// The highest versions of the protocol that are understood here.
const READER: i64 = 1;
const WRITER: i64 = 2;

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DataFile {
    /// Below the directory of the table.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// In milliseconds since 1970.
    pub(crate) modified: i64,
    /// How many rows, and the least and largest values, as JSON.
    pub(crate) stats: String,
}

impl DataFile {
    /// How many rows it has.
    pub(crate) fn rows(&self) -> u64 {
        let stats: Option<Value> = serde_json::from_str(&self.stats).ok();
        stats.and_then(|stats| stats["numRecords"].as_u64()).unwrap_or(0)
    }

    /// The first day of its rows, to put files in order.
    pub(crate) fn first_day(&self) -> String {
        let stats: Option<Value> = serde_json::from_str(&self.stats).ok();
        let day = stats.and_then(|stats| stats["minValues"]["day"].as_str().map(str::to_owned));
        day.unwrap_or_default()
    }
}

/// What a table is at a version.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// -1 for a table that does not exist.
    pub(crate) version: i64,
    pub(crate) files: BTreeMap<String, DataFile>,
    /// Files that were replaced, and when, in milliseconds since 1970.
    pub(crate) removed: BTreeMap<String, i64>,
    /// How far each writer is.
    pub(crate) writers: BTreeMap<String, i64>,
    pub(crate) metadata: Option<Value>,
}

impl Snapshot {
    fn empty() -> Snapshot {
        Snapshot { version: -1, ..Snapshot::default() }
    }

    /// How far a writer is; 0 for one that has written nothing.
    pub(crate) fn writer(&self, name: &str) -> i64 {
        self.writers.get(name).copied().unwrap_or(0)
    }

    fn apply(&mut self, commit: &[u8], path: &str) -> Result<(), LakeError> {
        let damaged =
            |reason: &str| LakeError::Damaged { path: path.to_owned(), reason: reason.to_owned() };
        for line in commit.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let action: Value =
                serde_json::from_slice(line).map_err(|error| damaged(&error.to_string()))?;
            let text = |value: &Value| value.as_str().map(str::to_owned);
            if let Some(add) = action.get("add") {
                let path = text(&add["path"]).ok_or_else(|| damaged("a file has no path"))?;
                if !is_file_name(&path) {
                    return Err(damaged("the path of a file leaves the table"));
                }
                self.removed.remove(&path);
                self.files.insert(
                    path.clone(),
                    DataFile {
                        path,
                        bytes: add["size"].as_u64().unwrap_or(0),
                        modified: add["modificationTime"].as_i64().unwrap_or(0),
                        stats: text(&add["stats"]).unwrap_or_default(),
                    },
                );
            } else if let Some(remove) = action.get("remove") {
                let path = text(&remove["path"]).ok_or_else(|| damaged("a file has no path"))?;
                self.files.remove(&path);
                self.removed.insert(path, remove["deletionTimestamp"].as_i64().unwrap_or(0));
            } else if let Some(writer) = action.get("txn") {
                let name = text(&writer["appId"]).ok_or_else(|| damaged("a writer has no name"))?;
                self.writers.insert(name, writer["version"].as_i64().unwrap_or(0));
            } else if let Some(protocol) = action.get("protocol") {
                check_protocol(protocol, path)?;
            } else if let Some(metadata) = action.get("metaData") {
                self.metadata = Some(metadata.clone());
            }
        }
        Ok(())
    }
}

/// Whether a path is that of a file in the directory of the table, as all that recto writes.
pub(crate) fn is_file_name(path: &str) -> bool {
    !path.is_empty() && !path.contains(['/', '\\']) && !path.starts_with('.')
}

/// Refuses a table that needs more than is known here.
pub(crate) fn check_protocol(protocol: &Value, path: &str) -> Result<(), LakeError> {
    let number = |name: &str| protocol[name].as_i64().unwrap_or(1);
    let (reader, writer) = (number("minReaderVersion"), number("minWriterVersion"));
    if reader > READER || writer > WRITER {
        let what = format!("it needs reader version {reader} and writer version {writer}");
        return Err(LakeError::Newer { path: path.to_owned(), what });
    }
    Ok(())
}

/// Whether a commit was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// It is in the log; the snapshot is that version.
    Done,
    /// Others were first; the snapshot is theirs.
    Conflict,
}

/// A table in a store.
#[derive(Debug, Clone)]
pub(crate) struct DeltaTable {
    store: Store,
    /// Its directory, below the prefix of the store.
    pub(crate) root: String,
    pub(crate) table: Table,
}

impl DeltaTable {
    pub(crate) fn new(store: &Store, directory: &str, table: Table) -> DeltaTable {
        DeltaTable { store: store.clone(), root: format!("{directory}/{}", table.name()), table }
    }

    fn entry(&self, version: i64) -> String {
        format!("{}/_delta_log/{version:020}.json", self.root)
    }

    fn checkpoint(&self, version: i64) -> String {
        format!("{}/_delta_log/{version:020}.checkpoint.parquet", self.root)
    }

    fn hint(&self) -> String {
        format!("{}/_delta_log/_last_checkpoint", self.root)
    }

    /// The whole name of one of its files.
    pub(crate) fn key(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }

    /// The newest version.
    pub(crate) async fn open(&self) -> Result<Snapshot, LakeError> {
        let mut snapshot = Snapshot::empty();
        if let Some(hint) = self.store.read_object(&self.hint()).await?
            && let Ok(hint) = serde_json::from_slice::<Value>(&hint)
            && let Some(version) = hint["version"].as_i64()
        {
            let path = self.checkpoint(version);
            // A checkpoint can be gone; the commits say the same.
            if let Some(bytes) = self.store.read_object(&path).await? {
                snapshot = checkpoint::read(bytes, &path, version)?;
            }
        }
        self.refresh(&mut snapshot).await?;
        if snapshot.version < 0 {
            self.look_for_more(&mut snapshot).await?;
        }
        Ok(snapshot)
    }

    /// Adds the commits of others.
    pub(crate) async fn refresh(&self, snapshot: &mut Snapshot) -> Result<(), LakeError> {
        loop {
            let next = snapshot.version + 1;
            let asked = stream::iter(next..next + AT_ONCE)
                .map(|version| async move {
                    let path = self.entry(version);
                    self.store.read_object(&path).await.map(|bytes| (path, bytes))
                })
                .buffered(AT_ONCE as usize);
            let mut answers = asked.collect::<Vec<_>>().await.into_iter();
            while let Some(answer) = answers.next() {
                let (path, bytes) = answer?;
                let bytes = match bytes {
                    Some(bytes) => bytes,
                    // One behind it is there: it was written while this was asked for, or is lost.
                    None if answers.any(|later| matches!(later, Ok((_, Some(_))))) => {
                        let bytes = self.store.read_object(&path).await?;
                        snapshot.apply(&bytes.ok_or_else(|| lost(&path))?, &path)?;
                        snapshot.version += 1;
                        break;
                    }
                    None => return Ok(()),
                };
                snapshot.apply(&bytes, &path)?;
                snapshot.version += 1;
            }
        }
    }

    /// Lists the log, and adds the commits of others. A lost version is an error.
    pub(crate) async fn look_for_more(&self, snapshot: &mut Snapshot) -> Result<(), LakeError> {
        let objects = self.store.list_objects(&format!("{}/_delta_log", self.root)).await?;
        let version = |key: &str| -> Option<i64> {
            key.rsplit('/').next()?.strip_suffix(".json")?.parse().ok()
        };
        let newest = objects.iter().filter_map(|object| version(&object.key)).max();
        let Some(newest) = newest.filter(|newest| *newest > snapshot.version) else {
            return Ok(());
        };
        self.refresh(snapshot).await?;
        match snapshot.version < newest {
            true => Err(lost(&self.entry(snapshot.version + 1))),
            false => Ok(()),
        }
    }

    /// Writes the next version, if no other writer was first. A table that does not exist is made.
    pub(crate) async fn commit(
        &self,
        snapshot: &mut Snapshot,
        operation: &str,
        mut actions: Vec<Value>,
    ) -> Result<Committed, LakeError> {
        let known = snapshot.version;
        self.look_for_more(snapshot).await?;
        if snapshot.version > known {
            return Ok(Committed::Conflict);
        }
        let now = Timestamp::now().as_millisecond();
        if snapshot.version < 0 {
            actions.splice(0..0, self.beginning(now));
        }
        // A retry that meets its own commit must know it.
        let id = uuid::Uuid::new_v4().to_string();
        actions.push(json!({"commitInfo": {
            "timestamp": now, "operation": operation, "operationParameters": {},
            "engineInfo": concat!("recto/", env!("CARGO_PKG_VERSION")), "txnId": id,
        }}));
        let lines: Vec<String> = actions.iter().map(Value::to_string).collect();
        let body = Bytes::from(lines.join("\n") + "\n");
        let path = self.entry(snapshot.version + 1);
        let is_new = self.store.create_object(&path, body.clone()).await?;
        if !is_new && self.store.read_object(&path).await?.as_ref() != Some(&body) {
            self.refresh(snapshot).await?;
            return Ok(Committed::Conflict);
        }
        snapshot.apply(&body, &path)?;
        snapshot.version += 1;
        if snapshot.version % CHECKPOINT_EVERY == 0 {
            self.write_checkpoint(snapshot).await?;
        }
        Ok(Committed::Done)
    }

    fn beginning(&self, now: i64) -> Vec<Value> {
        let fields: Vec<Value> = self
            .table
            .columns()
            .iter()
            .map(|column| {
                json!({"name": column.name, "type": column.kind.delta(),
                    "nullable": column.nullable, "metadata": {"comment": column.about}})
            })
            .collect();
        let schema = json!({"type": "struct", "fields": fields}).to_string();
        vec![
            json!({"protocol": {"minReaderVersion": READER, "minWriterVersion": WRITER}}),
            json!({"metaData": {
                "id": uuid::Uuid::new_v4().to_string(), "name": self.table.name(),
                "description": self.table.about(),
                "format": {"provider": "parquet", "options": {}}, "schemaString": schema,
                "partitionColumns": [], "configuration": {}, "createdTime": now,
            }}),
        ]
    }

    /// Writes a checkpoint of a version.
    pub(crate) async fn write_checkpoint(&self, snapshot: &Snapshot) -> Result<(), LakeError> {
        let (bytes, rows) = checkpoint::write(snapshot)?;
        let path = self.checkpoint(snapshot.version);
        let hint = json!({"version": snapshot.version, "size": rows, "sizeInBytes": bytes.len()});
        // Whoever writes it writes the same.
        self.store.write_object(&path, bytes).await?;
        self.store.write_object(&self.hint(), hint.to_string().into_bytes().into()).await?;
        Ok(())
    }
}

/// A version that is not there, although one behind it is.
fn lost(path: &str) -> LakeError {
    LakeError::Damaged { path: path.to_owned(), reason: "this version is missing".to_owned() }
}

/// The action that adds a file.
pub(crate) fn add(file: &DataFile, is_change: bool) -> Value {
    json!({"add": {
        "path": file.path, "partitionValues": {}, "size": file.bytes,
        "modificationTime": file.modified, "dataChange": is_change, "stats": file.stats,
    }})
}

/// The action that removes a file.
pub(crate) fn remove(file: &DataFile, is_change: bool) -> Value {
    json!({"remove": {
        "path": file.path, "deletionTimestamp": Timestamp::now().as_millisecond(),
        "dataChange": is_change, "extendedFileMetadata": true, "partitionValues": {},
        "size": file.bytes,
    }})
}

/// The action that says how far a writer is.
pub(crate) fn writer(name: &str, number: i64) -> Value {
    json!({"txn": {
        "appId": name, "version": number, "lastUpdated": Timestamp::now().as_millisecond(),
    }})
}
