//! What an archive says of itself, and what may be said.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use recto_log::SessionId;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;

use crate::log::log_file::LogName;
use crate::place::secret_name::can_be_secret;

/// The version of the format.
const FORMAT: u64 = 1;
/// The longest name of a file, and the deepest folder.
const LONGEST_NAME: usize = 255;
const DEEPEST: usize = 8;

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The version of recto that made it.
    pub recto: String,
    /// When it was made.
    pub created: Timestamp,
    /// The sessions.
    pub sessions: Vec<PackedSession>,
}

/// A session in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedSession {
    /// The session.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The directory that it was started in.
    pub directory: Option<String>,
    /// The name of its project's directory.
    pub project: String,
    /// Its files, the log first.
    pub files: Vec<PackedFile>,
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFile {
    /// What it is.
    pub role: Role,
    /// What it is called, below the place of its role; parts are divided by `/`.
    pub name: String,
    /// What its entry is called.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The hash of its content, in hexadecimal.
    pub sha256: String,
    /// When it was written last.
    pub modified: Timestamp,
}

/// What a file is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Its log.
    Log,
    /// A file of its folder: logs of subagents, long results.
    Folder,
    /// The log of a subagent beside the main log (clients up to 2.0.76).
    Agent,
    /// A list of things to do (clients up to 2.1.29).
    Todos,
    /// A task.
    Task,
    /// A file as it was before an edit.
    FileVersion,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 6] =
        [Role::Log, Role::Folder, Role::Agent, Role::Todos, Role::Task, Role::FileVersion];

    /// The name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            Role::Log => "log",
            Role::Folder => "folder",
            Role::Agent => "agent",
            Role::Todos => "todos",
            Role::Task => "task",
            Role::FileVersion => "file-version",
        }
    }

    /// The directory of the files of this role, below the home.
    pub(super) fn directory(self, id: SessionId, project: &str) -> PathBuf {
        let project = Path::new("projects").join(project);
        match self {
            Role::Log | Role::Agent => project,
            Role::Folder => project.join(id.to_string()),
            Role::Todos => PathBuf::from("todos"),
            Role::Task => Path::new("tasks").join(id.to_string()),
            Role::FileVersion => Path::new("file-history").join(id.to_string()),
        }
    }

    /// Whether a file of this role can have a name.
    pub(super) fn allows(self, id: SessionId, name: &str) -> bool {
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > DEEPEST || !parts.iter().all(|part| is_plain_part(part)) {
            return false;
        }
        let is_single = parts.len() == 1;
        match self {
            Role::Log => name == format!("{id}.jsonl"),
            Role::Agent => is_single && matches!(LogName::of(name), Some(LogName::Agent(_))),
            Role::Todos => {
                is_single && name.starts_with(&id.to_string()) && name.ends_with(".json")
            }
            Role::Folder | Role::Task | Role::FileVersion => true,
        }
    }
}

/// A part of a path that leads nowhere else, on any system, and is no secret.
fn is_plain_part(part: &str) -> bool {
    !part.is_empty()
        && part != "."
        && part != ".."
        && part.len() <= LONGEST_NAME
        && !part.chars().any(|c| c.is_control() || "/\\:".contains(c))
        && !can_be_secret(Path::new(part))
}

impl PackedSession {
    /// Where a file goes, below a home.
    pub(super) fn place(&self, file: &PackedFile) -> PathBuf {
        file.name
            .split('/')
            .fold(file.role.directory(self.id, &self.project), |path, part| path.join(part))
    }

