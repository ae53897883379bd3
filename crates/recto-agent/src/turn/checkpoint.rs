//! Copies of files before a session changes them, so that a client can rewind.
//!
//! `file-history/<session>/<hash>@v<n>` holds version n of a file; the hash is of its path. A
//! line of the log says which copy belongs to which prompt.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;

/// A larger file is not kept.
const LARGEST: u64 = 64 << 20;

/// The files of a session that tools changed.
#[derive(Debug)]
pub(super) struct Checkpoints {
    folder: PathBuf,
    project: PathBuf,
    files: BTreeMap<PathBuf, Tracked>,
    /// The prompt that copies belong to, and the files that were copied for it.
    prompt: Option<String>,
    copied: Vec<PathBuf>,
    /// Copies of files as they were at each prompt, by their names; no name if there was no file.
    snapshots: Vec<(String, BTreeMap<PathBuf, Option<String>>)>,
    /// The copy of each file before it was changed first.
    first: BTreeMap<PathBuf, Option<String>>,
}

/// What setting files back changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rewound {
    pub(super) files: Vec<String>,
    pub(super) added: usize,
    pub(super) removed: usize,
}

#[derive(Debug, Clone)]
struct Tracked {
    version: u64,
    /// The hash of the copy; none for a file that did not exist.
    content: Option<[u8; 32]>,
    entry: Value,
}

impl Tracked {
    /// The name of the copy; none for a file that did not exist.
    fn copy_name(&self) -> Option<String> {
        self.entry.get("backupFileName").and_then(Value::as_str).map(str::to_owned)
    }
}

/// A copy that a line of the log tells about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Copied {
    /// The prompt whose snapshot it belongs to.
    pub(super) prompt: String,
    /// The path as the log spells it.
    pub(super) path: String,
    /// What the log says about the copy.
    pub(super) backup: Value,
}

impl Checkpoints {
    pub(super) fn new(folder: PathBuf, project: PathBuf) -> Checkpoints {
        Checkpoints {
            folder,
            project,
            files: BTreeMap::new(),
            prompt: None,
            copied: Vec::new(),
            snapshots: Vec::new(),
            first: BTreeMap::new(),
        }
    }

    /// A prompt begins: all files that were changed before, as they are now.
    pub(super) fn begin(&mut self, prompt: &str) -> Value {
        self.prompt = Some(prompt.to_owned());
        self.copied.clear();
        let paths: Vec<PathBuf> = self.files.keys().cloned().collect();
        let mut all = Map::new();
        let mut snapshot = BTreeMap::new();
        for path in paths {
            if self.copy(&path).is_ok()
                && let Some(tracked) = self.files.get(&path)
            {
                all.insert(self.spelled(&path), tracked.entry.clone());
                snapshot.insert(path, tracked.copy_name());
            }
        }
        self.snapshots.push((prompt.to_owned(), snapshot));
        Value::Object(all)
    }

    /// All copies that belong to a prompt by now.
    pub(super) fn all(&self) -> Value {
        let files = self.files.iter();
        let entry =
            |(path, tracked): (&PathBuf, &Tracked)| (self.spelled(path), tracked.entry.clone());
        Value::Object(files.map(entry).collect())
    }

    /// Copies a file that is about to change, once for each prompt.
    pub(super) fn before(&mut self, path: &Path) -> Option<Copied> {
        let prompt = self.prompt.clone()?;
        if self.copied.iter().any(|known| known == path) || self.files.contains_key(path) {
            return None;
        }
        self.copy(path).ok()?;
        self.copied.push(path.to_owned());
        let tracked = self.files.get(path)?;
        let (backup, name) = (tracked.entry.clone(), tracked.copy_name());
        self.first.entry(path.to_owned()).or_insert(name);
        Some(Copied { prompt, path: self.spelled(path), backup })
    }

