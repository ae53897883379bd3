//! What a person at a terminal has written down: prompts that were typed, lines for `CLAUDE.md`,
//! rules for a settings file; and what a prompt may refer to: images, the branch.

use std::fs;
use std::io;
use std::io::Read as _;
use std::io::Seek as _;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::json;

/// How much of the end of the history is read.
const HISTORY_TAIL: u64 = 1 << 20;
/// The largest image that endpoints accept.
const LARGEST_IMAGE: u64 = 5 << 20;
/// Endings of images, and what they are.
const IMAGES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

/// Adds a prompt to the history, as clients do: one line, one write.
///
/// # Errors
///
/// If the file cannot be written.
pub fn add_prompt(history: &Path, text: &str, project: &Path, session: &str) -> io::Result<()> {
    let line = json!({
        "display": text,
        "pastedContents": {},
        "timestamp": jiff::Timestamp::now().as_millisecond(),
        "project": project,
        "sessionId": session,
    });
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(history)?.write_all(format!("{line}\n").as_bytes())
}

/// Prompts that were typed in a project, oldest first.
pub fn prompts(history: &Path, project: &Path) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(history)?;
        let length = file.metadata()?.len();
        file.seek(io::SeekFrom::Start(length.saturating_sub(HISTORY_TAIL)))?;
        let mut bytes = Vec::new();
        file.take(HISTORY_TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let mut prompts: Vec<String> = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        let is_here = line["project"].as_str().map(Path::new) == Some(project);
        let text = line["display"].as_str().filter(|text| is_here && !text.is_empty());
        if let Some(text) = text
            && prompts.last().map(String::as_str) != Some(text)
        {
            prompts.push(text.to_owned());
        }
    }
    prompts
}

/// Adds a line to a file of instructions.
///
/// # Errors
///
/// If the file cannot be written.
pub fn remember(file: &Path, text: &str) -> io::Result<()> {
    let before = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let gap = if before.is_empty() || before.ends_with(b"\n") { "" } else { "\n" };
    let line = format!("{gap}- {}\n", text.trim().replace('\n', "\n  "));
    let mut options = fs::OpenOptions::new();
    options.append(true).create(true).open(file)?.write_all(line.as_bytes())
}

/// Adds rules that allow to a settings file. All else in it stays, and the file is replaced in
/// one step; what it held is copied beside `backup` first.
///
/// # Errors
///
/// If the file is not JSON, or cannot be written.
pub fn keep_rules(file: &Path, rules: &[String], backup: &Path) -> io::Result<()> {
    let before = match fs::read(file) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "the file is not a JSON object");
    let mut settings: Value = match &before {
        Some(bytes) => serde_json::from_slice(bytes).map_err(|_| bad())?,
        None => json!({}),
    };
    let object = settings.as_object_mut().ok_or_else(bad)?;
    let permissions = object.entry("permissions").or_insert_with(|| json!({}));
    let permissions = permissions.as_object_mut().ok_or_else(bad)?;
    let allow = permissions.entry("allow").or_insert_with(|| json!([]));
    let allow = allow.as_array_mut().ok_or_else(bad)?;
    for rule in rules {
        if !allow.iter().any(|known| known == rule.as_str()) {
            allow.push(rule.as_str().into());
        }
    }
    let text = serde_json::to_string_pretty(&settings)?;
    if let Some(bytes) = before {
        if let Some(folder) = backup.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(backup, bytes)?;
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let staged = file.with_extension(format!("{}.recto", std::process::id()));
    fs::write(&staged, format!("{text}\n"))?;
    fs::rename(staged, file)
}

/// The branch of the repository that a directory is in.
pub fn branch(directory: &Path) -> Option<String> {
    let mut at = Some(directory);
    while let Some(folder) = at {
        let git = folder.join(".git");
        let git = match fs::read_to_string(&git) {
            // A worktree names the folder.
            Ok(text) => folder.join(text.trim().strip_prefix("gitdir:")?.trim()),
            Err(_) => git,
        };
        if let Ok(head) = fs::read_to_string(git.join("HEAD")) {
            let head = head.trim();
            let name = head.strip_prefix("ref: refs/heads/");
            let short = || head.chars().take(8).collect();
            return Some(name.map_or_else(short, str::to_owned));
        }
        at = folder.parent();
    }
    None
}

fn media_type(path: &str) -> Option<&'static str> {
    let end = Path::new(path).extension()?.to_str()?.to_ascii_lowercase();
    IMAGES.iter().find(|(known, _)| *known == end).map(|(_, kind)| *kind)
}

/// Whether a text is the path of an image that is there.
pub fn is_image(path: &str) -> bool {
    media_type(path).is_some() && fs::metadata(path).is_ok_and(|file| file.is_file())
}

/// The content of a prompt with images.
///
/// # Errors
///
/// If an image cannot be read, or is too large.
pub fn with_images(text: &str, images: &[PathBuf]) -> io::Result<Value> {
    let mut blocks = Vec::new();
    for path in images {
        let name = path.to_string_lossy();
        let kind = media_type(&name)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not an image"))?;
        if fs::metadata(path)?.len() > LARGEST_IMAGE {
            let why = format!("{name} is larger than 5 MB");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let data = BASE64_STANDARD.encode(fs::read(path)?);
        blocks.push(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": kind, "data": data},
        }));
    }
    blocks.push(json!({"type": "text", "text": text}));
    Ok(Value::Array(blocks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_that_of_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("history.jsonl");
        for (text, project) in [("one", "/a"), ("two", "/b"), ("three", "/a"), ("three", "/a")] {
            add_prompt(&file, text, Path::new(project), "s").unwrap();
        }
        assert_eq!(prompts(&file, Path::new("/a")), ["one", "three"]);
        let first = fs::read_to_string(&file).unwrap();
        assert!(first.starts_with(r#"{"display":"one","pastedContents":{},"timestamp":"#));
    }

    #[test]
    fn a_rule_is_added_to_what_a_settings_file_says() {
        let folder = tempfile::tempdir().unwrap();
        let (file, backup) = (folder.path().join(".claude/s.json"), folder.path().join("b/1"));
        let rules = ["Bash(npm test:*)".to_owned()];
        keep_rules(&file, &rules, &backup).unwrap();
        let old = r#"{"model":"opus","permissions":{"deny":["Read(.env)"],"allow":["Edit"]}}"#;
        fs::write(&file, old).unwrap();
        keep_rules(&file, &rules, &backup).unwrap();
        keep_rules(&file, &rules, &backup).unwrap();
        let new: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let wanted = json!({"model":"opus","permissions":{"deny":["Read(.env)"],"allow":["Edit","Bash(npm test:*)"]}});
        assert_eq!(new, wanted);
        fs::write(&file, "{ broken").unwrap();
        assert!(keep_rules(&file, &rules, &backup).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"{ broken");
    }

    #[test]
    fn a_note_is_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("CLAUDE.md");
        remember(&file, "use tabs").unwrap();
        fs::write(&file, "# App\nno line end").unwrap();
        remember(&file, "run make").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "# App\nno line end\n- run make\n");
    }
}
