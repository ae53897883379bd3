//! Which session a user means.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;
use recto_log::AgentId;
use recto_log::SessionId;

use crate::Digest;
use crate::FileKind;
use crate::Home;
use crate::Inventory;
use crate::LogFile;
use crate::SessionFile;
use crate::log::file_state::FileState;
use crate::log::log_file::LogName;
use crate::log::log_file::agent_log;

/// How many candidates are named in an error.
const NAMED: usize = 5;
/// A text with fewer letters has no candidates.
const SHORTEST_NEAR: usize = 4;

/// What a user typed for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    /// The newest main log.
    Latest,
    /// A file.
    Path(PathBuf),
    /// A subagent, `agent-…`.
    Agent(AgentId),
    /// An id, the beginning of one, or a title.
    Text(String),
}

/// What was found for a selector.
#[derive(Debug, Clone)]
pub enum Choice {
    /// One session.
    Session(SessionFile),
    /// The log of a subagent.
    Agent(LogFile),
    /// A file outside the home, or one that is no session by its name.
    File(PathBuf),
    /// Several sessions fit: their ids, and titles where known.
    Ambiguous(Vec<(SessionId, Option<String>)>),
    /// None fits; these are the nearest.
    NotFound(Vec<(SessionId, Option<String>)>),
}

impl Selector {
    /// Reads what a user typed.
    pub fn parse(text: &str) -> Selector {
        if text == "latest" {
            return Selector::Latest;
        }
        if text.contains(['/', '\\']) || text.ends_with(".jsonl") {
            return Selector::Path(text.into());
        }
        if let Some(agent) = text.strip_prefix("agent-").and_then(|id| id.parse().ok()) {
            return Selector::Agent(agent);
        }
        Selector::Text(text.to_owned())
    }
}

impl Home {
    /// Finds the session that is meant.
    pub fn choose(&self, inventory: &Inventory, selector: &Selector) -> Choice {
        match selector {
            Selector::Latest => match inventory.sessions.iter().find(|session| is_session(session))
            {
                Some(session) => Choice::Session(session.clone()),
                None => Choice::NotFound(Vec::new()),
            },
            Selector::Path(path) => self.choose_path(inventory, path),
            Selector::Agent(id) => match self.find_agent(inventory, id) {
                Some(agent) => Choice::Agent(agent),
                None => Choice::NotFound(Vec::new()),
            },
            Selector::Text(text) => choose_text(inventory, text),
        }
    }

    fn choose_path(&self, inventory: &Inventory, path: &Path) -> Choice {
        // A link that the user typed is the user's to follow. What it leads to is opened by
        // the rules of all files.
        let is_link = fs_err::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
        let real = is_link.then(|| fs_err::canonicalize(path).ok()).flatten();
        let path = real.as_deref().unwrap_or(path);
        let same = |other: &Path| {
            other == path
                || matches!((fs_err::canonicalize(other), fs_err::canonicalize(path)), (Ok(a), Ok(b)) if a == b)
        };
        match LogName::of_path(path) {
            Some(LogName::Main(id)) => {
                let mut sessions = inventory.sessions.iter();
                let found = sessions.find(|session| session.id == id && same(&session.path));
                found.map_or_else(|| Choice::File(path.to_owned()), |s| Choice::Session(s.clone()))
            }
            Some(LogName::Agent(agent)) => match fs_err::metadata(path) {
                Ok(metadata) => {
                    let log = LogFile::alone(path.to_owned(), Some(agent));
                    Choice::Agent(LogFile { state: FileState::listed(&metadata), ..log })
                }
                Err(_) => Choice::File(path.to_owned()),
            },
            None => Choice::File(path.to_owned()),
        }
    }

    fn find_agent(&self, inventory: &Inventory, id: &AgentId) -> Option<LogFile> {
        let mut loose = inventory.loose_agents.iter();
        if let Some(loose) = loose.find(|log| log.agent.as_ref() == Some(id)) {
            return Some(loose.clone());
        }
        inventory.sessions.iter().find_map(|session| {
            let path = agent_log(&session.folder(), id);
            let metadata = fs_err::metadata(&path).ok()?;
            let name = LogName::Agent(id.clone());
            Some(LogFile::listed(path, Arc::clone(&session.project), Some(name), &metadata))
        })
    }
}

