//! Usage by tool and by subagent, and two free selections side by side.

use axum::extract::State;
use maud::Markup;
use maud::html;
use recto_session::usage::Dimension;
use recto_session::usage::Row;
use recto_session::usage::Selection;
use recto_session::usage::Total;

use super::bars::cell_bar;
use super::empty;
use super::period_choice;
use super::session_address;
use super::text::cost;
use super::text::count;
use super::text::one_line;
use super::text::percent;
use super::text::short;
use super::usage;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::parameters::Parameters;
use recto_view::figures::Choice;
use recto_view::figures::Period;

/// How many rows there are.
const MOST_ROWS: usize = 200;

/// `/usage/groups?by=tool`
pub(crate) async fn groups(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let name = parameters.text("group").unwrap_or_else(|| "tool".to_owned());
    let by = match name.as_str() {
        "tool" => vec![Dimension::Tool],
        "agent" => vec![Dimension::Agent, Dimension::Session],
        _ => {
            let failure = Failure::bad_request("bad-parameter", "invalid value for `group`");
            return Err(failure.with_hint("tool or agent"));
        }
    };
    let question = usage::question(&context, &mut parameters)?;
    parameters.finish()?;
    let asked = question.clone();
    let answer = context.answer(move |library| {
        let selection = asked.selection(library, &asked.period);
        let report = library.count_usage(&by, selection, &|_, _| {}).report(&by);
        Ok((report.rows, report.total))
    });
    let (mut rows, total) = answer.await?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.total.known_cost.pico()));
    let link = usage::link("/usage/groups", &question).with("group", &name);
    let largest = rows.iter().map(|row| row.total.known_cost.pico()).max().unwrap_or(0);
    let is_tool = name == "tool";
    let body = html! {
        header.page-head {
            h1 { @if is_tool { "Usage by tool" } @else { "Usage by subagent" } }
            a.button href=(link.at("/usage").without(&["group"])) { "← Usage" }
            (period_choice(&question.period, &link))
            nav.choice aria-label="Group by" {
                a href=(link.with("group", "tool")) aria-current=[is_tool.then_some("true")] { "Tool" }
                a href=(link.with("group", "agent")) aria-current=[(!is_tool).then_some("true")] { "Subagent" }
            }
        }
        section.panel aria-label="Usage" {
            @if rows.is_empty() { (empty("No usage in this period", "Choose a longer period.")) }
            @else {
                div.table-scroll {
                    table.table {
                        thead { tr { th { @if is_tool { "Tools called" } @else { "Subagent" } } th.number { "Messages" } th.number { "Tokens" } th.number { "Cache hit" } th.number { "Cost" } th { span.unseen { "Share" } } } }
                        tbody {
                            @for row in rows.iter().take(MOST_ROWS) {
                                tr {
                                    td.wide { div.cut { (key(row, is_tool)) } }
                                    td.number { (count(row.total.messages)) }
                                    td.number { (short(row.total.tokens.all())) }
                                    td.number { (row.total.tokens.cache_hit_percent().map_or_else(|| "–".to_owned(), percent)) }
                                    td.number { (cost(&row.total)) }
                                    td.bar-cell { (cell_bar(row.total.known_cost.pico(), largest, 0)) }
                                }
                            }
                        }
                    }
                }
                p.panel-foot { "In all " strong { (cost(&total)) } ". Tools that one message calls together are one row: the message is counted once." }
            }
        }
    };
    Ok(page("Usage by group", Nav::Usage, &body))
}

fn key(row: &Row, is_tool: bool) -> Markup {
    let name = row.keys.first().map_or("", String::as_str);
    match row.keys.get(1) {
        Some(session) if !is_tool => {
            let is_main = name == "main";
            let address = session_address(session, (!is_main).then_some(name), 0);
            html! {
                a href=(address) { bdi { (if is_main { "main log".to_owned() } else { one_line(name) }) } }
                span.faint { " in " (session.chars().take(8).collect::<String>()) }
            }
        }
        _ => html! { bdi { (one_line(name)) } },
    }
}

/// One side of a comparison.
#[derive(Debug, Clone)]
struct Side {
    period: Period,
    project: Option<String>,
    model: Option<String>,
}

impl Side {
    fn take(
        context: &Context,
        parameters: &mut Parameters,
        side: &str,
        usual: Period,
    ) -> Result<Side, Failure> {
        let mut text = |name: &str| parameters.text(&format!("{side}_{name}"));
        let (from, to) = (text("from"), text("to"));
        let today = context.library.now().to_zoned(context.library.zone().clone()).date();
        let period = match (&from, &to) {
            (None, None) => usual,
            _ => Period::named(None, from.as_deref(), to.as_deref(), Choice::All, today)?,
        };
        Ok(Side { period, project: text("project"), model: text("model") })
    }

