//! What a host may look at: settings, rules and files of the project.

use std::borrow::Cow;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ignore::WalkBuilder;
use serde_json::Value;
use serde_json::json;

use super::super::shared::lock;
use super::desk::Desk;
use super::desk::Granted;
use super::desk::Refusal;
use crate::settings::Source;

/// How many files are known to suggestions, and how many one answer has.
const MOST_FILES: usize = 50_000;
const MOST_SUGGESTIONS: usize = 15;

/// The files of a project, as far as they are known. Nobody waits for them: a question that
/// comes first is answered with what is there by then.
#[derive(Debug, Default)]
pub(super) struct KnownFiles {
    found: Arc<Mutex<Vec<String>>>,
    is_looking: bool,
}

impl KnownFiles {
    /// Paths that have the letters of a query in their order, the shortest first.
    fn matching(&mut self, query: &str, root: &Path) -> Vec<String> {
        let mut matching: Vec<String> =
            lock(&self.found).iter().filter(|path| has_letters(path, query)).cloned().collect();
        matching.sort_by_key(String::len);
        matching.truncate(MOST_SUGGESTIONS);
        if !std::mem::replace(&mut self.is_looking, true) {
            let (found, root) = (Arc::clone(&self.found), root.to_owned());
            tokio::task::spawn_blocking(move || *lock(&found) = files_below(&root));
        }
        matching
    }
}

/// Whether a rule is in a file of the user, in this session alone, or somebody else's.
fn editability(source: Source) -> &'static str {
    match source {
        Source::User | Source::Project | Source::Local => "persistent",
        Source::CommandLine | Source::Session => "session",
        Source::Flag | Source::Command | Source::Managed => "readonly",
    }
}

fn files_below(root: &Path) -> Vec<String> {
    let entries = WalkBuilder::new(root).build().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let relative = |entry: ignore::DirEntry| {
        Some(entry.path().strip_prefix(root).ok()?.to_string_lossy().into_owned())
    };
    files.filter_map(relative).take(MOST_FILES).collect()
}

fn has_letters(path: &str, query: &str) -> bool {
    let mut letters = path.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|letter| letter == wanted))
}

impl Desk {
    /// The answer to `get_settings`.
    pub(super) fn settings(&self) -> Value {
        let shared = &self.shared;
        let sources = shared.settings.layers().iter();
        let sources =
            sources.map(|layer| json!({"source": layer.source.name(), "settings": layer.value}));
        let blocks_writes = lock(&shared.permissions).blocks_writes_outside();
        json!({
            "effective": shared.settings.merged(),
            "sources": sources.collect::<Vec<_>>(),
            "applied": {
                "model": shared.model(),
                "effort": shared.effort.as_deref().unwrap_or("medium"),
                "advisor": null,
                "ultracode": false,
                "ultracodeRequested": false,
                // There is no such mode here.
                "ultracodeAvailable": false,
                "ultrathinkAvailable": false,
                "outsideFileToolReadsBlocked": false,
                "outsideFileToolWritesBlocked": blocks_writes,
                "outsideBlocksCountLaunchFoldersOnly": false,
                "launchEnvLeftOwnFilesInPlace": true,
            },
        })
    }

    /// The answer to `list_permission_rules`.
    pub(super) fn permission_rules(&self) -> Value {
        let permissions = lock(&self.shared.permissions);
        let rules = permissions.rules().iter().map(|rule| {
            json!({
                "behavior": rule.behavior.name(),
                "source": rule.source.name(),
                "rule": rule.to_string(),
                "editability": editability(rule.source),
            })
        });
        let rules: Vec<Value> = rules.collect();
        drop(permissions);
        let directories = lock(&self.shared.place).additional.clone();
        let directories = directories.iter().map(|path| json!({"path": path, "source": "session"}));
        let directories: Vec<Value> = directories.collect();
        json!({"state": {
            "rules": rules,
            "workspaceDirectories": directories,
            "originalCwd": self.shared.places.project,
            "managedOnly": false,
        }})
    }

    /// The answer to `file_suggestions`.
    pub(super) fn suggest_files(&mut self, request: &Value) -> Value {
        let query = request["query"].as_str().unwrap_or_default();
        let cwd = self.tools.cwd();
        let suggestions = self.files.matching(query, &cwd);
        let suggestions = suggestions.into_iter().map(|path| json!({"path": path}));
        json!({"suggestions": suggestions.collect::<Vec<_>>(), "cwd": cwd})
    }

    /// The answer to `read_file`.
    pub(super) fn read_file(&self, request: &Value) -> Granted {
        let Some(wanted) = request["path"].as_str() else {
            return Err(Refusal::plain("path is missing"));
        };
        let path: PathBuf = self.shared.place_in(self.tools.cwd()).absolute(wanted);
        let bytes = recto_store::read_small(&path)
            .map_err(|error| Refusal::plain(format!("{wanted} cannot be read: {error}")))?;
        let most = request["max_bytes"].as_u64().and_then(|most| usize::try_from(most).ok());
        let read = bytes.get(..most.unwrap_or(bytes.len())).unwrap_or(&bytes);
        let mut answer = json!({"contents": "", "absPath": path});
        if request["encoding"] == "base64" {
            answer["contents"] = BASE64_STANDARD.encode(read).into();
            answer["encoding"] = "base64".into();
        } else {
            let text = String::from_utf8_lossy(read);
            answer["lossy"] = matches!(text, Cow::Owned(_)).into();
            answer["contents"] = text.into();
        }
        if read.len() < bytes.len() {
            answer["truncated"] = true.into();
        }
        answer["requested_path"] = wanted.into();
        Ok(Some(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_their_order_find_a_file() {
        assert!(has_letters("src/turn/Runner.rs", "trun"));
        assert!(has_letters("a.txt", "a.t"));
        assert!(!has_letters("a.txt", "ta"));
    }
}
