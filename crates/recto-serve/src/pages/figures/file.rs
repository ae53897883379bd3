//! What happened to one file, across sessions.

use axum::extract::State;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;
use recto_session::FileAction;

use super::ROWS;
use super::bars::Column;
use super::bars::columns;
use super::bars::legend;
use super::empty;
use super::explain::page_number;
use super::files::lines;
use super::link::Link;
use super::paging;
use super::session_link;
use super::text::clock;
use super::text::count;
use super::text::one_line;
use super::text::plural;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::card::card;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::parameters::Parameters;
use recto_view::FileHistory;
use recto_view::FileUseRow;
use recto_view::WantedFile;
use recto_view::cut;

/// How many sessions the chart shows: the last ones.
const MOST_BARS: usize = 60;

/// How much of a prompt is shown, in bytes.
const MOST_PROMPT: usize = 240;

/// What is asked.
struct Asked {
    path: String,
    with_reads: bool,
    page: usize,
}

pub(crate) async fn file(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let missing = || {
        Failure::bad_request("bad-parameter", "`path` names no file")
            .with_hint("such as /file?path=src/main.rs; /files lists what was changed")
    };
    let path = parameters.text("path").ok_or_else(missing)?;
    let with_reads = match parameters.text("reads").as_deref() {
        None | Some("yes") => true,
        Some("no") => false,
        Some(_) => return Err(Failure::bad_request("bad-parameter", "`reads` is `yes` or `no`")),
    };
    let asked = Asked { path, with_reads, page: page_number(&mut parameters)? };
    parameters.finish()?;
    let wanted = WantedFile::named(&asked.path).ok_or_else(missing)?;
    let found =
        context.answer(move |library| Ok(library.file_history(&wanted, &|_, _| {}))).await?;
    let title = one_line(asked.path.rsplit(['/', '\\']).next().unwrap_or_default());
    Ok(page(&title, Nav::Files, &body(&asked, &found, context.library.zone())))
}