/// Whether a log is a conversation. The check reads only small files further
/// than their size.
fn is_session(session: &SessionFile) -> bool {
    session.bytes() > 0
        && Digest::read(&session.path, false).is_ok_and(|digest| digest.kind == FileKind::Session)
}

fn choose_text(inventory: &Inventory, text: &str) -> Choice {
    let wanted = text.to_ascii_lowercase();
    let by_id: Vec<&SessionFile> = inventory
        .sessions
        .iter()
        .filter(|session| !wanted.is_empty() && session.id.to_string().starts_with(&wanted))
        .collect();
    match by_id.as_slice() {
        [one] => return Choice::Session((*one).clone()),
        [first, rest @ ..] if !rest.is_empty() => {
            // The same session in two projects (a moved worktree): the newest is it.
            if rest.iter().all(|session| session.id == first.id) {
                return Choice::Session((*first).clone());
            }
            return Choice::Ambiguous(named(by_id.iter().copied().take(NAMED * 2)));
        }
        _ => {}
    }
    let titles: Vec<(&SessionFile, String)> = inventory
        .sessions
        .par_iter()
        .filter(|session| session.bytes() > 0)
        .filter_map(|session| Some((session, Digest::read(&session.path, false).ok()?.title?.0)))
        .collect();
    let folded = text.to_lowercase();
    let exact = |title: &str| title.to_lowercase() == folded;
    let part = |title: &str| !folded.is_empty() && title.to_lowercase().contains(&folded);
    for fits in [&exact as &dyn Fn(&str) -> bool, &part] {
        let found: Vec<&(&SessionFile, String)> =
            titles.iter().filter(|(_, title)| fits(title)).collect();
        match found.as_slice() {
            [] => {}
            [(session, _)] => return Choice::Session((*session).clone()),
            several => {
                let several = several.iter().take(NAMED * 2);
                return Choice::Ambiguous(
                    several.map(|(session, title)| (session.id, Some(title.clone()))).collect(),
                );
            }
        }
    }
    Choice::NotFound(nearest(&titles, &wanted))
}

fn named<'a>(sessions: impl Iterator<Item = &'a SessionFile>) -> Vec<(SessionId, Option<String>)> {
    sessions
        .map(|session| {
            let digest = Digest::read(&session.path, false).ok();
            (session.id, digest.and_then(|digest| digest.title).map(|(title, _)| title))
        })
        .collect()
}

/// The sessions whose id or title is most like the text.
fn nearest(titles: &[(&SessionFile, String)], wanted: &str) -> Vec<(SessionId, Option<String>)> {
    // Of a short text one wrong letter is much: it is near words that mean something else.
    if wanted.chars().count() < SHORTEST_NEAR {
        return Vec::new();
    }
    let is_hexadecimal = wanted.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let mut ranked: Vec<(usize, &SessionFile, &String)> = titles
        .iter()
        .filter_map(|(session, title)| {
            let id = session.id.to_string();
            let start: String = id.chars().take(wanted.chars().count().max(1)).collect();
            let title_folded = title.to_lowercase();
            let by_word = title_folded.split_whitespace().map(|word| distance(word, wanted)).min();
            let by_title = by_word.unwrap_or(usize::MAX).min(distance(&title_folded, wanted));
            let by_id = distance(&start, wanted);
            let length = wanted.chars().count();
            // Half of an id must be right, and two thirds of a word: more is another word.
            let is_near_id = is_hexadecimal && by_id * 2 <= length;
            let is_near_title = by_title.checked_mul(3).is_some_and(|wrong| wrong <= length);
            let best = match (is_near_id, is_near_title) {
                (true, true) => by_id.min(by_title),
                (true, false) => by_id,
                (false, true) => by_title,
                (false, false) => return None,
            };
            Some((best, *session, title))
        })
        .collect();
    ranked.sort_by_key(|(distance, session, _)| (*distance, std::cmp::Reverse(session.modified())));
    ranked.truncate(NAMED);
    ranked.into_iter().map(|(_, session, title)| (session.id, Some(title.clone()))).collect()
}

