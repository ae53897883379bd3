//! How places in logs that were found are shown, whoever found them.
//!
//! Hits are grouped by session; each has a number, by which it can be opened.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;

use jiff::Timestamp;
use recto_log::json::ObjectWriter;
use recto_session::search::Role;
use recto_store::Digest;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::output::Look;
use crate::output::Output;
use crate::text::clock;
use crate::text::one_line;
use crate::text::path_from_home;
use crate::text::safe;

/// A place that was found, with its text.
#[derive(Debug, Clone)]
pub(crate) struct FoundText {
    pub(crate) path: PathBuf,
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) line: u64,
    pub(crate) offset: u64,
    pub(crate) uuid: Option<String>,
    pub(crate) role: Role,
    pub(crate) tool: Option<String>,
    pub(crate) is_error: bool,
    pub(crate) time: Option<Timestamp>,
    /// The number of the turn, in the order of the log; 0 if it is not known.
    pub(crate) turn: u32,
    /// The file beside the log that has the text, if the log has only its beginning.
    pub(crate) overflow: Option<PathBuf>,
    /// The whole text, which is hostile.
    pub(crate) text: String,
    /// Where in the text it fits.
    pub(crate) marks: Vec<Range<usize>>,
}

impl FoundText {
    /// What every SESSION argument understands.
    pub(crate) fn log_name(&self) -> String {
        match (&self.agent, &self.session) {
            (Some(agent), _) => format!("agent-{agent}"),
            (None, Some(session)) => session.clone(),
            (None, None) => self.path.display().to_string(),
        }
    }

    /// What the text is, in a word or two.
    fn kind(&self) -> String {
        let error = if self.is_error { ", failed" } else { "" };
        let whole = if self.overflow.is_some() { ", whole output" } else { "" };
        match (self.role, &self.tool) {
            (Role::ToolInput, Some(tool)) => one_line(tool),
            (Role::ToolResult, Some(tool)) => format!("{} result{error}{whole}", one_line(tool)),
            (Role::ToolResult, None) => format!("result{error}{whole}"),
            (role, _) => role.name().to_owned(),
        }
    }

    fn look(&self) -> Look {
        match self.role {
            Role::User => Look::User,
            Role::Assistant | Role::Thinking | Role::Plan => Look::Model,
            Role::ToolInput | Role::ToolResult if self.is_error => Look::Bad,
            Role::ToolInput | Role::ToolResult => Look::Tool,
            Role::Summary | Role::Title | Role::System => Look::Faint,
        }
    }
}

/// Writes a line of JSON for each hit.
pub(crate) fn write_json(hits: &[FoundText], output: &mut Output) -> Result<(), CommandError> {
    for hit in hits {
        let time = hit.time.map(|time| format!("{time:.3}"));
        let overflow = hit.overflow.as_ref().map(|path| path.to_string_lossy());
        output.json_line(
            ObjectWriter::new()
                .string_or_null("session", hit.session.as_deref())
                .string_or_null("agent", hit.agent.as_deref())
                .string("path", &hit.path.to_string_lossy())
                .number("line", hit.line)
                .number("offset", hit.offset)
                .string_or_null("uuid", hit.uuid.as_deref())
                .string("role", hit.role.name())
                .string_or_null("tool", hit.tool.as_deref())
                .boolean("error", hit.is_error)
                .number("turn", u64::from(hit.turn))
                .string_or_null("timestamp", time.as_deref())
                .string_or_null("overflow", overflow.as_deref())
                .string("snippet", &Snippet::of(hit, SNIPPET).plain()),
        )?;
    }
    Ok(())
}

/// Writes hits for people. `context` is how many lines around a hit to show.
pub(crate) fn write_text(
    hits: &[FoundText],
    context: Option<usize>,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    // Sessions in the order of their first hits.
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, hit) in hits.iter().enumerate() {
        let name = hit.session.clone().unwrap_or_else(|| hit.log_name());
        let place = *places.entry(name.clone()).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(number);
    }
    let digits = hits.len().to_string().len();
    for (place, (_, numbers)) in groups.iter().enumerate() {
        if place > 0 {
            output.line("")?;
        }
        write_head(&hits[numbers[0]], environment, output)?;
        for number in numbers {
            write_hit(&hits[*number], *number + 1, digits, context, output)?;
        }
    }
    Ok(())
}