fn body(asked: &Asked, found: &FileHistory, zone: &TimeZone) -> Markup {
    let link = Link::new("/file").with("path", &asked.path);
    let kept = if asked.with_reads { link.clone() } else { link.with("reads", "no") };
    let is_change = |one: &&FileUseRow| one.is_change();
    let changes = found.uses.iter().filter(is_change).count();
    let shown: Vec<&FileUseRow> =
        found.uses.iter().filter(|one| asked.with_reads || is_change(one)).collect();
    let sum = |of: fn(&FileUseRow) -> u64| found.uses.iter().map(of).sum::<u64>();
    let mut sessions: Vec<&str> =
        found.uses.iter().filter_map(|one| one.place.session.as_deref()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let paths = found.paths();
    html! {
        header.page-head {
            h1.path-title { bdi { (one_line(&asked.path)) } }
            nav.choice aria-label="Uses" {
                a href=(link) aria-current=[asked.with_reads.then_some("true")] { "All uses" }
                a href=(link.with("reads", "no")) aria-current=[(!asked.with_reads).then_some("true")] { "Changes" }
            }
            p { "What sessions did to this file, by their logs. recto does not open the file itself. " a href="/files" { "All files" } }
        }
        @if !found.skipped.is_empty() { div.notice.warn { (plural(found.skipped.len() as u64, "log")) " could not be read." } }
        @if found.uses.is_empty() {
            div.panel { (empty("No session used this file", "The end of a path is enough, such as src/main.rs. Changes by shell commands are not included.")) }
        } @else {
            @if paths.len() > 1 {
                section.panel aria-label="Files of this name" {
                    div.panel-head { h2 { "Several files end like this" } }
                    ul.path-list {
                        @for (path, uses) in paths.iter().take(20) {
                            li { a href=(Link::new("/file").with("path", path)) { bdi { (one_line(path)) } } span.faint.number { " " (count(*uses as u64)) } }
                        }
                    }
                }
            }
            dl.cards {
                (card("Sessions", &count(sessions.len() as u64), ""))
                (card("Changes", &count(changes as u64), &plural((found.uses.len() - changes) as u64, "read")))
                (card("Lines added", &count(sum(|one| one.lines_added)), ""))
                (card("Lines removed", &count(sum(|one| one.lines_removed)), ""))
            }
            (chart(found, zone))
            section.panel aria-label="Uses" {
                div.table-scroll {
                    table.table.uses {
                        thead { tr { th { "When" } th { "What" } th.number { "Lines" } th { "Session" } } }
                        tbody {
                            @for one in shown.iter().skip((asked.page - 1) * ROWS).take(ROWS) { (row(one, zone, paths.len() > 1)) }
                        }
                    }
                }
                div.panel-foot { (paging(&kept, asked.page, shown.len(), "uses")) }
            }
        }
    }
}

fn row(one: &FileUseRow, zone: &TimeZone, with_path: bool) -> Markup {
    let class = match one.strongest {
        FileAction::Read => "tag",
        FileAction::Created => "tag good",
        FileAction::Written => "tag warn",
        FileAction::Edited => "tag info",
    };
    html! {
        tr {
            td.nowrap { @match one.place.time { Some(time) => time datetime=(time.0) { (clock(time.0, zone)) }, None => span.faint { "unknown" } } }
            td.nowrap {
                span class=(class) { (one.action) }
                @for tool in &one.tools { " " span.faint { (one_line(tool)) } }
            }
            td.number { @if !one.is_change() { span.faint { "–" } } @else { (lines(one.lines_added, one.lines_removed)) } }
            td.wide {
                div.cut {
                    (session_link(one.place.session.as_deref(), one.place.agent.as_deref(), one.place.turn, one.title.as_deref()))
                    span.faint { " turn " (one.place.turn) @if let Some(agent) = &one.place.agent { ", agent " (one_line(agent)) } }
                }
                @if !one.prompt.is_empty() { div.cut.faint { bdi { (one_line(&cut(&one.prompt, MOST_PROMPT).0)) } } }
                @if with_path { div.cut.faint.mono { bdi { (one_line(&one.path)) } } }
            }
        }
    }
}

/// Lines added and removed by each session, in the order of time.
fn chart(found: &FileHistory, zone: &TimeZone) -> Markup {
    let mut bars: Vec<(Option<&str>, Column)> = Vec::new();
    for one in found.uses.iter().rev().filter(|one| one.lines_added + one.lines_removed > 0) {
        let session = one.place.session.as_deref();
        let is_same = bars.last().is_some_and(|(known, _)| *known == session);
        if !is_same {
            let day = one.place.time.map(|time| zone.to_datetime(time.0).date().to_string());
            let title = one
                .title
                .as_deref()
                .map_or_else(|| session.unwrap_or_default().to_owned(), one_line);
            let address = session
                .map(|id| super::session_address(id, one.place.agent.as_deref(), one.place.turn));
            let day = day.unwrap_or_default();
            bars.push((
                session,
                Column {
                    title: format!("{day} {title}"),
                    label: day,
                    address,
                    parts: vec![(1, 0), (4, 0)],
                },
            ));
        }
        if let Some((_, column)) = bars.last_mut() {
            column.parts[0].1 += u128::from(one.lines_added);
            column.parts[1].1 += u128::from(one.lines_removed);
        }
    }
    for (_, column) in &mut bars {
        let text = format!("\n+{} −{}", column.parts[0].1, column.parts[1].1);
        column.title.push_str(&text);
    }
    let bars: Vec<Column> = bars.into_iter().map(|(_, column)| column).collect();
    let last = bars.len().saturating_sub(MOST_BARS);
    html! {
        @if bars.len() > 1 {
            section.panel aria-label="Lines by session" {
                div.panel-head { h2 { "Lines changed, session by session" } }
                div.panel-body {
                    (columns("Lines added and removed by session; the table has the figures", &bars[last..], 6, &|value| count(u64::try_from(value).unwrap_or(u64::MAX))))
                    (two_legend())
                }
            }
        }
    }
}

fn two_legend() -> Markup {
    // The colours are the second and the fifth, as in the bars.
    let all = legend(&["", "Added", "", "", "Removed"].map(str::to_owned));
    html! { div.legend-some { (all) } }
}
