//! The list of sessions: as a page, and as the list at the side of all pages.

use axum::extract::State;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::data;
use crate::data::SessionQuery;
use crate::data::SessionRow;
use crate::pages::format::age_tag;
use crate::pages::format::count;
use crate::pages::format::size;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use recto_store::Filter;

/// How many sessions the page has at a time, and the list at the side.
const ON_PAGE: usize = 100;
const AT_SIDE: usize = 60;
const MOST_AT_SIDE: usize = 1000;

/// What a list is asked for.
#[derive(Debug, Default)]
struct Asked {
    words: Option<String>,
    project: Option<String>,
    only_live: bool,
    from: usize,
    count: usize,
}

impl Asked {
    fn query(&self) -> SessionQuery {
        SessionQuery {
            filter: Filter { project: self.project.clone(), ..Filter::default() },
            words: self.words.clone(),
            only_live: self.only_live,
            all: false,
            from: self.from,
            count: self.count,
        }
    }

    /// The address of another part of the same list.
    fn address(&self, path: &str, from: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if let Some(words) = &self.words {
            query.append_pair("q", words);
        }
        if let Some(project) = &self.project {
            query.append_pair("project", project);
        }
        if self.only_live {
            query.append_pair("live", "true");
        }
        query.append_pair("from", &from.to_string());
        format!("{path}?{}", query.finish())
    }
}

/// `/sessions/list`: rows only, for the side and the palette.
pub(crate) async fn list(
    State(context): State<Context>,
    mut parameters: crate::parameters::Parameters,
) -> Result<Page, Failure> {
    let asked = Asked {
        words: parameters.text("q"),
        from: parameters.value("from")?.unwrap_or(0),
        count: parameters.value("count")?.unwrap_or(AT_SIDE).min(MOST_AT_SIDE),
        ..Asked::default()
    };
    parameters.finish()?;
    let (now, zone) = (context.now(), context.zone.clone());
    let query = asked.query();
    let list = context.work(move |context| Ok(data::sessions(context, &query))).await?;
    let end = list.from + list.sessions.len();
    Ok(Page(html! {
        ol data-total=(list.total) {
            @for row in &list.sessions {
                li { (side_row(row, now, &zone)) }
            }
        }
        @if list.total == 0 {
            p.side-more.faint { "No session fits." }
        }
        @if end < list.total {
            a.side-more href="/sessions" data-more=(asked.address("/sessions/list", end)) {
                (count((list.total - end) as u64)) " more"
            }
        }
    }))
}

fn side_row(row: &SessionRow, now: Timestamp, zone: &TimeZone) -> Markup {
    html! {
        a.row href=(address(row)) {
            (dot(row))
            span.cut.row-title { bdi { (title(row)) } }
            span {}
            span.row-facts {
                span.cut { bdi { (project(row)) } }
                span { (age_tag(now, zone, row.updated.0)) }
                span { (size(row.bytes)) }
            }
        }
    }
}

