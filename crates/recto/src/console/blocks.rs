//! Finished parts of a conversation as lines for the scrollback.
//!
//! Everything that a model, a tool or a server wrote is made safe here.

use recto_log::RawLine;
use recto_session::Item;
use serde_json::Value;
use serde_json::json;

use super::question::REFUSED;
use super::question::SAID;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::fit;
use crate::terminal::text::markdown;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::safe;
use crate::terminal::text::wrap;

/// How many lines of a result are shown; the list of calls has the rest.
const RESULT_LINES: usize = 4;
/// How many lines of a change are shown.
const DIFF_LINES: usize = 24;
/// How many lines of a command of the user are shown: nothing else has the rest.
const SHELL_LINES: usize = 200;
/// Text on a wide terminal reads badly.
const WIDEST: usize = 110;

pub(super) type Lines = Vec<Vec<Span>>;

fn span(look: Look, text: impl Into<String>) -> Span {
    (text.into(), look)
}

/// A prompt of the user.
pub(super) fn prompt(text: &str, width: usize) -> Lines {
    let width = width.saturating_sub(2).clamp(10, WIDEST);
    let mut lines = vec![Vec::new()];
    for (at, line) in wrap(&safe(text.trim_end()), width).into_iter().enumerate() {
        let lead = if at == 0 { "❯ " } else { "  " };
        lines.push(vec![span(Look::User, lead), span(Look::Strong, line)]);
    }
    lines
}

/// A part of an answer, as headings, lists and code.
pub(super) fn answer(text: &str, width: usize) -> Lines {
    let width = width.saturating_sub(2).clamp(16, WIDEST);
    let lines = markdown(&safe(text), width).into_iter();
    let lines = lines.flat_map(|line| broken(line, width));
    lines
        .map(|mut line| {
            line.insert(0, span(Look::Plain, "  "));
            line
        })
        .collect()
}

/// A line in parts that have room: code and tables keep their lines, however long.
fn broken(line: Vec<Span>, width: usize) -> Lines {
    let wide = |c: char| unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
    let (mut lines, mut part, mut used) = (Lines::new(), Vec::new(), 0);
    for (text, look) in line {
        let mut piece = String::new();
        for c in text.chars() {
            if used + wide(c) > width {
                part.push((std::mem::take(&mut piece), look));
                lines.push(std::mem::take(&mut part));
                used = 0;
            }
            used += wide(c);
            piece.push(c);
        }
        part.push((piece, look));
    }
    lines.push(part);
    lines
}

/// A remark of recto.
pub(super) fn note(look: Look, text: &str, width: usize) -> Lines {
    let width = width.saturating_sub(4).clamp(16, WIDEST);
    let lines = wrap(&safe(text.trim_end()), width).into_iter();
    lines.map(|line| vec![span(Look::Plain, "  "), span(look, line)]).collect()
}

/// A call in one line, without its state.
pub(super) fn call_line(name: &str, about: &str, width: usize) -> Vec<Span> {
    let name = one_line(name);
    let room = width.saturating_sub(name.len() + 6);
    vec![span(Look::Strong, name), span(Look::Plain, format!(" {}", fit(&one_line(about), room)))]
}

/// What a call is about, in a few words: as lists of sessions say it.
pub(super) fn about(call: &Value) -> String {
    let line = json!({"type": "assistant", "message": {"role": "assistant", "content": [call]}});
    let items = items_of(&line);
    let about = items.into_iter().find_map(|item| match item {
        Item::Call { about, .. } => Some(about),
        _ => None,
    });
    about.unwrap_or_default()
}

fn items_of(line: &Value) -> Vec<Item> {
    let bytes = line.to_string().into_bytes();
    let raw = RawLine {
        offset: 0,
        number: 1,
        bytes: &bytes,
        length: bytes.len() as u64,
        terminated: true,
    };
    recto_session::items(&recto_log::decode(raw).0)
}

/// A call with its result.
pub(super) fn finished_call(
    name: &str,
    about: &str,
    result: &Value,
    structured: Option<&Value>,
    width: usize,
) -> Lines {
    let is_error = result["is_error"] == true;
    let look = if is_error { Look::Bad } else { Look::Good };
    let mut head = vec![span(look, "⏺ ")];
    head.extend(call_line(name, about, width));
    let mut lines = vec![head];
    lines.extend(self::result(result, structured, width, RESULT_LINES));
    lines
}

/// What a command of the user printed.
pub(super) fn shell_output(output: &str, code: i32, width: usize) -> Lines {
    let mut lines = match (output.trim_end().is_empty(), code) {
        (true, 0) => note(Look::Faint, "(no output)", width),
        (true, _) => Lines::new(),
        (false, _) => result_lines(output, false, width, SHELL_LINES),
    };
    if code != 0 {
        lines.extend(note(Look::Bad, &format!("exit code {code}"), width));
    }
    lines
}

