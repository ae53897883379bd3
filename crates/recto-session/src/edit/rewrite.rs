//! New ids for old ones, everywhere in a session.
//!
//! A copy of a session gets an id of its own, and its lines may get theirs. An
//! id is replaced wherever it stands, because the client names lines in many
//! fields (parents, compactions, snapshots, leafs) and adds new ones; a uuid has
//! one spelling and nothing in it is ever escaped, so bytes can be replaced.
//!
//! What was said stays as it is: inside `message` no id is replaced, or the
//! signature of thinking, and the hashes of requests, would not fit any more.
//! Only the paths of the session's own folder in results follow the folder.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use recto_log::EntryUuid;
use recto_log::Patch;
use recto_log::SessionId;
use recto_log::UUID_LENGTH;
use recto_log::json::Object;
use recto_log::json::Step;
use recto_log::json::Value;
use recto_log::uuids_in;
use sha2::Digest;
use sha2::Sha256;

use crate::edit::Manuscript;

/// Folders of a session that results name by their path.
const FOLDERS: [&str; 2] = ["tool-results", "subagents"];

type ChangeLine = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync;

/// Changes a line, whatever it holds; none leaves it as it is.
#[derive(Clone)]
pub struct LineFilter(Arc<ChangeLine>);

impl LineFilter {
    /// A filter of lines without their ends.
    pub fn new(change: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'static) -> LineFilter {
        LineFilter(Arc::new(change))
    }

    /// The line as it becomes.
    pub fn apply(&self, line: &[u8]) -> Option<Vec<u8>> {
        (self.0)(line)
    }
}

impl std::fmt::Debug for LineFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineFilter")
    }
}

/// What is replaced in every line.
#[derive(Debug, Clone, Default)]
pub struct Rewrite {
    ids: HashMap<u128, u128>,
    session: Option<(SessionId, SessionId)>,
    agents: Vec<(String, String)>,
    directory: Option<(String, String)>,
    filter: Option<LineFilter>,
}

impl Rewrite {
    /// Nothing.
    pub fn none() -> Rewrite {
        Rewrite::default()
    }

    /// The session gets another id.
    pub fn session(old: SessionId, new: SessionId) -> Rewrite {
        let ids = HashMap::from([(old.bits(), new.bits())]);
        Rewrite { ids, session: Some((old, new)), ..Rewrite::default() }
    }

    /// Lines of other sessions in the log become lines of this one too.
    #[must_use]
    pub fn with_other_sessions(mut self, manuscript: &Manuscript) -> Rewrite {
        if let Some((_, new)) = self.session {
            for (name, ..) in &manuscript.session.records.sessions {
                if let Ok(id) = name.parse::<SessionId>() {
                    self.ids.insert(id.bits(), new.bits());
                }
            }
        }
        self
    }

    /// Every line gets another uuid, which follows from the old one and the new
    /// id of the session.
    #[must_use]
    pub fn with_new_uuids(mut self, manuscript: &Manuscript) -> Rewrite {
        let Some((_, new)) = self.session else { return self };
        let lines = manuscript.session.nodes().filter_map(|node| node.uuid().bits());
        for old in lines.chain(manuscript.other_ids.iter().copied()) {
            self.ids.entry(old).or_insert_with(|| derived(new, old));
        }
        self
    }

    /// A subagent gets another id.
    #[must_use]
    pub fn with_agent(mut self, old: &str, new: &str) -> Rewrite {
        self.agents.push((old.to_owned(), new.to_owned()));
        self
    }

    /// The working directory was moved: `cwd` follows, below it too.
    #[must_use]
    pub fn with_directory(mut self, old: &str, new: &str) -> Rewrite {
        self.directory = Some((old.to_owned(), new.to_owned()));
        self
    }

    /// Every line goes through a filter before ids are replaced.
    #[must_use]
    pub fn with_filter(mut self, filter: LineFilter) -> Rewrite {
        self.filter = Some(filter);
        self
    }

    /// The filter that lines go through.
    pub fn filter(&self) -> Option<&LineFilter> {
        self.filter.as_ref()
    }

    /// Whether no id and no directory is replaced.
    fn keeps_names(&self) -> bool {
        self.ids.is_empty() && self.agents.is_empty() && self.directory.is_none()
    }

