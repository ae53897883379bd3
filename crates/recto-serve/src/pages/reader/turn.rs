//! One turn: its head, and what is in it, message by message.

use jiff::Timestamp;
use maud::Markup;
use maud::html;

use super::Log;
use super::items;
use crate::context::Context;
use crate::pages::format::duration;
use crate::pages::format::plural;
use crate::pages::format::short;
use crate::pages::format::time_tag;
use crate::pages::format::tokens;
use recto_view::ItemKind;
use recto_view::ItemRow;
use recto_view::Reading;
use recto_view::TurnView;

/// What a turn is drawn with.
pub(super) struct Look<'a> {
    pub(super) context: &'a Context,
    pub(super) log: &'a Log,
    pub(super) reading: &'a Reading,
}

impl Look<'_> {
    pub(super) fn now(&self) -> Timestamp {
        self.context.library.now()
    }

    /// What a model had before it, and what it wrote.
    fn tokens(&self, message: &str) -> Option<(u64, u64)> {
        let session = self.reading.session();
        let name = session.names().find(message)?;
        let message = session.facts().message(name).filter(|message| !message.is_synthetic)?;
        Some((message.tokens.context(), message.tokens.output))
    }
}

/// One turn, or a part of one.
pub(super) fn turn(look: &Look<'_>, turn: &TurnView) -> Markup {
    let groups = groups(&turn.items);
    let lines = look.reading.turns.nodes(turn.turn as usize - 1).len();
    let errors = turn.failed_tool_calls + turn.api_errors;
    html! {
        section.turn id=[(!turn.continued).then(|| format!("turn-{}", turn.turn))]
            .other[!turn.current] data-turn=(turn.turn) data-kind=(turn.kind) data-lines=(lines)
            data-errors=[(errors > 0).then_some(errors)] data-part[turn.continued] data-skip=[(turn.skip > 0).then_some(turn.skip)]
            aria-label=(format!("Turn {}", turn.turn)) {
            @if !turn.continued {
                (turn_head(look, turn))
            }
            div.items {
                @for group in &groups {
                    (group_markup(look, group))
                }
            }
        }
    }
}

fn turn_head(look: &Look<'_>, turn: &TurnView) -> Markup {
    let context = turn.items.iter().rev().find_map(|item| look.tokens(item.message.as_deref()?));
    html! {
        header.turn-head {
            a.turn-number href=(format!("#turn-{}", turn.turn)) title="Link to this turn" { (turn.turn) }
            (menu_button(turn.turn))
            // What began the other kinds of turns says so itself.
            @if turn.kind == "start" {
                span.tag { "before the first prompt" }
            }
            @if !turn.current {
                span.tag.violet title="The newest clients do not resume from here" { "other branch" }
            }
            @if turn.interrupted {
                span.tag.warn { "stopped" }
            }
            @if turn.failed_tool_calls > 0 {
                span.tag.bad { (turn.failed_tool_calls) " failed" }
            }
            @if turn.api_errors > 0 {
                span.tag.bad { (plural(u64::from(turn.api_errors), "API error")) }
            }
            span.turn-facts data-cost-turn=(turn.turn) {
                @if let Some((context, _)) = context {
                    span title=(format!("{} in the context at the last answer shown here", tokens(context))) { (short(context)) " ctx" }
                }
                @if turn.tokens.output_tokens > 0 {
                    span title=(format!("{} in this turn", plural(turn.tokens.output_tokens, "output token"))) { (short(turn.tokens.output_tokens)) " out" }
                }
                @if turn.tool_calls > 0 {
                    span { (plural(u64::from(turn.tool_calls), "call")) }
                }
                @if let Some(milliseconds) = turn.duration_ms.filter(|span| *span > 0) {
                    span { (duration(milliseconds)) }
                }
                @if let Some(started) = turn.started {
                    (time_tag(look.now(), look.context.library.zone(), started.0))
                }
            }
        }
    }
}

/// Opens what can be done with a turn; the script makes the menu.
fn menu_button(turn: u32) -> Markup {
    html! {
        button.button.quiet.small.turn-copy type="button" data-turn-menu=(turn) aria-haspopup="menu"
            aria-label=(format!("Actions for turn {turn}")) { "⋯" }
    }
}

/// What belongs together: all of one API message, or one thing alone.
struct Group<'a> {
    message: Option<&'a str>,
    items: Vec<&'a ItemRow>,
}

fn groups(items: &[ItemRow]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for item in items {
        if is_meta(item) {
            continue;
        }
        let message = item.message.as_deref();
        match groups.last_mut() {
            Some(group) if message.is_some() && group.message == message => group.items.push(item),
            _ => groups.push(Group { message, items: vec![item] }),
        }
    }
    groups
}

/// What the client adds for the model is for few readers; the raw line has it.
fn is_meta(item: &ItemRow) -> bool {
    matches!(item.what, ItemKind::Note { kind: "meta", .. }) && item.media.is_empty()
}

fn group_markup(look: &Look<'_>, group: &Group<'_>) -> Markup {
    let first = group.items.first();
    let line = first.map_or(0, |item| item.line);
    // Changes when anything in it does, so that a page that follows knows what to replace.
    let sign: usize = group.items.iter().map(|item| item.size()).sum::<usize>()
        + group.items.iter().filter(|item| has_result(item)).count();
    let Some(message) = group.message else {
        return html! {
            @for item in &group.items {
                div.item data-key=(format!("line-{line}")) data-sign=(sign) { (items::item(look, item)) }
            }
        };
    };
    let used = look.tokens(message);
    html! {
        div.message data-key=(format!("line-{line}")) data-sign=(sign) {
            @if let Some((context, output)) = used {
                span.message-facts title=(format!("{} in the context, {}", tokens(context), plural(output, "output token"))) {
                    (short(context)) " ctx · " (short(output)) " out"
                }
            }
            (message_items(look, &group.items))
        }
    }
}

fn has_result(item: &ItemRow) -> bool {
    matches!(&item.what, ItemKind::Call { outcome: Some(outcome), .. } if outcome.result.is_some())
}

/// The items of a message; calls side by side are one list.
fn message_items(look: &Look<'_>, all: &[&ItemRow]) -> Markup {
    let is_call = |item: &&ItemRow| matches!(item.what, ItemKind::Call { .. });
    let runs = all.chunk_by(|a, b| is_call(a) && is_call(b));
    html! {
        @for run in runs {
            @if is_call(&run[0]) {
                div.calls .parallel[run.len() > 1] {
                    @if run.len() > 1 {
                        p.calls-head { (run.len()) " calls at the same time" }
                    }
                    @for item in run {
                        (items::item(look, item))
                    }
                }
            } @else {
                @for item in run {
                    (items::item(look, item))
                }
            }
        }
    }
}
