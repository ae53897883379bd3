//! `Write`: a file as a whole.

use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::outcome::Denial;
use super::outcome::ToolOutcome;
use super::patch;
use super::path;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::session::Seen;
use super::text_file;
use super::text_file::Encoding;
use super::text_file::TextFile;

pub(super) const ABOUT: &str = "Writes a file, replacing an existing one. Creates missing \
directories. To change part of a file, use Edit.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("file_path", Kind::String, "The absolute path of the file"),
    Field::required("content", Kind::String, "Its whole new text"),
])
.with_aliases(&ALIASES);

/// Names that models give to parameters, and the names of those.
const ALIASES: [(&str, &str); 3] =
    [("path", "file_path"), ("file_text", "content"), ("file_content", "content")];

/// What a model is told that called a parameter by another name.
pub(super) fn alias_note(input: &Value) -> Option<String> {
    let used = ALIASES
        .iter()
        .filter(|(alias, name)| input.get(alias).is_some() && input.get(name).is_none());
    let notes: Vec<String> =
        used.map(|(alias, name)| format!("`{alias}` was read as `{name}`.")).collect();
    (!notes.is_empty()).then(|| {
        let names = "Write's parameters are named `file_path` and `content`.";
        format!("\n\nNote: {names} {}", notes.join(" "))
    })
}

/// What follows the result when the model knows the file as it is now.
pub(super) const STATE_IS_CURRENT: &str =
    " (file state is current in your context — no need to Read it back)";

pub(super) const MODIFIED: &str = "File has been modified since read, either by the user or by \
a linter. Read it again before attempting to write it.";

/// The file that is there now.
pub(super) enum Old {
    Missing,
    There(TextFile),
}

/// Reads what is at a path, for a tool that will write there.
///
/// # Errors
///
/// What the model is told.
pub(super) fn old(tool: &str, target: &Path) -> Result<Old, ToolOutcome> {
    let calling = |text: String| {
        let text = format!("Error calling tool ({tool}): {text}");
        ToolOutcome::tagged(&text, text.clone())
    };
    // Replacing a device or a pipe by a file would break what uses it.
    let kind = fs::metadata(target);
    if kind.as_ref().is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
        return Err(ToolOutcome::refused(format!(
            "{} exists but is not a regular file (a device, FIFO or socket). {tool} only creates \
             or overwrites regular files.",
            target.display()
        )));
    }
    let is_known = kind.is_ok();
    match kind.and_then(|_| fs::read(target)) {
        Ok(bytes) => Ok(Old::There(TextFile::decode(&bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Old::Missing),
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
            Err(calling("EISDIR: illegal operation on a directory, read".to_owned()))
        }
        Err(error) => {
            let text = path::worded(&error, if is_known { "open" } else { "stat" }, target);
            let is_told_later = is_known && tool == "Write";
            Err(if is_told_later { ToolOutcome::failed(text) } else { calling(text) })
        }
    }
}

/// Says no to a path that is a symbolic link: what it leads to was not what was asked for.
pub(super) fn refuse_link(given: &str, target: &Path) -> Result<(), ToolOutcome> {
    let Ok(link) = fs::read_link(target) else { return Ok(()) };
    let end = fs::canonicalize(target).unwrap_or_else(|_| {
        let parent = target.parent().map(Path::to_path_buf).unwrap_or_default();
        path::normal(&parent.join(link))
    });
    Err(ToolOutcome::denied(
        format!(
            "Refusing to write {given}: it is a symbolic link. Write to the link's target path \
             instead: {}.",
            end.display()
        ),
        Denial::Rule,
    ))
}

struct Plan {
    target: PathBuf,
    old: Option<TextFile>,
}

fn plan(call: &Call<'_>) -> Result<Plan, ToolOutcome> {
    let given = call.text("file_path");
    path::check_no_nul("Write", "file_path", given)?;
    path::check_length("Write", given)?;
    let target = path::expand(given, call.session);
    if target.is_dir() {
        return Err(ToolOutcome::refused(format!(
            "{given} is a directory, not a file. To create a file inside it, include the file \
             name in file_path."
        )));
    }
    let Old::There(old) = old("Write", &target)? else { return Ok(Plan { target, old: None }) };
    let seen = call.session.state().seen.get(&target).cloned();
    if seen.is_some_and(|seen| seen.hash != old.hash) {
        return Err(ToolOutcome::refused(MODIFIED));
    }
    Ok(Plan { target, old: Some(old) })
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    plan(call).map(|_| ())
}

pub(super) fn run(call: &Call<'_>) -> ToolOutcome {
    let given = call.text("file_path");
    let plan = match plan(call) {
        Ok(plan) => plan,
        Err(outcome) => return outcome,
    };
    if let Err(refusal) = refuse_link(given, &plan.target) {
        return refusal;
    }
    let old = plan.old.as_ref();
    if let Some(problem) = old.and_then(|old| old.problem) {
        return ToolOutcome::failed(problem.refusal());
    }
    let has_mark = old.is_some_and(|old| old.text.starts_with('\u{feff}'));
    let content = call.text("content");
    let mut content = match text_file::is_markdown(&plan.target) {
        true => content.to_owned(),
        false => text_file::without_trailing_blanks(content),
    };
    if has_mark && !content.starts_with('\u{feff}') {
        content.insert(0, '\u{feff}');
    }
    let encoding = old.map_or(Encoding::Utf8, |old| old.encoding);
    let bytes = text_file::encode(&content, encoding);
    if let Err(text) = text_file::replace(&plan.target, &bytes, call.session) {
        return ToolOutcome::failed(text);
    }
    let seen = Seen { hash: TextFile::decode(&bytes).hash, is_whole: true, is_read: false };
    call.session.state().seen.insert(plan.target.clone(), seen);
    result(given, &content, old)
}

fn result(given: &str, content: &str, old: Option<&TextFile>) -> ToolOutcome {
    // A file without a byte is as good as none.
    let original = old.map(TextFile::unix_text).filter(|text| !text.is_empty());
    let Some(original) = original else {
        let structured = json!({
            "type": "create",
            "filePath": given,
            "content": content,
            "structuredPatch": [],
            "originalFile": null,
            "userModified": false,
        });
        return ToolOutcome::text(
            format!("File created successfully at: {given}{STATE_IS_CURRENT}"),
            structured,
        );
    };
    let structured = json!({
        "type": "update",
        "filePath": given,
        "content": content,
        "structuredPatch": patch::hunks(&original, content),
        "originalFile": original_file(&original),
        "userModified": false,
    });
    ToolOutcome::text(
        format!("The file {given} has been updated successfully.{STATE_IS_CURRENT}"),
        structured,
    )
}

/// The old text for the log, unless it is too large to keep twice.
pub(super) fn original_file(text: &str) -> Value {
    const LARGEST: usize = 10_000;
    if text.encode_utf16().count() > LARGEST { Value::Null } else { json!(text) }
}
