//! `Grep`: lines of files that match a regular expression, by ripgrep's own crates.
//!
//! Owns: what a call asks for and how its result is worded. Searching is in `search`.

mod search;

use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::glob;
use super::outcome::ToolOutcome;
use super::overflow;
use super::path;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use search::Found;
use search::Mode;
use search::Query;

pub(super) const ABOUT: &str = "Searches files for a regular expression. Lists files by default, \
the newest first; output_mode content shows the lines, count how many there are. Skips files \
that git ignores.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("pattern", Kind::String, "The regular expression"),
    Field::optional("path", Kind::String, "A file or directory to search"),
    Field::optional("glob", Kind::String, "Only files that match, such as *.js"),
    Field::optional(
        "output_mode",
        Kind::OneOf(&["content", "files_with_matches", "count"]),
        "What to show",
    ),
    Field::optional("-B", Kind::Number, "Lines before each match"),
    Field::optional("-A", Kind::Number, "Lines after each match"),
    Field::optional("-C", Kind::Number, "Lines around each match"),
    Field::optional("context", Kind::Number, "Lines around each match"),
    Field::optional("-n", Kind::Boolean, "Line numbers, unless false"),
    Field::optional("-i", Kind::Boolean, "Ignore case"),
    Field::optional("-o", Kind::Boolean, "Only the part that matches"),
    Field::optional("type", Kind::String, "Only files of a type, such as rust"),
    Field::optional("head_limit", Kind::Number, "Limit the number of lines or files; 0 for all"),
    Field::optional("offset", Kind::Number, "Skip this many of them"),
    Field::optional("multiline", Kind::Boolean, "A match may span lines"),
]);

const DEFAULT_LIMIT: usize = 250;

/// Longer results go to a file.
const MOST: usize = 20_000;

/// Options of the program of that name which models give as parameters: what a call means by
/// them, and the note about it.
const OPTIONS: [(&str, Option<&str>, &str); 3] = [
    (
        "-l",
        Some("files_with_matches"),
        "`-l` is not a Grep parameter and was read as `output_mode: \"files_with_matches\"`.",
    ),
    ("-c", Some("count"), "`-c` is not a Grep parameter and was read as `output_mode: \"count\"`."),
    ("-r", None, "`-r` was ignored: Grep always searches a directory recursively."),
];

/// The input that was meant, and what the model is told about it.
pub(super) fn meant(input: &Value) -> (Value, String) {
    let mut meant = input.clone();
    let mut notes = Vec::new();
    let Some(fields) = meant.as_object_mut() else { return (meant, String::new()) };
    if let Some(path) = fields.get("file_path").filter(|_| !fields.contains_key("path")).cloned() {
        fields.remove("file_path");
        fields.insert("path".into(), path);
        notes.push(
            "Grep's parameter for where to search is named `path`. `file_path` was read as `path`.",
        );
    }
    for (option, mode, note) in OPTIONS {
        let is_given = fields.get(option).is_some_and(|is| *is == true || *is == "true");
        if !is_given || (mode.is_some() && fields.contains_key("output_mode")) {
            continue;
        }
        fields.remove(option);
        if let Some(mode) = mode {
            fields.insert("output_mode".into(), json!(mode));
        }
        notes.push(note);
    }
    let note = if notes.is_empty() { "" } else { "\n\nNote: " };
    (meant, format!("{note}{}", notes.join(" ")))
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    for name in ["pattern", "path", "glob", "type"] {
        path::check_no_nul("Grep", name, call.text(name))?;
    }
    for name in ["head_limit", "offset"] {
        let Some(number) = call.number(name) else { continue };
        if number < 0.0 || number.fract() != 0.0 {
            let hint = if name == "head_limit" { " Pass 0 for unlimited." } else { "" };
            return Err(ToolOutcome::refused(format!(
                "{name} must be a whole number of 0 or more, got {number}.{hint}"
            )));
        }
    }
    Ok(())
}

