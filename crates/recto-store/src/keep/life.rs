//! Which lives of a file an archive has, and how far.

use std::collections::BTreeMap;
use std::fs::File;

use jiff::SignedDuration;
use jiff::Timestamp;
use sha2::Digest as _;
use sha2::Sha256;

use crate::GenerationId;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::key::FileKey;
use crate::keep::key::LifeId;
use crate::keep::key::Part;
use crate::keep::key::Range64;
use crate::keep::segment::header_of;
use crate::place::platform::read_up_to;

/// What an archive has of one file.
#[derive(Debug, Default)]
pub struct Lives {
    lines: BTreeMap<LifeId, Vec<Range64>>,
    /// Ends without a line end.
    pub torn: Vec<Part>,
    /// Versions of a file that is rewritten whole.
    pub versions: Vec<Part>,
    /// When it was seen to be deleted.
    pub gone: Vec<u64>,
    /// When it was seen to have another path.
    pub moved: Vec<u64>,
}

impl Lives {
    /// Sorts the parts of a file.
    pub fn of(parts: Vec<Part>) -> Lives {
        let mut lives = Lives::default();
        for part in parts {
            match part {
                Part::Lines { life, range } => lives.lines.entry(life).or_default().push(range),
                Part::Torn { .. } => lives.torn.push(part),
                Part::Version { .. } => lives.versions.push(part),
                Part::Gone(time) => lives.gone.push(time),
                Part::Moved(time) => lives.moved.push(time),
            }
        }
        for ranges in lives.lines.values_mut() {
            // The longest of those that begin together comes first.
            ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
        }
        lives
    }

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.torn.is_empty() && self.versions.is_empty()
    }

    /// The lives with whole lines.
    pub fn ids(&self) -> impl Iterator<Item = LifeId> {
        self.lines.keys().copied()
    }

    /// Segments that hold a life from its beginning, as few as possible, and where they end.
    /// Segments that were merged may stand beside what they were merged from.
    pub fn cover(&self, life: LifeId) -> (Vec<Range64>, u64) {
        let (mut chosen, mut end) = (Vec::new(), 0);
        let ranges = self.lines.get(&life).map_or(&[][..], Vec::as_slice);
        let mut at = 0;
        while at < ranges.len() {
            // Of those that begin at or before the end, the one that reaches farthest.
            let mut best: Option<Range64> = None;
            while at < ranges.len() && ranges[at].start <= end {
                best = best.filter(|best| best.end >= ranges[at].end).or(Some(ranges[at]));
                at += 1;
            }
            match best.filter(|best| best.end > end) {
                Some(best) => {
                    end = best.end;
                    chosen.push(best);
                }
                None if at < ranges.len() && ranges[at].start > end => break,
                None => {}
            }
        }
        (chosen, end)
    }

    /// Segments behind a gap, of which the beginning is missing.
    pub fn behind_gap(&self, life: LifeId) -> Option<Range64> {
        let (_, end) = self.cover(life);
        let ranges = self.lines.get(&life)?;
        ranges.iter().find(|range| range.start > end).copied()
    }

    /// Every segment of a life.
    pub fn segments(&self, life: LifeId) -> &[Range64] {
        self.lines.get(&life).map_or(&[], Vec::as_slice)
    }

    /// A time behind all times that the archive knows of a file: the present, unless the clock was
    /// set back.
    pub(super) fn moment(&self, archive: &Archive, key: FileKey, now: Timestamp) -> Timestamp {
        let captured = |part: &Part| header_of(&archive.path_of(key, part)).ok()?.captured.into();
        let last = |life: LifeId| {
            let range = *self.segments(life).iter().max_by_key(|range| range.end)?;
            captured(&Part::Lines { life, range })
        };
        let events = self.gone.last().into_iter().chain(self.moved.last());
        let events =
            events.filter_map(|time| Timestamp::from_millisecond(i64::try_from(*time).ok()?).ok());
        let lines = self.ids().filter_map(last);
        let torn = self.torn.iter().chain(self.versions.last()).filter_map(captured);
        let newest = lines.chain(torn).chain(events).max();
        let after = newest.and_then(|time| time.checked_add(SignedDuration::from_millis(1)).ok());
        after.map_or(now, |after| after.max(now))
    }

    /// A life of this beginning that no segment belongs to.
    pub fn unused(&self, generation: GenerationId) -> LifeId {
        let used = self.lines.keys().filter(|life| life.generation == Some(generation));
        let number = used.map(|life| life.number + 1).max().unwrap_or(0);
        LifeId { generation: Some(generation), number }
    }

    /// The life that an open file continues, and how far the archive has it: one whose bytes
    /// are all at the beginning of the file.
    pub(super) fn continued_by(
        &self,
        archive: &Archive,
        key: FileKey,
        file: &File,
        generation: GenerationId,
    ) -> Result<Option<(LifeId, u64)>, KeepError> {
        let lives = self.lines.keys().rev().filter(|life| life.generation == Some(generation));
        for life in lives {
            let (segments, end) = self.cover(*life);
            let mut same = true;
            for range in segments {
                let path = archive.path_of(key, &Part::Lines { life: *life, range });
                let header = header_of(&path)?;
                let digest = digest_of(file, range).map_err(KeepError::of(&path))?;
                if digest != Some(header.sha256) {
                    same = false;
                    break;
                }
            }
            if same {
                return Ok(Some((*life, end)));
            }
        }
        Ok(None)
    }
}

