//! `Edit`: a text in a file for another.
//!
//! Owns: what counts as the text that is meant, and what else an edit takes with it. The text
//! must be there literally; only straight and curly quotes stand for each other.

use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::escapes::unescaped;
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
use super::write;
use super::write::Old;

pub(super) const ABOUT: &str = "Replaces text in a file. old_string must occur in it exactly \
once; replace_all replaces every occurrence. An empty old_string creates a new file.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("file_path", Kind::String, "The absolute path of the file"),
    Field::required("old_string", Kind::String, "The text to replace"),
    Field::required("new_string", Kind::String, "The text to replace it with"),
    Field::optional("replace_all", Kind::Boolean, "Replace every occurrence"),
])
.with_aliases(&[("path", "file_path"), ("old_str", "old_string"), ("new_str", "new_string")]);

/// One replacement.
#[derive(Debug, Clone)]
pub(super) struct Change<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) is_all: bool,
}

/// A text after a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) text: String,
    /// The text that was replaced, as the file has it.
    pub(super) old: String,
    /// What was asked to be put there.
    pub(super) new: String,
}

/// Why a replacement is not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mismatch {
    NotFound,
    /// So often, in this form.
    Found(usize, String),
}

impl Mismatch {
    pub(super) fn sentence(&self, old: &str) -> String {
        match self {
            Mismatch::NotFound => {
                let note = if has_other_form(old) {
                    "\n(note: Edit also tried swapping \\uXXXX escapes and their characters; \
                     neither form matched, so the mismatch is likely elsewhere in old_string. \
                     Re-read the file and copy the exact surrounding text.)"
                } else {
                    ""
                };
                let old = unescaped(old);
                format!("String to replace not found in file.\nString: {old}{note}")
            }
            Mismatch::Found(count, old) => format!(
                "Found {count} matches of the string to replace, but replace_all is false. To \
                 replace all occurrences, set replace_all to true. To replace only one \
                 occurrence, please provide more context to uniquely identify the \
                 instance.\nString: {old}"
            ),
        }
    }
}

/// Whether characters of a text can be spelled as escapes, or are.
fn has_other_form(text: &str) -> bool {
    !text.is_ascii() || unescaped(text) != text
}

/// The text with `\uXXXX` in place of characters that are not ASCII.
fn escaped(text: &str) -> String {
    let mut units = [0; 2];
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            spelled.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                spelled.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    spelled
}

/// What models see in place of words that would steer them, and the words.
const SHORT_FORMS: [(&str, &str); 18] = [
    ("<fnr>", "<function_results>"),
    ("<n>", "<name>"),
    ("</n>", "</name>"),
    ("<o>", "<output>"),
    ("</o>", "</output>"),
    ("<e>", "<error>"),
    ("</e>", "</error>"),
    ("<s>", "<system>"),
    ("</s>", "</system>"),
    ("<r>", "<result>"),
    ("</r>", "</result>"),
    ("\n\nH:", "\n\nHuman:"),
    ("\n\nA:", "\n\nAssistant:"),
    ("< META_START >", "<META_START>"),
    ("< META_END >", "<META_END>"),
    ("< EOT >", "<EOT>"),
    ("< META >", "<META>"),
    ("< SOS >", "<SOS>"),
];

fn in_full(text: &str) -> String {
    let replaced = |text: String, (short, full): &(&str, &str)| text.replace(short, full);
    SHORT_FORMS.iter().fold(text.to_owned(), replaced)
}

/// Replaces a text in another. A text that is not there is looked for with its escapes as
/// characters, its characters as escapes, and short forms in full.
pub(super) fn change(
    text: &str,
    wanted: &Change<'_>,
    is_markdown: bool,
) -> Result<Changed, Mismatch> {
    let first = change_literal(text, wanted, is_markdown);
    if first != Err(Mismatch::NotFound) {
        return first;
    }
    for form in [unescaped, escaped, in_full] {
        let (old, new) = (form(wanted.old), form(wanted.new));
        let other = Change { old: &old, new: &new, is_all: wanted.is_all };
        if old != wanted.old && text.contains(&old) {
            let changed = change_literal(text, &other, is_markdown)?;
            // The log has characters, whatever the file has.
            return Ok(Changed { new: unescaped(&changed.new), ..changed });
        }
    }
    first
}