/// How many letters must be changed to make one text of the other; two that changed places
/// are one change. Texts are cut, because the time grows with the product of their lengths.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut older = Vec::new();
    let mut old: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let changed = old[j] + usize::from(a[i] != b[j]);
            row[j + 1] = changed.min(old[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                row[j + 1] = row[j + 1].min(older[j - 1] + 1);
            }
        }
        older = std::mem::replace(&mut old, row);
    }
    old[b.len()]
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    const FIRST: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
    const SECOND: &str = "3f2b0000-9d8e-4f70-a1b2-c3d4e5f60718";
    const EMPTY: &str = "9999aaaa-9d8e-4f70-a1b2-c3d4e5f60718";

    fn shown(choice: Choice) -> String {
        match choice {
            Choice::Session(session) => session.id.to_string(),
            Choice::Agent(agent) => agent.name(),
            Choice::File(path) => format!("file {}", path.display()),
            Choice::Ambiguous(several) => format!("ambiguous {}", several.len()),
            Choice::NotFound(near) => format!("not found, near {}", near.len()),
        }
    }

    #[test]
    fn sessions_are_found_by_id_prefix_title_path_and_latest() {
        let directory = tempfile::tempdir().unwrap();
        let project = directory.path().join("projects/-w");
        fs::create_dir_all(project.join(FIRST).join("subagents")).unwrap();
        for (age, (id, prompt)) in
            [(EMPTY, ""), (FIRST, "Repair the parser"), (SECOND, "Write the parser docs")]
                .into_iter()
                .enumerate()
        {
            let path = project.join(format!("{id}.jsonl"));
            let line = format!(
                "{{\"type\":\"user\",\"cwd\":\"/w\",\"message\":{{\"content\":\"{prompt}\"}}}}\n"
            );
            fs::write(&path, if prompt.is_empty() { "" } else { &line }).unwrap();
            let time =
                std::time::SystemTime::now() - std::time::Duration::from_secs(age as u64 * 60);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        fs::write(project.join("agent-abc.jsonl"), "").unwrap();
        fs::write(project.join(FIRST).join("subagents/agent-def.jsonl"), "").unwrap();
        let home = Home::open(directory.path()).unwrap();
        let inventory = home.inventory();
        let choose = |text: &str| shown(home.choose(&inventory, &Selector::parse(text)));
        assert_eq!(choose("latest"), FIRST, "the empty one is newer but no session");
        assert_eq!(choose(SECOND), SECOND);
        assert_eq!(choose("3f2a"), FIRST);
        assert_eq!(choose("3F2B"), SECOND);
        assert_eq!(choose("3f2"), "ambiguous 2");
        assert_eq!(choose("repair the parser"), FIRST);
        assert_eq!(choose("docs"), SECOND);
        assert_eq!(choose("parser"), "ambiguous 2");
        assert_eq!(choose("3f9a"), "not found, near 2");
        assert_eq!(choose("pasrer"), "not found, near 2");
        assert_eq!(choose("zzzzzzzz"), "not found, near 0");
        // One letter of three differs from `the`.
        assert_eq!(choose("tho"), "not found, near 0");
        assert_eq!(choose("3a2"), "not found, near 0");
        assert_eq!(choose(""), "not found, near 0");
        assert_eq!(choose("agent-abc"), "agent-abc");
        assert_eq!(choose("agent-def"), "agent-def");
        assert_eq!(choose("agent-nope"), "not found, near 0");
        let path = project.join(format!("{FIRST}.jsonl"));
        assert_eq!(choose(path.to_str().unwrap()), FIRST);
        assert_eq!(choose("./other.jsonl"), "file ./other.jsonl");
    }

    #[test]
    fn the_distance_counts_changed_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("serach", "search"), 1);
        assert_eq!(distance("ab", "ba"), 1);
        assert_eq!(distance("same", "same"), 0);
    }
}
