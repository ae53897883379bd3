//! Tokens and what they cost: cards, charts, tables, and the way down to each line.

use axum::extract::State;
use maud::Markup;
use maud::html;
use recto_session::usage::Dimension;
use recto_session::usage::Money;

use super::bars::Column;
use super::bars::columns;
use super::bars::legend;
use super::link::Link;
use super::period_choice;
use super::text::Names;
use super::text::capitalised;
use super::text::dollars;
use super::text::one_line;
use super::text::percent;
use super::text::short;
use super::treemap::Tile;
use super::treemap::treemap;
use super::usage_cards;
use super::usage_compare;
use super::usage_compare::Sides;
use super::usage_parts;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::parameters::Parameters;
use recto_view::figures::Bucket;
use recto_view::figures::Choice;
use recto_view::figures::Metric;
use recto_view::figures::Slice;
use recto_view::figures::UsageFigures;
use recto_view::figures::UsageQuestion;

/// Reads what is asked, for all pages about usage.
pub(crate) fn question(
    context: &Context,
    parameters: &mut Parameters,
) -> Result<UsageQuestion, Failure> {
    let period = parameters.period(Choice::Days(30), &context.library)?;
    let metric = match parameters.text("show").as_deref() {
        None | Some("cost") => Metric::Cost,
        Some("tokens") => Metric::Tokens,
        Some(_) => {
            let message = "`show` is `cost` or `tokens`";
            return Err(Failure::bad_request("bad-parameter", message));
        }
    };
    let by = match parameters.text("by").as_deref() {
        None | Some("project") => Dimension::Project,
        Some("model") => Dimension::Model,
        Some(_) => {
            let message = "`by` is `project` or `model`";
            return Err(Failure::bad_request("bad-parameter", message));
        }
    };
    Ok(UsageQuestion {
        period,
        project: parameters.text("project"),
        model: parameters.text("model"),
        session: parameters.text("session"),
        by,
        metric,
    })
}

/// The address that asks the same again.
pub(crate) fn link(path: &str, question: &UsageQuestion) -> Link {
    let link = Link::new(path);
    let link = match question.period.choice {
        Choice::Custom => link
            .with_some("from", question.period.from.map(|day| day.to_string()).as_deref())
            .with_some("to", question.period.to.map(|day| day.to_string()).as_deref()),
        choice => link.with_some("period", choice.name()),
    };
    let link = link
        .with_some("project", question.project.as_deref())
        .with_some("model", question.model.as_deref())
        .with_some("session", question.session.as_deref());
    let link = if question.by == Dimension::Model { link.with("by", "model") } else { link };
    if question.metric == Metric::Tokens { link.with("show", "tokens") } else { link }
}

pub(crate) async fn usage(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let question = question(&context, &mut parameters)?;
    let sides = Sides::take(&mut parameters)?;
    parameters.finish()?;
    let asked = question.clone();
    let figures = context.answer(move |library| Ok(library.usage_figures(&asked))).await?;
    Ok(page("Usage", Nav::Usage, &body(&question, &figures, &sides)))
}

/// Everything on the page.
pub(crate) fn body(question: &UsageQuestion, figures: &UsageFigures, sides: &Sides) -> Markup {
    let link = link("/usage", question);
    html! {
        header.page-head {
            h1 { "Usage" }
            (period_choice(&question.period, &link))
            p { (about(question, figures)) }
        }
        nav.choice aria-label="More about usage" {
            a href=(link.at("/usage/groups").with("group", "tool").without(&["by", "show"])) { "By tool" }
            a href=(link.at("/usage/groups").with("group", "agent").without(&["by", "show"])) { "By subagent" }
            a href="/usage/compare" { "Compare periods" }
            a href=(link.at("/usage/explain").without(&["by", "show"]).with("sort", "amount")) { "Most expensive messages" }
        }
        (filters(question, figures, &link))
        @if figures.total.messages == 0 {
            div.panel {
                (super::empty("No usage in this period", "No message of a model was logged in this period with these filters. Choose a longer period, or all projects."))
            }
        } @else {
            (usage_cards::cards(question, figures, &link))
            (over_time(question, figures, &link))
            (attribution(question, figures, &link))
            div.columns {
                (usage_parts::top_sessions(figures, &link))
                (usage_parts::cache(figures, &link))
            }
            div.columns {
                (usage_parts::slices("By model", "model", &figures.by_model, &names(figures), &link))
                (usage_parts::slices("By project", "project", &figures.by_project, &names(figures), &link))
            }
            (usage_parts::days(&figures.by_day, &link))
            (usage_compare::panel(question, figures, sides, &link))
        }
        (usage_parts::notes(figures))
    }
}

