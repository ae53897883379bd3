//! Files that a session changed, set back to what they were before a prompt.
//!
//! Clients copy a file before they change it, and a line of the log says which copy belongs to
//! which prompt. From these lines alone, whoever wrote them, this room says what a session did
//! to the tree and takes it back. What was there before is kept, so that taking back can be
//! taken back as well.
//!
//! A log can name any path. Only files inside the directory of the session are touched, and
//! none through a link that leads out of it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use recto_log::EntryUuid;
use recto_log::FileHistory;
use recto_log::LineReader;
use recto_log::Lines;
use recto_log::RawLine;
use recto_log::UserText;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_session::Item;

use crate::Home;
use crate::SessionFile;
use crate::StoreError;
use crate::place::durable::make_directory;
use crate::place::open::open_file;

/// The name of the file that lists what was kept.
const RECORD: &str = "record.jsonl";

/// A copy of a file: its name in the file history; none if there was no file.
type Backup = Option<String>;

/// A prompt, and what is known of files when it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptFiles {
    /// The line of the prompt.
    pub uuid: String,
    /// The line before it.
    pub parent: Option<String>,
    /// Its text.
    pub text: String,
}

/// What a session did to files.
#[derive(Debug, Clone, Default)]
pub struct FileTurns {
    /// The prompts of the conversation as it is now, oldest first.
    pub prompts: Vec<PromptFiles>,
    /// All snapshots in the order of the log, those of prompts that were left behind, too.
    snapshots: Vec<(String, BTreeMap<PathBuf, Backup>)>,
    /// The directory of the session.
    pub directory: PathBuf,
    copies: PathBuf,
}

/// A file that differs from what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// What it holds now; none if there is no file.
    pub now: Option<Vec<u8>>,
    /// What it held then.
    pub then: Option<Vec<u8>>,
}

/// What setting files back would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RewindPlan {
    /// The files that would change.
    pub changes: Vec<FileChange>,
    /// Files that stay as they are, and why.
    pub left: Vec<(PathBuf, String)>,
}

/// A log on its way to [`FileTurns`].
#[derive(Debug, Default)]
struct Reading {
    turns: FileTurns,
    parents: HashMap<EntryUuid, Option<EntryUuid>>,
    leaf: Option<EntryUuid>,
    prompts: Vec<(EntryUuid, Option<EntryUuid>, String)>,
}

impl Reading {
    fn push(&mut self, line: RawLine<'_>) {
        let (entry, _) = recto_log::decode(line);
        if let Some(history) = entry.file_history() {
            self.turns.note(&history, entry.uuid_field("snapshotMessageId"));
            return;
        }
        let Some(uuid) = entry.uuid().filter(|_| !entry.is_sidechain()) else { return };
        if self.turns.directory.as_os_str().is_empty()
            && let Some(directory) = entry.cwd()
        {
            self.turns.directory = PathBuf::from(directory.as_ref());
        }
        let parent = entry.parent_uuid();
        for item in recto_session::items(&entry) {
            if let Item::Prompt { text, kind: UserText::Human | UserText::Command, .. } = item
                && !entry.is_meta()
            {
                self.prompts.push((uuid.clone(), parent.clone(), text));
            }
        }
        self.parents.insert(uuid.clone(), parent);
        self.leaf = Some(uuid);
    }

    fn finish(mut self, copies: PathBuf) -> FileTurns {
        let mut chain = BTreeSet::new();
        let mut at = self.leaf;
        while let Some(uuid) = at {
            if !chain.insert(uuid.to_string()) {
                break;
            }
            at = self.parents.get(&uuid).cloned().flatten();
        }
        let turns = &mut self.turns;
        turns.copies = copies;
        for (uuid, parent, text) in self.prompts {
            let uuid = uuid.to_string();
            let is_twice = turns.prompts.last().is_some_and(|last| last.uuid == uuid);
            if !is_twice && chain.contains(&uuid) {
                let parent = parent.map(|parent| parent.to_string());
                turns.prompts.push(PromptFiles { uuid, parent, text });
            }
        }
        self.turns
    }
}

