//! A summary of turns, made without a model: what was asked and answered, in
//! short, and what was done, in numbers.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::fmt::Write;

use recto_log::Kind;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::Value;

use crate::BlockFact;
use crate::FileAction;
use crate::Item;
use crate::LineSource;
use crate::NodeId;
use crate::TODO_TOOLS;
use crate::TodoList;
use crate::call_about;
use crate::edit::CompressOptions;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::edit::ages::Ages;
use crate::edit::plan::read_line;
use crate::edit::plan::shortened;
use crate::items;

/// A summary is at most this long, in bytes.
pub(super) const MOST_BYTES: usize = 8 * 1024;
/// What all but the turns may take of it.
const MOST_OTHER_BYTES: usize = 3 * 1024;
/// How many files, calls, failures and todos are named.
const MOST_FILES: usize = 30;
const MOST_CALLS: usize = 40;
const MOST_TODOS: usize = 20;

/// The text that stands for old turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SummaryText {
    /// Made from the log.
    Made(ToolDetail),
    /// Written by someone else.
    Given(String),
}

/// How much a made summary says about tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolDetail {
    /// How often each was used, and how often it failed.
    #[default]
    Counts,
    /// The last calls with what they were about, too.
    Calls,
}

/// A turn in short.
struct Told {
    number: u32,
    prompt: String,
    answer: String,
}

/// Makes the summary of old lines.
pub(super) fn summary(
    manuscript: &Manuscript,
    ages: &Ages,
    old: &[NodeId],
    options: &CompressOptions,
    log: &dyn LineSource,
) -> Result<String, EditError> {
    let detail = match &options.summary {
        SummaryText::Given(text) => return Ok(text.clone()),
        SummaryText::Made(detail) => *detail,
    };
    let told = told(manuscript, ages, old, log)?;
    let mut other = String::new();
    add_files(&mut other, manuscript, old);
    add_tools(&mut other, manuscript, old);
    add_todos(&mut other, manuscript, old, log)?;
    if detail == ToolDetail::Calls {
        add_calls(&mut other, manuscript, old, log)?;
    }
    let mut text = format!(
        "Earlier turns of this session, before turn {}, were replaced by this summary. \
         recto wrote it from the session log, without a model: prompts and answers are \
         shortened, everything else is counted. The whole text of a turn: \
         recto show {} --turn NUMBER\n",
        options.before, options.source
    );
    let other = cut(&other, MOST_OTHER_BYTES);
    text += &turns_text(&told, MOST_BYTES.saturating_sub(text.len() + other.len()));
    text += other;
    Ok(text)
}

/// The prompt and the last answer of each turn.
fn told(
    manuscript: &Manuscript,
    ages: &Ages,
    old: &[NodeId],
    log: &dyn LineSource,
) -> Result<Vec<Told>, EditError> {
    let session = &manuscript.session;
    let mut answers: HashMap<u32, NodeId> = HashMap::new();
    for &id in old {
        let node = session.node(id);
        let says = |block: &BlockFact| matches!(block, BlockFact::Text { is_blank: false });
        if node.kind == Kind::Assistant
            && !node.flags.is_api_error
            && (node.flags.is_string || node.blocks.iter().any(says))
        {
            answers.insert(ages.turn(id), id);
        }
    }
    let is_old: HashSet<NodeId> = old.iter().copied().collect();
    let mut told = Vec::new();
    for (at, number) in (0..ages.turns.len()).zip(1u32..) {
        let Some(prompt) = ages.turns.prompt(at).filter(|prompt| is_old.contains(prompt)) else {
            continue;
        };
        let prompt = text_of(manuscript, prompt, log)?;
        let answer = match answers.get(&number) {
            Some(answer) => text_of(manuscript, *answer, log)?,
            None => String::new(),
        };
        told.push(Told { number, prompt, answer });
    }
    Ok(told)
}

/// What a line says to a person.
fn text_of(manuscript: &Manuscript, id: NodeId, log: &dyn LineSource) -> Result<String, EditError> {
    let bytes = read_line(manuscript, manuscript.place(id), log)?;
    let (entry, _) = decode(RawLine::alone(&bytes));
    let texts = items(&entry).into_iter().filter_map(|item| match item {
        Item::Prompt { text, .. } | Item::Answer { text } | Item::Note { text, .. } => Some(text),
        Item::Thinking { .. } | Item::Call { .. } | Item::Result { .. } => None,
    });
    Ok(texts.collect::<Vec<_>>().join("\n"))
}