/// The result of a call, to so many lines; a change may have more.
pub(super) fn result(
    result: &Value,
    structured: Option<&Value>,
    width: usize,
    most: usize,
) -> Lines {
    let mut lines = Vec::new();
    let mut line = json!({"type": "user", "message": {"role": "user", "content": [result]}});
    if let Some(structured) = structured {
        line["toolUseResult"] = structured.clone();
    }
    for item in items_of(&line) {
        let Item::Result { text, diff, pictures, is_error, .. } = item else { continue };
        match diff {
            Some(diff) => {
                let sum = format!("{} added, {} removed", plural(diff.added, "line"), diff.removed);
                lines.push(vec![span(Look::Faint, format!("  ⎿ {sum}"))]);
                let all = diff.lines.iter().map(String::as_str);
                lines.extend(diff_lines(all, width, most.max(DIFF_LINES)));
            }
            None if text.is_empty() && pictures > 0 => {
                let images = plural(pictures as u64, "image");
                lines.push(vec![span(Look::Faint, format!("  ⎿ ({images})"))]);
            }
            None => lines.extend(result_lines(&text, is_error, width, most)),
        }
    }
    lines
}

/// A result without what is in it for the model only: its marks, and how to go on after a no.
fn for_people(text: &str) -> String {
    let text = text.trim_end();
    let text = text.strip_prefix("<tool_use_error>").unwrap_or(text);
    let text = text.strip_suffix("</tool_use_error>").unwrap_or(text);
    let Some(rest) = text.strip_prefix(REFUSED) else { return text.to_owned() };
    match rest.trim_start().strip_prefix(SAID) {
        Some(words) => format!("rejected: {}", words.trim()),
        None => "rejected".to_owned(),
    }
}

fn result_lines(text: &str, is_error: bool, width: usize, most: usize) -> Lines {
    let look = if is_error { Look::Bad } else { Look::Faint };
    let text = safe(&for_people(text)).replace('\t', "    ");
    // A result that is opened is shown to its last character.
    let room = width.saturating_sub(5);
    let all: Vec<String> = match most {
        usize::MAX => wrap(&text, room),
        _ => text.lines().map(|line| fit(line, room)).collect(),
    };
    if text.is_empty() {
        return vec![vec![span(Look::Faint, "  ⎿ (no output)")]];
    }
    let count = all.len();
    let mut lines = Vec::new();
    for (at, line) in all.into_iter().take(most).enumerate() {
        let lead = if at == 0 { "  ⎿ " } else { "    " };
        lines.push(vec![span(Look::Faint, lead), span(look, line)]);
    }
    if count > most {
        let more = plural((count - most) as u64, "more line");
        lines.push(vec![span(Look::Faint, format!("    … {more}"))]);
    }
    lines
}

/// Lines of a change in its colours.
pub(super) fn diff_lines<'a>(
    all: impl ExactSizeIterator<Item = &'a str>,
    width: usize,
    most: usize,
) -> Lines {
    let count = all.len();
    let mut lines = Vec::new();
    for line in all.take(most) {
        let look = match line.chars().next() {
            Some('+') => Look::Good,
            Some('-') => Look::Bad,
            _ => Look::Faint,
        };
        let line = fit(&safe(line).replace(['\n', '\t'], "    "), width.saturating_sub(6));
        lines.push(vec![span(Look::Plain, "    "), span(look, line)]);
    }
    if count > most {
        let more = plural((count - most) as u64, "more line");
        lines.push(vec![span(Look::Faint, format!("    … {more}"))]);
    }
    lines
}

/// How far a growing answer can be printed for good: to the last blank line outside of a block
/// of code.
pub(super) fn settled(text: &str) -> usize {
    let (mut at, mut settled, mut is_code) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            is_code = !is_code;
        }
        at += line.len();
        // A table or a list may go on behind a line that is not blank.
        if !is_code && line.ends_with('\n') && trimmed.trim_end().is_empty() {
            settled = at;
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_answer_is_settled_up_to_its_last_blank_line() {
        assert_eq!(settled("one"), 0);
        assert_eq!(settled("one\n\ntwo"), 5);
        assert_eq!(settled("```\na\n\nb"), 0);
        assert_eq!(settled("```\na\n\nb\n```\n\nafter"), "```\na\n\nb\n```\n\n".len());
    }

    #[test]
    fn long_lines_of_code_are_broken_and_not_cut() {
        let code = format!("```\n{}end\n```", "0123456789".repeat(20));
        for width in [20, 40, 80] {
            let lines = answer(&code, width);
            let text = |line: &Vec<Span>| line.iter().map(|(text, _)| text.as_str()).collect();
            let shown: Vec<String> = lines.iter().map(text).collect();
            assert!(shown.iter().all(|line| line.chars().count() <= width), "{shown:#?}");
            let digits = shown.concat().chars().filter(char::is_ascii_digit).count();
            assert!(digits == 200 && shown.concat().contains("end"), "{shown:#?}");
        }
    }

    #[test]
    fn hostile_results_are_text() {
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "\u{1b}]0;x\u{7}\u{1b}[2Jhi\u{9b}31m"});
        let lines = finished_call("Ba\u{1b}[31msh", "\u{1b}c", &result, None, 80);
        for (text, _) in lines.iter().flatten() {
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
    }
}