    /// The new uuid of a line.
    pub fn uuid(&self, old: &EntryUuid) -> EntryUuid {
        let new = old.bits().and_then(|bits| self.ids.get(&bits));
        new.map_or_else(|| old.clone(), |bits| EntryUuid::from_bits(*bits))
    }

    /// A line with everything replaced.
    pub fn apply(&self, line: Vec<u8>) -> Vec<u8> {
        let filtered = self.filter.as_ref().and_then(|filter| filter.apply(&line));
        let line = filtered.unwrap_or(line);
        if self.keeps_names() {
            return line;
        }
        let Ok(object) = Object::parse(line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line)) else {
            // What is no object is kept as it is.
            return line;
        };
        let said = object.get("message").map(|message| range_in(&line, message.bytes()));
        let is_result = object.str("type").is_some_and(|name| name == "user");
        let moved = self.moved_directories(&object);
        let agent = object.str("agentId").and_then(|id| self.new_agent(&id));
        let mut line = line;
        for (start, old) in self.found(&line, said.clone(), is_result) {
            let new = EntryUuid::from_bits(old).to_string();
            line[start..start + UUID_LENGTH].copy_from_slice(new.as_bytes());
        }
        let mut line = self.with_new_agents(line, said);
        let agent = agent.map(|agent| (vec!["agentId".to_owned()], agent));
        for (path, value) in moved.into_iter().chain(agent) {
            let path: Vec<Step<'_>> = path.iter().map(|key| Step::Key(key)).collect();
            if let Ok(mut patch) = Patch::new(&line)
                && patch.set_string(&path, &value).is_ok()
            {
                line = patch.finish();
            }
        }
        line
    }

    /// Where an id stands that is replaced, and the bits of the new one.
    fn found(
        &self,
        line: &[u8],
        said: Option<Range<usize>>,
        is_result: bool,
    ) -> Vec<(usize, u128)> {
        let is_said = |start: usize| said.as_ref().is_some_and(|said| said.contains(&start));
        uuids_in(line)
            .filter_map(|(start, old)| Some((start, *self.ids.get(&old)?)))
            .filter(|(start, _)| {
                !is_said(*start) || is_result && names_folder(&line[start + UUID_LENGTH..])
            })
            .collect()
    }

    fn new_agent(&self, id: &str) -> Option<String> {
        self.agents.iter().find(|(old, _)| old == id).map(|(_, new)| new.clone())
    }

    /// Results name the subagent that gave them: `"agentId":"…"`.
    fn with_new_agents(&self, line: Vec<u8>, said: Option<Range<usize>>) -> Vec<u8> {
        let mut line = line;
        for (old, new) in &self.agents {
            let member = format!("\"agentId\":\"{old}\"");
            // The new id has the length of the old one, so places stay.
            if old.len() != new.len() {
                continue;
            }
            let places: Vec<usize> = memmem::find_iter(&line, member.as_bytes())
                .filter(|start| !said.as_ref().is_some_and(|said| said.contains(start)))
                .collect();
            for place in places {
                let start = place + "\"agentId\":\"".len();
                line[start..start + new.len()].copy_from_slice(new.as_bytes());
            }
        }
        line
    }

    /// Where a directory is now, if it was moved.
    pub fn moved(&self, directory: &str) -> Option<String> {
        let (old, new) = self.directory.as_ref()?;
        let rest = directory.strip_prefix(old.as_str())?;
        (rest.is_empty() || rest.starts_with(['/', '\\'])).then(|| format!("{new}{rest}"))
    }

    /// The fields of a line that name a directory that was moved, with what they
    /// shall say: the working directory, and what lines about worktrees name.
    fn moved_directories(&self, object: &Object<'_>) -> Vec<(Vec<String>, String)> {
        if self.directory.is_none() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for key in ["cwd", "relocatedCwd"] {
            if let Some(new) = object.str(key).and_then(|old| self.moved(&old)) {
                found.push((vec![key.to_owned()], new));
            }
        }
        let worktree = object.get("worktreeSession").map(Value::members);
        for member in worktree.into_iter().flatten() {
            if let Some(new) = member.value.as_str().and_then(|old| self.moved(&old)) {
                found.push((vec!["worktreeSession".to_owned(), member.key().into_owned()], new));
            }
        }
        found
    }
}