impl FileTurns {
    /// Reads what a log says about files.
    ///
    /// # Errors
    ///
    /// If the log cannot be read.
    pub fn read(home: &Home, session: &SessionFile) -> Result<FileTurns, StoreError> {
        let mut reading = Reading::default();
        let mut lines = LineReader::new(open_file(&session.path)?);
        while let Some(line) = lines.next_line()? {
            reading.push(line);
        }
        Ok(reading.finish(home.file_history().join(session.id.to_string())))
    }

    /// Reads lines of a log, with the folder of its copies.
    pub fn of(bytes: &[u8], copies: PathBuf) -> FileTurns {
        let mut reading = Reading::default();
        for line in Lines::new(bytes) {
            reading.push(line);
        }
        reading.finish(copies)
    }

    fn note(&mut self, history: &FileHistory<'_>, other: Option<EntryUuid>) {
        match history {
            FileHistory::Snapshot { message, files, .. } => {
                let Some(message) = message else { return };
                let mut copies = BTreeMap::new();
                for member in files.iter().flat_map(|files| files.members()) {
                    let backup = member.value.get("backupFileName");
                    let name = backup.and_then(|name| name.as_str());
                    copies.insert(
                        PathBuf::from(member.key().as_ref()),
                        name.map(std::borrow::Cow::into_owned),
                    );
                }
                self.snapshot(&message.to_string()).extend(copies);
            }
            FileHistory::Delta { message, path, backup } => {
                let Some(prompt) = other.as_ref().or(message.as_ref()) else { return };
                let Some(path) = path else { return };
                let name = backup.and_then(|backup| backup.get("backupFileName"));
                let name = name.and_then(|name| name.as_str()).map(std::borrow::Cow::into_owned);
                let path = PathBuf::from(path.as_ref());
                self.snapshot(&prompt.to_string()).entry(path).or_insert(name);
            }
        }
    }

    fn snapshot(&mut self, prompt: &str) -> &mut BTreeMap<PathBuf, Backup> {
        let at = match self.snapshots.iter().position(|(known, _)| known == prompt) {
            Some(at) => at,
            None => {
                self.snapshots.push((prompt.to_owned(), BTreeMap::new()));
                self.snapshots.len() - 1
            }
        };
        &mut self.snapshots[at].1
    }

    /// What setting files back to a prompt would do. Nothing is changed.
    ///
    /// # Errors
    ///
    /// If the log has no snapshot for the prompt, or a file cannot be read.
    pub fn plan(&self, prompt: &str) -> Result<RewindPlan, StoreError> {
        let Some(at) = self.snapshots.iter().position(|(known, _)| known == prompt) else {
            return Ok(RewindPlan::default());
        };
        // A file that was tracked only later was until then what its first copy says.
        let mut wanted: BTreeMap<PathBuf, Backup> = BTreeMap::new();
        for (_, copies) in &self.snapshots[at..] {
            for (path, copy) in copies {
                wanted.entry(self.directory.join(path)).or_insert_with(|| copy.clone());
            }
        }
        let mut plan = RewindPlan::default();
        for (path, copy) in wanted {
            match self.change(&path, copy.as_deref()) {
                Ok(Some(change)) => plan.changes.push(change),
                Ok(None) => {}
                Err(why) => plan.left.push((path, why)),
            }
        }
        Ok(plan)
    }

    /// What a session did to files, from its first prompt to now.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn whole_plan(&self) -> Result<RewindPlan, StoreError> {
        match self.snapshots.first() {
            Some((prompt, _)) => self.plan(prompt),
            None => Ok(RewindPlan::default()),
        }
    }

    /// The last prompt after which files changed.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn last_changed(&self) -> Result<Option<(&PromptFiles, RewindPlan)>, StoreError> {
        for prompt in self.prompts.iter().rev() {
            let plan = self.plan(&prompt.uuid)?;
            if !plan.changes.is_empty() {
                return Ok(Some((prompt, plan)));
            }
        }
        Ok(None)
    }

    fn change(&self, path: &Path, copy: Option<&str>) -> Result<Option<FileChange>, String> {
        is_ours(&self.directory, path)?;
        let then = match copy {
            Some(name) if name.contains(['/', '\\']) || name.starts_with('.') => {
                return Err("its copy has an odd name".to_owned());
            }
            Some(name) => {
                let copy = self.copies.join(name);
                Some(fs::read(copy).map_err(|_| "its copy no longer exists".to_owned())?)
            }
            None => None,
        };
        let now = content(path).map_err(|error| error.to_string())?;
        Ok((now != then).then(|| FileChange { path: path.to_owned(), now, then }))
    }
}