pub(super) async fn run(call: &Call<'_>) -> ToolOutcome {
    let session = call.session;
    let given = call.text("path");
    let root = path::expand(given, session);
    if let Err(refusal) = path::check_searchable(&root) {
        return refusal;
    }
    if let Some(flag) = wrong_lines(call) {
        return glob::rejected(&format!(
            "error parsing flag {flag}: value is not a valid number: invalid digit found in string"
        ));
    }
    if !given.is_empty() && !root.exists() {
        return ToolOutcome::failed(path::missing_place(
            &format!("Path does not exist: {given}"),
            &root,
            session,
        ));
    }
    let page = Page::of(call);
    let query = query(call, root, &page);
    let cancel = call.cancel.clone();
    let searched = tokio::task::spawn_blocking(move || search::run(&query, &cancel)).await;
    let found = match searched {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => return glob::rejected(&error),
        Err(error) => return ToolOutcome::failed(format!("The search failed: {error}")),
    };
    let outcome = match mode(call) {
        Mode::Files => files(&found, &page),
        Mode::Content => content(&found, &page),
        Mode::Count => count(&found, &page),
    };
    overflow::keep_if_long(outcome, session, MOST, call.id)
}

fn mode(call: &Call<'_>) -> Mode {
    match call.optional("output_mode") {
        Some("content") => Mode::Content,
        Some("count") => Mode::Count,
        _ => Mode::Files,
    }
}

/// The numbers of lines around a match, with the flags of ripgrep that they are for.
fn lines_around(call: &Call<'_>) -> Vec<(&'static str, f64)> {
    if mode(call) != Mode::Content {
        return Vec::new();
    }
    let number = |name: &str, flag: &'static str| Some((flag, call.number(name)?));
    match number("context", "-C").or_else(|| number("-C", "-C")) {
        Some(around) => vec![around],
        None => number("-B", "-B").into_iter().chain(number("-A", "-A")).collect(),
    }
}

/// The flag whose number ripgrep does not take.
fn wrong_lines(call: &Call<'_>) -> Option<&'static str> {
    let is_wrong = |number: f64| number < 0.0 || number.fract() != 0.0 || number >= 1e20;
    lines_around(call).into_iter().find(|(_, number)| is_wrong(*number)).map(|(flag, _)| flag)
}

fn query(call: &Call<'_>, root: PathBuf, page: &Page) -> Query {
    let around = lines_around(call);
    let lines = |side: &str| {
        let is_it = |(flag, _): &&(&str, f64)| *flag == side || *flag == "-C";
        around.iter().find(is_it).map_or(0, |(_, number)| *number as usize)
    };
    Query {
        pattern: call.text("pattern").to_owned(),
        cwd: call.session.cwd(),
        is_one_file: root.is_file(),
        root,
        mode: mode(call),
        globs: globs(call.text("glob")),
        file_type: call.optional("type").filter(|kind| !kind.is_empty()).map(str::to_owned),
        before: lines("-B"),
        after: lines("-A"),
        has_numbers: call.input.get("-n") != Some(&json!(false)),
        is_case_insensitive: call.is("-i"),
        is_only_match: call.is("-o"),
        is_multiline: call.is("multiline"),
        keep: page.limit.map(|limit| page.offset.saturating_add(limit)),
        is_hidden: call.session.is_hidden.clone(),
    }
}

/// The globs of a list with blanks or commas between them. Braces hold commas of their own.
fn globs(list: &str) -> Vec<String> {
    let mut globs = Vec::new();
    for word in list.split_whitespace() {
        if word.contains('{') && word.contains('}') {
            globs.push(word.to_owned());
        } else {
            globs.extend(word.split(',').filter(|glob| !glob.is_empty()).map(str::to_owned));
        }
    }
    globs
}

/// Which part of the results is shown.
struct Page {
    offset: usize,
    /// Nothing for all.
    limit: Option<usize>,
}

impl Page {
    fn of(call: &Call<'_>) -> Page {
        let number = |name: &str| call.number(name).map(|number| number.max(0.0) as usize);
        let limit = number("head_limit").unwrap_or(DEFAULT_LIMIT);
        Page {
            offset: number("offset").unwrap_or(0),
            limit: Some(limit).filter(|limit| *limit > 0),
        }
    }

    fn cut<'a>(&self, all: &'a [String]) -> &'a [String] {
        let from = self.offset.min(all.len());
        let rest = all.get(from..).unwrap_or_default();
        rest.get(..self.limit.unwrap_or(usize::MAX).min(rest.len())).unwrap_or(rest)
    }

    /// The limit, if it left something out.
    fn applied_limit(&self, total: usize) -> Option<usize> {
        self.limit.filter(|limit| total.saturating_sub(self.offset) > *limit)
    }

    /// `limit: 2, offset: 1`, as far as they did something.
    fn told(&self, total: usize) -> String {
        let limit = self.applied_limit(total).map(|limit| format!("limit: {limit}"));
        let offset = (self.offset > 0).then(|| format!("offset: {}", self.offset));
        limit.into_iter().chain(offset).collect::<Vec<_>>().join(", ")
    }

    fn note(&self, structured: &mut Value, total: usize) {
        let Some(fields) = structured.as_object_mut() else { return };
        if let Some(limit) = self.applied_limit(total) {
            fields.insert("appliedLimit".into(), json!(limit));
        }
        if self.offset > 0 {
            fields.insert("appliedOffset".into(), json!(self.offset));
        }
    }
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}

