//! What a store has of one machine, file by file.

use std::collections::BTreeMap;

use futures_util::StreamExt as _;
use futures_util::stream;
use jiff::Timestamp;
use recto_log::json::Value;
use recto_store::follow::FileKind;
use recto_store::keep::FileKey;
use recto_store::keep::Lives;
use recto_store::keep::MachineId;
use recto_store::keep::Part;
use recto_store::keep::SegmentKey;

use crate::error::CollectError;
use crate::store::Store;

/// How many headers are asked for at the same time.
const AT_ONCE: usize = 16;

/// What a store has of one machine. Only names are in it.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) files: BTreeMap<FileKey, Vec<Part>>,
    pub(crate) objects: u64,
    /// Compressed.
    pub(crate) bytes: u64,
    /// When the last object came, by the clock of the store.
    pub(crate) newest: Option<Timestamp>,
    /// Names below the machine's that are none.
    pub(crate) strange: Vec<String>,
}

/// What a file is, by one of its headers.
#[derive(Debug, Clone)]
pub(crate) struct About {
    pub(crate) file: FileKey,
    pub(crate) path: String,
    pub(crate) kind: FileKind,
}

impl Contents {
    pub(crate) async fn list(store: &Store, machine: MachineId) -> Result<Contents, CollectError> {
        let mut contents = Contents::default();
        let mut listing = store.list(&SegmentKey::prefix(machine));
        while let Some(listed) = listing.next().await {
            let listed = listed?;
            let Some(key) = SegmentKey::parse(&listed.key) else {
                contents.strange.push(listed.key);
                continue;
            };
            contents.objects += 1;
            contents.bytes += listed.bytes;
            contents.newest = contents.newest.max(Some(listed.modified));
            contents.files.entry(key.file).or_default().push(key.part);
        }
        Ok(contents)
    }

    /// Ranges that are missing between others, as (file, from, to).
    pub(crate) fn gaps(&self) -> Vec<(FileKey, u64, u64)> {
        let mut gaps = Vec::new();
        for (file, parts) in &self.files {
            let lives = Lives::of(parts.clone());
            for life in lives.ids() {
                if let Some(next) = lives.behind_gap(life) {
                    gaps.push((*file, lives.cover(life).1, next.start));
                }
            }
        }
        gaps
    }

    /// Bytes of files that are covered without a gap.
    pub(crate) fn source_bytes(&self) -> u64 {
        let of_file = |parts: &Vec<Part>| {
            let lives = Lives::of(parts.clone());
            let ends: u64 = lives.ids().map(|life| lives.cover(life).1).sum();
            ends
        };
        self.files.values().map(of_file).sum()
    }

    /// What each file is. Those whose headers cannot be read are named.
    pub(crate) async fn about(
        &self,
        store: &Store,
        machine: MachineId,
    ) -> Result<(Vec<About>, Vec<String>), CollectError> {
        let asked = stream::iter(&self.files)
            .map(|(file, parts)| about_file(store, machine, *file, parts))
            .buffer_unordered(AT_ONCE);
        let answers: Vec<Result<Option<About>, CollectError>> = asked.collect().await;
        let (mut found, mut damaged) = (Vec::new(), Vec::new());
        for answer in answers {
            match answer {
                Ok(about) => found.extend(about),
                Err(CollectError::Store(error)) => damaged.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((found, damaged))
    }
}

async fn about_file(
    store: &Store,
    machine: MachineId,
    file: FileKey,
    parts: &[Part],
) -> Result<Option<About>, CollectError> {
    let lives = Lives::of(parts.to_vec());
    let is_content = |part: &&Part| !matches!(part, Part::Gone(_) | Part::Moved(_));
    let Some(part) = parts.iter().rev().find(is_content) else { return Ok(None) };
    let key = SegmentKey { machine, file, part: part.clone() };
    let header = store.header(&key).await?;
    let mut path = header.path;
    if let Some(time) = lives.moved.last() {
        let key = SegmentKey { machine, file, part: Part::Moved(*time) };
        let event = store.get(&key.to_string()).await?.unwrap_or_default();
        let to = Value::parse(event.trim_ascii()).ok();
        let to = to.and_then(|event| event.str("to").map(|text| text.into_owned()));
        path = to.unwrap_or(path);
    }
    Ok(Some(About { file, path, kind: header.kind }))
}