    fn selection(&self, context: &Context) -> Selection {
        let zone = context.library.zone();
        Selection {
            since: self.period.since(zone),
            until: self.period.until(zone),
            project: self.project.clone(),
            model: self.model.clone(),
            ..Selection::default()
        }
    }

    /// Its part of the form.
    fn form(&self, side: &str, title: &str) -> Markup {
        let field = |name: &str| format!("{side}_{name}");
        html! {
            fieldset.compare-side {
                legend { (title) }
                label { span { "From" } input.field type="date" name=(field("from")) value=[self.period.from]; }
                label { span { "To" } input.field type="date" name=(field("to")) value=[self.period.to]; }
                label { span { "Project" } input.field type="search" name=(field("project")) value=[&self.project] placeholder="all projects"; }
                label { span { "Model" } input.field type="search" name=(field("model")) value=[&self.model] placeholder="all models"; }
            }
        }
    }

    fn name(&self) -> String {
        let mut name = self.period.text();
        for part in [&self.project, &self.model].into_iter().flatten() {
            name.push_str(" · ");
            name.push_str(&one_line(part));
        }
        name
    }
}

/// `/usage/compare`: two periods, models or projects.
pub(crate) async fn compare(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let today = context.library.now().to_zoned(context.library.zone().clone()).date();
    let month = Period::named(Some("30d"), None, None, Choice::Days(30), today)?;
    let before = month.before().unwrap_or_else(|| month.clone());
    let left = Side::take(&context, &mut parameters, "left", before)?;
    let right = Side::take(&context, &mut parameters, "right", month)?;
    parameters.finish()?;
    let sides = [left, right];
    let asked = sides.clone();
    let work = move |context: &Context| {
        let sum = |side: &Side| {
            let by = [Dimension::Session];
            let count = context.library.count_usage(&by, side.selection(context), &|_, _| {});
            let report = count.report(&by);
            (report.total, report.rows.len() as u64)
        };
        Ok([sum(&asked[0]), sum(&asked[1])])
    };
    let sums = context.work(work).await?;
    let body = html! {
        header.page-head { h1 { "Compare" } a.button href="/usage" { "← Usage" } }
        form.panel.compare-form method="get" action="/usage/compare" {
            (sides[0].form("left", "First"))
            (sides[1].form("right", "Second"))
            button.button.primary type="submit" { "Compare" }
        }
        section.panel aria-label="Comparison" { (comparison(&sides, &sums)) }
    };
    Ok(page("Compare", Nav::Usage, &body))
}

fn comparison(sides: &[Side; 2], sums: &[(Total, u64); 2]) -> Markup {
    type Value<'a> =
        (&'static str, &'a dyn Fn(&(Total, u64)) -> String, &'a dyn Fn(&(Total, u64)) -> f64);
    let each = |amount: u128, number: u64| amount as f64 / 1e12 / number.max(1) as f64;
    let money = crate::pages::format::money;
    let rows: [Value<'_>; 8] = [
        ("Cost", &|(total, _)| cost(total), &|(total, _)| total.known_cost.pico() as f64),
        ("Sessions", &|(_, sessions)| count(*sessions), &|(_, sessions)| *sessions as f64),
        (
            "Cost per session",
            &|(total, sessions)| money(each(total.known_cost.pico(), *sessions)),
            &|(total, sessions)| each(total.known_cost.pico(), *sessions),
        ),
        ("Messages", &|(total, _)| count(total.messages), &|(total, _)| total.messages as f64),
        (
            "Cost per message",
            &|(total, _)| money(each(total.known_cost.pico(), total.messages)),
            &|(total, _)| each(total.known_cost.pico(), total.messages),
        ),
        ("Input tokens", &|(total, _)| short(total.tokens.context()), &|(total, _)| {
            total.tokens.context() as f64
        }),
        ("Output tokens", &|(total, _)| short(total.tokens.output), &|(total, _)| {
            total.tokens.output as f64
        }),
        (
            "Cache hit",
            &|(total, _)| total.tokens.cache_hit_percent().map_or_else(|| "–".to_owned(), percent),
            &|(total, _)| total.tokens.cache_hit_percent().unwrap_or(0.0),
        ),
    ];
    let change = |size: &dyn Fn(&(Total, u64)) -> f64| {
        let (before, after) = (size(&sums[0]), size(&sums[1]));
        match before {
            0.0 => "–".to_owned(),
            _ => format!("{:+.0} %", (after - before) * 100.0 / before),
        }
    };
    html! {
        div.table-scroll {
            table.table.compare {
                thead { tr { th { span.unseen { "Figure" } } @for side in sides { th.number { bdi { (side.name()) } } } th.number { "Change" } } }
                tbody {
                    @for (name, text, size) in rows {
                        tr { th scope="row" { (name) } @for sum in sums { td.number { (text(sum)) } } td.number { (change(size)) } }
                    }
                }
            }
        }
    }
}
