//! Two models or projects, side by side.

use maud::Markup;
use maud::html;
use recto_session::usage::Dimension;
use recto_session::usage::Money;
use recto_session::usage::Total;

use super::bars::cell_bar;
use super::link::Link;
use super::text::Names;
use super::text::cost;
use super::text::count;
use super::text::dollars;
use super::text::percent;
use super::text::short;
use crate::answer::Failure;
use crate::parameters::Parameters;
use recto_view::figures::Slice;
use recto_view::figures::UsageFigures;
use recto_view::figures::UsageQuestion;

/// What is compared: a dimension and a key each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sides {
    left: Option<(Dimension, String)>,
    right: Option<(Dimension, String)>,
}

impl Sides {
    /// Takes `left` and `right`: `model:NAME` or `project:DIRECTORY`.
    pub(crate) fn take(parameters: &mut Parameters) -> Result<Sides, Failure> {
        Ok(Sides { left: side(parameters, "left")?, right: side(parameters, "right")? })
    }
}

fn side(parameters: &mut Parameters, name: &str) -> Result<Option<(Dimension, String)>, Failure> {
    let Some(text) = parameters.text(name) else { return Ok(None) };
    let dimension = match text.split_once(':') {
        Some(("model", key)) => Some((Dimension::Model, key.to_owned())),
        Some(("project", key)) => Some((Dimension::Project, key.to_owned())),
        _ => None,
    };
    dimension.map(Some).ok_or_else(|| {
        Failure::bad_request("bad-parameter", format!("invalid value for `{name}`"))
            .with_hint("write `model:NAME` or `project:NAME`")
    })
}

/// One side with its figures.
struct Side<'a> {
    slice: &'a Slice,
    sessions: u64,
}

pub(super) fn panel(
    question: &UsageQuestion,
    figures: &UsageFigures,
    sides: &Sides,
    link: &Link,
) -> Markup {
    let usual = |at: usize| {
        let of = |slices: &[Slice], dimension| {
            slices.get(at).map(|slice| (dimension, slice.key.clone()))
        };
        match figures.by_model.len() {
            2.. => of(&figures.by_model, Dimension::Model),
            _ => of(&figures.by_project, Dimension::Project),
        }
    };
    let left = sides.left.clone().or_else(|| usual(0));
    let right = sides.right.clone().or_else(|| usual(1));
    let find = |wanted: &Option<(Dimension, String)>| {
        let (dimension, key) = wanted.as_ref()?;
        let slices =
            if *dimension == Dimension::Model { &figures.by_model } else { &figures.by_project };
        let slice = slices.iter().find(|slice| slice.key == *key)?;
        let sessions = figures.sessions_of.get(&(*dimension, key.clone())).copied().unwrap_or(0);
        Some(Side { slice, sessions: sessions as u64 })
    };
    let hidden = super::usage::link("/usage", question);
    html! {
        section.panel #compare aria-labelledby="compare-title" {
            div.panel-head { h2 #compare-title { "Compare two" } }
            div.panel-body {
                @if figures.by_model.len() < 2 && figures.by_project.len() < 2 {
                    p.muted { "A comparison needs two models or two projects with usage in this period." }
                } @else {
                    form.filters method="get" action="/usage#compare" {
                        @for (name, value) in hidden.pairs() { input type="hidden" name=(name) value=(value); }
                        (choice("left", "First", left.as_ref(), figures))
                        span.faint { "and" }
                        (choice("right", "Second", right.as_ref(), figures))
                        button.button type="submit" { "Compare" }
                    }
                    @match (find(&left), find(&right)) {
                        (Some(left), Some(right)) => (table(&left, &right, &super::usage::names(figures), link)),
                        _ => p.muted { "One of them has no messages in this period." }
                    }
                }
            }
        }
    }
}

fn choice(
    name: &str,
    label: &str,
    current: Option<&(Dimension, String)>,
    figures: &UsageFigures,
) -> Markup {
    let known = super::usage::names(figures);
    let is_current = |dimension: Dimension, key: &str| {
        current.is_some_and(|(known, text)| *known == dimension && text == key)
    };
    html! {
        label.unseen for=(name) { (label) }
        select.field id=(name) name=(name) {
            optgroup label="Models" {
                @for slice in &figures.by_model {
                    option value=(format!("model:{}", slice.key)) selected[is_current(Dimension::Model, &slice.key)] { (known.name(&slice.label)) }
                }
            }
            optgroup label="Projects" {
                @for slice in &figures.by_project {
                    option value=(format!("project:{}", slice.key)) selected[is_current(Dimension::Project, &slice.key)] { (known.name(&slice.label)) }
                }
            }
        }
    }
}

/// A row: what it is, the values as text, and how large they are.
type Row = (&'static str, [String; 2], [u128; 2]);

fn table(left: &Side<'_>, right: &Side<'_>, known: &Names, link: &Link) -> Markup {
    let sides = [left, right];
    let row = |name, text: &dyn Fn(&Side<'_>) -> String, size: &dyn Fn(&Side<'_>) -> u128| -> Row {
        (name, sides.map(text), sides.map(size))
    };
    let total = |side: &Side<'_>| -> Total { side.slice.total };
    let each = |amount: Money, number: u64| {
        if number == 0 {
            Money::default()
        } else {
            Money::from_pico(amount.pico() / u128::from(number))
        }
    };
    let sent = |total: &Total| total.tokens.context();
    let rows = [
        row("Cost", &|side| cost(&total(side)), &|side| total(side).known_cost.pico()),
        row("Sessions", &|side| count(side.sessions), &|side| side.sessions.into()),
        row(
            "Cost per session",
            &|side| dollars(each(total(side).known_cost, side.sessions)),
            &|side| each(total(side).known_cost, side.sessions).pico(),
        ),
        row("Messages", &|side| count(total(side).messages), &|side| total(side).messages.into()),
        row(
            "Cost per message",
            &|side| dollars(each(total(side).known_cost, total(side).messages)),
            &|side| each(total(side).known_cost, total(side).messages).pico(),
        ),
        row("Input tokens", &|side| short(sent(&total(side))), &|side| sent(&total(side)).into()),
        row("Output tokens", &|side| short(total(side).tokens.output), &|side| {
            total(side).tokens.output.into()
        }),
        row(
            "Cache hit",
            &|side| total(side).tokens.cache_hit_percent().map_or_else(|| "–".to_owned(), percent),
            &|side| total(side).tokens.cache_hit_percent().map_or(0, |hit| (hit * 1000.0) as u128),
        ),
    ];
    let names = sides.map(|side| known.name(&side.slice.label));
    html! {
        div.table-scroll {
            table.table.compare {
                thead { tr { th { span.unseen { "Figure" } } @for name in &names { th colspan="2" { bdi { (name) } } } } }
                tbody {
                    @for (name, texts, sizes) in &rows {
                        @let largest = sizes[0].max(sizes[1]);
                        tr {
                            th scope="row" { (name) }
                            @for at in 0..2 {
                                td.number { (texts[at]) }
                                td.bar-cell { (cell_bar(sizes[at], largest, at)) }
                            }
                        }
                    }
                }
            }
        }
        p.faint { a href=(link.at("/usage/explain").without(&["by", "show", "left", "right"])) { "How each amount is computed" } }
    }
}
