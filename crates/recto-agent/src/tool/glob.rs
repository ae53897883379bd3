//! `Glob`: files whose paths match a pattern.
//!
//! Every file is looked at, hidden and ignored ones too: the pattern says what is wanted.
//! Links are not followed.

use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;
use std::time::SystemTime;

use ignore::WalkBuilder;
use ignore::overrides::Override;
use ignore::overrides::OverrideBuilder;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::context::Call;
use super::outcome::ToolOutcome;
use super::path;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ABOUT: &str = "Finds files by a pattern such as **/*.rs, oldest first. \
Includes hidden and ignored files.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("pattern", Kind::String, "The pattern"),
    Field::optional("path", Kind::String, "The directory to search, if not the working directory"),
]);

/// Files that a result names.
const MOST: usize = 100;

/// What a pattern, a glob or a file type that is wrong gets.
pub(super) fn rejected(error: &str) -> ToolOutcome {
    ToolOutcome::failed(format!(
        "Search failed — ripgrep rejected the pattern, glob, or file type without searching:\nrg: \
         {error}"
    ))
}

/// Adds a pattern, which is refused in the words of the client's ripgrep.
///
/// # Errors
///
/// The sentence for the model.
pub(super) fn add(globs: &mut OverrideBuilder, pattern: &str) -> Result<(), String> {
    if has_nested_braces(pattern) {
        return Err(format!(
            "error parsing glob '{pattern}': nested alternate groups are not allowed"
        ));
    }
    globs.add(pattern).map(|_| ()).map_err(|error| error.to_string())
}

/// Whether braces are in braces. The crate takes them; the client's ripgrep is older.
fn has_nested_braces(pattern: &str) -> bool {
    let (mut depth, mut is_in_class) = (0_u32, false);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if !is_in_class => {
                chars.next();
            }
            '[' => is_in_class = true,
            ']' => is_in_class = false,
            '{' if !is_in_class => depth += 1,
            '}' if !is_in_class => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 1 {
            return true;
        }
    }
    false
}

/// The directory before the first wildcard of an absolute pattern, and the rest.
fn split_absolute(pattern: &str) -> Option<(PathBuf, String)> {
    if !pattern.starts_with('/') {
        return None;
    }
    let wild = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let slash = pattern.get(..wild)?.rfind('/')?;
    let (directory, rest) = pattern.split_at(slash);
    let directory = if directory.is_empty() { "/" } else { directory };
    Some((PathBuf::from(directory), rest.trim_start_matches('/').to_owned()))
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    ["pattern", "path"]
        .iter()
        .try_for_each(|name| path::check_no_nul("Glob", name, call.text(name)))
}

pub(super) async fn run(call: &Call<'_>) -> ToolOutcome {
    let began = Instant::now();
    let session = call.session;
    let cwd = session.cwd();
    let given = call.text("path");
    let mut root = path::expand(given, session);
    if let Err(refusal) = path::check_searchable(&root) {
        return refusal;
    }
    if !given.is_empty() && !root.is_dir() {
        return ToolOutcome::failed(if root.exists() {
            format!("Path is not a directory: {given}")
        } else {
            path::missing_place(&format!("Directory does not exist: {given}"), &root, session)
        });
    }
    let mut pattern = call.text("pattern").to_owned();
    if let Some((directory, rest)) = split_absolute(&pattern) {
        root = directory;
        pattern = rest;
    }
    let mut globs = OverrideBuilder::new(&root);
    let added = add(&mut globs, &pattern);
    let globs = match added.and_then(|()| globs.build().map_err(|error| error.to_string())) {
        Ok(globs) => globs,
        Err(error) => return rejected(&error),
    };
    let cancel = call.cancel.clone();
    let is_hidden = session.is_hidden.clone();
    let search = tokio::task::spawn_blocking(move || find(&root, globs, &cancel));
    let mut found = search.await.unwrap_or_default();
    if let Some(is_hidden) = is_hidden {
        found.retain(|path| !is_hidden(path));
    }
    let total = found.len();
    let names: Vec<String> = found.iter().take(MOST).map(|path| path::shown(path, &cwd)).collect();
    let mut text = if names.is_empty() { "No files found".to_owned() } else { names.join("\n") };
    if total > MOST {
        text += &format!(
            "\n(Showing {MOST} of {total} matching files; {} more are not listed. Narrow the \
             pattern or path to see the rest.)",
            total - MOST
        );
    }
    let structured = json!({
        "filenames": names,
        "durationMs": began.elapsed().as_millis() as u64,
        "numFiles": names.len(),
        "truncated": total > MOST,
        "totalMatches": total,
        "countIsComplete": !call.cancel.is_cancelled(),
    });
    ToolOutcome::text(text, structured)
}

/// The files, the oldest first.
fn find(root: &Path, globs: Override, cancel: &CancellationToken) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).overrides(globs);
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in walk.build().flatten() {
        if cancel.is_cancelled() {
            break;
        }
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
            found.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), entry.into_path()));
        }
    }
    found.sort_by_key(|(modified, _)| *modified);
    found.into_iter().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_in_braces_are_seen_where_they_are_no_text() {
        assert!(has_nested_braces("*.{r{s,x},py}") && has_nested_braces("{a,{b}"));
        for plain in ["{a,b}.{c,d}", "[{]{a,b}", "\\{{a,b}", "{a,[{]b}", "{a,b"] {
            assert!(!has_nested_braces(plain), "{plain}");
        }
    }
}