    /// The size of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |all, file| all.saturating_add(file.bytes))
    }

    /// The session as JSON.
    pub fn json(&self) -> ObjectWriter {
        let files = self.files.iter().fold(ArrayWriter::new(), |all, file| {
            let object = ObjectWriter::new()
                .string("role", file.role.name())
                .string("name", &file.name)
                .string("path", &file.path)
                .number("bytes", file.bytes)
                .string("sha256", &file.sha256)
                .string("modified", &file.modified.to_string());
            all.json(&object.finish())
        });
        ObjectWriter::new()
            .string("id", &self.id.to_string())
            .string_or_null("title", self.title.as_deref())
            .string_or_null("cwd", self.directory.as_deref())
            .string("project", &self.project)
            .json("files", &files.finish())
    }

    fn read(value: Value<'_>) -> Result<PackedSession, String> {
        let text = |name: &str| value.str(name).map(|text| text.into_owned());
        let id: SessionId =
            text("id").and_then(|id| id.parse().ok()).ok_or("a session has an invalid id")?;
        let project = text("project").unwrap_or_default();
        let is_key = |project: &str| {
            !project.is_empty()
                && project.len() <= LONGEST_NAME
                && project.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !is_key(&project) {
            return Err(format!("session {id} names no project"));
        }
        let mut files = Vec::new();
        for file in value.get("files").into_iter().flat_map(Value::elements) {
            files.push(PackedFile::read(id, file)?);
        }
        let logs = files.iter().filter(|file| file.role == Role::Log).count();
        if logs != 1 || files.first().is_none_or(|file| file.role != Role::Log) {
            return Err(format!("session {id} does not begin with its one log"));
        }
        Ok(PackedSession { id, title: text("title"), directory: text("cwd"), project, files })
    }
}

impl PackedFile {
    fn read(id: SessionId, value: Value<'_>) -> Result<PackedFile, String> {
        let text = |key: &str| value.str(key).map(|text| text.into_owned()).unwrap_or_default();
        let (name, role) = (text("name"), text("role"));
        let role = Role::ALL.into_iter().find(|known| known.name() == role);
        let Some(role) = role.filter(|role| role.allows(id, &name)) else {
            return Err(format!("session {id} cannot have the file `{name}`"));
        };
        let sha256 = text("sha256");
        let bytes = value.get("bytes").and_then(Value::as_u64);
        let modified = text("modified").parse().ok();
        match (bytes, modified) {
            (Some(bytes), Some(modified)) if is_hash(&sha256) => {
                Ok(PackedFile { role, name, path: text("path"), bytes, sha256, modified })
            }
            _ => Err(format!("the size, hash or time of `{name}` is missing")),
        }
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl Manifest {
    /// The size of all files.
    pub fn bytes(&self) -> u64 {
        self.sessions.iter().fold(0, |all, session| all.saturating_add(session.bytes()))
    }

    /// How many files there are.
    pub fn file_count(&self) -> usize {
        self.sessions.iter().map(|session| session.files.len()).sum()
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let sessions = self.sessions.iter();
        let sessions =
            sessions.fold(ArrayWriter::new(), |all, session| all.json(&session.json().finish()));
        let mut bytes = ObjectWriter::new()
            .number("format", FORMAT)
            .string("recto", &self.recto)
            .string("created", &self.created.to_string())
            .json("sessions", &sessions.finish())
            .finish();
        bytes.push(b'\n');
        bytes
    }

    /// Reads a manifest, and refuses what no pack has written.
    pub(super) fn read(bytes: &[u8]) -> Result<Manifest, String> {
        let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let value = Value::parse(text).map_err(|error| format!("its manifest: {error}"))?;
        match value.get("format").and_then(Value::as_u64) {
            Some(FORMAT) => {}
            Some(newer) => {
                return Err(format!(
                    "its format is {newer}, and this version of recto only reads {FORMAT}"
                ));
            }
            None => return Err("its manifest has no format".to_owned()),
        }
        let created = value.str("created").and_then(|text| text.parse().ok());
        let created = created.ok_or("its manifest does not say when it was made")?;
        let recto = value.str("recto").map(|text| text.into_owned()).unwrap_or_default();
        let mut sessions = Vec::new();
        for session in value.get("sessions").into_iter().flat_map(Value::elements) {
            sessions.push(PackedSession::read(session)?);
        }
        let manifest = Manifest { recto, created, sessions };
        manifest.refuse_clashes()?;
        Ok(manifest)
    }

    fn refuse_clashes(&self) -> Result<(), String> {
        let mut ids = HashSet::new();
        let mut places = HashSet::new();
        for session in &self.sessions {
            if !ids.insert(session.id) {
                return Err(format!("it contains session {} twice", session.id));
            }
            for file in &session.files {
                if !places.insert(session.place(file)) {
                    return Err(format!("it contains `{}` twice", file.name));
                }
            }
        }
        Ok(())
    }
}
