//! Turns with everything that is in them, a part at a time.
//!
//! A part is bounded by turns, by lines and by bytes, because one turn can hold a
//! day of work. Where a part ends, `next` says where to go on.

use std::ops::Deref;

use recto_session::Item;
use recto_session::NodeId;
use recto_session::Origin;
use recto_session::Shown;
use recto_session::Turn;
use recto_session::items;
use recto_store::OverflowFiles;
use recto_store::OverflowWanted;
use serde::Serialize;

use crate::ItemRow;
use crate::MediaRow;
use crate::Moment;
use crate::Reading;
use crate::Show;
use crate::TokenColumns;
use crate::error::ViewError;
use crate::items::CallOutcome;
use crate::items::Extent;
use crate::items::ItemKind;
use crate::items::ResultRow;
use crate::library::Library;
use crate::media::media_rows;
use crate::reading::OUTLINE_TEXT;
use crate::tools::milliseconds;

/// How many turns, lines and bytes a part has at most.
pub const MOST_TURNS: usize = 50;
const MOST_LINES: usize = 600;
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// A part of the turns of a log.
#[derive(Debug, Serialize)]
pub struct TurnPage {
    /// How many turns there are in all.
    pub total: usize,
    /// The turns, or parts of them.
    pub turns: Vec<TurnView>,
    /// Where to go on; none at the end.
    pub next: Option<Next>,
}

/// Where to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Next {
    /// The number of the turn.
    pub from: u32,
    /// The line in it, counted from 0.
    pub skip: usize,
}

/// A turn.
#[derive(Debug, Clone, Serialize)]
pub struct TurnRow {
    /// Its number, from 1.
    pub turn: u32,
    /// What began it: `prompt`, `command`, …
    pub kind: &'static str,
    /// What began it, in words.
    pub prompt: String,
    /// The line with the prompt.
    pub uuid: Option<String>,
    /// The number of its first line.
    pub line: u64,
    /// When it began.
    pub started: Option<Moment>,
    /// When its last line was written.
    pub ended: Option<Moment>,
    /// From the first line to the last one.
    pub duration_ms: Option<u64>,
    /// Messages of the model.
    pub messages: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Calls that failed.
    pub failed_tool_calls: u32,
    /// Answers of the API that are errors.
    pub api_errors: u32,
    /// Prompts that were typed while it went on.
    pub queued_prompts: usize,
    /// The hooks that ran.
    pub hooks: Vec<HookRow>,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Tokens of its messages, each counted once.
    #[serde(flatten)]
    pub tokens: TokenColumns,
    /// Whether the newest clients would continue from it.
    pub current: bool,
}

/// What a hook did in a turn.
#[derive(Debug, Clone, Serialize)]
pub struct HookRow {
    /// The event and what it matched.
    pub name: String,
    /// How often it ran.
    pub runs: u32,
    /// How often it failed.
    pub failed: u32,
    /// How often it blocked something.
    pub blocked: u32,
}

/// All turns of a log, of each prompt so many bytes at most. A log may have millions, so each
/// row is made when it is wanted.
pub fn turn_rows(
    reading: &Reading,
    most_prompt: usize,
) -> impl ExactSizeIterator<Item = TurnRow> + '_ {
    let turns = reading.turns();
    turns.map(move |turn| turn_row(reading, &turn, most_prompt))
}

fn turn_row(reading: &Reading, turn: &Turn<'_>, most_prompt: usize) -> TurnRow {
    let at = turn.number as usize - 1;
    let session = reading.session();
    let hook = |hook: &recto_session::TurnHook| HookRow {
        name: session.name(hook.name).to_owned(),
        runs: hook.runs,
        failed: hook.failed,
        blocked: hook.blocked,
    };
    TurnRow {
        turn: turn.number,
        kind: turn.kind.name(),
        prompt: reading.prompt_beginning(turn, most_prompt),
        uuid: turn.prompt.map(|id| session.node(id).uuid().to_string()),
        line: turn.nodes.first().map_or(0, |id| session.node(*id).line),
        started: turn.started.map(Moment),
        ended: turn.ended.map(Moment),
        duration_ms: turn.length(),
        messages: turn.messages,
        tool_calls: turn.calls,
        failed_tool_calls: turn.failed_calls,
        api_errors: turn.api_errors,
        queued_prompts: turn.queued.len() + turn.queued_lines.len(),
        hooks: turn.hooks.iter().map(hook).collect(),
        interrupted: turn.is_interrupted,
        tokens: turn.tokens.into(),
        current: reading.is_current()[at],
    }
}

