//! The cards above the charts of usage.

use maud::Markup;
use maud::html;
use recto_session::usage::Money;
use recto_session::usage::Total;

use super::link::Link;
use super::text::cache_hit;
use super::text::change;
use super::text::cost;
use super::text::count;
use super::text::dollars;
use super::text::percent;
use super::text::plural;
use super::text::short;
use super::usage::day_link;
use crate::data::figures::Before;
use crate::data::figures::UsageFigures;
use crate::data::figures::UsageQuestion;

/// A card: a figure and how it changed.
struct Card {
    label: &'static str,
    value: String,
    note: String,
    change: Option<(String, &'static str)>,
    address: Option<Link>,
}

pub(super) fn cards(question: &UsageQuestion, figures: &UsageFigures, link: &Link) -> Markup {
    let total = &figures.total;
    // A period in which nothing was logged is nothing to compare with.
    let before = figures.before.as_ref().filter(|before| before.total.messages > 0);
    let against =
        |now: u128, then: &dyn Fn(&Before) -> u128| before.map(|before| change(now, then(before)));
    let sent = |total: &Total| u128::from(total.input + total.cache_read + total.writes());
    let days = figures.day_count(&question.period);
    let burn = Money::from_pico(total.known_cost.pico() / u128::from(days));
    let rate = |total: &Total| cache_hit(total).map_or(0, |hit| (hit * 1000.0) as u128);
    let peak = figures.peak();
    let cost_now = total.known_cost.pico();
    let explained = link.at("/usage/explain").without(&["by", "show"]);
    let cards = [
        Card {
            label: "Total cost",
            value: cost(total),
            note: "explain".into(),
            change: against(cost_now, &|before| before.total.known_cost.pico()),
            address: Some(explained),
        },
        Card {
            label: "Input",
            value: short(total.input + total.cache_read + total.writes()),
            note: "all that was sent".into(),
            change: against(sent(total), &|before| sent(&before.total)),
            address: None,
        },
        Card {
            label: "Uncached input",
            value: short(total.input),
            note: "neither read nor written".into(),
            change: against(total.input.into(), &|before| before.total.input.into()),
            address: None,
        },
        Card {
            label: "Output",
            value: short(total.output),
            note: at_most(total),
            change: against(total.output.into(), &|before| before.total.output.into()),
            address: None,
        },
        Card {
            label: "Daily burn",
            value: dollars(burn),
            note: format!("average of {}", plural(days, "day")),
            change: against(cost_now, &|before| before.total.known_cost.pico()),
            address: None,
        },
        Card {
            label: "Peak day",
            value: peak.map_or_else(|| "–".into(), |day| dollars(day.total.known_cost)),
            note: peak.map_or_else(String::new, |day| day.label.clone()),
            change: against(peak.map_or(0, |day| day.total.known_cost.pico()), &|before| {
                before.peak.pico()
            }),
            address: peak.map(|day| day_link(link, &day.label)),
        },
        Card {
            label: "Cache hit",
            value: cache_hit(total).map_or_else(|| "–".into(), percent),
            note: "of what was sent".into(),
            change: against(rate(total), &|before| rate(&before.total)),
            address: None,
        },
        Card {
            label: "Projects",
            value: count(figures.by_project.len() as u64),
            note: String::new(),
            change: against(figures.by_project.len() as u128, &|before| before.projects as u128),
            address: None,
        },
        Card {
            label: "Models",
            value: count(figures.by_model.len() as u64),
            note: String::new(),
            change: against(figures.by_model.len() as u128, &|before| before.models as u128),
            address: None,
        },
        Card {
            label: "Active days",
            value: count(figures.active_days() as u64),
            note: format!("of {}", count(days)),
            change: against(figures.active_days() as u128, &|before| before.active_days as u128),
            address: None,
        },
    ];
    html! {
        div.cards.figure-cards {
            @for card in &cards { (card_markup(card)) }
        }
        @if let Some(period) = question.period.before() {
            p.faint.against {
                @if before.is_some() { "Changes are against " (period.text()) "." }
                @else { "Nothing was logged in the period before, " (period.text()) "." }
            }
        }
    }
}

fn card_markup(card: &Card) -> Markup {
    html! {
        div.card {
            span.label { (card.label) }
            span.value {
                @match &card.address {
                    Some(address) => a href=(address) { (card.value) },
                    None => (card.value),
                }
            }
            span.note {
                @if let Some((text, class)) = &card.change {
                    span class=(format!("change {class}")) { (text) }
                    @if !card.note.is_empty() { " · " }
                }
                @match &card.address {
                    Some(address) => a href=(address) { (card.note) },
                    None => (card.note),
                }
            }
        }
    }
}

fn at_most(total: &Total) -> String {
    match total.most_output == total.output {
        true => "tokens of answers".into(),
        // Some clients log fewer tokens than there were.
        false => format!("to about {}", short(total.most_output)),
    }
}
