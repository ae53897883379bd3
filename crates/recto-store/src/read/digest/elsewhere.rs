//! Titles that stand in the log of another session.
//!
//! Clients before 2.1 write the title of a session to the top of the next session's log. The
//! line names the last message that it was made from, so the title of a log is that of a line
//! in a log beside it which names one of its own. Only tops and ends of logs are read, and the
//! tops of a folder only once as long as no log comes or goes.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::SystemTime;

use fs_err as fs;
use memchr::memmem;
use recto_log::Generation;
use recto_log::Kind;
use recto_log::Lines;
use recto_log::UUID_LENGTH;
use recto_log::decode;
use recto_log::said_text;
use recto_log::uuids_in;

use super::Digest;
use super::FileKind;
use super::TAIL;
use super::TitleSource;
use super::shortened;
use crate::place::open::open_known;
use crate::place::open::open_sized;
use crate::place::platform::read_fully;

/// How much of the top of each log is looked at: titles come before all else.
const TOP: usize = 16 * 1024;
/// A line with a title says within so many bytes that it is one.
const BEGINNING: usize = 128;
/// So many logs of a folder are looked at.
const MOST_LOGS: usize = 10_000;
/// So many titles of a folder are kept, and of so many folders.
const MOST_TITLES: usize = 100_000;
const MOST_FOLDERS: usize = 256;

/// Titles by the line that they name.
type Titles = HashMap<u128, String>;

/// A folder as it was when the tops of its logs were read.
struct Folder {
    changed: Option<SystemTime>,
    titles: Arc<Titles>,
}

static FOLDERS: Mutex<Option<HashMap<PathBuf, Folder>>> = Mutex::new(None);

impl Digest {
    /// Whether the title can be in a log beside.
    pub fn may_be_titled_elsewhere(&self) -> bool {
        let is_old = |version: &String| {
            Generation::of_version(version).is_some_and(|found| found < Generation::V2_1_200)
        };
        let has_own = self.title.as_ref().is_some_and(|(_, from)| *from < TitleSource::FirstPrompt);
        self.kind == FileKind::Session && !has_own && self.version.as_ref().is_some_and(is_old)
    }

    /// The same with the title that a log beside has for it, if one has.
    #[must_use]
    pub fn with_title_elsewhere(mut self, path: &Path) -> Digest {
        if self.may_be_titled_elsewhere()
            && let Some(title) = title_beside(path)
        {
            self.title = Some((title, TitleSource::Summary));
        }
        self
    }
}

fn title_beside(path: &Path) -> Option<String> {
    let titles = titles_of(path.parent()?)?;
    if titles.is_empty() {
        return None;
    }
    let (file, length) = open_sized(path).ok()?;
    let start = length.saturating_sub(TAIL as u64);
    let mut end = vec![0; usize::try_from(length - start).ok()?];
    let read = read_fully(&file, &mut end, start).ok()?;
    // The last of its lines that has a title counts.
    let named = uuids_in(&end[..read]).filter(|(at, _)| is_own_uuid(&end, *at));
    named.filter_map(|(_, uuid)| titles.get(&uuid)).last().cloned()
}

/// Whether the uuid at a place is that of the line, not of another that it names.
fn is_own_uuid(bytes: &[u8], at: usize) -> bool {
    bytes[..at].ends_with(b"\"uuid\":\"") && bytes.get(at + UUID_LENGTH) == Some(&b'"')
}

/// The titles in the logs of a folder that belong to other logs.
fn titles_of(folder: &Path) -> Option<Arc<Titles>> {
    let changed = fs::metadata(folder).ok()?.modified().ok();
    let mut folders = FOLDERS.lock().unwrap_or_else(PoisonError::into_inner);
    let folders = folders.get_or_insert_default();
    if let Some(known) = folders.get(folder).filter(|known| known.changed == changed) {
        return Some(Arc::clone(&known.titles));
    }
    if folders.len() >= MOST_FOLDERS {
        folders.clear();
    }
    let titles = Arc::new(read_titles(folder));
    let known = Folder { changed, titles: Arc::clone(&titles) };
    folders.insert(folder.to_owned(), known);
    Some(titles)
}

fn read_titles(folder: &Path) -> Titles {
    let mut titles = Titles::new();
    let Ok(entries) = fs::read_dir(folder) else { return titles };
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    // The log of a subagent has no title for another one.
    let is_log = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.ends_with(".jsonl") && !name.starts_with("agent-"))
    };
    let mut logs: Vec<PathBuf> = names.filter(is_log).take(MOST_LOGS).collect();
    // Of two titles for one line, that of the later name counts, whatever the order of files.
    logs.sort();
    let mut top = vec![0; TOP];
    for log in logs {
        let Ok(file) = open_known(&log) else { continue };
        // Most logs begin with something else, and need not be read further.
        let Ok(begun) = read_fully(&file, &mut top[..BEGINNING], 0) else { continue };
        if memmem::find(&top[..begun], b"summary").is_none() {
            continue;
        }
        let Ok(read) = read_fully(&file, &mut top, 0) else { continue };
        for line in Lines::new(&top[..read]) {
            let (entry, _) = decode(line);
            if entry.kind() != Kind::Summary || titles.len() >= MOST_TITLES {
                break;
            }
            let Some(leaf) = entry.uuid_field("leafUuid").and_then(|leaf| leaf.bits()) else {
                continue;
            };
            let title = entry.title().map(|title| shortened(&said_text(&title)));
            if let Some(title) = title.filter(|title| !title.is_empty()) {
                titles.insert(leaf, title);
            }
        }
    }
    titles
}
