//! The files of a case: those that it begins with, and those that it changed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::time::SystemTime;

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;

use super::like;
use super::like::Bindings;

pub(in crate::parity) const HOME: &str = "/home/dev";
pub(in crate::parity) const APP: &str = "/home/dev/app";

/// Files with more bytes are recorded by their length and hash.
const LARGE: usize = 40_000;

/// Empties a directory.
pub(in crate::parity) fn empty(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&path);
            fs::remove_dir_all(&path).ok();
        } else {
            fs::remove_file(&path).ok();
        }
    }
}

/// Directories of cases may not be writable.
fn open_up(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).ok();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// Where a path of a recording is.
pub(in crate::parity) fn place(path: &str) -> PathBuf {
    Path::new(APP).join(path)
}

/// Makes the directory of a case, with what is in it.
pub(in crate::parity) fn prepare(setup: &Value) -> anyhow::Result<()> {
    fs::create_dir_all(APP)?;
    empty(Path::new(APP));
    write(&setup["home"])?;
    write(&setup["files"])?;
    for command in setup["prepare"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(APP).status().context("cannot run sh")?;
    }
    Ok(())
}

/// Something that happens outside between calls.
pub(in crate::parity) fn change(what: &Value) -> anyhow::Result<()> {
    write(&what["write"])?;
    for name in what["remove"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let path = place(name);
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    for (name, seconds) in what["utime"].as_object().into_iter().flatten() {
        set_time(&place(name), seconds.as_f64().unwrap_or_default())?;
    }
    Ok(())
}

/// Writes the files of `setup.files` or `setup.home`.
pub(in crate::parity) fn write(files: &Value) -> anyhow::Result<()> {
    let mut directories = Vec::new();
    for (name, file) in files.as_object().into_iter().flatten() {
        let path = place(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        if let Some(target) = file.get("link").and_then(Value::as_str) {
            symlink(target, &path)?;
            continue;
        }
        if file.get("dir").is_some() {
            fs::create_dir_all(&path)?;
            directories.push((path, file));
            continue;
        }
        fs::write(&path, content(file).with_context(|| format!("{name} has no content"))?)?;
        adjust(&path, file)?;
    }
    // What is in a directory is written before it may be closed.
    for (path, file) in directories {
        adjust(&path, file)?;
    }
    Ok(())
}

fn content(file: &Value) -> Option<Vec<u8>> {
    if let Some(text) = file.as_str().or_else(|| file.get("text")?.as_str()) {
        return Some(text.as_bytes().to_vec());
    }
    if let Some(data) = file.get("base64") {
        return BASE64_STANDARD.decode(data.as_str()?).ok();
    }
    let repeat = file.get("repeat").or_else(|| file.get("text")?.get("repeat"))?;
    let (text, count) = (repeat.get(0)?.as_str()?, repeat.get(1)?.as_u64()?);
    let all: String = (1..=count).map(|at| text.replace("{i}", &at.to_string())).collect();
    Some(all.into_bytes())
}

fn adjust(path: &Path, file: &Value) -> anyhow::Result<()> {
    if let Some(seconds) = file.get("mtime").and_then(Value::as_f64) {
        set_time(path, seconds)?;
    }
    let mode = file.get("mode").and_then(Value::as_str);
    if let Some(mode) = mode.and_then(|mode| u32::from_str_radix(mode, 8).ok()) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}

pub(in crate::parity) fn set_time(path: &Path, seconds: f64) -> anyhow::Result<()> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds);
    fs::File::open(path)?.set_modified(time)?;
    Ok(())
}

/// A file as a recording tells it.
#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Directory,
    Link(String),
    File { bytes: Vec<u8>, mode: u32 },
}

impl Entry {
    /// As a recording tells it.
    fn told(&self) -> Value {
        let (bytes, mode) = match self {
            Entry::Directory => return json!({"dir": true}),
            Entry::Link(target) => return json!({"link": target}),
            Entry::File { bytes, mode } => (bytes, mode),
        };
        let mut told = serde_json::Map::new();
        match std::str::from_utf8(bytes) {
            _ if bytes.len() > LARGE => {
                let part = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes).into_owned());
                told.insert("bytes".into(), bytes.len().into());
                let hash = sha2::Sha256::digest(bytes);
                let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                told.insert("sha256".into(), hash.into());
                told.insert("head".into(), part(bytes.get(..300).unwrap_or_default()));
                told.insert(
                    "tail".into(),
                    part(bytes.get(bytes.len() - 300..).unwrap_or_default()),
                );
            }
            Ok(text) => drop(told.insert("text".into(), text.into())),
            Err(_) => drop(told.insert("base64".into(), BASE64_STANDARD.encode(bytes).into())),
        }
        if *mode != 0o644 {
            told.insert("mode".into(), format!("{mode:o}").into());
        }
        Value::Object(told)
    }
}

/// Whether a recording tells of a path: not of what the client keeps for itself.
fn is_recorded(path: &str) -> bool {
    if let Some(own) = path.strip_prefix("/home/dev/.claude/") {
        let parts: Vec<&str> = own.split('/').collect();
        return matches!(
            parts.as_slice(),
            ["plans" | "tasks", ..] | ["projects", _, _, "tool-results", _, ..]
        );
    }
    if path.starts_with("/tmp/cc-") {
        return false;
    }
    if path.starts_with("/tmp/claude-") {
        return path.ends_with(".output");
    }
    let is_own = |name: &str| path == name || path.starts_with(&format!("{name}/"));
    let own = ["/home/dev/.claude", "/home/dev/.cache", "/home/dev/.local", "/home/dev/.npm"];
    !(own.iter().any(|name| is_own(name)) || path.starts_with("/home/dev/.claude.json"))
}