    /// Sets files back to what they were when a prompt came; with `is_trial`, only says how.
    ///
    /// # Errors
    ///
    /// Why that cannot be done. Files that were set back before stay so.
    pub(super) fn rewind(&mut self, prompt: &str, is_trial: bool) -> Result<Rewound, String> {
        let snapshot = self.snapshots.iter().find(|(known, _)| known == prompt);
        let Some((_, snapshot)) = snapshot else {
            return Err("No file checkpoint found for this message.".to_owned());
        };
        let mut rewound = Rewound::default();
        for (path, first) in &self.first {
            let copy = snapshot.get(path).unwrap_or(first);
            let then = match copy {
                Some(name) => {
                    let bytes = fs::read(self.folder.join(name));
                    Some(bytes.map_err(|error| format!("{}: {error}", path.display()))?)
                }
                None => None,
            };
            let now = fs::read(path).ok();
            if then == now {
                continue;
            }
            rewound.files.push(path.display().to_string());
            let text = |bytes: &Option<Vec<u8>>| {
                String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
            };
            let (before, after) = (text(&now), text(&then));
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            let (before, after) = (lines(&before), lines(&after));
            for step in similar::capture_diff_slices(similar::Algorithm::Myers, &before, &after) {
                if step.tag() != similar::DiffTag::Equal {
                    rewound.removed += step.old_range().len();
                    rewound.added += step.new_range().len();
                }
            }
            if !is_trial {
                let done = match &then {
                    Some(bytes) => fs::write(path, bytes),
                    None => fs::remove_file(path),
                };
                done.map_err(|error| format!("{}: {error}", path.display()))?;
            }
        }
        Ok(rewound)
    }

    /// Inside the project, paths are relative to it.
    fn spelled(&self, path: &Path) -> String {
        path.strip_prefix(&self.project).unwrap_or(path).to_string_lossy().into_owned()
    }

    fn copy(&mut self, path: &Path) -> io::Result<()> {
        let metadata = match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() && metadata.len() <= LARGEST => Some(metadata),
            Ok(_) => return Err(io::ErrorKind::InvalidInput.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let bytes = metadata.map(|_| fs::read(path)).transpose()?;
        let content = bytes.as_ref().map(|bytes| <[u8; 32]>::from(Sha256::digest(bytes)));
        let version = match self.files.get(path) {
            Some(tracked) if tracked.content == content => return Ok(()),
            Some(tracked) => tracked.version + 1,
            None => self.free_version(path),
        };
        let name = format!("{}@v{version}", short_hash(path));
        if let Some(bytes) = &bytes {
            self.write(&name, bytes)?;
        }
        let parent = path.parent().unwrap_or(path);
        let parent = fs::canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
        let entry = json!({
            "backupFileName": bytes.is_some().then_some(name),
            "version": version,
            "backupTime": now(),
            "realParentDir": parent,
        });
        self.files.insert(path.to_owned(), Tracked { version, content, entry });
        Ok(())
    }

    /// A version behind all that earlier runs of the session have: their copies stay.
    fn free_version(&self, path: &Path) -> u64 {
        let start = format!("{}@v", short_hash(path));
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let versions = entries.filter_map(|entry| {
            let name = entry.file_name();
            name.to_str()?.strip_prefix(&start)?.parse::<u64>().ok()
        });
        1 + versions.max().unwrap_or_default()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            use std::os::unix::fs::OpenOptionsExt as _;
            builder.mode(0o700);
            options.mode(0o600);
        }
        builder.recursive(true).create(&self.folder)?;
        io::Write::write_all(&mut options.open(self.folder.join(name))?, bytes)
    }
}