/// What projects and models are called on this page.
pub(super) fn names(figures: &UsageFigures) -> Names {
    Names::of(figures.projects.iter().map(|(_, label)| label.as_str()))
}

fn about(question: &UsageQuestion, figures: &UsageFigures) -> String {
    let messages = super::text::plural(figures.total.messages, "message");
    let sessions = super::text::plural(figures.session_count as u64, "session");
    format!(
        "{}: {messages} in {sessions}. Each message counts once, however many logs contain it.",
        capitalised(&question.period.text())
    )
}

fn filters(question: &UsageQuestion, figures: &UsageFigures, link: &Link) -> Markup {
    let hidden = link.without(&["project", "model", "session"]);
    let names = names(figures);
    let is_filtered =
        question.project.is_some() || question.model.is_some() || question.session.is_some();
    // What is chosen must be there even if nothing of it is in the period.
    let other_project = question
        .project
        .as_ref()
        .filter(|key| figures.projects.iter().all(|(known, _)| known != *key));
    let other_model = question.model.as_ref().filter(|name| !figures.models.contains(name));
    html! {
        form.filters.figure-filters method="get" action="/usage" {
            @for (name, value) in hidden.pairs() { input type="hidden" name=(name) value=(value); }
            label.unseen for="project" { "Project" }
            select #project .field name="project" {
                option value="" { "All projects" }
                @for (key, label) in &figures.projects {
                    option value=(key) selected[question.project.as_ref() == Some(key)] { (names.name(label)) }
                }
                @if let Some(key) = other_project { option value=(key) selected { (one_line(key)) } }
            }
            label.unseen for="model" { "Model" }
            select #model .field name="model" {
                option value="" { "All models" }
                @for name in &figures.models {
                    option value=(name) selected[question.model.as_ref() == Some(name)] { (names.name(name)) }
                }
                @if let Some(name) = other_model { option value=(name) selected { (one_line(name)) } }
            }
            button.button type="submit" { "Filter" }
            @if let Some(session) = &question.session { span.tag.info { "session " (session.chars().take(8).collect::<String>()) } }
            @if is_filtered { a.button.quiet href=(hidden) { "Clear" } }
            a.button.quiet.push href=(link.at("/usage.csv").with("by", "day")) download { "CSV" }
        }
    }
}

/// A day, closer.
pub(crate) fn day_link(link: &Link, day: &str) -> Link {
    link.without(&["period", "from", "to"]).with("from", day).with("to", day)
}

fn choices(
    link: &Link,
    name: &str,
    current: &str,
    usual: &str,
    choices: [(&str, &str); 2],
) -> Markup {
    html! {
        nav.choice aria-label=(name) {
            @for (value, text) in choices {
                @let there = if value == usual { link.without(&[name]) } else { link.with(name, value) };
                a href=(there) aria-current=[(value == current).then_some("true")] { (text) }
            }
        }
    }
}

fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::Cost => "cost",
        Metric::Tokens => "tokens",
    }
}

/// A value of the metric, for people.
fn value_text(metric: Metric, value: u128) -> String {
    match metric {
        Metric::Cost => dollars(Money::from_pico(value)),
        Metric::Tokens => short(u64::try_from(value).unwrap_or(u64::MAX)),
    }
}

