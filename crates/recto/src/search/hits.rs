//! How places in logs that were found are shown, whoever found them.
//!
//! Hits are grouped by session; each has a number, by which it can be opened.

use std::collections::HashMap;
use std::ops::Range;

use recto_session::search::TextRole;
use recto_store::Digest;
use recto_store::index::Hit;
use recto_store::index::HitText;
use recto_store::open_file;
use recto_store::project_directory;
use recto_view::HitRow;
use serde::Serialize;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::clock;
use crate::terminal::text::fit;
use crate::terminal::text::fit_path;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::safe;

/// A place that was found, with its text.
#[derive(Debug)]
pub(crate) struct FoundText<'h> {
    hit: &'h Hit,
    /// The whole text, which is hostile.
    found: HitText,
    /// Where in the text it fits.
    marks: Vec<Range<usize>>,
}

impl<'h> FoundText<'h> {
    /// Reads the text of a hit. One whose log has changed meanwhile has none.
    pub(crate) fn read(hit: &'h Hit, mark: &Mark<'_>) -> Option<FoundText<'h>> {
        let found = hit.read()?;
        Some(FoundText { hit, marks: mark(&found.text), found })
    }
}

/// A hit as JSON has it.
#[derive(Serialize)]
struct FoundRow {
    #[serde(flatten)]
    hit: HitRow,
    snippet: String,
}

/// Finds in a text what was looked for.
pub(crate) type Mark<'a> = dyn Fn(&str) -> Vec<Range<usize>> + 'a;

/// What every SESSION argument understands.
fn log_name(hit: &Hit) -> String {
    match (&hit.agent, hit.session) {
        (Some(agent), _) => format!("agent-{agent}"),
        (None, Some(session)) => session.to_string(),
        (None, None) => hit.path.display().to_string(),
    }
}

/// What the text is, in a word or two.
fn kind(hit: &Hit) -> String {
    let error = if hit.is_error { ", failed" } else { "" };
    let whole = if hit.overflow.is_some() { ", whole output" } else { "" };
    match (hit.role, &hit.tool) {
        (TextRole::ToolInput, Some(tool)) => one_line(tool),
        (TextRole::ToolResult, Some(tool)) => format!("{} result{error}{whole}", one_line(tool)),
        (TextRole::ToolResult, None) => format!("result{error}{whole}"),
        (role, _) => role.name().to_owned(),
    }
}

/// How the role of a hit looks.
pub(crate) fn look(hit: &Hit) -> Look {
    match hit.role {
        TextRole::User => Look::User,
        TextRole::Assistant | TextRole::Thinking | TextRole::Plan => Look::Model,
        TextRole::ToolInput | TextRole::ToolResult if hit.is_error => Look::Bad,
        TextRole::ToolInput | TextRole::ToolResult => Look::Tool,
        TextRole::Summary | TextRole::Title | TextRole::System => Look::Faint,
    }
}

/// Writes a hit as a line of JSON.
pub(crate) fn write_json(found: &FoundText<'_>, output: &mut Output) -> Result<(), CommandError> {
    let snippet = Snippet::of(&found.found.text, &found.marks, SNIPPET).plain();
    output.row(&FoundRow { hit: HitRow::of(found.hit, &found.found), snippet })
}

/// Writes hits for people, each as soon as its text was read. `context` is how many
/// lines around a hit to show. Gives how many were shown.
pub(crate) fn write_text(
    hits: &[Hit],
    mark: &Mark<'_>,
    context: Option<usize>,
    environment: &Environment,
    output: &mut Output,
) -> Result<usize, CommandError> {
    // Sessions in the order of their first hits.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (number, hit) in hits.iter().enumerate() {
        let name = hit.session.map_or_else(|| log_name(hit), |session| session.to_string());
        let place = *places.entry(name).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(number);
    }
    let digits = hits.len().to_string().len();
    let mut shown = 0;
    for numbers in &groups {
        let mut has_head = false;
        for number in numbers {
            let Some(found) = FoundText::read(&hits[*number], mark) else { continue };
            if !has_head {
                if shown > 0 {
                    output.line("")?;
                }
                write_head(found.hit, environment, output)?;
                has_head = true;
            }
            // The number of a hit is the one by which it can be opened.
            write_hit(&found, *number + 1, digits, context, output)?;
            shown += 1;
        }
    }
    Ok(shown)
}

