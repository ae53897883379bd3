//! Objects of a store for those who keep more in it than segments: tables, and their log.

use std::fs::File;

use bytes::Bytes;
use futures_util::StreamExt as _;
use jiff::Timestamp;
use recto_store::keep::FORGOTTEN;
use recto_store::keep::FileKey;
use recto_store::keep::MachineId;
use recto_store::keep::SegmentKey;
use recto_store::keep::forgotten_file;

use crate::beat::Beat;
use crate::error::CollectError;
use crate::store::Put;
use crate::store::Store;

/// An object of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its name, below the prefix of the store.
    pub key: String,
    /// How large it is.
    pub bytes: u64,
    /// When it was written, by the clock of the store.
    pub modified: Timestamp,
}

impl Store {
    /// Writes an object whose name must be free. Says whether it was.
    pub async fn create_object(&self, key: &str, bytes: Bytes) -> Result<bool, CollectError> {
        Ok(self.put_new(key, bytes).await? == Put::New)
    }

    /// Writes an object over what was there before.
    pub async fn write_object(&self, key: &str, bytes: Bytes) -> Result<(), CollectError> {
        self.put_over(key, bytes).await
    }

    /// An object, if it is there.
    pub async fn read_object(&self, key: &str) -> Result<Option<Bytes>, CollectError> {
        self.get(key).await
    }

    /// Removes an object. One that is not there is removed.
    pub async fn remove_object(&self, key: &str) -> Result<(), CollectError> {
        self.delete(key).await
    }

    /// Everything whose name begins with a prefix, which ends where a part of a name ends.
    pub async fn list_objects(&self, prefix: &str) -> Result<Vec<Object>, CollectError> {
        let mut objects = Vec::new();
        let mut listing = self.list(prefix);
        while let Some(listed) = listing.next().await {
            let listed = listed?;
            let (key, bytes) = (listed.key, listed.bytes);
            objects.push(Object { key, bytes, modified: listed.modified });
        }
        Ok(objects)
    }

    /// A segment in a file without a name; none if the store no longer has it.
    pub async fn fetch_segment(&self, key: &SegmentKey) -> Result<Option<File>, CollectError> {
        let name = key.to_string();
        match self.fetch(&name).await {
            Ok(file) => Ok(Some(file)),
            // What a store says of a missing object is not told apart there.
            Err(error) => match self.get(&name).await {
                Ok(None) => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// What each machine said last.
    pub async fn beats(&self) -> Result<Vec<Beat>, CollectError> {
        let mut beats = Vec::new();
        for object in self.list_objects(crate::beat::FOLDER).await? {
            let json = self.get(&object.key).await?;
            beats.extend(json.and_then(|json| serde_json::from_slice(&json).ok()));
        }
        Ok(beats)
    }

    /// Files that must not come back, by their machines.
    pub async fn forgotten(&self) -> Result<Vec<(MachineId, FileKey)>, CollectError> {
        let mut forgotten = Vec::new();
        for object in self.list_objects(FORGOTTEN).await? {
            let machine = object.key.split('/').find_map(|part| part.strip_prefix("machine="));
            let machine = machine.and_then(|machine| machine.parse().ok());
            forgotten.extend(machine.zip(forgotten_file(&object.key)));
        }
        Ok(forgotten)
    }
}
