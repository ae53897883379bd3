//! The cards above the charts of usage.

use maud::Markup;
use maud::html;
use recto_session::usage::Money;
use recto_session::usage::Total;

use super::link::Link;
use super::text::cost;
use super::text::count;
use super::text::day_text;
use super::text::dollars;
use super::text::percent;
use super::text::plural;
use super::text::short;
use super::usage::day_link;
use crate::pages::card::Card;
use crate::pages::card::Sense;
use recto_view::figures::Before;
use recto_view::figures::Slice;
use recto_view::figures::UsageFigures;
use recto_view::figures::UsageQuestion;

pub(super) fn cards(question: &UsageQuestion, figures: &UsageFigures, link: &Link) -> Markup {
    let before = compared(figures);
    html! {
        dl.cards.figure-cards {
            @for card in money_cards(question, figures, link) { (card) }
            @for card in count_cards(question, figures) { (card) }
        }
        @if let Some(period) = question.period.before() {
            p.faint.against {
                @if before.is_some() { "Compared with the previous period, " (period.text()) "." }
                @else { "Nothing to compare with: no messages in the previous period, " (period.text()) "." }
            }
        }
    }
}

/// A period in which nothing was logged is nothing to compare with.
fn compared(figures: &UsageFigures) -> Option<&Before> {
    figures.before.as_ref().filter(|before| before.total.messages > 0)
}

fn money_cards(question: &UsageQuestion, figures: &UsageFigures, link: &Link) -> [Card; 5] {
    let total = &figures.total;
    let before = compared(figures);
    let sent = |total: &Total| u128::from(total.tokens.context());
    let of = |what: &dyn Fn(&Total) -> u128| before.map(|one| (what(total), what(&one.total)));
    let cost_of = |total: &Total| total.known_cost.pico();
    let days = figures.day_count(&question.period);
    let burn = Money::from_pico(total.known_cost.pico() / u128::from(days));
    let explained = link.at("/usage/explain").without(&["by", "show"]);
    [
        Card::new("Total cost", cost(total), "explain")
            .against(Sense::Less, of(&cost_of))
            .leading_to(Some(explained)),
        Card::new("Daily average", dollars(burn), format!("over {}", plural(days, "day")))
            .against(Sense::Less, of(&cost_of)),
        Card::new("Input tokens", short(total.tokens.context()), "everything sent")
            .against(Sense::Neither, of(&sent)),
        Card::new("Uncached input", short(total.tokens.input), "tokens sent without the cache")
            .against(Sense::Neither, of(&|total| total.tokens.input.into())),
        Card::new("Output tokens", short(total.tokens.output), at_most(total))
            .against(Sense::Neither, of(&|total| total.tokens.output.into())),
    ]
}

fn count_cards(question: &UsageQuestion, figures: &UsageFigures) -> [Card; 5] {
    let total = &figures.total;
    let before = compared(figures);
    let rate =
        |total: &Total| total.tokens.cache_hit_percent().map_or(0, |hit| (hit * 1000.0) as u128);
    let counts = |now: usize, then: &dyn Fn(&Before) -> usize| {
        before.map(|before| (now as u128, then(before) as u128))
    };
    let peak = figures.peak();
    let peak_cost = |day: &Slice| day.total.known_cost;
    let link = super::usage::link("/usage", question);
    let days = figures.day_count(&question.period);
    [
        Card::new(
            "Cache hit",
            total.tokens.cache_hit_percent().map_or_else(|| "–".into(), percent),
            "of what was sent",
        )
        .against(Sense::More, before.map(|before| (rate(total), rate(&before.total)))),
        Card::new(
            "Peak day",
            peak.map_or_else(|| "–".into(), |day| dollars(peak_cost(day))),
            peak.map_or_else(String::new, |day| day_text(&day.label)),
        )
        .against(
            Sense::Less,
            before.map(|before| (peak.map_or(0, |day| peak_cost(day).pico()), before.peak.pico())),
        )
        .leading_to(peak.map(|day| day_link(&link, &day.label))),
        Card::new(
            "Active days",
            count(figures.active_days() as u64),
            format!("of {}", count(days)),
        )
        .against(Sense::Neither, counts(figures.active_days(), &|before| before.active_days)),
        Card::new("Projects", count(figures.by_project.len() as u64), "")
            .against(Sense::Neither, counts(figures.by_project.len(), &|before| before.projects)),
        Card::new("Models", count(figures.by_model.len() as u64), "")
            .against(Sense::Neither, counts(figures.by_model.len(), &|before| before.models)),
    ]
}

fn at_most(total: &Total) -> String {
    match total.most_output == total.tokens.output {
        true => "everything models wrote".into(),
        // Some clients log fewer tokens than there were.
        false => format!("up to {} by estimate", short(total.most_output)),
    }
}
