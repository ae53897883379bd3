//! Which segments a store has: all of them by listing, or what machines said since.
//!
//! Machines leave a hint for what they send (`ledger/v1/d=2026-11-03/h=14/…`). Whether a hint
//! arrives does not matter to them, so a listing of everything is the truth. A small store is
//! listed by every build; a large one once a day, and its hints are read in between.

use futures_util::StreamExt as _;
use futures_util::stream;
use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_collect::Object;
use recto_store::keep::Part;
use recto_store::keep::SegmentKey;
use serde_json::Value;
use serde_json::json;

use crate::delta::lake::Lake;
use crate::error::LakeError;

/// Where hints are.
pub(crate) const HINTS: &str = "ledger/v1";
/// A store with fewer objects is listed by every build.
const LARGE: u64 = 50_000;
/// How often a large one is listed.
const LISTED_EVERY: SignedDuration = SignedDuration::from_hours(24);
/// Hints are read from before the last build began: a machine writes them after its segments.
const MARGIN: SignedDuration = SignedDuration::from_hours(2);
/// How many hints are read at the same time.
const AT_ONCE: usize = 16;
/// Segments are smaller than their content; how much, hints do not say.
const RATIO: u64 = 4;

/// What a build knows when it begins.
#[derive(Debug)]
pub(crate) struct News {
    /// The segments.
    pub(crate) objects: Vec<Object>,
    /// What the next build begins with.
    record: Record,
}

/// What the last build left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    /// When everything was listed.
    listed: Timestamp,
    /// How many objects there were.
    objects: u64,
    /// When the last build began.
    built: Timestamp,
}

impl Record {
    fn read(json: &[u8]) -> Option<Record> {
        let json: Value = serde_json::from_slice(json).ok()?;
        let time = |name: &str| Timestamp::from_millisecond(json[name].as_i64()?).ok();
        let objects = json["objects"].as_u64()?;
        Some(Record { listed: time("listed_ms")?, objects, built: time("built_ms")? })
    }

    fn to_json(self) -> String {
        let (listed, built) = (self.listed.as_millisecond(), self.built.as_millisecond());
        json!({"listed_ms": listed, "objects": self.objects, "built_ms": built}).to_string()
    }
}

impl Lake {
    fn record_key(&self) -> String {
        format!("{}/_found.json", self.directory())
    }

    /// The segments that can be new.
    pub(crate) async fn news(&self, now: Timestamp) -> Result<News, LakeError> {
        let record = self.store.read_object(&self.record_key()).await?;
        let record = record.and_then(|json| Record::read(&json));
        match record {
            Some(record)
                if record.objects >= LARGE
                    && now.duration_since(record.listed) < LISTED_EVERY
                    && record.built <= now =>
            {
                let objects = self.hinted(record.built - MARGIN, now).await?;
                Ok(News { objects, record: Record { built: now, ..record } })
            }
            _ => {
                let objects = self.store.list_objects("raw/v1").await?;
                let count = objects.len() as u64;
                let record = Record { listed: now, objects: count, built: now };
                Ok(News { objects, record })
            }
        }
    }

    /// Notes what a build knew, now that all of it is in the tables.
    pub(crate) async fn note_news(&self, news: &News) -> Result<(), LakeError> {
        let json = news.record.to_json().into_bytes();
        Ok(self.store.write_object(&self.record_key(), json.into()).await?)
    }

    async fn hinted(&self, since: Timestamp, now: Timestamp) -> Result<Vec<Object>, LakeError> {
        let mut keys = Vec::new();
        let mut day = (since - SignedDuration::from_hours(24)).to_zoned(TimeZone::UTC).date();
        // Clocks of machines may be wrong by a day; that of the store says what is new.
        let last = (now + SignedDuration::from_hours(24)).to_zoned(TimeZone::UTC).date();
        while day <= last {
            let hints = self.store.list_objects(&format!("{HINTS}/d={day}")).await?;
            keys.extend(hints.into_iter().filter(|hint| hint.modified >= since));
            let Ok(next) = day.tomorrow() else { break };
            day = next;
        }
        let mut hints = stream::iter(keys)
            .map(|hint| async move { self.store.read_object(&hint.key).await })
            .buffer_unordered(AT_ONCE);
        let mut objects = Vec::new();
        while let Some(hint) = hints.next().await {
            // What is no hint says nothing, and one can be removed meanwhile.
            let Some(hint) = hint? else { continue };
            let Ok(hint) = serde_json::from_slice::<Value>(&hint) else { continue };
            let said = hint["keys"].as_array().into_iter().flatten().filter_map(Value::as_str);
            objects.extend(said.filter_map(object_of));
        }
        objects.sort_by(|a, b| a.key.cmp(&b.key));
        objects.dedup_by(|a, b| a.key == b.key);
        Ok(objects)
    }
}

/// A segment that a hint names.
fn object_of(key: &str) -> Option<Object> {
    let parsed = SegmentKey::parse(key)?;
    let bytes = match &parsed.part {
        Part::Lines { range, .. } | Part::Torn { range, .. } => {
            range.end.saturating_sub(range.start) / RATIO
        }
        _ => return None,
    };
    Some(Object { key: parsed.to_string(), bytes, modified: Timestamp::UNIX_EPOCH })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_others_are_none() {
        let time = |ms| Timestamp::from_millisecond(ms).unwrap();
        let record = Record { listed: time(5), objects: 7, built: time(9) };
        assert_eq!(Record::read(record.to_json().as_bytes()), Some(record));
        for bad in ["", "{}", "[]", "{\"listed_ms\":1,\"objects\":-1,\"built_ms\":2}"] {
            assert_eq!(Record::read(bad.as_bytes()), None, "{bad}");
        }
    }
}