fn change_literal(text: &str, change: &Change<'_>, is_markdown: bool) -> Result<Changed, Mismatch> {
    let Some(old) = found(text, change.old) else { return Err(Mismatch::NotFound) };
    let count = text.matches(old.as_str()).count();
    if count > 1 && !change.is_all {
        return Err(Mismatch::Found(count, change.old.to_owned()));
    }
    let new = kept(change.new, is_markdown);
    let put = if old == change.old { new.clone() } else { in_style_of(&old, &new) };
    // The line end goes with the text of a line.
    let whole = format!("{old}\n");
    let taken = if put.is_empty() && !old.ends_with('\n') && text.contains(&whole) {
        whole
    } else {
        old.clone()
    };
    let text =
        if change.is_all { text.replace(&taken, &put) } else { text.replacen(&taken, &put, 1) };
    Ok(Changed { text, old, new })
}

fn straight(text: &str) -> String {
    let straight = |c: char| match c {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        other => other,
    };
    text.chars().map(straight).collect()
}

/// The text as it stands in the file.
fn found(text: &str, wanted: &str) -> Option<String> {
    if text.contains(wanted) {
        return Some(wanted.to_owned());
    }
    let at =
        straight(text).find(&straight(wanted)).map(|at| straight(text)[..at].chars().count())?;
    Some(text.chars().skip(at).take(wanted.chars().count()).collect())
}

/// The new text with curly quotes where the old one has them.
fn in_style_of(old: &str, new: &str) -> String {
    let is_double = old.contains(['\u{201c}', '\u{201d}']);
    let is_single = old.contains(['\u{2018}', '\u{2019}']);
    let chars: Vec<char> = new.chars().collect();
    let mut styled = String::with_capacity(new.len());
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at)).copied();
        let after = chars.get(at + 1).copied();
        styled.push(match c {
            '"' if is_double && opens(before) => '\u{201c}',
            '"' if is_double => '\u{201d}',
            '\'' if is_single && is_inside_word(before, after) => '\u{2019}',
            '\'' if is_single && opens(before) => '\u{2018}',
            '\'' if is_single => '\u{2019}',
            other => *other,
        });
    }
    styled
}

fn opens(before: Option<char>) -> bool {
    before.is_none_or(|c| c.is_whitespace() || ['(', '[', '{', '\u{2014}', '\u{2013}'].contains(&c))
}

fn is_inside_word(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(char::is_alphabetic) && after.is_some_and(char::is_alphabetic)
}

/// A new text as it goes into a file.
fn kept(new: &str, is_markdown: bool) -> String {
    if is_markdown { new.to_owned() } else { text_file::without_trailing_blanks(new) }
}

pub(super) struct Plan {
    pub(super) target: PathBuf,
    /// Nothing if the file is new.
    old: Option<TextFile>,
    changed: Changed,
    /// Whether the file is not what the model saw.
    is_stale: bool,
    /// Whether the model saw all of it.
    is_known: bool,
}

