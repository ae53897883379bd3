//! Settings files in their order, and what the other rooms want from them.
//!
//! A file that is missing sets nothing. A file that cannot be read or is not a JSON object sets
//! nothing either and is reported: a session must start even if somebody broke a file, but the
//! user must learn that rules in it do not hold. The same goes for hooks that are none.

mod source;

use std::io;
use std::path::Path;
use std::path::PathBuf;

use recto_store::Home;
use recto_store::Scope;
use recto_store::StoreError;
use recto_store::read_small;
use serde_json::Map;
use serde_json::Value;

pub use source::Source;

/// One settings file, or one value of the command line.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Which layer it is.
    pub source: Source,
    /// The file, when there is one.
    pub path: Option<PathBuf>,
    /// What it sets.
    pub value: Map<String, Value>,
}

/// A settings file that sets nothing, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub message: String,
}

/// Why a session cannot start with these settings.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SettingsError {
    /// `--settings` names a file that does not exist.
    #[error("Settings file not found: {0}")]
    NotFound(String),
    /// `--settings` is, or names, something else than a JSON object.
    #[error("Invalid JSON provided to --settings: {0}")]
    Invalid(String),
    /// `--setting-sources` names an unknown source.
    #[error("Invalid value for --setting-sources: {0}. Valid options are: user, project, local")]
    UnknownSource(String),
}

/// Which of the user's files are read: `--setting-sources`. Managed settings and those of the
/// command line are always read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// `~/.claude/settings.json`.
    pub user: bool,
    /// `.claude/settings.json`.
    pub project: bool,
    /// `.claude/settings.local.json`.
    pub local: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Wanted { user: true, project: true, local: true }
    }
}

impl Wanted {
    /// Reads the value of `--setting-sources`. An empty value means no file.
    pub fn parse(value: &str) -> Result<Self, SettingsError> {
        let mut wanted = Wanted { user: false, project: false, local: false };
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "user" => wanted.user = true,
                "project" => wanted.project = true,
                "local" => wanted.local = true,
                other => return Err(SettingsError::UnknownSource(other.to_owned())),
            }
        }
        Ok(wanted)
    }

    fn includes(self, scope: Scope) -> bool {
        match scope {
            Scope::User => self.user,
            Scope::Project => self.project,
            Scope::Local => self.local,
            Scope::Default | Scope::Managed => true,
        }
    }
}

/// All settings layers of a session; those that win come last.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    layers: Vec<Layer>,
    problems: Vec<Problem>,
}

impl Settings {
    /// Reads the settings of a client that starts in `project`. `flag` is the value of
    /// `--settings`: JSON, or the path of a file.
    pub fn read(
        home: &Home,
        project: &Path,
        wanted: Wanted,
        flag: Option<&str>,
    ) -> Result<Self, SettingsError> {
        let mut settings = Settings::default();
        for (scope, path) in home.settings_files(Some(project)) {
            if !wanted.includes(scope) {
                continue;
            }
            // What an administrator manages wins over the command line.
            if scope == Scope::Managed
                && let Some(flag) = flag
            {
                settings.add_flag(flag, project)?;
            }
            settings.add_file(Source::from(scope), &path);
            if scope == Scope::Managed {
                settings.add_drop_ins(&path);
            }
        }
        Ok(settings)
    }

    /// Settings that were read elsewhere, those that win last.
    pub fn from_layers(layers: Vec<Layer>) -> Self {
        let mut settings = Settings::default();
        layers.into_iter().for_each(|layer| settings.add(layer));
        settings
    }

    /// Files that set nothing because something is wrong with them.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The layers, those that win last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// A single value: the winning layer that sets it decides.
    pub fn value(&self, key: &str) -> Option<(&Value, Source)> {
        self.layers.iter().rev().find_map(|layer| Some((layer.value.get(key)?, layer.source)))
    }