/// The digest of a range of a file; none if the file ends before.
pub(super) fn digest_of(file: &File, range: Range64) -> std::io::Result<Option<[u8; 32]>> {
    const WINDOW: u64 = 256 * 1024;
    let mut hash = Sha256::new();
    let mut at = range.start;
    while at < range.end {
        let bytes = read_up_to(file, at, WINDOW.min(range.end - at))?;
        if bytes.is_empty() {
            return Ok(None);
        }
        hash.update(&bytes);
        at += bytes.len() as u64;
    }
    Ok(Some(hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life() -> LifeId {
        LifeId { generation: GenerationId::of(b"x\n"), number: 0 }
    }

    fn lives(ranges: &[(u64, u64)]) -> Lives {
        let part = |(start, end): &(u64, u64)| Part::Lines {
            life: life(),
            range: Range64 { start: *start, end: *end },
        };
        Lives::of(ranges.iter().map(part).collect())
    }

    fn cover(ranges: &[(u64, u64)]) -> (Vec<(u64, u64)>, u64) {
        let (chosen, end) = lives(ranges).cover(life());
        (chosen.iter().map(|range| (range.start, range.end)).collect(), end)
    }

    #[test]
    fn as_few_segments_as_possible_are_read() {
        assert_eq!(cover(&[]), (vec![], 0));
        assert_eq!(cover(&[(0, 5), (5, 9)]), (vec![(0, 5), (5, 9)], 9));
        assert_eq!(cover(&[(0, 5), (0, 9), (5, 9)]), (vec![(0, 9)], 9));
        assert_eq!(cover(&[(0, 5), (3, 9), (5, 7)]), (vec![(0, 5), (3, 9)], 9));
        assert_eq!(cover(&[(0, 9), (2, 5), (9, 12)]), (vec![(0, 9), (9, 12)], 12));
    }

    #[test]
    fn what_is_behind_a_gap_does_not_count_and_is_named() {
        assert_eq!(cover(&[(0, 5), (6, 9)]), (vec![(0, 5)], 5));
        assert_eq!(cover(&[(1, 5)]), (vec![], 0));
        let gap = lives(&[(0, 5), (6, 9)]).behind_gap(life());
        assert_eq!(gap, Some(Range64 { start: 6, end: 9 }));
        assert_eq!(lives(&[(0, 5), (5, 9)]).behind_gap(life()), None);
    }

    #[test]
    fn a_new_life_has_a_number_of_its_own() {
        let generation = GenerationId::of(b"x\n").unwrap();
        assert_eq!(lives(&[]).unused(generation).number, 0);
        assert_eq!(lives(&[(0, 5)]).unused(generation).number, 1);
    }
}