fn short_hash(path: &Path) -> String {
    let hash = Sha256::digest(path.to_string_lossy().as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_of_a_file_is_one_version() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("app");
        fs::create_dir(&project).unwrap();
        let file = project.join("b.txt");
        fs::write(&file, "bravo\n").unwrap();
        let mut kept = Checkpoints::new(folder.path().join("kept"), project);
        assert_eq!(kept.begin("one"), json!({}));
        let copied = kept.before(&file).unwrap();
        assert_eq!((copied.prompt.as_str(), copied.path.as_str()), ("one", "b.txt"));
        let name = copied.backup["backupFileName"].as_str().unwrap().to_owned();
        assert_eq!(fs::read(folder.path().join("kept").join(&name)).unwrap(), b"bravo\n");
        // Once for each prompt.
        assert_eq!(kept.before(&file), None);
        fs::write(&file, "BRAVO\n").unwrap();
        let snapshot = kept.begin("two");
        assert_eq!(snapshot["b.txt"]["version"], 2);
        assert_eq!(kept.begin("three")["b.txt"]["version"], 2);
        let new = kept.before(&folder.path().join("app/new.txt")).unwrap();
        assert_eq!(new.backup["backupFileName"], Value::Null);
    }

    #[test]
    fn files_are_set_back_to_what_they_were_at_a_prompt() {
        let folder = tempfile::tempdir().unwrap();
        let (file, new) = (folder.path().join("b.txt"), folder.path().join("new.txt"));
        fs::write(&file, "one\n").unwrap();
        let mut kept = Checkpoints::new(folder.path().join("kept"), folder.path().to_owned());
        kept.begin("first");
        kept.before(&file).unwrap();
        fs::write(&file, "two\n").unwrap();
        kept.begin("second");
        kept.before(&new).unwrap();
        fs::write(&new, "new\n").unwrap();
        fs::write(&file, "three\n").unwrap();
        let trial = kept.rewind("second", true).unwrap();
        assert_eq!((trial.files.len(), trial.added, trial.removed), (2, 1, 2));
        assert_eq!(fs::read(&file).unwrap(), b"three\n");
        kept.rewind("second", false).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two\n");
        assert!(!new.exists());
        kept.rewind("first", false).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"one\n");
        assert!(kept.rewind("third", true).is_err());
    }

    /// The lines that a session writes about a prompt and its copies.
    fn lines(prompt: &str, before: &str, project: &Path, snapshot: &Value) -> String {
        let snapshot = json!({"type": "file-history-snapshot", "messageId": prompt, "snapshot": {"messageId": prompt, "trackedFileBackups": snapshot}});
        let parent = if before.is_empty() { Value::Null } else { before.into() };
        let line = json!({"type": "user", "uuid": prompt, "parentUuid": parent, "cwd": project, "message": {"role": "user", "content": prompt}});
        format!("{snapshot}\n{line}\n")
    }

    fn tree(project: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let files = fs::read_dir(project).unwrap().map(|entry| entry.unwrap().path());
        files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    #[test]
    fn after_500_turns_files_go_back_to_any_prompt_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let (project, copies) = (folder.path().join("app"), folder.path().join("copies"));
        fs::create_dir(&project).unwrap();
        let mut kept = Checkpoints::new(copies.clone(), project.clone());
        let mut log = String::new();
        let mut trees = Vec::new();
        let mut random: u64 = 88_172_645_463_325_252;
        let mut next = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        for turn in 0..500 {
            // Now and then the session is resumed by another process.
            if next(40) == 0 {
                kept = Checkpoints::new(copies.clone(), project.clone());
            }
            let prompt = format!("p{turn}");
            let before = if turn == 0 { String::new() } else { format!("p{}", turn - 1) };
            trees.push(tree(&project));
            log.push_str(&lines(&prompt, &before, &project, &kept.begin(&prompt)));
            for _ in 0..=next(3) {
                let file = project.join(format!("f{}", next(12)));
                if let Some(copied) = kept.before(&file) {
                    let delta = json!({"type": "file-history-delta", "messageId": "a", "snapshotMessageId": copied.prompt, "trackingPath": copied.path, "backup": copied.backup});
                    log.push_str(&format!("{delta}\n"));
                }
                match next(5) {
                    0 => drop(fs::remove_file(&file)),
                    _ => {
                        let bytes: Vec<u8> = (0..next(200)).map(|_| next(256) as u8).collect();
                        fs::write(&file, bytes).unwrap();
                    }
                }
            }
        }
        let last = tree(&project);
        let turns = recto_store::rewind::FileTurns::of(log.as_bytes(), copies);
        assert_eq!(turns.prompts.len(), 500);
        let record = folder.path().join("record");
        for (turn, wanted) in trees.iter().enumerate() {
            let plan = turns.plan(&format!("p{turn}")).unwrap();
            assert_eq!(plan.left, [], "turn {turn}");
            recto_store::rewind::carry_out(&plan, &record).unwrap();
            assert_eq!(tree(&project), *wanted, "turn {turn}");
            recto_store::rewind::bring_back(&record).unwrap();
            assert_eq!(tree(&project), last, "turn {turn}");
        }
    }

    #[test]
    fn the_name_of_a_copy_is_that_of_the_client() {
        assert_eq!(short_hash(Path::new("/home/dev/app/b.txt")), "f4661088e6996082");
    }
}