/// Turns in at most so many bytes. The last ones say more than older ones; if
/// even little is too much, the oldest are left out.
fn turns_text(told: &[Told], most: usize) -> String {
    /// Characters for the last turns, and for the others.
    const LENGTHS: [(usize, usize); 5] =
        [(1000, 400), (500, 200), (300, 100), (200, 60), (100, 30)];
    const LAST: usize = 3;
    if told.is_empty() {
        return String::new();
    }
    let written = |from: usize, (last, older): (usize, usize)| {
        let mut text = String::from("\n## Turns\n");
        if from > 0 {
            let s = if from == 1 { "" } else { "s" };
            let _ = writeln!(text, "\n{from} older turn{s} skipped");
        }
        for (at, turn) in told.iter().enumerate().skip(from) {
            let length = if at + LAST >= told.len() { last } else { older };
            let _ =
                writeln!(text, "\n{}. Prompt: {}", turn.number, shortened(&turn.prompt, length));
            if !turn.answer.is_empty() {
                let _ = writeln!(text, "   Answer: {}", shortened(&turn.answer, length));
            }
        }
        text
    };
    for lengths in LENGTHS {
        let text = written(0, lengths);
        if text.len() <= most {
            return text;
        }
    }
    // Each turn that is left out makes it shorter, so the first that fits is found by halving.
    let shortest = LENGTHS[LENGTHS.len() - 1];
    let places: Vec<usize> = (0..=told.len()).collect();
    let from = places.partition_point(|from| written(*from, shortest).len() > most);
    written(from.min(told.len()), shortest)
}

/// Up to so many bytes, in whole lines.
fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..text[..end].rfind('\n').map_or(0, |line_end| line_end + 1)]
}

fn add_files(text: &mut String, manuscript: &Manuscript, old: &[NodeId]) {
    let session = &manuscript.session;
    let is_old: HashSet<NodeId> = old.iter().copied().collect();
    let mut changed: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut read: HashSet<&str> = HashSet::new();
    for touch in session.facts().files.iter().filter(|touch| is_old.contains(&touch.node)) {
        let path = session.name(touch.path);
        match touch.action {
            FileAction::Read => {
                read.insert(path);
            }
            FileAction::Created | FileAction::Written | FileAction::Edited => {
                let lines = changed.entry(path).or_default();
                lines.0 += touch.added;
                lines.1 += touch.removed;
            }
        }
    }
    if changed.is_empty() && read.is_empty() {
        return;
    }
    text.push_str("\n## Files\n\n");
    for (path, (added, removed)) in changed.iter().take(MOST_FILES) {
        let _ = writeln!(text, "- changed {} (+{added} -{removed})", shortened(path, 200));
    }
    if changed.len() > MOST_FILES {
        let _ = writeln!(text, "- changed {} more", changed.len() - MOST_FILES);
    }
    let only_read = read.iter().filter(|path| !changed.contains_key(**path)).count();
    if only_read > 0 {
        let s = if only_read == 1 { "" } else { "s" };
        let _ = writeln!(text, "- read {only_read} other file{s}");
    }
}

fn add_tools(text: &mut String, manuscript: &Manuscript, old: &[NodeId]) {
    let session = &manuscript.session;
    let is_old: HashSet<NodeId> = old.iter().copied().collect();
    let mut tools: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for call in &session.facts().calls {
        if let Some(name) = call.name.filter(|_| call.call.is_some_and(|id| is_old.contains(&id))) {
            let counts = tools.entry(session.name(name)).or_default();
            counts.0 += 1;
            counts.1 += u64::from(call.is_error);
        }
    }
    let api_errors = old.iter().filter(|id| session.node(**id).flags.is_api_error).count();
    if tools.is_empty() && api_errors == 0 {
        return;
    }
    text.push_str("\n## Tools\n\n");
    for (name, (count, failed)) in tools.iter().take(MOST_FILES) {
        let _ = write!(text, "- {}: {count}", shortened(name, 100));
        if *failed > 0 {
            let _ = write!(text, ", {failed} failed");
        }
        text.push('\n');
    }
    if api_errors > 0 {
        let _ = writeln!(text, "- failed API calls: {api_errors}");
    }
}

