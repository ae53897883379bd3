//! What is due: segments that no table contains yet, in batches that are written down first.

use std::collections::BTreeMap;
use std::collections::HashMap;

use arrow_array::Array as _;
use recto_collect::Object;
use recto_store::keep::Part;
use recto_store::keep::SegmentKey;
use serde_json::Value;
use serde_json::json;

use crate::delta::lake::Lake;
use crate::delta::log::Snapshot;
use crate::delta::parquet_file;
use crate::delta::parquet_file::cell;
use crate::error::LakeError;
use crate::rows::Cell;
use crate::schema::Table;

/// A batch has so many compressed bytes, or one segment.
const BATCH_BYTES: u64 = 64 * 1024 * 1024;
/// And so many segments at most.
const BATCH_SEGMENTS: usize = 20_000;

/// A segment of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) key: SegmentKey,
    /// Lines before this byte of the file are in the tables already.
    pub(crate) from: u64,
}

/// Ranges of a version of a file.
type Ranges = Vec<(u64, u64)>;

/// What the tables contain, by machine, file and version.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    ranges: HashMap<(String, String, String), Ranges>,
}

impl Ledger {
    /// Reads the table of segments.
    pub(crate) async fn read(lake: &Lake, snapshot: &Snapshot) -> Result<Ledger, LakeError> {
        const COLUMNS: [&str; 5] = ["machine", "file_id", "gen", "range_start", "range_end"];
        let table = lake.table(Table::Segments);
        let mut ledger = Ledger::default();
        for path in snapshot.files.keys() {
            let key = table.key(path);
            let missing = || LakeError::Damaged {
                path: key.clone(),
                reason: "the file is missing".to_owned(),
            };
            let bytes = lake.store.read_object(&key).await?.ok_or_else(missing)?;
            for batch in parquet_file::read(bytes, &key, Some(&COLUMNS))? {
                let batch = batch.map_err(|error| LakeError::Damaged {
                    path: key.clone(),
                    reason: error.to_string(),
                })?;
                let columns = COLUMNS.map(|name| batch.column_by_name(name));
                let [Some(machine), Some(file), Some(life), Some(start), Some(end)] = columns
                else {
                    return Err(missing());
                };
                for row in 0..machine.len() {
                    let text = |array| match cell(array, row) {
                        Cell::Text(text) => text.to_owned(),
                        _ => String::new(),
                    };
                    let number = |array| match cell(array, row) {
                        Cell::Long(number) => number as u64,
                        _ => 0,
                    };
                    let name = (text(machine), text(file), text(life));
                    let range = (number(start), number(end));
                    ledger.ranges.entry(name).or_default().push(range);
                }
            }
        }
        Ok(ledger)
    }

    /// The segments of a shard that are not in it, in order.
    pub(crate) fn due(&self, lake: &Lake, shard: u64, objects: &[Object]) -> Vec<(Due, u64)> {
        let mut segments: Vec<(SegmentKey, u64)> = objects
            .iter()
            .filter_map(|object| Some((SegmentKey::parse(&object.key)?, object.bytes)))
            .filter(|(key, _)| shard_of(lake, key) == shard)
            .filter(|(key, _)| matches!(key.part, Part::Lines { .. }))
            .collect();
        segments.sort();
        let mut covered: BTreeMap<(String, String, String), Ranges> = BTreeMap::new();
        let mut due = Vec::new();
        for (key, bytes) in segments {
            let Part::Lines { life, range } = &key.part else { continue };
            let name = (key.machine.to_string(), key.file.to_string(), life.to_string());
            let (start, end) = (range.start, range.end);
            let known = covered
                .entry(name.clone())
                .or_insert_with(|| self.ranges.get(&name).cloned().unwrap_or_default());
            let from = first_free(known, start);
            if from < end {
                known.push((start, end));
                due.push((Due { key, from }, bytes));
            }
        }
        due
    }
}

/// The first byte from a place on that no range contains.
fn first_free(ranges: &Ranges, start: u64) -> u64 {
    let mut free = start;
    // Few ranges overlap: most often none contains the place.
    while let Some((_, end)) = ranges.iter().find(|(from, to)| *from <= free && free < *to) {
        free = *end;
    }
    free
}

fn shard_of(lake: &Lake, key: &SegmentKey) -> u64 {
    let text = key.machine.to_string();
    text.bytes().fold(7_u64, |sum, byte| (sum * 31 + u64::from(byte)) % 1_000_003) % lake.shards
}

fn plan_key(lake: &Lake, shard: u64, number: i64) -> String {
    format!("{}/_plan/shard={shard}/{number:020}.json", lake.directory())
}

/// A plan that somebody has written.
pub(crate) async fn read_plan(
    lake: &Lake,
    shard: u64,
    number: i64,
) -> Result<Option<Vec<Due>>, LakeError> {
    let key = plan_key(lake, shard, number);
    let Some(bytes) = lake.store.read_object(&key).await? else { return Ok(None) };
    let damaged = |reason: String| LakeError::Damaged { path: key.clone(), reason };
    let plan: Value = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let segments = plan["segments"].as_array().ok_or_else(|| damaged("no segments".to_owned()))?;
    let due = segments.iter().map(|one| {
        let key = one["key"].as_str().and_then(SegmentKey::parse);
        let key = key.ok_or_else(|| damaged("a segment has no name".to_owned()))?;
        Ok(Due { key, from: one["from"].as_u64().unwrap_or(0) })
    });
    due.collect::<Result<Vec<Due>, LakeError>>().map(Some)
}

/// Writes a plan for the first of what is due, unless somebody else was first.
pub(crate) async fn write_plan(
    lake: &Lake,
    shard: u64,
    number: i64,
    due: &[(Due, u64)],
) -> Result<(), LakeError> {
    let mut bytes = 0;
    let within = |(_, size): &&(Due, u64)| {
        let is_first = bytes == 0;
        bytes += size;
        is_first || bytes <= BATCH_BYTES
    };
    let batch: Vec<Value> = due
        .iter()
        .take(BATCH_SEGMENTS)
        .take_while(within)
        .map(|(one, _)| json!({"key": one.key.to_string(), "from": one.from}))
        .collect();
    let plan = json!({"number": number, "segments": batch}).to_string();
    let key = plan_key(lake, shard, number);
    lake.store.create_object(&key, plan.into_bytes().into()).await?;
    Ok(())
}

impl Lake {
    /// Removes plans whose segments are in all tables. They name machines and files.
    pub(crate) async fn remove_done_plans(&self) -> Result<(), LakeError> {
        let snapshot = self.table(Table::Segments).open().await?;
        for shard in 0..self.shards {
            // The table of segments has a batch last: what it has is everywhere.
            let done = snapshot.writer(&format!("shard-{shard}"));
            let folder = format!("{}/_plan/shard={shard}", self.directory());
            for plan in self.store.list_objects(&folder).await? {
                let name = plan.key.rsplit('/').next().unwrap_or_default();
                let number = name.strip_suffix(".json").and_then(|name| name.parse::<i64>().ok());
                if number.is_some_and(|number| number <= done) {
                    self.store.remove_object(&plan.key).await?;
                }
            }
        }
        Ok(())
    }
}
