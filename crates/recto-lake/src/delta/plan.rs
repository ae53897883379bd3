//! What is due: segments that no table contains yet, in batches that are written down first.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::Range;

use arrow_array::Array as _;
use recto_collect::Object;
use recto_store::keep::Part;
use recto_store::keep::SegmentKey;
use serde_json::Value;
use serde_json::json;

use crate::delta::ends::End;
use crate::delta::ends::UNENDED;
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
/// What the version of a file is called as long as it has no whole line.
const UNKNOWN_LIFE: &str = "torn";

/// A segment of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) key: SegmentKey,
    /// Lines before this byte of the file are in the tables already.
    pub(crate) from: u64,
}

impl Due {
    /// Whether it is the end of a log that no line end follows.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self.key.part, Part::Torn { .. })
    }
}

/// A segment that is due, as a plan is made of it.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) due: Due,
    /// Compressed.
    pub(crate) bytes: u64,
    /// Ends that it takes the place of.
    replaces: Vec<End>,
}

/// What is done in one batch.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) due: Vec<Due>,
    /// Ends whose rows go.
    pub(crate) replaced: Vec<End>,
}

/// Ranges of a version of a file.
type Ranges = Vec<(u64, u64)>;

/// A machine, a file and its version.
type Name = (String, String, String);

/// What the tables contain.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    ranges: HashMap<Name, Ranges>,
    /// Ends that no line end follows.
    ends: HashMap<Name, Ranges>,
}

impl Ledger {
    /// Reads the table of segments.
    pub(crate) async fn read(lake: &Lake, snapshot: &Snapshot) -> Result<Ledger, LakeError> {
        const COLUMNS: [&str; 6] =
            ["machine", "file_id", "gen", "range_start", "range_end", "problem"];
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
                let [Some(machine), Some(file), Some(life), Some(start), Some(end), Some(problem)] =
                    columns
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
                    let ranges = match text(problem).starts_with(UNENDED) {
                        true => &mut ledger.ends,
                        false => &mut ledger.ranges,
                    };
                    ranges.entry(name).or_default().push(range);
                }
            }
        }
        Ok(ledger)
    }

    /// The segments of a shard that are not in it, in order.
    pub(crate) fn due(&self, lake: &Lake, shard: u64, objects: &[Object]) -> Vec<Item> {
        let mut segments: Vec<(SegmentKey, u64)> = objects
            .iter()
            .filter_map(|object| Some((SegmentKey::parse(&object.key)?, object.bytes)))
            .filter(|(key, _)| shard_of(lake, key) == shard)
            .collect();
        segments.sort();
        let mut covered: BTreeMap<Name, Ranges> = BTreeMap::new();
        let mut due = Vec::new();
        let mut ends: BTreeMap<(Name, u64), (SegmentKey, u64)> = BTreeMap::new();
        for (key, bytes) in segments {
            let (Part::Lines { life, range } | Part::Torn { life, range, .. }) = &key.part else {
                continue;
            };
            let name = (key.machine.to_string(), key.file.to_string(), life.to_string());
            let (start, end) = (range.start, range.end);
            if matches!(key.part, Part::Torn { .. }) {
                // They come in the order of their lengths: the last one is what it has grown to.
                ends.insert((name, start), (key, bytes));
                continue;
            }
            let known = covered
                .entry(name.clone())
                .or_insert_with(|| self.ranges.get(&name).cloned().unwrap_or_default());
            let from = first_free(known, start);
            if from < end {
                known.push((start, end));
                let replaces = self.replaced(&name, start..end);
                due.push(Item { due: Due { key, from }, bytes, replaces });
            }
        }
        let is_asked = ends.keys().any(|(name, _)| name.2 == UNKNOWN_LIFE);
        let with_lines: HashSet<(String, String)> = match is_asked {
            true => self.ranges.keys().chain(covered.keys()).map(file_of).collect(),
            false => HashSet::new(),
        };
        due.extend(ends.into_iter().filter_map(|((name, start), (key, bytes))| {
            let is_without_lines = !with_lines.contains(&file_of(&name));
            self.is_new_end(&covered, &name, &key, is_without_lines).then(|| {
                let replaces = self.replaced(&name, start..start + 1);
                Item { due: Due { key, from: start }, bytes, replaces }
            })
        }));
        due
    }

    /// Ends in the tables that lines of a range take the place of.
    fn replaced(&self, name: &Name, range: Range<u64>) -> Vec<End> {
        let (machine, file, life) = name;
        // Without a whole line nobody knew which version it is.
        let unknown = (machine.clone(), file.clone(), UNKNOWN_LIFE.to_owned());
        let of = |name: &Name| {
            let ends = self.ends.get(name).into_iter().flatten().map(|(start, _)| *start);
            let ends = ends.filter(|start| range.contains(start));
            let life = name.2.clone();
            let end = |start| {
                let (machine, file, life) = (machine.clone(), file.clone(), life.clone());
                End { machine, file, life, start }
            };
            ends.map(end).collect::<Vec<_>>()
        };
        let mut all = of(name);
        if life != UNKNOWN_LIFE {
            all.extend(of(&unknown));
        }
        all
    }

    /// Whether an end is where the lines of its log end, and not in the tables yet.
    fn is_new_end(
        &self,
        covered: &BTreeMap<Name, Ranges>,
        name: &Name,
        key: &SegmentKey,
        is_without_lines: bool,
    ) -> bool {
        let Part::Torn { range, .. } = &key.part else { return false };
        let is_known = |(start, end): &(u64, u64)| *start == range.start && *end >= range.end;
        if self.ends.get(name).is_some_and(|ends| ends.iter().any(is_known)) {
            return false;
        }
        if name.2 == UNKNOWN_LIFE {
            return is_without_lines;
        }
        let lines = covered.get(name).or_else(|| self.ranges.get(name));
        lines.and_then(|lines| lines.iter().map(|(_, end)| *end).max()) == Some(range.start)
    }
}

/// A file, whatever version of it.
fn file_of(name: &Name) -> (String, String) {
    (name.0.clone(), name.1.clone())
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
) -> Result<Option<Plan>, LakeError> {
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
    let due = due.collect::<Result<Vec<Due>, LakeError>>()?;
    // Plans of earlier programs replace nothing.
    let ends = plan["replaced"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| End::of_json(one).ok_or_else(|| damaged("an end has no name".to_owned())));
    Ok(Some(Plan { due, replaced: ends.collect::<Result<_, _>>()? }))
}

/// Writes a plan for the first of what is due, unless somebody else was first.
pub(crate) async fn write_plan(
    lake: &Lake,
    shard: u64,
    number: i64,
    due: &[Item],
) -> Result<(), LakeError> {
    let mut bytes = 0;
    let within = |item: &&Item| {
        let is_first = bytes == 0;
        bytes += item.bytes;
        is_first || bytes <= BATCH_BYTES
    };
    let batch: Vec<&Item> = due.iter().take(BATCH_SEGMENTS).take_while(within).collect();
    let segments =
        batch.iter().map(|item| json!({"key": item.due.key.to_string(), "from": item.due.from}));
    let segments: Vec<Value> = segments.collect();
    let replaced = batch.iter().flat_map(|item| &item.replaces);
    let replaced: Vec<Value> = replaced.map(End::to_json).collect();
    let plan = json!({"number": number, "segments": segments, "replaced": replaced}).to_string();
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