/// The title of a session, its id, its directory.
fn write_head(
    hit: &Hit,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    // Of a subagent, the session that it belongs to is told, if its log is there.
    let main = hit.agent.as_ref().and_then(|_| {
        let session = hit.session?;
        let project = project_directory(&hit.path)?;
        Some(project.join(format!("{session}.jsonl")))
    });
    let main = main.filter(|path| open_file(path).is_ok());
    let is_agent = main.is_none() && hit.agent.is_some();
    let digest = Digest::read(main.as_deref().unwrap_or(&hit.path), is_agent)?;
    let title = digest.title.as_ref().map_or("(no title)", |(title, _)| title);
    let title = one_line(title);
    let title = output.width.map_or_else(|| title.clone(), |width| fit(&title, width));
    output.line(&output.paint(Look::Strong, &title))?;
    let short = match hit.session {
        Some(session) => session.to_string().chars().take(8).collect(),
        None => log_name(hit),
    };
    let branch = digest.branch.as_deref().filter(|branch| *branch != "HEAD").map(one_line);
    let mut facts = vec![one_line(&short)];
    if let Some(cwd) = &digest.cwd {
        let path = one_line(&path_from_home(cwd, environment.user_home.as_deref()));
        let room = output.width.map_or(usize::MAX, |width| width.saturating_sub(short.len() + 3));
        facts.push(fit_path(&path, room));
    }
    // The branch is the first to go.
    let with_branch = facts.iter().cloned().chain(branch).collect::<Vec<_>>().join(" · ");
    let is_wide = output.width.is_some_and(|width| with_branch.width() > width);
    let line = if is_wide { facts.join(" · ") } else { with_branch };
    output.line(&output.paint(Look::Faint, &line))
}

fn write_hit(
    found: &FoundText<'_>,
    number: usize,
    digits: usize,
    context: Option<usize>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let hit = found.hit;
    let mut head = Vec::new();
    head.extend(found.found.time.or(hit.time).map(clock));
    if hit.turn > 0 {
        head.push(format!("turn {}", hit.turn));
    }
    head.extend(hit.agent.as_ref().map(|agent| format!("agent-{}", one_line(agent.as_str()))));
    let number = format!("{number:>digits$}");
    let kind = kind(hit);
    let line = format!(
        "{}  {}  {}",
        output.paint(Look::Strong, &number),
        output.paint(look(hit), &kind),
        output.paint(Look::Faint, &head.join(" · "))
    );
    output.line(line.trim_end())?;
    let indent = " ".repeat(digits + 2);
    match context {
        None => {
            let width = output.width.map_or(SNIPPET, |width| width.saturating_sub(indent.len()));
            let snippet = Snippet::of(&found.found.text, &found.marks, width.clamp(20, 400));
            let line = snippet.painted(output);
            output.line(&format!("{indent}{line}"))
        }
        Some(lines) => output.set_in(&indent, |output| write_around(found, lines, output)),
    }
}