/// A file may be set back if it is inside the directory and no link leads elsewhere.
fn is_ours(directory: &Path, path: &Path) -> Result<(), String> {
    let outside = || "it is outside the session's directory".to_owned();
    let parts = path.strip_prefix(directory).map_err(|_| outside())?;
    let is_plain = |part: std::path::Component<'_>| matches!(part, std::path::Component::Normal(_));
    if !parts.components().all(is_plain) {
        return Err(outside());
    }
    let real = fs::canonicalize(directory).map_err(|error| error.to_string())?;
    let mut above = path.parent();
    while let Some(folder) = above {
        if let Ok(found) = fs::canonicalize(folder) {
            return if found.starts_with(&real) { check_file(path) } else { Err(outside()) };
        }
        above = folder.parent();
    }
    Err(outside())
}

fn check_file(path: &Path) -> Result<(), String> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err("it is no longer a file".to_owned()),
        _ => Ok(()),
    }
}

fn content(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Carries a plan out. What the files held is kept below `kept` first; gives the number under
/// which [`bring_back`] finds it.
///
/// # Errors
///
/// If a file cannot be written. Files before it are set back, and kept.
pub fn carry_out(plan: &RewindPlan, kept: &Path) -> Result<u32, StoreError> {
    let number = 1 + numbers(kept).last().copied().unwrap_or_default();
    let folder = kept.join(number.to_string());
    make_directory(kept)?;
    make_directory(&folder)?;
    let mut record = Vec::new();
    for (at, change) in plan.changes.iter().enumerate() {
        let mut line = ObjectWriter::new().string("path", &change.path.to_string_lossy());
        if let Some(now) = &change.now {
            let name = at.to_string();
            fs::write(folder.join(&name), now)?;
            line = line.string("kept", &name);
        }
        record.extend(line.finish());
        record.push(b'\n');
    }
    fs::write(folder.join(RECORD), record)?;
    for change in &plan.changes {
        put(&change.path, change.then.as_deref())?;
    }
    Ok(number)
}

/// Brings back what the last [`carry_out`] replaced; the plan of it, if there was one.
///
/// # Errors
///
/// If a file cannot be read or written.
pub fn bring_back(kept: &Path) -> Result<Option<RewindPlan>, StoreError> {
    let Some(number) = numbers(kept).last().copied() else { return Ok(None) };
    let folder = kept.join(number.to_string());
    let record = fs::read(folder.join(RECORD))?;
    let mut plan = RewindPlan::default();
    for line in Lines::new(&record) {
        let Ok(line) = Value::parse(line.bytes) else { continue };
        let Some(path) = line.str("path").map(|path| PathBuf::from(path.as_ref())) else {
            continue;
        };
        let then = match line.str("kept") {
            Some(name) => Some(fs::read(folder.join(name.as_ref()))?),
            None => None,
        };
        let now = content(&path)?;
        if now != then {
            plan.changes.push(FileChange { path, now, then });
        }
    }
    for change in &plan.changes {
        put(&change.path, change.then.as_deref())?;
    }
    fs::remove_dir_all(folder)?;
    Ok(Some(plan))
}

fn numbers(kept: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(kept) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<u32> = names.collect();
    numbers.sort_unstable();
    numbers
}

/// Writes a file in one step, with the mode that it had; or removes it.
fn put(path: &Path, content: Option<&[u8]>) -> Result<(), StoreError> {
    let Some(content) = content else {
        return match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        };
    };
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    let mode = fs::metadata(path).ok().map(|metadata| metadata.permissions());
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let staged = folder.join(format!(".{name}.{}.recto", std::process::id()));
    fs::write(&staged, content)?;
    if let Some(mode) = mode {
        fs::set_permissions(&staged, mode)?;
    }
    fs::rename(&staged, path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(prompt: &str, files: &[(&str, Option<&str>)]) -> String {
        let files: Vec<String> = files
            .iter()
            .map(|(path, name)| {
                let name = name.map_or("null".to_owned(), |name| format!("\"{name}\""));
                format!(r#""{path}":{{"backupFileName":{name},"version":1}}"#)
            })
            .collect();
        format!(
            r#"{{"type":"file-history-snapshot","messageId":"{prompt}","snapshot":{{"messageId":"{prompt}","trackedFileBackups":{{{}}}}},"isSnapshotUpdate":false}}"#,
            files.join(",")
        )
    }

    fn prompt(uuid: &str, parent: Option<&str>, cwd: &Path) -> String {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"cwd":"{}","message":{{"role":"user","content":"do {uuid}"}}}}"#,
            cwd.display()
        )
    }

    struct Trial {
        folder: tempfile::TempDir,
    }

    impl Trial {
        fn new() -> Trial {
            let folder = tempfile::tempdir().unwrap();
            for name in ["app", "copies"] {
                fs::create_dir(folder.path().join(name)).unwrap();
            }
            Trial { folder }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn turns(&self, lines: &[String]) -> FileTurns {
            FileTurns::of(lines.join("\n").as_bytes(), self.path("copies"))
        }
    }

    #[test]
    fn files_go_back_and_come_back() {
        let trial = Trial::new();
        fs::write(trial.path("copies/a@v1"), "one").unwrap();
        fs::write(trial.path("app/a.txt"), "two").unwrap();
        fs::write(trial.path("app/new.txt"), "new").unwrap();
        let app = trial.path("app");
        let lines = [
            snapshot("p1", &[("a.txt", Some("a@v1"))]),
            prompt("p1", None, &app),
            snapshot("p2", &[("new.txt", None)]),
            prompt("p2", Some("p1"), &app),
        ];
        let turns = trial.turns(&lines);
        assert_eq!(turns.prompts.len(), 2);
        let (last, plan) = turns.last_changed().unwrap().unwrap();
        assert_eq!((last.uuid.as_str(), plan.changes.len()), ("p2", 1));
        let plan = turns.plan("p1").unwrap();
        assert_eq!(plan.changes.len(), 2);
        let kept = trial.path("kept");
        carry_out(&plan, &kept).unwrap();
        assert_eq!(fs::read(trial.path("app/a.txt")).unwrap(), b"one");
        assert!(fs::metadata(trial.path("app/new.txt")).is_err());
        assert_eq!(bring_back(&kept).unwrap().unwrap().changes.len(), 2);
        assert_eq!(fs::read(trial.path("app/a.txt")).unwrap(), b"two");
        assert_eq!(fs::read(trial.path("app/new.txt")).unwrap(), b"new");
        assert!(bring_back(&kept).unwrap().is_none());
    }

    #[test]
    fn a_log_leads_to_no_file_outside_its_directory() {
        let trial = Trial::new();
        fs::write(trial.path("copies/x"), "evil").unwrap();
        fs::write(trial.path("secret"), "mine").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(trial.folder.path(), trial.path("app/out")).unwrap();
        let outside = trial.path("secret").display().to_string();
        let files = [
            (outside.as_str(), Some("x")),
            ("../secret", Some("x")),
            ("out/secret", Some("x")),
            ("b.txt", Some("../secret")),
            ("c.txt", Some("gone")),
        ];
        let lines = [snapshot("p1", &files), prompt("p1", None, &trial.path("app"))];
        let plan = trial.turns(&lines).plan("p1").unwrap();
        assert_eq!(plan.changes, []);
        assert_eq!(plan.left.len(), 5, "{:?}", plan.left);
    }

    #[test]
    fn prompts_that_were_left_behind_are_not_offered() {
        let trial = Trial::new();
        let app = trial.path("app");
        let lines = [
            prompt("p1", None, &app),
            prompt("p2", Some("p1"), &app),
            prompt("p3", Some("p1"), &app),
        ];
        let turns = trial.turns(&lines);
        let uuids: Vec<&str> = turns.prompts.iter().map(|prompt| prompt.uuid.as_str()).collect();
        assert_eq!(uuids, ["p1", "p3"]);
    }
}