/// `/sessions`: all of them, with filters.
pub(crate) async fn sessions(
    State(context): State<Context>,
    mut parameters: crate::parameters::Parameters,
) -> Result<Page, Failure> {
    let asked = Asked {
        words: parameters.text("q"),
        project: parameters.text("project"),
        only_live: parameters.value("live")?.unwrap_or(false),
        from: parameters.value("from")?.unwrap_or(0),
        count: ON_PAGE,
    };
    parameters.finish()?;
    let (now, zone) = (context.now(), context.zone.clone());
    let query = asked.query();
    let list = context.work(move |context| Ok(data::sessions(context, &query))).await?;
    let end = list.from + list.sessions.len();
    let body = html! {
        div.page-head {
            h1 { "Sessions" }
            form.filters {
                label.unseen for="words" { "Words in the title, a prompt, the directory or the branch" }
                input #words .field.session-words type="search" name="q" placeholder="Title, prompt, directory, branch" value=[&asked.words];
                label.unseen for="project" { "Project" }
                input #project .field type="search" name="project" placeholder="Project" value=[&asked.project];
                label.field { input type="checkbox" name="live" value="true" checked[asked.only_live] data-submit; "Running" }
                button.button { "Filter" }
            }
        }
        @if list.skipped > 0 {
            p.notice.warn { (count(list.skipped as u64)) " files could not be looked at: this list may not be complete." }
        }
        section.panel {
            div.panel-head {
                h2 { (count(list.total as u64)) @if list.total == 1 { " session" } @else { " sessions" } }
                @if list.from > 0 {
                    a.button.small href=(asked.address("/sessions", list.from.saturating_sub(ON_PAGE))) rel="prev" { "Newer" }
                }
                @if end < list.total {
                    a.button.small href=(asked.address("/sessions", end)) rel="next" { "Older" }
                }
            }
            @if list.sessions.is_empty() {
                div.empty { strong { "No session fits" } "Try fewer words, or another project." }
            } @else {
                (table(&list.sessions, now, &zone))
            }
            @if end < list.total || list.from > 0 {
                p.panel-foot { (count(list.from as u64 + 1)) "–" (count(end as u64)) " of " (count(list.total as u64)) }
            }
        }
    };
    Ok(page("Sessions", Nav::Sessions, &body))
}

/// Sessions in a table.
pub(crate) fn table(rows: &[SessionRow], now: Timestamp, zone: &TimeZone) -> Markup {
    html! {
        div.table-scroll {
            table.table {
                thead {
                    tr {
                        th { "Session" }
                        th { "Project" }
                        th.hide-narrow { "Branch" }
                        th.hide-narrow { "Model" }
                        th.number.hide-narrow { "Size" }
                        th.number { "Age" }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            td.wide {
                                div.cut {
                                    (dot(row)) " "
                                    a href=(address(row)) { bdi { (title(row)) } }
                                }
                            }
                            td.muted { div.cut.project { bdi { (project(row)) } } }
                            td.muted.hide-narrow { div.cut.branch { bdi { (shown(row.branch.as_deref().unwrap_or_default())) } } }
                            td.muted.hide-narrow { div.cut.model { bdi { (short_model(row.model.as_deref().unwrap_or_default())) } } }
                            td.number.muted.hide-narrow { (size(row.bytes)) }
                            td.number.muted { (age_tag(now, zone, row.updated.0)) }
                        }
                    }
                }
            }
        }
    }
}

/// Where a session is read.
pub(crate) fn address(row: &SessionRow) -> String {
    format!("/session/{}", row.id)
}

/// What a session is called.
pub(crate) fn title(row: &SessionRow) -> String {
    let texts = [&row.title, &row.first_prompt, &row.last_prompt];
    let text = texts.into_iter().flatten().map(|text| one_line(text, 200));
    text.into_iter().find(|text| !text.is_empty()).unwrap_or_else(|| row.id.clone())
}

/// The last part of the directory, which is what people call a project.
pub(crate) fn project(row: &SessionRow) -> String {
    let path = row.cwd.as_deref().unwrap_or(&row.project);
    let name = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next();
    shown(name.filter(|name| !name.is_empty()).unwrap_or(path))
}

/// A model without what all of them have: `opus-4-5` for `claude-opus-4-5-20251101`.
pub(crate) fn short_model(model: &str) -> String {
    let name = model.strip_prefix("claude-").unwrap_or(model);
    let is_date = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match name.rsplit_once('-') {
        Some((name, date)) if is_date(date) => name,
        _ => name,
    };
    shown(name)
}

/// A dot that says what a session does.
pub(crate) fn dot(row: &SessionRow) -> Markup {
    status_dot(row.status.unwrap_or("none"))
}

/// A dot for a status, with its name for who cannot see it.
pub(crate) fn status_dot(status: &str) -> Markup {
    let label = status.replace('_', " ");
    html! {
        @if status == "none" {
            span.dot data-status="none" {}
        } @else {
            span.dot data-status=(status) role="img" aria-label=(label) title=(label) {}
        }
    }
}
