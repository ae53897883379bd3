//! `CLAUDE.md` files: the administrator's, the user's, those of the project and of the
//! directories above it, and local ones that are not shared.

use std::path::Path;
use std::path::PathBuf;

use recto_store::StoreError;
use recto_store::read_small;
use serde_json::Value;
use serde_json::json;

use crate::memory::imports::imports;
use crate::permission::Place;
use crate::settings::Wanted;

/// Imports of imports are followed this far.
const DEEPEST: usize = 5;
/// More files than this are not read.
const MOST: usize = 200;
/// A larger file is not an instruction.
const LARGEST: usize = 1024 * 1024;

/// Whose instructions they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The administrator's.
    Managed,
    /// The user's, for all projects.
    User,
    /// The project's.
    Project,
    /// The user's, for this project.
    Local,
}

impl Kind {
    /// The name in log lines and hooks.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Managed => "Managed",
            Kind::User => "User",
            Kind::Project => "Project",
            Kind::Local => "Local",
        }
    }
}

/// A file with instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub kind: Kind,
    /// What it says, without the blanks around it.
    pub content: String,
    /// The file that imports it.
    pub parent: Option<PathBuf>,
    /// Whether it was found below the project, because of a file that was read there.
    pub nested: bool,
}

impl Loaded {
    /// `load_reason` of `InstructionsLoaded`.
    pub fn reason(&self) -> &'static str {
        match (&self.parent, self.nested) {
            (Some(_), _) => "include",
            (None, true) => "nested_traversal",
            (None, false) => "session_start",
        }
    }
}

/// Where instructions are looked for, and what may be read for them.
#[derive(Debug, Clone)]
pub struct Roots<'a> {
    /// The session's directories.
    pub place: &'a Place,
    /// `--setting-sources`.
    pub wanted: Wanted,
    /// The administrator's file.
    pub managed: PathBuf,
}

/// All instructions of a session.
#[derive(Debug, Clone, Default)]
pub struct Instructions {
    /// What was read. An imported file comes before the file that imports it.
    pub files: Vec<Loaded>,
    /// What was not read, and why.
    pub skipped: Vec<(PathBuf, String)>,
}

impl Instructions {
    /// Reads the instructions at the start of a session.
    pub fn read(roots: &Roots<'_>) -> Self {
        let mut found = Instructions::default();
        let place = roots.place;
        if let Some(folder) = roots.managed.parent() {
            found.add(&roots.managed, Kind::Managed, &[folder], false);
        }
        if roots.wanted.user {
            let path = place.claude.join("CLAUDE.md");
            found.add(&path, Kind::User, &[place.claude.as_path(), place.home.as_path()], false);
        }
        // The nearest directory has the last word.
        let mut above: Vec<&Path> = place.project.ancestors().collect();
        above.reverse();
        for folder in above {
            found.add_folder(roots, folder, false);
        }
        found
    }

    /// Reads the instructions of directories between the project and a file that is read there.
    pub fn read_nested(&mut self, roots: &Roots<'_>, file: &Path) -> &[Loaded] {
        let before = self.files.len();
        let project = &roots.place.project;
        let inside = file.strip_prefix(project).ok().and_then(Path::parent);
        let mut folder = project.clone();
        for name in inside.into_iter().flat_map(Path::iter) {
            folder.push(name);
            self.add_folder(roots, &folder.clone(), true);
        }
        self.files.get(before..).unwrap_or_default()
    }

    /// The `instructions` attachment of the log.
    pub fn attachment(&self) -> Value {
        let files = self.files.iter().map(
            |file| json!({ "path": file.path, "type": file.kind.name(), "content": file.content }),
        );
        json!({ "type": "instructions", "files": files.collect::<Vec<_>>() })
    }

    fn add_folder(&mut self, roots: &Roots<'_>, folder: &Path, nested: bool) {
        // Files of a project may import what is in the project; those above it, what is there.
        let project = &roots.place.project;
        let root = if folder.starts_with(project) { project.as_path() } else { folder };
        let additional = roots.place.additional.iter().map(PathBuf::as_path);
        let allowed: Vec<&Path> = std::iter::once(root).chain(additional).collect();
        if roots.wanted.project {
            self.add(&folder.join("CLAUDE.md"), Kind::Project, &allowed, nested);
            // `~/.claude/CLAUDE.md` is the user's, wherever the project is.
            if folder.join(".claude") != roots.place.claude {
                self.add(&folder.join(".claude/CLAUDE.md"), Kind::Project, &allowed, nested);
            }
        }
        if roots.wanted.local {
            self.add(&folder.join("CLAUDE.local.md"), Kind::Local, &allowed, nested);
        }
    }

    fn add(&mut self, path: &Path, kind: Kind, allowed: &[&Path], nested: bool) {
        let from = From { kind, allowed, nested };
        self.add_file(path, &from, None, 0);
    }