fn plan(call: &Call<'_>) -> Result<Plan, ToolOutcome> {
    let wanted = Change {
        old: call.text("old_string"),
        new: call.text("new_string"),
        is_all: call.is("replace_all"),
    };
    let given = call.text("file_path");
    path::check_no_nul("Edit", "file_path", given)?;
    path::check_length("Edit", given)?;
    let target = path::expand(given, call.session);
    let is_markdown = text_file::is_markdown(&target);
    if wanted.old == wanted.new || wanted.old == kept(wanted.new, is_markdown) {
        return Err(ToolOutcome::refused(
            "No changes to make: old_string and new_string are exactly the same.",
        ));
    }
    let made =
        |text: &str| Changed { text: text.to_owned(), old: String::new(), new: text.to_owned() };
    let old = match write::old("Edit", &target)? {
        Old::There(old) => old,
        Old::Missing if wanted.old.is_empty() => {
            let changed = made(wanted.new);
            return Ok(Plan { target, old: None, changed, is_stale: false, is_known: true });
        }
        Old::Missing => {
            let text = path::missing("File does not exist", &target, call.session);
            return Err(ToolOutcome::refused(text));
        }
    };
    if let Some(problem) = old.problem {
        return Err(ToolOutcome::refused(problem.refusal()));
    }
    let seen = call.session.state().seen.get(&target).cloned();
    let is_stale = seen.as_ref().is_some_and(|seen| seen.hash != old.hash);
    let is_known = seen.is_some_and(|seen| seen.is_whole) && !is_stale;
    let text = old.unix_text();
    // The mark at the beginning belongs to the file and not to its text.
    let (mark, plain) = match text.strip_prefix('\u{feff}') {
        Some(plain) => ("\u{feff}", plain),
        None => ("", text.as_str()),
    };
    if wanted.old.is_empty() {
        if !plain.trim_matches(text_file::is_blank).is_empty() {
            return Err(ToolOutcome::refused("Cannot create new file - file already exists."));
        }
        let changed = made(wanted.new);
        let changed = Changed { text: format!("{mark}{}", changed.text), ..changed };
        return Ok(Plan { target, old: Some(old), changed, is_stale, is_known });
    }
    if target.extension().is_some_and(|end| end == "ipynb") {
        return Err(ToolOutcome::refused(
            "File is a Jupyter Notebook. Use the NotebookEdit to edit this file.",
        ));
    }
    let changed = change(plain, &wanted, is_markdown);
    let changed =
        changed.map(|changed| Changed { text: format!("{mark}{}", changed.text), ..changed });
    match changed {
        Ok(changed) => Ok(Plan { target, old: Some(old), changed, is_stale, is_known }),
        Err(_) if is_stale => Err(ToolOutcome::refused(write::MODIFIED)),
        Err(mismatch) => Err(ToolOutcome::refused(mismatch.sentence(wanted.old))),
    }
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
    if let Err(refusal) = write::refuse_link(given, &plan.target) {
        return refusal;
    }
    let original = plan.old.as_ref().map(TextFile::unix_text).unwrap_or_default();
    if plan.is_stale && plan.changed.old.is_empty() {
        return ToolOutcome::failed(
            "File content has changed since it was last read. This commonly happens when a \
             linter or formatter run via Bash rewrites the file. Call Read on this file to \
             refresh, then retry the edit.",
        );
    }
    // Quotes of the other kind may make it so.
    if plan.old.is_some() && plan.changed.text == original {
        return ToolOutcome::failed("String not found in file. Failed to apply edit.");
    }
    if let Err(text) =
        store(call, &plan.target, plan.old.as_ref(), &plan.changed.text, plan.is_known)
    {
        return ToolOutcome::failed(text);
    }
    result(given, &plan, &original, call.is("replace_all"))
}

/// Writes the new text as the old one was written, and notes what the model knows of it.
pub(super) fn store(
    call: &Call<'_>,
    target: &std::path::Path,
    old: Option<&TextFile>,
    text: &str,
    is_known: bool,
) -> Result<(), String> {
    let is_crlf = old.is_some_and(TextFile::is_crlf);
    let text =
        if is_crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.to_owned() };
    let bytes = text_file::encode(&text, old.map_or(Encoding::Utf8, |old| old.encoding));
    text_file::replace(target, &bytes, call.session)?;
    let hash = TextFile::decode(&bytes).hash;
    let seen = Seen { hash, is_whole: is_known, is_read: false };
    call.session.state().seen.insert(target.to_owned(), seen);
    Ok(())
}

