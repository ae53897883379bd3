//! The outline: all turns at a glance, with what went wrong and how much was
//! written.

use maud::Markup;
use maud::html;

use super::Log;
use super::Wanted;
use crate::data::Next;
use crate::data::OutlineTurn;
use crate::data::SessionHead;
use crate::pages::format::count;
use crate::pages::format::short;
use crate::pages::text::one_line;

/// How wide the bar of the longest turn is, in units of the drawing.
const WIDEST: u64 = 100;

pub(super) fn outline(
    log: &Log,
    turns: &[OutlineTurn],
    head: &SessionHead,
    wanted: &Wanted,
) -> Markup {
    let way = Wanted { branch: wanted.branch.clone(), ..Wanted::default() };
    let address = |turn: u32| {
        let query = way.address(Next { from: turn, skip: 0 });
        format!("{}?{query}#turn-{turn}", log.page())
    };
    let most = turns.iter().map(|turn| turn.tokens.output).max().unwrap_or(0).max(1);
    let is_compacted = |turn: u32| {
        log.agent.is_none() && head.compactions.iter().any(|compaction| compaction.turn == turn)
    };
    let errors = turns.iter().filter(|turn| turn.failed_tool_calls + turn.api_errors > 0).count();
    html! {
        nav #outline .outline aria-label="Outline" {
            div.outline-head {
                h2 { (count(turns.len() as u64)) @if turns.len() == 1 { " turn" } @else { " turns" } }
                @if errors > 0 {
                    button.button.quiet.small type="button" data-reader="error" data-command="Next error" { (errors) " with errors" }
                }
            }
            ol.outline-list {
                @for turn in turns {
                    @if is_compacted(turn.turn) {
                        li.outline-mark { "compacted" }
                    }
                    li .other[!turn.current] {
                        a href=(address(turn.turn)) data-goto=(turn.turn)
                            .has-error[turn.failed_tool_calls + turn.api_errors > 0] {
                            span.outline-number { (turn.turn) }
                            span.outline-text {
                                span.cut { bdi { (words(turn)) } }
                                svg.outline-bar viewBox="0 0 100 2" preserveAspectRatio="none" aria-hidden="true" {
                                    rect width=((turn.tokens.output * WIDEST).div_ceil(most)) height="2" {}
                                }
                            }
                            @if turn.failed_tool_calls + turn.api_errors > 0 {
                                span.outline-error title=(format!("{} failed", turn.failed_tool_calls + turn.api_errors)) { "●" }
                            }
                            span.unseen { ", " (short(turn.tokens.output)) " tokens written" }
                        }
                    }
                }
            }
        }
    }
}

fn words(turn: &OutlineTurn) -> String {
    let text = one_line(&turn.prompt, 90);
    if text.is_empty() { format!("({})", turn.kind) } else { text }
}