/// The title of a session, its id, its directory.
fn write_head(
    hit: &FoundText,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    // Of a subagent, the session that it belongs to is told, if its log is there.
    let main = hit.agent.as_ref().and_then(|_| {
        let session = hit.session.as_deref()?;
        let folder = hit.path.parent()?;
        let project =
            if folder.ends_with("subagents") { folder.parent()?.parent()? } else { folder };
        Some(project.join(format!("{session}.jsonl")))
    });
    let main = main.filter(|path| path.exists());
    let is_agent = main.is_none() && hit.agent.is_some();
    let digest = Digest::read(main.as_deref().unwrap_or(&hit.path), is_agent)?;
    let title = digest.title.as_ref().map_or("(no title)", |(title, _)| title);
    output.line(&output.paint(Look::Strong, &one_line(title)))?;
    let short = match &hit.session {
        Some(session) => session.chars().take(8).collect(),
        None => hit.log_name(),
    };
    let mut facts = vec![one_line(&short)];
    if let Some(cwd) = &digest.cwd {
        facts.push(one_line(&path_from_home(cwd, environment.user_home.as_deref())));
    }
    facts.extend(digest.branch.as_deref().filter(|branch| *branch != "HEAD").map(one_line));
    output.line(&output.paint(Look::Faint, &facts.join(" · ")))
}

fn write_hit(
    hit: &FoundText,
    number: usize,
    digits: usize,
    context: Option<usize>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut head = Vec::new();
    head.extend(hit.time.map(clock));
    if hit.turn > 0 {
        head.push(format!("turn {}", hit.turn));
    }
    head.extend(hit.agent.as_deref().map(|agent| format!("agent-{}", one_line(agent))));
    let number = format!("{number:>digits$}");
    let kind = hit.kind();
    let line = format!(
        "{}  {}  {}",
        output.paint(Look::Strong, &number),
        output.paint(hit.look(), &kind),
        output.paint(Look::Faint, &head.join(" · "))
    );
    output.line(line.trim_end())?;
    let indent = " ".repeat(digits + 2);
    match context {
        None => {
            let width = output.width.map_or(SNIPPET, |width| width.saturating_sub(indent.len()));
            let snippet = Snippet::of(hit, width.clamp(20, 400));
            let line = snippet.painted(output);
            output.line(&format!("{indent}{line}"))
        }
        Some(lines) => output.set_in(&indent, |output| write_around(hit, lines, output)),
    }
}

/// The lines around the first mark.
fn write_around(hit: &FoundText, lines: usize, output: &mut Output) -> Result<(), CommandError> {
    let first = hit.marks.first().map_or(0, |mark| mark.start);
    let mut start = hit.text[..first].rfind('\n').map_or(0, |at| at + 1);
    for _ in 0..lines {
        let Some(before) = hit.text[..start].strip_suffix('\n') else { break };
        start = before.rfind('\n').map_or(0, |at| at + 1);
    }
    let mut end = first;
    for _ in 0..=lines {
        let rest = &hit.text[end..];
        end += rest.find('\n').map_or(rest.len(), |at| at + 1);
    }
    let mut at = start;
    for line in hit.text[start..end].split_inclusive('\n') {
        let range = at..at + line.trim_end_matches('\n').len();
        at += line.len();
        let painted = Snippet::cut(hit, range, SNIPPET * 2, Folding::Lines).painted(output);
        output.line(&painted)?;
    }
    Ok(())
}

/// How long a snippet is where nobody sees it, in characters.
const SNIPPET: usize = 160;

/// What is done with white space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folding {
    /// All of it becomes single spaces.
    OneLine,
    /// It stays: it is one line already.
    Lines,
}

/// A part of a text around what fits, made safe.
struct Snippet {
    /// Pieces, and whether each one fits.
    pieces: Vec<(String, bool)>,
}