fn result(given: &str, plan: &Plan, original: &str, is_all: bool) -> ToolOutcome {
    let state = if plan.is_stale {
        " (note: the file had been modified on disk since you last read it — the edit applied \
         cleanly, but the file contains other changes not in your context. Read it before edits \
         that depend on surrounding content.)"
    } else if plan.is_known {
        write::STATE_IS_CURRENT
    } else {
        ""
    };
    let text = if is_all {
        format!(
            "The file {given} has been updated. All occurrences were successfully \
             replaced.{state}"
        )
    } else {
        format!("The file {given} has been updated successfully.{state}")
    };
    let changed = &plan.changed;
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("filePath", json!(given));
    set("oldString", json!(changed.old));
    set("newString", json!(changed.new));
    set("originalFile", write::original_file(original));
    set("structuredPatch", patch::hunks(original, &changed.text));
    set("userModified", json!(false));
    set("replaceAll", json!(is_all));
    if plan.is_stale {
        set("staleRecovered", json!(true));
    }
    if !plan.is_known {
        set("contentNotInModelContext", json!(true));
    }
    ToolOutcome::text(text, Value::Object(fields))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn once(text: &str, old: &str, new: &str) -> Result<String, Mismatch> {
        change(text, &Change { old, new, is_all: false }, true).map(|changed| changed.text)
    }

    #[test]
    fn quotes_of_either_kind_are_found_and_the_style_of_the_file_stays() {
        let edited = once("say “hi” it’s\n", "say \"hi\" it's", "tell \"you\" it's");
        assert_eq!(edited.unwrap(), "tell “you” it’s\n");
        assert_eq!(once("\"x\"\n", "“x”", "“y”").unwrap(), "“y”\n");
        assert_eq!(once("a\u{a0}b", "a b", "x"), Err(Mismatch::NotFound));
    }

    #[test]
    fn escapes_stand_for_characters_of_one_and_two_halves() {
        assert_eq!(unescaped("a\\u00e9\\ud83d\\ude00\\ud83dx\\uzz"), "aé😀\\ud83dx\\uzz");
        assert_eq!(once("x\\u00e9\n", "xé", "é").unwrap(), "\\u00e9\n");
    }

    #[test]
    fn short_forms_stand_for_the_words_that_models_do_not_see() {
        assert_eq!(once("x<system>y\n", "x<s>y", "<s>").unwrap(), "<system>\n");
        assert_eq!(once("x<s>y\n", "x<s>y", "<e>").unwrap(), "<e>\n");
        let twice = once("<name> <name>", "<n>", "x");
        assert_eq!(twice, Err(Mismatch::Found(2, "<name>".to_owned())));
        assert_eq!(once("<name>", "<n></fnr>", "x"), Err(Mismatch::NotFound));
    }

    #[test]
    fn a_line_without_text_is_gone() {
        assert_eq!(once("a\nb\nc\n", "b", "").unwrap(), "a\nc\n");
        assert_eq!(once("a\nb", "b", "").unwrap(), "a\n");
    }

    proptest! {
        #[test]
        fn a_text_put_in_can_be_taken_out_again(
            before in "[a-z \n]{0,40}", old in "[A-Z]{1,8}", after in "[a-z \n]{0,40}",
            new in "[0-9]{1,8}",
        ) {
            let text = format!("{before}{old}{after}");
            let there = once(&text, &old, &new).unwrap();
            prop_assert_eq!(&there, &format!("{before}{new}{after}"));
            prop_assert_eq!(once(&there, &new, &old).unwrap(), text);
        }

        #[test]
        fn any_call_gives_a_text_or_a_reason(
            text in any::<String>(), old in any::<String>(), new in any::<String>(),
            is_all: bool, is_markdown: bool,
        ) {
            prop_assume!(!old.is_empty());
            match change(&text, &Change { old: &old, new: &new, is_all }, is_markdown) {
                Ok(changed) => prop_assert!(straight(&text).contains(&straight(&changed.old))),
                Err(Mismatch::Found(count, _)) => prop_assert!(count > 1 && !is_all),
                Err(Mismatch::NotFound) => prop_assert!(!text.contains(&old)),
            }
            unescaped(&escaped(&text));
        }
    }
}