fn over_time(question: &UsageQuestion, figures: &UsageFigures, link: &Link) -> Markup {
    let (stack, metric) = (&figures.stack, question.metric);
    let known = names(figures);
    let title = match metric {
        Metric::Cost => "Cost over time",
        Metric::Tokens => "Tokens over time",
    };
    let columns_of: Vec<Column> = stack
        .bars
        .iter()
        .map(|bar| {
            let sum: u128 = bar.values.iter().sum();
            let largest = bar.values.iter().enumerate().max_by_key(|(_, value)| **value);
            let most = largest.and_then(|(at, value)| Some((stack.series.get(at)?, value)));
            let most =
                most.filter(|(_, value)| **value > 0).map_or_else(String::new, |(name, value)| {
                    format!("\nmost: {} {}", known.name(name), value_text(metric, *value))
                });
            let closer = link.without(&["period", "from", "to"]);
            let closer = closer.with("from", &bar.from.to_string()).with("to", &bar.to.to_string());
            Column {
                title: format!("{}: {}{most}", bar_name(bar, stack.unit), value_text(metric, sum)),
                label: bar_label(bar, stack.unit),
                address: (stack.unit != "hour" && sum > 0).then(|| closer.to_string()),
                parts: bar.values.iter().copied().enumerate().collect(),
            }
        })
        .collect();
    let by = if question.by == Dimension::Model { "model" } else { "project" };
    let names: Vec<String> = stack.series.iter().map(|name| known.name(name)).collect();
    html! {
        section.panel aria-labelledby="over-time" {
            div.panel-head {
                h2 #over-time { (title) span.faint { " by " (stack.unit) } }
                (choices(link, "show", metric_name(metric), "cost", [("cost", "Cost"), ("tokens", "Tokens")]))
                (choices(link, "by", by, "project", [("project", "Project"), ("model", "Model")]))
            }
            div.panel-body {
                (columns(title, &columns_of, 7, &|value| value_text(metric, value)))
                (legend(&names))
                @if stack.is_cut { p.faint { "The chart shows the most recent bars; the totals above include everything." } }
                details.figures {
                    summary { "The same as a table" }
                    div.table-scroll {
                        table.table {
                            thead { tr { th { (capitalised(stack.unit)) } @for name in &names { th.number { bdi { (name) } } } } }
                            tbody {
                                @for bar in &stack.bars {
                                    tr {
                                        td.nowrap { (bar_name(bar, stack.unit)) }
                                        @for value in &bar.values { td.number { (value_text(metric, *value)) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What a bar stands for, in full.
fn bar_name(bar: &Bucket, unit: &str) -> String {
    let day = |pattern: &str| bar.from.strftime(pattern).to_string();
    match unit {
        "hour" => bar.label.get(11..).unwrap_or(&bar.label).to_owned(),
        "week" => format!("week of {}", day("%b %-d, %Y")),
        "month" => day("%b %Y"),
        _ => day("%b %-d, %Y"),
    }
}

/// The same in little room: without the year, which neighbours share.
fn bar_label(bar: &Bucket, unit: &str) -> String {
    match unit {
        "day" | "week" => bar.from.strftime("%b %-d").to_string(),
        _ => bar_name(bar, unit),
    }
}

fn attribution(question: &UsageQuestion, figures: &UsageFigures, link: &Link) -> Markup {
    let metric = question.metric;
    let known = names(figures);
    let (name, slices): (&str, &[Slice]) = match question.by {
        Dimension::Model => ("model", &figures.by_model),
        _ => ("project", &figures.by_project),
    };
    let all: u128 = slices.iter().map(|slice| metric.of(&slice.total)).sum();
    let tiles: Vec<Tile> = slices
        .iter()
        .map(|slice| {
            let value = metric.of(&slice.total);
            let share = if all == 0 { 0.0 } else { value as f64 * 100.0 / all as f64 };
            Tile {
                label: known.name(&slice.label),
                value,
                text: format!("{} · {}", value_text(metric, value), percent(share)),
                address: link.with(name, &slice.key).to_string(),
            }
        })
        .collect();
    html! {
        section.panel aria-labelledby="attribution" {
            div.panel-head {
                h2 #attribution { @if metric == Metric::Cost { "Cost" } @else { "Tokens" } " by " (name) }
                span.faint { "Select an area to see its figures" }
            }
            div.panel-body { (treemap(&format!("Shares by {name}; the tables below have the figures"), &tiles)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_called_by_their_first_day() {
        let bar = |label: &str, from: &str| Bucket {
            label: label.into(),
            from: from.parse().unwrap(),
            to: from.parse().unwrap(),
            values: Vec::new(),
        };
        let bars = [
            ("hour", bar("2026-11-16 09:00", "2026-11-16"), "09:00", "09:00"),
            ("day", bar("2026-11-16", "2026-11-16"), "Nov 16", "Nov 16, 2026"),
            ("week", bar("2026-W46", "2026-11-09"), "Nov 9", "week of Nov 9, 2026"),
            ("month", bar("2026-11", "2026-11-01"), "Nov 2026", "Nov 2026"),
        ];
        for (unit, bar, label, name) in bars {
            assert_eq!(bar_label(&bar, unit), label);
            assert_eq!(bar_name(&bar, unit), name);
        }
    }
}