    fn add_file(&mut self, path: &Path, from: &From<'_>, parent: Option<&Path>, depth: usize) {
        if self.files.len() >= MOST || self.files.iter().any(|file| file.path == path) {
            return;
        }
        let content = match read(path, from.allowed) {
            Ok(Some(content)) => content,
            Ok(None) => return,
            Err(why) => return self.skipped.push((path.to_owned(), why)),
        };
        // Its place is taken before its imports are read, so that a circle ends.
        let at = self.files.len();
        self.files.push(Loaded {
            path: path.to_owned(),
            kind: from.kind,
            content: content.trim().to_owned(),
            parent: parent.map(Path::to_owned),
            nested: from.nested,
        });
        let folder = path.parent().unwrap_or(path);
        for import in imports(&content) {
            let imported = from.absolute(import, folder);
            match depth < DEEPEST {
                true => self.add_file(&imported, from, Some(path), depth + 1),
                false => self.skipped.push((imported, "imported too deep".to_owned())),
            }
        }
        if let Some(files) = self.files.get_mut(at..) {
            files.rotate_left(1);
        }
    }
}

struct From<'a> {
    kind: Kind,
    allowed: &'a [&'a Path],
    nested: bool,
}

impl From<'_> {
    fn absolute(&self, import: &str, folder: &Path) -> PathBuf {
        // The home is where the user's own files may be, and nobody else's.
        let home = self.allowed.last().filter(|_| self.kind == Kind::User);
        let path = match (import.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => folder.join(import),
        };
        recto_store::without_dots(&path)
    }
}

/// The text of a file, if it is one and no link leads out of what may be read.
fn read(path: &Path, allowed: &[&Path]) -> Result<Option<String>, String> {
    let real = match std::fs::canonicalize(path) {
        Ok(real) => real,
        Err(_) => return Ok(None),
    };
    let inside =
        |root: &&Path| std::fs::canonicalize(root).is_ok_and(|root| real.starts_with(root));
    if !allowed.iter().any(inside) {
        return Err("outside the directories that instructions may come from".to_owned());
    }
    match read_small(&real) {
        Ok(bytes) if bytes.len() > LARGEST => Err("too large".to_owned()),
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(StoreError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Trial {
        _directory: tempfile::TempDir,
        root: PathBuf,
        place: Place,
    }

    fn trial(files: &[(&str, &str)]) -> Trial {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(root.join("home/app/deep/er")).unwrap();
        let place = Place::new(root.join("home/app"), root.join("home"));
        Trial { _directory: directory, root, place }
    }

    impl Trial {
        fn roots(&self) -> Roots<'_> {
            let managed = self.root.join("etc/CLAUDE.md");
            Roots { place: &self.place, wanted: Wanted::default(), managed }
        }

        fn contents(&self) -> Vec<String> {
            Instructions::read(&self.roots()).files.into_iter().map(|file| file.content).collect()
        }
    }

    #[test]
    fn the_nearest_file_comes_last_and_imports_come_before_their_importer() {
        let trial = trial(&[
            ("etc/CLAUDE.md", "managed"),
            ("home/.claude/CLAUDE.md", "user @~/more.md"),
            ("home/more.md", "more of the user"),
            ("home/CLAUDE.md", "above"),
            ("home/app/CLAUDE.md", "project @docs/a.md\n"),
            ("home/app/docs/a.md", "a @b.md"),
            ("home/app/docs/b.md", "b @../CLAUDE.md"),
            ("home/app/.claude/CLAUDE.md", "hidden"),
            ("home/app/CLAUDE.local.md", "local"),
            ("home/app/deep/CLAUDE.md", "nested"),
        ]);
        let expected = [
            "managed",
            "more of the user",
            "user @~/more.md",
            "above",
            "b @../CLAUDE.md",
            "a @b.md",
            "project @docs/a.md",
            "hidden",
            "local",
        ];
        assert_eq!(trial.contents(), expected);
        let mut found = Instructions::read(&trial.roots());
        let file = trial.place.project.join("deep/er/x.rs");
        let nested = found.read_nested(&trial.roots(), &file);
        assert_eq!(nested.len(), 1);
        assert_eq!(
            (nested[0].content.as_str(), nested[0].reason()),
            ("nested", "nested_traversal")
        );
        assert!(found.read_nested(&trial.roots(), &file).is_empty());
    }

    #[test]
    fn nothing_outside_the_project_is_imported_and_no_link_leads_there() {
        let trial = trial(&[
            ("home/app/CLAUDE.md", "@../secret.md @/etc/hostname @~/secret.md @link.md @folder.md"),
            ("home/secret.md", "secret"),
        ]);
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret.md", trial.place.project.join("link.md")).unwrap();
        fs::create_dir(trial.place.project.join("folder.md")).unwrap();
        let found = Instructions::read(&trial.roots());
        assert_eq!(found.files.len(), 1);
        let skipped = found.skipped.iter().any(|(path, _)| path.ends_with("home/secret.md"));
        assert!(skipped, "{:?}", found.skipped);
    }

    #[test]
    fn imports_end_at_a_depth_and_sources_can_be_left_out() {
        let chain: Vec<(String, String)> =
            (0..9).map(|n| (format!("home/app/{n}.md"), format!("{n} @{}.md", n + 1))).collect();
        let mut files: Vec<(&str, &str)> =
            chain.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        files.push(("home/app/CLAUDE.md", "top @0.md"));
        files.push(("home/app/CLAUDE.local.md", "local"));
        let trial = trial(&files);
        let contents = trial.contents();
        assert_eq!(contents.first().map(String::as_str), Some("4 @5.md"));
        let wanted = Wanted { user: true, project: false, local: true };
        let found = Instructions::read(&Roots { wanted, ..trial.roots() });
        assert_eq!(found.files.len(), 1);
        assert_eq!(found.attachment()["files"][0]["type"], "Local");
    }
}