/// The lines around the first mark.
fn write_around(
    found: &FoundText<'_>,
    lines: usize,
    output: &mut Output,
) -> Result<(), CommandError> {
    let (text, marks) = (&found.found.text, &found.marks);
    let first = marks.first().map_or(0, |mark| mark.start);
    let mut start = text[..first].rfind('\n').map_or(0, |at| at + 1);
    for _ in 0..lines {
        let Some(before) = text[..start].strip_suffix('\n') else { break };
        start = before.rfind('\n').map_or(0, |at| at + 1);
    }
    let mut end = first;
    for _ in 0..=lines {
        let rest = &text[end..];
        end += rest.find('\n').map_or(rest.len(), |at| at + 1);
    }
    let mut at = start;
    for line in text[start..end].split_inclusive('\n') {
        let range = at..at + line.trim_end_matches('\n').len();
        at += line.len();
        let painted = Snippet::cut(text, marks, range, SNIPPET * 2, Folding::Lines).painted(output);
        output.line(&painted)?;
    }
    Ok(())
}

/// How long a snippet is where nobody sees it, in columns.
const SNIPPET: usize = 160;

/// How many bytes of a text fit into some columns, and how many columns they take.
fn columns(text: impl Iterator<Item = char>, most: usize) -> (usize, usize) {
    let (mut bytes, mut used) = (0, 0);
    for c in text {
        // White space becomes a space.
        let wide = c.width().unwrap_or(1);
        if used + wide > most {
            break;
        }
        used += wide;
        bytes += c.len_utf8();
    }
    (bytes, used)
}

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
    /// As much as fits into `width` columns around the first place that fits.
    fn of(text: &str, marks: &[Range<usize>], width: usize) -> Snippet {
        let mark = marks.first().cloned().unwrap_or(0..0);
        // What is left out on either side is marked.
        let room = width.saturating_sub(2);
        // Most of the room is for what follows, if something does.
        let after = columns(text[mark.start..].chars(), room).1;
        let before = (room / 3).max(room - after);
        let mut start = mark.start - columns(text[..mark.start].chars().rev(), before).0;
        // A word that is cut is left out.
        if start > 0 {
            let end = text[start..mark.start].find(char::is_whitespace);
            start = end.map_or(start, |end| start + end);
        }
        let end = start + columns(text[start..].chars(), room).0;
        Snippet::cut(text, marks, start..end.max(mark.start), text.len(), Folding::OneLine)
    }

    fn cut(
        text: &str,
        marks: &[Range<usize>],
        range: Range<usize>,
        most: usize,
        folding: Folding,
    ) -> Snippet {
        let mut snippet = Snippet { pieces: Vec::new() };
        let mut end = range.end;
        if let Some((at, _)) = text[range.clone()].char_indices().nth(most) {
            end = range.start + at;
        }
        if range.start > 0 && folding == Folding::OneLine {
            snippet.pieces.push(("…".into(), false));
        }
        let mut at = range.start;
        for mark in marks {
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
        let marks: Vec<Range<usize>> =
            text.match_indices(mark).map(|(at, mark)| at..at + mark.len()).collect();
        let snippet = Snippet::of(text, &marks, width);
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
        assert_eq!(snippet(&long, "two", 30), "…before <two> after after aft…");
        assert_eq!(snippet("\u{1b}[31mred\u{1b}[0m \u{202e}two", "two", 40), "red \u{fffd}<two>");
        assert_eq!(snippet("縫い針を探す", "針", 8), "…い<針>を…");
        assert_eq!(snippet("no mark at all", "zzz", 8), "no mar…");
        assert_eq!(snippet("", "x", 10), "");
    }

    #[test]
    fn a_snippet_keeps_to_its_width_and_shows_what_fits() {
        for unit in ["word ", "縫い針", "e\u{301}", "\t\n", "\u{1b}[31m", "🦕", "x"] {
            for (before, after) in [(0, 0), (0, 90), (90, 0), (1, 90), (90, 1), (90, 90)] {
                let text = format!("{} needle {}", unit.repeat(before), unit.repeat(after));
                for width in 20..90 {
                    let shown = snippet(&text, "needle", width);
                    assert!(shown.contains("<needle>"), "{width} {shown:?}");
                    let wide = UnicodeWidthStr::width(shown.as_str()) - 2;
                    assert!(wide <= width, "{wide} of {width}: {shown:?}");
                }
            }
        }
    }
}
