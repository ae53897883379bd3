//! The first page: what runs now and why, what was last, what it cost, when it
//! was.

use axum::extract::State;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;
use recto_log::SessionId;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::data;
use crate::data::Activity;
use crate::data::Overview;
use crate::data::SessionQuery;
use crate::data::SessionRow;
use crate::data::UsageTotal;
use crate::data::overview;
use crate::pages::format::age_tag;
use crate::pages::format::count;
use crate::pages::format::money;
use crate::pages::format::short;
use crate::pages::format::size;
use crate::pages::heat;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::sessions::address;
use crate::pages::sessions::dot;
use crate::pages::sessions::project;
use crate::pages::sessions::short_model;
use crate::pages::sessions::table;
use crate::pages::sessions::title;
use crate::pages::text::one_line;
use crate::parameters::Parameters;

/// How many sessions are listed as recent.
const RECENT: usize = 12;

pub(crate) async fn home(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    parameters.finish()?;
    let (now, zone) = (context.now(), context.zone.clone());
    let (overview, live, recent, activity, top) = context
        .work(|context| {
            let query = |only_live: bool, count: usize| {
                let query = SessionQuery { only_live, count, ..SessionQuery::default() };
                data::sessions(context, &query).sessions
            };
            let activity = data::activity(context);
            let top = top_rows(context, &activity);
            Ok((overview(context), query(true, 100), query(false, RECENT), activity, top))
        })
        .await?;
    let body = html! {
        h1.unseen { "Home" }
        form.home-search role="search" action="/search" {
            label.unseen for="home-search" { "Search all sessions" }
            input #home-search .field type="search" name="q" autocomplete="off" spellcheck="false"
                placeholder="Search everything that was said, run and changed";
            button.button.primary { "Search" }
        }
        (live_panel(&live, now, &zone))
        (cards(&overview, &activity, live.len()))
        section.panel {
            div.panel-head { h2 { "Activity" } span.faint { "messages of models, last 12 months" } (scale()) }
            div.panel-body { (heat::by_day(&activity)) }
        }
        div.columns {
            section.panel {
                div.panel-head { h2 { "By day and hour" } span.faint { (zone_name(&zone)) } }
                div.panel-body { (heat::by_hour(&activity)) }
            }
            (top_panel(&top))
        }
        section.panel {
            div.panel-head { h2 { "Recent sessions" } a.button.small href="/sessions" { "All sessions" } }
            @if recent.is_empty() {
                div.empty { strong { "No sessions yet" } "They appear here as soon as a client writes one." }
            } @else {
                (table(&recent, now, &zone))
            }
        }
    };
    Ok(page("Home", Nav::Home, &body))
}

/// `/live`: what runs now, for a page that is open.
pub(crate) async fn live(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    parameters.finish()?;
    let (now, zone) = (context.now(), context.zone.clone());
    let query = SessionQuery { only_live: true, count: 100, ..SessionQuery::default() };
    let live = context.work(move |context| Ok(data::sessions(context, &query).sessions)).await?;
    Ok(Page(live_panel(&live, now, &zone)))
}

fn scale() -> Markup {
    html! {
        span.heat-scale aria-hidden="true" {
            "less "
            svg viewBox="0 0 68 11" { @for step in 0..5 { rect class=(format!("heat-{step}")) x=(step * 14) width="11" height="11" rx="2" {} } }
            " more"
        }
    }
}

fn zone_name(zone: &TimeZone) -> String {
    zone.iana_name().unwrap_or("local time").to_owned()
}