/// A turn with its items, or a part of one.
#[derive(Debug, Serialize)]
pub struct TurnView {
    /// The turn in numbers; of a long prompt the beginning.
    #[serde(flatten)]
    pub row: TurnRow,
    /// Whether lines of the turn come before these items.
    pub continued: bool,
    /// How many of its lines come before these items.
    #[serde(skip)]
    pub skip: usize,
    /// What is shown of its lines.
    pub items: Vec<ItemRow>,
}

impl Deref for TurnView {
    type Target = TurnRow;

    fn deref(&self) -> &TurnRow {
        &self.row
    }
}

/// Which part is wanted.
#[derive(Debug, Clone, Copy)]
pub struct TurnQuery {
    /// The first turn.
    pub from: u32,
    /// How many of its lines to leave out.
    pub skip: usize,
    /// How many turns are wanted.
    pub count: usize,
    /// How many lines are wanted at most, if fewer than a part has anyway.
    pub lines: Option<usize>,
    /// Which items are wanted.
    pub show: Show,
}

impl Library {
    /// A part of the turns of a log.
    pub fn turns(
        &self,
        reading: &Reading,
        base: &str,
        query: TurnQuery,
    ) -> Result<TurnPage, ViewError> {
        let first = (query.from.max(1) - 1) as usize;
        let mut page = TurnPage { total: reading.turns.len(), turns: Vec::new(), next: None };
        let lines = query.lines.map_or(MOST_LINES, |lines| lines.clamp(1, MOST_LINES));
        let mut budget = Budget { lines, bytes: MOST_BYTES };
        let files = OverflowFiles::new(self.home(), &reading.log.path);
        let looker = Looker { reading, extent: Extent::Cut { base }, files };
        let mut skip = query.skip;
        for turn in (first..).map_while(|at| reading.turn_at(at)) {
            if page.turns.len() == query.count.min(MOST_TURNS) || budget.is_spent() {
                page.next = Some(Next { from: turn.number, skip: 0 });
                break;
            }
            if !query.show.has_turn(reading, turn.number as usize - 1) {
                skip = 0;
                continue;
            }
            let (mut items, end) = looker.items(&turn, skip, &mut budget);
            items.retain(|item| query.show.takes(item));
            let row = turn_row(reading, &turn, OUTLINE_TEXT);
            page.turns.push(TurnView { row, continued: skip > 0, skip, items });
            if let Some(skip) = end {
                page.next = Some(Next { from: turn.number, skip });
                break;
            }
            skip = 0;
        }
        Ok(page)
    }
}

struct Budget {
    lines: usize,
    bytes: usize,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.lines == 0 || self.bytes == 0
    }
}

/// Makes views of lines.
struct Looker<'a> {
    reading: &'a Reading,
    extent: Extent<'a>,
    files: OverflowFiles<'a>,
}

