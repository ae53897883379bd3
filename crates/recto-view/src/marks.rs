//! Stars, pins, notes and tags of sessions, and saved searches. They are recto's own data: no
//! log and no file of Claude Code is changed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashSet;

use recto_session::search::Limit;
use recto_session::search::Query;
use recto_store::DataDirectory;
use serde::Deserialize;
use serde::Serialize;

use crate::SessionName;
use crate::error::ViewError;
use crate::library::Library;

/// The file, in recto's data directory.
const FILE: &str = "marks.json";

/// How long texts may be, in characters, and how many there may be.
const LONGEST_NOTE: usize = 4000;
const LONGEST_TAG: usize = 40;
const MOST_TAGS: usize = 20;
const LONGEST_SEARCH: usize = 1000;
const MOST_SEARCHES: usize = 100;

/// What a person noted about a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Marks {
    /// Whether it has a star.
    pub starred: bool,
    /// Whether it comes first in lists.
    pub pinned: bool,
    /// A note.
    pub note: String,
    /// Tags, in order.
    pub tags: BTreeSet<String>,
}

/// A search that was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSearch {
    /// What it is called.
    pub name: String,
    /// What is looked for.
    pub query: String,
}

/// A change of marks; what is not said stays.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MarksChange {
    /// Whether it has a star.
    pub starred: Option<bool>,
    /// Whether it comes first in lists.
    pub pinned: Option<bool>,
    /// A note; an empty one removes it.
    pub note: Option<String>,
    /// All tags.
    pub tags: Option<Vec<String>>,
}

/// All marks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AllMarks {
    /// By session.
    pub sessions: BTreeMap<String, Marks>,
    /// Saved searches, in the order in which they were saved.
    pub searches: Vec<SavedSearch>,
}

impl AllMarks {
    /// Reads the marks that are kept in a directory.
    pub fn read(data: &DataDirectory) -> Result<AllMarks, ViewError> {
        AllMarks::parse(data.read_record(FILE)?)
    }

    fn parse(bytes: Option<Vec<u8>>) -> Result<AllMarks, ViewError> {
        let Some(bytes) = bytes else { return Ok(AllMarks::default()) };
        // A file that cannot be read is not overwritten.
        serde_json::from_slice(&bytes)
            .map_err(|_| ViewError::Internal("the file marks.json in recto's data is damaged"))
    }

    fn change<T>(
        data: &DataDirectory,
        change: impl FnOnce(&mut AllMarks) -> Result<T, ViewError>,
    ) -> Result<T, ViewError> {
        let mut answer = None;
        data.change_record(FILE, |bytes| -> Result<Vec<u8>, ViewError> {
            let mut marks = AllMarks::parse(bytes)?;
            answer = Some(change(&mut marks)?);
            marks.sessions.retain(|_, marks| *marks != Marks::default());
            serde_json::to_vec_pretty(&marks).map_err(|_| ViewError::Internal("marks are text"))
        })?;
        answer.ok_or(ViewError::Internal("nothing was changed"))
    }

    /// The marks of a session.
    pub fn of(&self, session: &str) -> Marks {
        self.sessions.get(session).cloned().unwrap_or_default()
    }

    /// The sessions with a mark: a tag, or `starred`, `pinned`, `noted`.
    pub fn sessions_with(&self, kind: MarkKind<'_>) -> HashSet<String> {
        let has = |marks: &Marks| match kind {
            MarkKind::Starred => marks.starred,
            MarkKind::Pinned => marks.pinned,
            MarkKind::Tag(tag) => marks.tags.iter().any(|known| known.eq_ignore_ascii_case(tag)),
        };
        let found = self.sessions.iter().filter(|(_, marks)| has(marks));
        found.map(|(session, _)| session.clone()).collect()
    }

    /// All tags, with how many sessions have them.
    pub fn tags(&self) -> BTreeMap<&str, usize> {
        let mut tags: BTreeMap<&str, usize> = BTreeMap::new();
        for tag in self.sessions.values().flat_map(|marks| &marks.tags) {
            *tags.entry(tag).or_default() += 1;
        }
        tags
    }
}

/// What a session is marked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind<'a> {
    /// A star.
    Starred,
    /// A pin.
    Pinned,
    /// A tag.
    Tag(&'a str),
}