fn files(found: &Found, page: &Page) -> ToolOutcome {
    let names = page.cut(&found.lines);
    let told = page.told(found.total);
    let text = if found.total == 0 {
        "No files found".to_owned()
    } else if names.is_empty() {
        format!("No entries at this offset. [Showing results with pagination = {told}]")
    } else {
        let told = if told.is_empty() { told } else { format!(" {told}") };
        format!("Found {}{told}\n{}", plural(names.len(), "file"), names.join("\n"))
    };
    let mut structured = json!({
        "mode": "files_with_matches",
        "filenames": names,
        "numFiles": names.len(),
        "totalFiles": found.total,
    });
    page.note(&mut structured, found.total);
    ToolOutcome::text(text, structured)
}

fn content(found: &Found, page: &Page) -> ToolOutcome {
    let lines = page.cut(&found.lines);
    let told = page.told(found.total);
    let content = lines.join("\n");
    let mut text = if found.total == 0 {
        "No matches found".to_owned()
    } else if lines.is_empty() {
        "No entries at this offset".to_owned()
    } else {
        content.clone()
    };
    if !told.is_empty() && found.total > 0 {
        text += &format!("\n\n[Showing results with pagination = {told}]");
    }
    let mut structured = json!({
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": content,
        "numLines": lines.len(),
        "totalLines": found.total,
    });
    page.note(&mut structured, found.total);
    ToolOutcome::text(text, structured)
}

fn count(found: &Found, page: &Page) -> ToolOutcome {
    let lines = page.cut(&found.lines);
    let told = page.told(found.total);
    let content = lines.join("\n");
    let shown = if found.total == 0 {
        "No matches found"
    } else if lines.is_empty() {
        "No entries at this offset"
    } else {
        &content
    };
    let mut text = format!(
        "{shown}\n\nFound {} across {}.",
        plural(found.matches, "total occurrence"),
        plural(found.total, "file")
    );
    if !told.is_empty() {
        text += &format!(" with pagination = {told}");
    }
    let mut structured = json!({
        "mode": "count",
        "numFiles": found.total,
        "filenames": [],
        "content": content,
        "numMatches": found.matches,
    });
    page.note(&mut structured, found.total);
    ToolOutcome::text(text, structured)
}