fn live_panel(live: &[SessionRow], now: Timestamp, zone: &TimeZone) -> Markup {
    html! {
        section.panel #live data-live {
            div.panel-head {
                h2 { "Running now" }
                span.faint { (live.len()) @if live.len() == 1 { " session" } @else { " sessions" } }
            }
            @if live.is_empty() {
                p.panel-body.faint { "No client runs in this home. Sessions that start appear here." }
            } @else {
                ul.live-list {
                    @for row in live {
                        li {
                            a.live href=(address(row)) {
                                (dot(row))
                                span.live-title.cut { bdi { (title(row)) } }
                                span.live-why.cut { bdi { (one_line(row.last_prompt.as_deref().unwrap_or_default(), 160)) } }
                                span.live-facts {
                                    span.tag { (row.live.as_deref().unwrap_or("unknown")) }
                                    span { bdi { (project(row)) } }
                                    @if let Some(model) = &row.model { span.hide-narrow { bdi { (short_model(model)) } } }
                                    (age_tag(now, zone, row.updated.0))
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cards(overview: &Overview, activity: &Activity, live: usize) -> Markup {
    let today = &activity.usage_today;
    let week = &activity.usage_week;
    let month = &activity.usage_month;
    html! {
        dl.cards {
            (card("Cost today", &cost(today), &format!("{} messages", count(today.messages)), None))
            (card("Last 7 days", &cost(week), "vs the 7 before", change(week.known_cost_usd, activity.usage_week_before.known_cost_usd)))
            (card("Daily burn", &money(month.known_cost_usd / 30.0), "over the last 30 days", None))
            (card("From cache", &cache_hit(month), "of input, last 30 days", None))
            (card("Written", &short(month.output_tokens), "tokens, last 30 days", None))
            (card("Sessions", &count(overview.sessions as u64), &format!("{} projects, {}", count(overview.projects as u64), size(overview.bytes)), None))
            (card("Running", &count(live as u64), "clients now", None))
        }
    }
}

fn cost(total: &UsageTotal) -> String {
    let mark = if total.unpriced_messages > 0 { "+" } else { "" };
    format!("{}{mark}", money(total.known_cost_usd))
}

fn cache_hit(total: &UsageTotal) -> String {
    let all =
        total.input_tokens + total.cache_read_input_tokens + total.cache_creation_input_tokens;
    if all == 0 {
        return "–".to_owned();
    }
    format!("{:.0} %", total.cache_read_input_tokens as f64 * 100.0 / all as f64)
}

/// By how much something grew, in percent.
fn change(now: f64, before: f64) -> Option<f64> {
    (before > 0.0).then(|| (now - before) * 100.0 / before)
}

fn card(label: &str, value: &str, note: &str, change: Option<f64>) -> Markup {
    html! {
        div.card {
            dt { (label) }
            dd { (value) }
            span.note {
                @if let Some(change) = change {
                    strong .warn[change > 0.0] .good[change < 0.0] { (format!("{change:+.0} % ").replace('-', "−")) }
                }
                (note)
            }
        }
    }
}

struct TopRow {
    row: SessionRow,
    messages: u64,
    output: u64,
}

fn top_rows(context: &Context, activity: &Activity) -> Vec<TopRow> {
    let rows = activity.top.iter().filter_map(|top| {
        let id: SessionId = top.id.parse().ok()?;
        let found = context.find(id).ok()?;
        let row = data::session_row(context, &found.inventory, &found.file);
        Some(TopRow { row, messages: top.messages, output: top.output })
    });
    rows.collect()
}

fn top_panel(top: &[TopRow]) -> Markup {
    html! {
        section.panel {
            div.panel-head { h2 { "Top sessions" } span.faint { "by messages, last 12 months" } }
            @if top.is_empty() {
                p.panel-body.faint { "Nothing in this time." }
            } @else {
                ol.top-list {
                    @for entry in top {
                        li {
                            a.top href=(address(&entry.row)) {
                                span.cut { bdi { (title(&entry.row)) } }
                                span.faint.cut { bdi { (project(&entry.row)) } }
                                span.number title=(format!("{} tokens written", count(entry.output))) { (count(entry.messages)) }
                            }
                        }
                    }
                }
            }
        }
    }
}