impl Snippet {
    /// About `width` characters around the first place that fits.
    fn of(hit: &FoundText, width: usize) -> Snippet {
        let text = &hit.text;
        let mark = hit.marks.first().cloned().unwrap_or(0..0);
        // Most of the room is for what follows, if something does.
        let after = text[mark.start..].chars().take(width).count();
        let before = (width / 3).max(width - after);
        let mut start = mark.start;
        for (at, _) in text[..mark.start].char_indices().rev().take(before) {
            start = at;
        }
        // A word that is cut is left out.
        if start > 0 {
            let end = text[start..mark.start].find(char::is_whitespace);
            start = end.map_or(start, |end| start + end);
        }
        let mut end = mark.start;
        for (at, c) in text[start..].char_indices().take(width) {
            end = start + at + c.len_utf8();
        }
        Snippet::cut(hit, start..end.max(mark.start), width, Folding::OneLine)
    }

    fn cut(hit: &FoundText, range: Range<usize>, most: usize, folding: Folding) -> Snippet {
        let text = &hit.text;
        let mut snippet = Snippet { pieces: Vec::new() };
        let mut end = range.end;
        if let Some((at, _)) = text[range.clone()].char_indices().nth(most) {
            end = range.start + at;
        }
        if range.start > 0 && folding == Folding::OneLine {
            snippet.pieces.push(("…".into(), false));
        }
        let mut at = range.start;
        for mark in &hit.marks {
            let (from, to) = (mark.start.max(at), mark.end.min(end));
            if from >= to {
                continue;
            }
            snippet.push(&text[at..from], false, folding);
            snippet.push(&text[from..to], true, folding);
            at = to;
        }
        snippet.push(&text[at..end.max(at)], false, folding);
        let is_cut = if folding == Folding::OneLine { end < text.len() } else { end < range.end };
        if is_cut {
            snippet.pieces.push(("…".into(), false));
        }
        snippet
    }

    fn push(&mut self, text: &str, fits: bool, folding: Folding) {
        if text.is_empty() {
            return;
        }
        let shown = match folding {
            Folding::Lines => safe(text),
            Folding::OneLine => {
                let line = one_line(text);
                let edge = |c: Option<char>| c.is_some_and(char::is_whitespace);
                let is_open = |piece: &(String, bool)| !piece.0.ends_with(' ') && piece.0 != "…";
                let mut shown = String::new();
                if edge(text.chars().next()) && self.pieces.last().is_some_and(is_open) {
                    shown.push(' ');
                }
                shown.push_str(&line);
                if !line.is_empty() && edge(text.chars().next_back()) {
                    shown.push(' ');
                }
                shown
            }
        };
        self.pieces.push((shown, fits));
    }

    fn plain(&self) -> String {
        let joined: String = self.pieces.iter().map(|(piece, _)| piece.as_str()).collect();
        joined.trim().to_owned()
    }

    fn painted(&self, output: &Output) -> String {
        let pieces = self.pieces.iter();
        let painted: String = pieces
            .map(|(piece, fits)| match fits {
                true => output.paint(Look::Match, piece),
                false => piece.clone(),
            })
            .collect();
        painted.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(text: &str, mark: &str, width: usize) -> String {
        let marks = text.match_indices(mark).map(|(at, mark)| at..at + mark.len()).collect();
        let hit = FoundText {
            path: PathBuf::new(),
            session: None,
            agent: None,
            line: 1,
            offset: 0,
            uuid: None,
            role: Role::User,
            tool: None,
            is_error: false,
            time: None,
            turn: 1,
            overflow: None,
            text: text.into(),
            marks,
        };
        let snippet = Snippet::of(&hit, width);
        let shown = snippet.pieces.iter().map(|(piece, fits)| match fits {
            true => format!("<{piece}>"),
            false => piece.clone(),
        });
        shown.collect()
    }

    #[test]
    fn what_fits_stands_in_its_surroundings() {
        assert_eq!(snippet("one two three", "two", 40), "one <two> three");
        assert_eq!(snippet("a\n\tb  two\r\nthree", "two", 40), "a b <two> three");
        assert_eq!(snippet("twotwo", "two", 40), "<two><two>");
        let long = format!("{} two {}", "before ".repeat(20), "after ".repeat(20));
        assert_eq!(snippet(&long, "two", 30), "…before <two> after after after…");
        assert_eq!(snippet("\u{1b}[31mred\u{1b}[0m \u{202e}two", "two", 40), "red \u{fffd}<two>");
        assert_eq!(snippet("縫い針を探す", "針", 3), "…い<針>を…");
        assert_eq!(snippet("no mark at all", "zzz", 8), "no mark …");
        assert_eq!(snippet("", "x", 10), "");
    }
}