/// The files of the sandbox.
#[derive(Debug, Default)]
pub(in crate::parity) struct Snapshot {
    entries: BTreeMap<String, Entry>,
}

impl Snapshot {
    pub(in crate::parity) fn take() -> Snapshot {
        let mut snapshot = Snapshot::default();
        for root in [HOME, "/tmp"] {
            snapshot.walk(Path::new(root));
        }
        snapshot
    }

    fn walk(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            // Examples that `git init` copies depend on its installation.
            if name.ends_with(".sample") {
                continue;
            }
            let entry = if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap_or_default();
                Entry::Link(target.to_string_lossy().into_owned())
            } else if metadata.is_dir() {
                self.walk(&path);
                Entry::Directory
            } else if !metadata.is_file() {
                // Reading a pipe would never end.
                continue;
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                Entry::File { bytes, mode: metadata.permissions().mode() & 0o777 }
            };
            self.entries.insert(name, entry);
        }
    }

    /// What changed since then, as a recording tells it.
    pub(in crate::parity) fn changes(&self, before: &Snapshot) -> Value {
        let mut changes = serde_json::Map::new();
        let names: BTreeSet<&String> = self.entries.keys().chain(before.entries.keys()).collect();
        for name in names.into_iter().filter(|name| is_recorded(name)) {
            let (now, then) = (self.entries.get(name), before.entries.get(name));
            if now != then {
                changes.insert(name.clone(), now.map_or(Value::Null, Entry::told));
            }
        }
        Value::Object(changes)
    }

    /// How the changes since then differ from the recorded ones, or nothing.
    pub(in crate::parity) fn difference(
        &self,
        before: &Snapshot,
        recorded: &Value,
        bindings: &mut Bindings,
    ) -> Option<String> {
        let mut unclaimed: BTreeMap<&String, Option<&Entry>> = BTreeMap::new();
        for (name, entry) in &self.entries {
            if before.entries.get(name) != Some(entry) {
                unclaimed.insert(name, Some(entry));
            }
        }
        for name in before.entries.keys().filter(|name| !self.entries.contains_key(*name)) {
            unclaimed.insert(name, None);
        }
        for (name, file) in recorded.as_object().into_iter().flatten() {
            let mut is_there = false;
            // Names with a random part may stand for several files.
            while let Some(found) = matching(name, &unclaimed, bindings) {
                is_there = true;
                let entry = unclaimed.remove(&found).flatten();
                if let Some(how) = entry_difference(file, entry, bindings) {
                    return Some(format!("{name}: {how}"));
                }
            }
            if !is_there {
                return Some(format!("{name} did not change"));
            }
        }
        let is_told = |name: &str, entry: Option<&Entry>| {
            // Directories of the client's own files were there before in the recordings.
            let is_own = name.starts_with("/home/dev/.claude") || name.starts_with("/tmp/claude-");
            // Programs that a tool runs keep something of their own.
            let is_cache = name.starts_with("/home/dev/.cache");
            let is_folder = is_own && entry == Some(&Entry::Directory);
            !(is_cache || is_folder)
        };
        let unexpected = unclaimed.into_iter().find(|(name, entry)| is_told(name, *entry));
        unexpected.map(|(name, _)| format!("{name} changed"))
    }
}

/// A changed path that a recorded one means.
fn matching(
    name: &str,
    paths: &BTreeMap<&String, Option<&Entry>>,
    bindings: &mut Bindings,
) -> Option<String> {
    let mut is_it = |path: &str| like::text_difference(name, path, bindings, false).is_none();
    paths.keys().find(|path| is_it(path)).map(|path| (*path).clone())
}

fn entry_difference(
    recorded: &Value,
    entry: Option<&Entry>,
    bindings: &mut Bindings,
) -> Option<String> {
    match (recorded, entry) {
        (Value::Null, None) => None,
        (Value::Null, Some(_)) => Some("is still there".to_owned()),
        (_, None) => Some("is gone".to_owned()),
        (recorded, Some(Entry::Directory)) => {
            recorded.get("dir").is_none().then(|| "is a directory".to_owned())
        }
        (recorded, Some(Entry::Link(target))) => match recorded.get("link") {
            Some(link) => like::difference(link, &json!(target), bindings, false),
            None => Some("is a link".to_owned()),
        },
        (recorded, Some(Entry::File { bytes, mode })) => {
            let wanted = recorded.get("mode").and_then(Value::as_str).unwrap_or("644");
            if u32::from_str_radix(wanted, 8).ok() != Some(*mode) {
                return Some(format!("mode {mode:o}, not {wanted}"));
            }
            bytes_difference(recorded, bytes, bindings)
        }
    }
}

fn bytes_difference(recorded: &Value, bytes: &[u8], bindings: &mut Bindings) -> Option<String> {
    if let Some(text) = recorded.get("text") {
        let value = String::from_utf8_lossy(bytes);
        return like::difference(text, &json!(value), bindings, false);
    }
    if let Some(data) = recorded.get("base64") {
        return like::difference(data, &json!(BASE64_STANDARD.encode(bytes)), bindings, false);
    }
    if recorded["bytes"].as_u64() != Some(bytes.len() as u64) {
        return Some(format!("{} bytes, not {}", bytes.len(), recorded["bytes"]));
    }
    let hash: String =
        sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    (recorded["sha256"] != hash.as_str()).then(|| "other bytes".to_owned())
}