impl Looker<'_> {
    /// The items of a turn from a line on, and the line to go on with if the
    /// budget is spent before its end.
    fn items(
        &self,
        turn: &Turn<'_>,
        skip: usize,
        budget: &mut Budget,
    ) -> (Vec<ItemRow>, Option<usize>) {
        let mut rows = Vec::new();
        for (at, id) in turn.nodes.iter().enumerate().skip(skip) {
            if budget.is_spent() {
                return (rows, Some(at));
            }
            budget.lines -= 1;
            for row in self.line(turn.number, *id) {
                budget.bytes = budget.bytes.saturating_sub(row.size());
                rows.push(row);
            }
        }
        for line in &turn.queued_lines {
            let shown = self.reading.queued(line).map(|prompt| Shown::queued(prompt, turn.number));
            rows.extend(shown.map(|shown| self.row(turn.number, &shown.origin, &shown.item)));
        }
        (rows, None)
    }

    fn row(&self, turn: u32, origin: &Origin, item: &Item) -> ItemRow {
        ItemRow::new(turn, origin, item, self.extent)
    }

    /// What is shown of a line. A result is shown with its call, wherever it is.
    fn line(&self, turn: u32, id: NodeId) -> Vec<ItemRow> {
        let read = |entry: &recto_log::Entry<'_>| {
            let origin = Origin::of(entry);
            let media = self.media(entry, None, origin.line);
            (origin, items(entry), media)
        };
        let entry = self.reading.loaded.with_entry(id, read);
        let Some((origin, items, mut media)) = entry else { return Vec::new() };
        let mut rows = Vec::new();
        for mut item in items {
            match &item {
                Item::Call { id, .. } => {
                    let (result, media) = self.result_of(turn, &origin, id);
                    let outcome = CallOutcome {
                        duration_ms: self.call(id).and_then(milliseconds),
                        agent: self.agent_of(id),
                        result,
                    };
                    let row = self.row(turn, &origin, &item).with_outcome(outcome);
                    rows.push(ItemRow { media, ..row });
                    continue;
                }
                Item::Result { id, .. } => {
                    if self.call(id).is_some_and(|call| call.call.is_some()) {
                        continue;
                    }
                    self.files.complete(&mut item, OverflowWanted::Nothing);
                }
                _ => {}
            }
            // They belong to the line, which is one prompt or one note.
            let media = std::mem::take(&mut media);
            rows.push(ItemRow { media, ..self.row(turn, &origin, &item) });
        }
        rows
    }

    /// The images and documents of a line, where rows have addresses.
    fn media(&self, entry: &recto_log::Entry<'_>, call: Option<&str>, line: u64) -> Vec<MediaRow> {
        match self.extent {
            Extent::Whole => Vec::new(),
            Extent::Cut { base } => media_rows(entry, call, base, line),
        }
    }

    fn call(&self, id: &str) -> Option<&recto_session::ToolCall> {
        let name = self.reading.session().names().find(id)?;
        self.reading.session().facts().call(name)
    }

    /// What came of a call, with the images and documents in it.
    fn result_of(
        &self,
        turn: u32,
        origin: &Origin,
        id: &str,
    ) -> (Option<ResultRow>, Vec<MediaRow>) {
        let Some(line) = self.call(id).and_then(|call| call.result) else {
            return (None, Vec::new());
        };
        let Some(mut item) = result_item(self.reading, line, id) else {
            return (None, Vec::new());
        };
        let has_media = matches!(item, Item::Result { pictures: 1.., .. });
        let read = |entry: &recto_log::Entry<'_>| {
            self.media(entry, Some(id), self.reading.session().node(line).line)
        };
        let media = has_media.then(|| self.reading.loaded.with_entry(line, read)).flatten();
        self.files.complete(&mut item, OverflowWanted::Nothing);
        let result = match self.row(turn, origin, &item).what {
            ItemKind::Result { result, .. } => Some(result),
            _ => None,
        };
        (result, media.unwrap_or_default())
    }

    fn agent_of(&self, id: &str) -> Option<String> {
        let session = self.reading.session();
        let name = session.names().find(id)?;
        let run = session.facts().agents.iter().find(|run| run.call == Some(name))?;
        run.agent.as_ref().map(|agent| agent.as_str().to_owned())
    }
}

/// The result of a call in a line.
pub(crate) fn result_item(reading: &Reading, line: NodeId, call: &str) -> Option<Item> {
    let is_it = |item: &Item| matches!(item, Item::Result { id, .. } if id == call);
    reading.loaded.with_entry(line, |entry| items(entry).into_iter().find(is_it))?
}
