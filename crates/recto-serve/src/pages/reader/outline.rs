//! The outline: all turns at a glance, with what went wrong and how much was
//! written.

use maud::Markup;
use maud::html;

use super::Log;
use super::Wanted;
use crate::pages::format::plural;
use crate::pages::text::one_line;
use recto_view::Next;
use recto_view::SessionHead;
use recto_view::TurnRow;

/// How wide the bar of the longest turn is: the style sheet has a class for each width.
const WIDEST: u64 = 10;

/// What an outline is made of.
pub(super) struct Outline<'a> {
    pub(super) log: &'a Log,
    pub(super) turns: &'a [TurnRow],
    pub(super) head: &'a SessionHead,
    pub(super) wanted: &'a Wanted,
}

impl Outline<'_> {
    pub(super) fn markup(&self) -> Markup {
        html! {
            nav #outline .outline aria-label="Outline" {
                (self.head())
                (self.entries(0))
            }
        }
    }

    /// How many turns there are. The script keeps it new.
    pub(super) fn head(&self) -> Markup {
        let has_failed = |turn: &&TurnRow| failures(turn) > 0;
        let errors = self.turns.iter().filter(has_failed).count();
        html! {
            div.outline-head {
                h2 { (plural(self.turns.len() as u64, "turn")) }
                @if errors > 0 {
                    button.button.quiet.small.outline-errors type="button" data-reader="error" data-command="Next error" { (errors) " with errors" }
                }
                button.button.quiet.small.icon.outline-close type="button" data-reader="outline" aria-label="Close the outline" {
                    svg.icon-line viewBox="0 0 16 16" aria-hidden="true" { path d="m4 4 8 8m0-8-8 8" {} }
                }
            }
        }
    }

    /// The turns from a number on, each with where the conversation was compacted.
    pub(super) fn entries(&self, from: u32) -> Markup {
        let most =
            self.turns.iter().map(|turn| turn.tokens.output_tokens).max().unwrap_or(0).max(1);
        let is_compacted = |turn: u32| {
            let mut compactions = self.head.compactions.iter();
            self.log.agent.is_none() && compactions.any(|compaction| compaction.turn == turn)
        };
        html! {
            ol.outline-list {
                @for turn in self.turns.iter().filter(|turn| turn.turn >= from) {
                    li .other[!turn.current] data-turn=(turn.turn) { (self.entry(turn, most)) }
                    // A compaction is the last thing in its turn: what follows begins with the summary.
                    @if is_compacted(turn.turn) {
                        li.outline-mark data-turn=(turn.turn) { "compacted" }
                    }
                }
            }
        }
    }

    fn entry(&self, turn: &TurnRow, most: u64) -> Markup {
        let way = Wanted {
            branch: self.wanted.branch.clone(),
            show: self.wanted.show,
            ..Wanted::default()
        };
        let query = way.address(Next { from: turn.turn, skip: 0 });
        let failures = failures(turn);
        let about = format!(
            "{}{}",
            plural(turn.tokens.output_tokens, "output token"),
            if failures > 0 { format!(", {failures} failed") } else { String::new() }
        );
        // Few nodes: a session can have thousands of turns. The number and the bar are drawn
        // by the style sheet.
        let width = (turn.tokens.output_tokens * WIDEST).div_ceil(most);
        html! {
            a href=(format!("{}?{query}#turn-{}", self.log.page(), turn.turn)) data-goto=(turn.turn)
                class=(format!("w-{width}")) .has-error[failures > 0] title=(about) {
                bdi { (words(turn)) }
            }
        }
    }
}

/// What went wrong in a turn.
fn failures(turn: &TurnRow) -> u32 {
    turn.failed_tool_calls + turn.api_errors
}

fn words(turn: &TurnRow) -> String {
    let text = one_line(&turn.prompt, 90);
    if text.is_empty() { format!("({})", turn.kind) } else { text }
}