    /// A single value inside an object, such as `permissions.defaultMode`.
    pub fn value_in(&self, object: &str, key: &str) -> Option<(&Value, Source)> {
        self.layers
            .iter()
            .rev()
            .find_map(|layer| Some((layer.value.get(object)?.as_object()?.get(key)?, layer.source)))
    }

    /// Strings of a list that all layers add to, such as `permissions.deny`.
    pub fn strings_in<'a>(
        &'a self,
        object: &'a str,
        key: &'a str,
    ) -> impl Iterator<Item = (&'a str, Source)> {
        self.layers.iter().flat_map(move |layer| {
            let list = layer.value.get(object).and_then(|object| object.get(key));
            let list = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            list.iter().filter_map(Value::as_str).map(|text| (text, layer.source))
        })
    }

    /// Variables for the processes of the session; a later layer replaces an earlier one.
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables: Vec<(String, String)> = Vec::new();
        for layer in &self.layers {
            let Some(env) = layer.value.get("env").and_then(Value::as_object) else { continue };
            for (name, value) in env {
                let Some(value) = variable_text(value) else { continue };
                if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                    continue;
                }
                variables.retain(|(known, _)| known != name);
                variables.push((name.clone(), value));
            }
        }
        variables
    }

    /// The model of the settings.
    pub fn model(&self) -> Option<&str> {
        self.value("model").and_then(|(value, _)| value.as_str())
    }

    /// Whether a switch is on.
    pub fn is_on(&self, key: &str) -> bool {
        self.value(key).and_then(|(value, _)| value.as_bool()).unwrap_or(false)
    }

    /// What holds in the end: objects of all layers together, lists one behind the other, and of
    /// other values that of the winning layer.
    pub fn merged(&self) -> Value {
        let mut all = Value::Object(Map::new());
        for layer in &self.layers {
            merge(&mut all, &Value::Object(layer.value.clone()));
        }
        all
    }

    fn add_file(&mut self, source: Source, path: &Path) {
        let bytes = match read_small(path) {
            Ok(bytes) => bytes,
            Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.report(path, error.to_string()),
        };
        match object(&bytes) {
            Ok(value) => self.add(Layer { source, path: Some(path.to_owned()), value }),
            Err(message) => self.report(path, message),
        }
    }

    fn add_flag(&mut self, flag: &str, project: &Path) -> Result<(), SettingsError> {
        let text = flag.trim();
        if text.starts_with('{') {
            let value = object(text.as_bytes()).map_err(SettingsError::Invalid)?;
            self.add(Layer { source: Source::Flag, path: None, value });
            return Ok(());
        }
        let path = project.join(text);
        let bytes =
            read_small(&path).map_err(|_| SettingsError::NotFound(path.display().to_string()))?;
        match object(&bytes) {
            Ok(value) => self.add(Layer { source: Source::Flag, path: Some(path), value }),
            Err(message) => self.problems.push(Problem { path, message }),
        }
        Ok(())
    }

    /// What an administrator forbids holds in any case.
    fn add(&mut self, layer: Layer) {
        match crate::hook::problem(&layer.value).filter(|_| layer.source != Source::Managed) {
            Some(message) => {
                let path = layer.path.unwrap_or_else(|| "--settings".into());
                self.problems.push(Problem { path, message });
            }
            None => self.layers.push(layer),
        }
    }

    /// `managed-settings.d/*.json`, in the order of their names.
    fn add_drop_ins(&mut self, managed: &Path) {
        let folder = managed.with_extension("d");
        let Ok(entries) = std::fs::read_dir(&folder) else { return };
        let mut paths: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        paths.sort();
        for path in paths {
            self.add_file(Source::Managed, &path);
        }
    }

    fn report(&mut self, path: &Path, message: String) {
        self.problems.push(Problem { path: path.to_owned(), message });
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(from)) => {
            for value in from.iter().filter(|value| !into.contains(value)).collect::<Vec<_>>() {
                into.push(value.clone());
            }
        }
        (into, from) => into.clone_from(from),
    }
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("not a JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn variable_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests;
