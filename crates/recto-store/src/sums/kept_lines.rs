//! Which lines of single logs answer a question, kept in the index.
//!
//! Few lines of a log are prompts, and few logs have plans. Who knows where they are reads
//! these only. Places are kept, and no text.

use std::path::Path;

use rayon::prelude::*;
use recto_log::RawLine;
use recto_session::Span;

use crate::CacheDirectory;
use crate::Home;
use crate::LogFile;
use crate::StoreError;
use crate::each_alone;
use crate::log::chain::short_hash;
use crate::log::file_state::FileState;
use crate::open_file;
use crate::place::platform::read_span;
use crate::search::index::Rollup;
use crate::search::index::RollupKind;
use crate::search::index::Rollups;

/// How many logs are held at a time.
const PIECE: usize = 64;

/// A question whose lines are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptLines {
    /// Which prompts a log has.
    Prompts,
    /// Which plans it has.
    Plans,
}

impl KeptLines {
    fn kind(self) -> RollupKind {
        match self {
            KeptLines::Prompts => RollupKind::Prompts,
            KeptLines::Plans => RollupKind::Plans,
        }
    }
}

/// What a log says, and the lines to keep for the next time; none where they are known, or
/// do not tell all.
pub type Worked<T> = (T, Option<Vec<Span>>);

impl Home {
    /// Asks logs, several at a time, and gives what they say in their order. With a cache,
    /// `work` gets the lines of logs that have not changed, if its index has them.
    pub fn with_kept_lines<T: Send>(
        &self,
        logs: &[LogFile],
        cache: Option<&CacheDirectory>,
        question: KeptLines,
        work: impl Fn(&LogFile, Option<&[Span]>) -> Worked<T> + Sync,
    ) -> Vec<T> {
        let mut rollups = cache.and_then(|cache| Rollups::open(self, cache, question.kind()));
        let is_kept = rollups.is_some();
        let mut all = Vec::with_capacity(logs.len());
        for piece in logs.chunks(PIECE) {
            let names: Vec<String> = piece.iter().map(|log| log.name_in_home()).collect();
            let known = match &mut rollups {
                Some(rollups) => {
                    let states = piece.iter().map(|log| log.state);
                    rollups.read(names.iter().map(String::as_str).zip(states))
                }
                None => vec![None; piece.len()],
            };
            let answers: Vec<(T, Option<Rollup>)> = each_alone(piece)
                .zip(known)
                .zip(names)
                .map(|((log, known), name)| {
                    let known = known.and_then(|bytes| decode(&bytes));
                    // Before anything is read: what is written meanwhile makes it another state.
                    let state = is_kept.then(|| state_of(&log.path)).flatten();
                    let (answer, lines) = work(log, known.as_deref());
                    let lines = lines.filter(|_| known.is_none());
                    let rollup = lines.zip(state).map(|(lines, state)| {
                        let sums = encode(&lines);
                        Rollup { name, state, sums }
                    });
                    (answer, rollup)
                })
                .collect();
            for (answer, rollup) in answers {
                if let (Some(rollups), Some(rollup)) = (&mut rollups, rollup) {
                    rollups.keep(rollup);
                }
                all.push(answer);
            }
        }
        if let Some(rollups) = rollups {
            rollups.finish();
        }
        all
    }
}

fn state_of(path: &Path) -> Option<FileState> {
    Some(FileState::now(&open_file(path).ok()?.metadata().ok()?))
}

/// Gives some lines of a log, in their order. Their numbers are not known.
pub fn each_line_at(
    path: &Path,
    lines: &[Span],
    take: &mut dyn FnMut(RawLine<'_>),
) -> Result<(), StoreError> {
    let file = open_file(path)?;
    for line in lines {
        let bytes = read_span(&file, line.offset, line.length)?;
        take(RawLine { offset: line.offset, ..RawLine::alone(&bytes) });
    }
    Ok(())
}

/// Places as bytes: their hash, then the distance from the end of the one before and the
/// length of each.
fn encode(lines: &[Span]) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    let mut end = 0;
    for line in lines {
        put(&mut bytes, line.offset.saturating_sub(end));
        put(&mut bytes, line.length);
        end = line.offset + line.length;
    }
    let hash = short_hash(&bytes[8..]).to_le_bytes();
    bytes[..8].copy_from_slice(&hash);
    bytes
}

fn decode(bytes: &[u8]) -> Option<Vec<Span>> {
    let (hash, mut rest) = bytes.split_at_checked(8)?;
    if short_hash(rest).to_le_bytes() != hash {
        return None;
    }
    let (mut lines, mut end) = (Vec::new(), 0_u64);
    while !rest.is_empty() {
        let (distance, length) = (get(&mut rest)?, get(&mut rest)?);
        let offset = end.checked_add(distance)?;
        lines.push(Span { offset, length });
        end = offset.checked_add(length)?;
    }
    Some(lines)
}

/// Seven bits a byte, the lowest first.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn get(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_looked_for_once_and_given_the_next_time() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("home/projects/-w");
        fs_err::create_dir_all(&project).unwrap();
        let path = project.join("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl");
        fs_err::write(&path, "{\"a\":1}\n{\"b\":2}\n").unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let cache = CacheDirectory::new(folder.path().join("cache"));
        let second = Span { offset: 8, length: 7 };
        let ask = |cache: Option<&CacheDirectory>, question| {
            // What was written a moment ago is not kept.
            std::thread::sleep(std::time::Duration::from_millis(60));
            let logs = home.logs(&home.inventory());
            home.with_kept_lines(&logs, cache, question, |_, known| {
                (known.map(<[Span]>::to_vec), Some(vec![second]))
            })
        };
        assert_eq!(ask(Some(&cache), KeptLines::Prompts), [None], "no index is made for it");
        assert!(!cache.root().exists());
        crate::search::index::Index::open(&home, &cache).unwrap();
        assert_eq!(ask(Some(&cache), KeptLines::Prompts), [None]);
        assert_eq!(ask(Some(&cache), KeptLines::Prompts), [Some(vec![second])]);
        assert_eq!(ask(Some(&cache), KeptLines::Plans), [None], "another question");
        assert_eq!(ask(None, KeptLines::Prompts), [None]);
        let mut lines = Vec::new();
        each_line_at(&path, &[second], &mut |line| lines.push(line.bytes.to_vec())).unwrap();
        assert_eq!(lines, [b"{\"b\":2}".to_vec()]);
        fs_err::write(&path, "{\"a\":1}\n{\"b\":3}\n").unwrap();
        assert_eq!(ask(Some(&cache), KeptLines::Prompts), [None], "the log is another one");
    }

    #[test]
    fn places_come_back_and_damage_is_known() {
        let line = |offset, length| Span { offset, length };
        let lines = [line(0, 1), line(2, 300), line(5_000_000_000, 70_000), line(u64::MAX - 1, 1)];
        for some in [&lines[..], &lines[..1], &[]] {
            assert_eq!(decode(&encode(some)).as_deref(), Some(some));
        }
        let bytes = encode(&lines);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x11;
            assert_eq!(decode(&damaged), None, "{at}");
            assert_eq!(decode(&bytes[..at]), None, "{at}");
        }
    }
}