/// The sessions that the marks of a query allow, and those that they refuse.
pub fn marked_sessions(
    query: &Query,
    data: Option<&DataDirectory>,
) -> Result<Vec<(HashSet<String>, bool)>, ViewError> {
    let is_mark = |limit: &&Limit| matches!(limit, Limit::Tag { .. } | Limit::Starred { .. });
    let wanted: Vec<&Limit> = query.limits.iter().filter(is_mark).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let marks = data.map_or_else(|| Ok(AllMarks::default()), AllMarks::read)?;
    let sets = wanted.into_iter().filter_map(|limit| match limit {
        Limit::Tag { name, is_not } => Some((marks.sessions_with(MarkKind::Tag(name)), *is_not)),
        Limit::Starred { is_not } => Some((marks.sessions_with(MarkKind::Starred), *is_not)),
        _ => None,
    });
    Ok(sets.collect())
}

impl Library {
    /// All marks.
    pub fn marks(&self) -> Result<AllMarks, ViewError> {
        self.data().map_or_else(|_| Ok(AllMarks::default()), AllMarks::read)
    }

    /// Changes the marks of a session.
    pub fn mark(
        &self,
        name: impl Into<SessionName>,
        change: MarksChange,
    ) -> Result<Marks, ViewError> {
        let session = self.find(name)?.file.id;
        let tags = change.tags.map(clean_tags).transpose()?;
        let note = change.note.map(|note| clean_text(&note, LONGEST_NOTE, "note")).transpose()?;
        AllMarks::change(self.data()?, |all| {
            let marks = all.sessions.entry(session.to_string()).or_default();
            marks.starred = change.starred.unwrap_or(marks.starred);
            marks.pinned = change.pinned.unwrap_or(marks.pinned);
            if let Some(note) = note {
                marks.note = note;
            }
            if let Some(tags) = tags {
                marks.tags = tags;
            }
            Ok(marks.clone())
        })
    }

    /// Saves a search, or removes the one of this name if the query is empty.
    pub fn save_search(&self, name: &str, query: &str) -> Result<Vec<SavedSearch>, ViewError> {
        let name = clean_text(name, LONGEST_TAG * 2, "name")?.replace('\n', " ");
        let query = clean_text(query, LONGEST_SEARCH, "query")?.replace('\n', " ");
        if name.is_empty() {
            return Err(ViewError::refused("bad-mark", "a saved search needs a name"));
        }
        AllMarks::change(self.data()?, |all| {
            all.searches.retain(|search| search.name != name);
            if !query.is_empty() {
                if all.searches.len() >= MOST_SEARCHES {
                    let message = "there are 100 saved searches already";
                    return Err(ViewError::refused("bad-mark", message));
                }
                all.searches.push(SavedSearch { name, query });
            }
            Ok(all.searches.clone())
        })
    }
}

fn clean_text(text: &str, most: usize, what: &str) -> Result<String, ViewError> {
    let text: String = text.trim().chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    if text.chars().count() > most {
        let message = format!("the {what} has more than {most} characters");
        return Err(ViewError::refused("bad-mark", message));
    }
    Ok(text)
}

fn clean_tags(tags: Vec<String>) -> Result<BTreeSet<String>, ViewError> {
    let mut clean = BTreeSet::new();
    for tag in tags {
        let tag = clean_text(&tag, LONGEST_TAG, "tag")?;
        let tag: String = tag.split_whitespace().collect::<Vec<_>>().join("-");
        if !tag.is_empty() {
            clean.insert(tag);
        }
    }
    if clean.len() > MOST_TAGS {
        return Err(ViewError::refused("bad-mark", "a session has 20 tags at most"));
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_kept_and_found_by_tag_and_star() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDirectory::new(folder.path());
        AllMarks::change(&data, |all| {
            let marks = all.sessions.entry("a".into()).or_default();
            marks.starred = true;
            marks.tags = clean_tags(vec!["Good one".into(), " ".into()])?;
            all.sessions.entry("b".into()).or_default();
            Ok(())
        })
        .unwrap();
        let marks = AllMarks::read(&data).unwrap();
        assert_eq!(marks.sessions.len(), 1, "nothing is kept of a session without marks");
        assert_eq!(marks.sessions_with(MarkKind::Tag("good-ONE")).len(), 1);
        assert_eq!(marks.sessions_with(MarkKind::Pinned).len(), 0);
        let query = Query::parse("x tag:good-one -is:starred").unwrap();
        let sets = marked_sessions(&query, Some(&data)).unwrap();
        assert_eq!(
            sets.iter().map(|(set, is_not)| (set.len(), *is_not)).collect::<Vec<_>>(),
            [(1, false), (1, true)]
        );
        // What is damaged is not overwritten.
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert!(AllMarks::change(&data, |_| Ok(())).is_err());
        assert_eq!(std::fs::read(folder.path().join(FILE)).unwrap(), b"{");
        assert!(clean_tags(vec!["x".repeat(41)]).is_err());
    }
}