/// The calls among old lines, with their inputs, in order.
fn each_call(
    manuscript: &Manuscript,
    old: &[NodeId],
    is_asked: impl Fn(&str) -> bool,
    log: &dyn LineSource,
    mut take: impl FnMut(&str, &str, Option<Value<'_>>, &dyn LineSource) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let session = &manuscript.session;
    for &id in old {
        let asks = |block: &BlockFact| match block {
            BlockFact::ToolUse { name, .. } => is_asked(session.name(*name)),
            _ => false,
        };
        if !session.node(id).blocks.iter().any(asks) {
            continue;
        }
        let bytes = read_line(manuscript, manuscript.place(id), log)?;
        let (entry, _) = decode(RawLine::alone(&bytes));
        let Some(message) = entry.message() else { continue };
        for block in message.content().blocks() {
            let recto_log::Block::ToolUse { input, .. } = block else { continue };
            let (id, name) = (block.id().unwrap_or_default(), block.name().unwrap_or_default());
            if is_asked(&name) {
                take(&id, &name, input, log)?;
            }
        }
    }
    Ok(())
}

fn add_todos(
    text: &mut String,
    manuscript: &Manuscript,
    old: &[NodeId],
    log: &dyn LineSource,
) -> Result<(), EditError> {
    let session = &manuscript.session;
    let mut list = TodoList::default();
    let calls: HashMap<&str, &crate::ToolCall> =
        session.facts().calls.iter().map(|call| (session.name(call.id), call)).collect();
    let is_todo = |name: &str| TODO_TOOLS.contains(&name);
    each_call(manuscript, old, is_todo, log, |id, name, input, log| {
        let Some(call) = calls.get(id).filter(|call| !call.is_error) else { return Ok(()) };
        let Some(result) = call.result else { return Ok(()) };
        let bytes = read_line(manuscript, manuscript.place(result), log)?;
        let (entry, _) = decode(RawLine::alone(&bytes));
        list.take(name, input, entry.get("toolUseResult"));
        Ok(())
    })?;
    let open: Vec<_> = list.todos().iter().filter(|todo| todo.status != "completed").collect();
    if open.is_empty() {
        return Ok(());
    }
    text.push_str("\n## Open todos\n\n");
    for todo in open.iter().take(MOST_TODOS) {
        let _ =
            writeln!(text, "- {} ({})", shortened(&todo.text, 100), shortened(&todo.status, 20));
    }
    if open.len() > MOST_TODOS {
        let _ = writeln!(text, "- {} more", open.len() - MOST_TODOS);
    }
    Ok(())
}

/// The last calls with what they were about.
fn add_calls(
    text: &mut String,
    manuscript: &Manuscript,
    old: &[NodeId],
    log: &dyn LineSource,
) -> Result<(), EditError> {
    let session = &manuscript.session;
    let has_call = |id: &&NodeId| {
        session.node(**id).blocks.iter().any(|block| matches!(block, BlockFact::ToolUse { .. }))
    };
    let mut last: Vec<NodeId> =
        old.iter().rev().filter(has_call).take(MOST_CALLS).copied().collect();
    last.reverse();
    if last.is_empty() {
        return Ok(());
    }
    text.push_str("\n## Last tool calls\n\n");
    each_call(
        manuscript,
        &last,
        |_| true,
        log,
        |_, name, input, _| {
            let about = input.map(call_about).unwrap_or_default();
            let _ = writeln!(text, "- {} {}", shortened(name, 50), shortened(&about, 80));
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_fit_into_their_bytes_and_the_last_ones_say_most() {
        let told: Vec<Told> = (1..=500)
            .map(|number| Told {
                number,
                prompt: format!("prompt {number} {}", "x".repeat(500)),
                answer: "y ".repeat(500),
            })
            .collect();
        let text = turns_text(&told, 5000);
        assert!(text.len() <= 5000, "{}", text.len());
        assert!(text.contains("older turns skipped"));
        assert!(text.contains("\n500. Prompt: prompt 500"));
        let few = turns_text(&told[..2], 5000);
        assert!(few.contains(&"x".repeat(500)));
        assert!(!few.contains("left out"));
    }

    #[test]
    fn a_cut_text_ends_with_a_whole_line() {
        assert_eq!(cut("a\nb\n", 10), "a\nb\n");
        assert_eq!(cut("a\nbcd\n", 4), "a\n");
        assert_eq!(cut("äöü", 3), "");
    }
}