/// Whether a session's id is followed by the name of one of its folders. In
/// JSON a backslash is written twice.
fn names_folder(rest: &[u8]) -> bool {
    let rest = rest.strip_prefix(b"/").or_else(|| rest.strip_prefix(b"\\\\"));
    rest.is_some_and(|rest| FOLDERS.iter().any(|folder| rest.starts_with(folder.as_bytes())))
}

/// A uuid that follows from another one.
pub(super) fn derived(session: SessionId, old: u128) -> u128 {
    let mut hash = Sha256::new();
    hash.update(session.bits().to_be_bytes());
    hash.update(old.to_be_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    // Spelled like the random uuids of the client: version 4, variant 1.
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    u128::from_be_bytes(bytes)
}

/// Where `part`, a piece of `whole`, is in it.
fn range_in(whole: &[u8], part: &[u8]) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "11111111-1111-4111-8111-111111111111";
    const NEW: &str = "22222222-2222-4222-8222-222222222222";

    fn rewrite() -> Rewrite {
        Rewrite::session(OLD.parse().unwrap(), NEW.parse().unwrap())
    }

    fn applied(rewrite: &Rewrite, line: &str) -> String {
        String::from_utf8(rewrite.apply(line.as_bytes().to_vec())).unwrap()
    }

    #[test]
    fn ids_are_replaced_wherever_they_stand_but_in_what_was_said() {
        let line = format!(
            r#"{{"type":"assistant","sessionId":"{OLD}","x":["{OLD}",{{"a/{OLD}.txt":1}}],"message":{{"content":"{OLD}"}}}}"#
        );
        let expected = format!(
            r#"{{"type":"assistant","sessionId":"{NEW}","x":["{NEW}",{{"a/{NEW}.txt":1}}],"message":{{"content":"{OLD}"}}}}"#
        );
        assert_eq!(applied(&rewrite(), &line), expected);
    }

    #[test]
    fn paths_of_the_own_folder_follow_it_in_results_only() {
        let said = |kind: &str, id: &str| {
            format!(r#"{{"type":"{kind}","message":{{"content":"/p/{id}/tool-results/a.txt"}}}}"#)
        };
        assert_eq!(applied(&rewrite(), &said("user", OLD)), said("user", NEW));
        assert_eq!(applied(&rewrite(), &said("assistant", OLD)), said("assistant", OLD));
    }

    #[test]
    fn what_is_no_object_is_kept() {
        let torn = format!(r#"{{"sessionId":"{OLD}""#);
        assert_eq!(applied(&rewrite(), &torn), torn);
    }

    #[test]
    fn the_directory_moves_with_what_is_below_it() {
        let rewrite = Rewrite::none().with_directory("/w/app", "/new");
        let line = |cwd: &str| format!(r#"{{"cwd":"{cwd}","x":1}}"#);
        assert_eq!(applied(&rewrite, &line("/w/app")), line("/new"));
        assert_eq!(applied(&rewrite, &line("/w/app/sub")), line("/new/sub"));
        assert_eq!(applied(&rewrite, &line("/w/application")), line("/w/application"));
    }

    #[test]
    fn lines_about_worktrees_follow_the_directory() {
        let rewrite = Rewrite::none().with_directory("/w/app", "/new");
        let line = |root: &str| {
            format!(
                r#"{{"type":"worktree-state","worktreeSession":{{"originalCwd":"{root}","worktreePath":"{root}/.claude/worktrees/x","name":"/w/apple"}},"relocatedCwd":"{root}/x"}}"#
            )
        };
        assert_eq!(applied(&rewrite, &line("/w/app")), line("/new"));
    }

    #[test]
    fn subagents_are_renamed_outside_of_what_was_said() {
        let rewrite = Rewrite::none().with_agent("ab12", "cd34");
        let line = |id: &str| {
            format!(
                r#"{{"agentId":"{id}","toolUseResult":{{"agentId":"{id}"}},"message":{{"agentId":"ab12"}}}}"#
            )
        };
        assert_eq!(applied(&rewrite, &line("ab12")), line("cd34"));
    }

    #[test]
    fn derived_uuids_are_spelled_like_random_ones() {
        let new = EntryUuid::from_bits(derived(NEW.parse().unwrap(), 7)).to_string();
        assert_eq!(&new[14..15], "4");
        assert!(matches!(&new[19..20], "8" | "9" | "a" | "b"));
    }
}
