//! The list of sessions: as a page, and as the list at the side of all pages.

use std::time::Duration;

use axum::extract::State;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::figures::Link;
use crate::pages::figures::day_text;
use crate::pages::format::age_tag;
use crate::pages::format::count;
use crate::pages::format::money;
use crate::pages::format::plural;
use crate::pages::format::size;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_store::Filter;
use recto_view::AllMarks;
use recto_view::Listing;
use recto_view::MarkKind;
use recto_view::Order;
use recto_view::SessionQuery;
use recto_view::SessionRow;

/// How many sessions the page has at a time, and the list at the side.
const ON_PAGE: usize = 100;
const AT_SIDE: usize = 60;
const MOST_AT_SIDE: usize = 1000;

/// What a list is asked for.
#[derive(Debug, Default)]
struct Asked {
    words: Option<String>,
    project: Option<String>,
    day: Option<Date>,
    only_live: bool,
    only_starred: bool,
    tag: Option<String>,
    order: Order,
    from: usize,
    count: usize,
}

/// The columns of a list, as an address names them.
const ORDERS: [(&str, Order); 11] = [
    ("title", Order::Title),
    ("project", Order::Project),
    ("branch", Order::Branch),
    ("model", Order::Model),
    ("size", Order::Size),
    ("age", Order::Age),
    ("status", Order::Status),
    ("turns", Order::Turns),
    ("messages", Order::Messages),
    ("cost", Order::Cost),
    ("failed", Order::Failed),
];

/// How long the page waits for the look at all logs: long if it is ordered by what that finds.
fn patience(order: Order) -> Duration {
    match order {
        Order::Turns | Order::Failed => Duration::from_millis(1500),
        _ => Duration::from_millis(50),
    }
}

impl Asked {
    /// What the page is asked for.
    fn take(parameters: &mut Parameters) -> Result<Asked, Failure> {
        let order = match parameters.text("sort") {
            None => Order::Age,
            Some(name) => {
                let found = ORDERS.iter().find(|(known, _)| *known == name);
                let names = ORDERS.map(|(name, _)| name).join(", ");
                found.map(|(_, order)| *order).ok_or_else(|| {
                    Failure::bad_request("bad-parameter", "invalid value for `sort`")
                        .with_hint(format!("it is one of {names}"))
                })?
            }
        };
        Ok(Asked {
            words: parameters.text("q"),
            project: parameters.text("project"),
            day: parameters.value("day")?,
            only_live: parameters.value("live")?.unwrap_or(false),
            only_starred: parameters.value("starred")?.unwrap_or(false),
            tag: parameters.text("tag"),
            order,
            from: parameters.value("from")?.unwrap_or(0),
            count: ON_PAGE,
        })
    }

    /// Only the sessions with the marks that are asked for; pinned ones come first.
    fn query(&self, marks: &AllMarks) -> SessionQuery {
        let starred = self.only_starred.then(|| marks.sessions_with(MarkKind::Starred));
        let tagged = self.tag.as_deref().map(|tag| marks.sessions_with(MarkKind::Tag(tag)));
        let only = match (starred, tagged) {
            (Some(one), Some(other)) => Some(one.intersection(&other).cloned().collect()),
            (one, other) => one.or(other),
        };
        let listing = Listing {
            only,
            filter: Filter { project: self.project.clone(), ..Filter::default() },
            words: self.words.clone(),
            only_live: self.only_live,
            ..Listing::default()
        };
        let first = marks.sessions_with(MarkKind::Pinned);
        SessionQuery { listing, from: self.from, count: self.count, first }
    }

    fn link(&self, path: &str) -> Link {
        let order = ORDERS.iter().find(|(_, order)| *order == self.order);
        let order = order.filter(|(_, order)| *order != Order::default());
        Link::new(path)
            .with_some("q", self.words.as_deref())
            .with_some("project", self.project.as_deref())
            .with_some("day", self.day.map(|day| day.to_string()).as_deref())
            .with_some("live", self.only_live.then_some("true"))
            .with_some("starred", self.only_starred.then_some("true"))
            .with_some("tag", self.tag.as_deref())
            .with_some("sort", order.map(|(name, _)| *name))
    }

    /// The same in another order.
    fn sorted_by(&self, wanted: Order) -> Link {
        let link = self.link("/sessions").without(&["sort"]);
        let name = ORDERS.iter().find(|(_, order)| *order == wanted && wanted != Order::Age);
        link.with_some("sort", name.map(|(name, _)| *name))
    }

    /// The address of another part of the same list.
    fn address(&self, path: &str, from: usize) -> String {
        self.link(path).with("from", &from.to_string()).to_string()
    }
}

/// `/sessions/list`: rows only, for the side and the palette.
pub(crate) async fn list(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let asked = Asked {
        words: parameters.text("q"),
        from: parameters.value("from")?.unwrap_or(0),
        count: parameters.value("count")?.unwrap_or(AT_SIDE).min(MOST_AT_SIDE),
        ..Asked::default()
    };
    let by_project = match parameters.text("group").as_deref() {
        Some("project") => true,
        None | Some("day") => false,
        Some(_) => {
            let failure = Failure::bad_request("bad-parameter", "invalid value for `group`");
            return Err(failure.with_hint("day or project"));
        }
    };
    parameters.finish()?;
    let asked = Asked { order: if by_project { Order::Project } else { Order::Age }, ..asked };
    let (now, zone) = (context.library.now(), context.library.zone().clone());
    let marks = context.answer(|library| library.marks()).await?;
    let (query, order) = (asked.query(&marks), asked.order);
    let answer =
        move |library: &recto_view::Library| Ok(library.ordered_sessions(&query, None, order));
    let list = context.answer(answer).await?;
    let end = list.from + list.sessions.len();
    let group = |row: &SessionRow| match () {
        () if marks.of(&row.id).pinned => "Pinned".to_owned(),
        () if by_project => project(row),
        () => day_name(row.updated.0, now, &zone),
    };
    let mut before = None;
    let rows: Vec<(&SessionRow, Option<String>)> = list
        .sessions
        .iter()
        .map(|row| {
            let group = group(row);
            let is_new = before.as_ref() != Some(&group);
            before = Some(group.clone());
            (row, is_new.then_some(group))
        })
        .collect();
    Ok(Page(html! {
        ol data-total=(list.total) {
            @for (row, group) in &rows {
                // The style sheet shows the heading, so a list that is renewed keeps its rows.
                li data-group=[group.as_deref()] { (side_row(row, now, &zone, marks.of(&row.id).starred)) }
            }
        }
        @if list.total == 0 {
            p.side-more.faint { @if asked.words.is_some() { "No matching sessions." } @else { "No sessions yet." } }
        }
        @if end < list.total {
            a.side-more href="/sessions" data-more=(asked.link("/sessions/list").without(&["sort"]).with("from", &end.to_string()).with_some("group", by_project.then_some("project"))) {
                (count((list.total - end) as u64)) " more"
            }
        }
    }))
}

/// A day as people call it.
fn day_name(time: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let (day, today) = (zone.to_datetime(time).date(), zone.to_datetime(now).date());
    if day == today {
        return "Today".to_owned();
    }
    if today.yesterday().is_ok_and(|yesterday| day == yesterday) {
        return "Yesterday".to_owned();
    }
    day_text(&day.to_string())
}

fn side_row(row: &SessionRow, now: Timestamp, zone: &TimeZone, is_starred: bool) -> Markup {
    html! {
        a.row href=(address(row)) {
            (dot(row))
            span.cut.row-title { bdi { (title(row)) } @if is_starred { span.star title="Starred" { " ★" } } }
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
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let asked = Asked::take(&mut parameters)?;
    parameters.finish()?;
    let (now, zone) = (context.library.now(), context.library.zone().clone());
    let marks = context.answer(|library| library.marks()).await?;
    let (query, day, order) = (asked.query(&marks), asked.day, asked.order);
    let work = move |context: &Context| {
        let sums = context.library.session_sums(patience(order));
        Ok((context.library.summed_sessions(&query, day, order, &sums), sums.progress))
    };
    let (list, looked) = context.work(work).await?;
    let end = list.from + list.sessions.len();
    let body = html! {
        div.page-head {
            h1 { "Sessions" }
            (filters(&asked, &marks))
        }
        @if list.skipped > 0 {
            p.notice.warn { (plural(list.skipped as u64, "file")) " could not be read; this list may be incomplete." }
        }
        @if !looked.is_over() {
            p.notice role="status" {
                progress max=(looked.all) value=(looked.done) {}
                span { "Turns and failed calls are known for " (count(looked.done as u64)) " of " (plural(looked.all as u64, "log")) ". Load the page again for the rest." }
            }
        }
        section.panel {
            div.panel-head {
                h2 { (plural(list.total as u64, "session")) }
                @if let Some(day) = asked.day {
                    span.tag.info { "with messages on " (day_text(&day.to_string())) }
                    a.button.quiet.small href=(asked.link("/sessions").without(&["day"])) { "All days" }
                }
                (pager(&asked, list.from, end, list.total))
            }
            @if list.sessions.is_empty() {
                div.empty { strong { "No matching sessions" } "Try fewer words, or another project." }
            } @else {
                (ordered_table(&list.sessions, now, &zone, Some(&asked)))
            }
            @if end < list.total || list.from > 0 {
                div.panel-foot.paging {
                    span { (count(list.from as u64 + 1)) "–" (count(end as u64)) " of " (count(list.total as u64)) }
                    (pager(&asked, list.from, end, list.total))
                }
            }
        }
    };
    Ok(page("Sessions", Nav::Sessions, &body))
}

fn filters(asked: &Asked, marks: &AllMarks) -> Markup {
    let link = asked.link("/sessions").without(&["q", "project", "live", "starred", "tag"]);
    html! {
        form.filters {
            @for (name, value) in link.pairs() { input type="hidden" name=(name) value=(value); }
            label.unseen for="words" { "Words in the title, a prompt, the directory or the branch" }
            input #words .field.session-words type="search" name="q" placeholder="Title, prompt, branch…" value=[&asked.words];
            label.unseen for="project" { "Project" }
            input #project .field type="search" name="project" placeholder="Project" value=[&asked.project];
            label.field.check { input type="checkbox" name="live" value="true" checked[asked.only_live] data-submit; "Running" }
            label.field.check { input type="checkbox" name="starred" value="true" checked[asked.only_starred] data-submit; "Starred" }
            @if !marks.tags().is_empty() {
                label.unseen for="tag" { "Tag" }
                select #tag .field name="tag" data-submit {
                    option value="" { "Any tag" }
                    @for (tag, number) in marks.tags() {
                        option value=(shown(tag)) selected[asked.tag.as_deref() == Some(tag)] { (shown(tag)) " (" (number) ")" }
                    }
                }
            }
            button.button { "Filter" }
        }
    }
}

/// The ways to the parts of the list before and after this one.
fn pager(asked: &Asked, from: usize, end: usize, total: usize) -> Markup {
    let (before, after) = match asked.order {
        Order::Age => ("Newer", "Older"),
        _ => ("Before", "Next"),
    };
    html! {
        @if from > 0 {
            a.button.small href=(asked.address("/sessions", from.saturating_sub(ON_PAGE))) rel="prev" { "← " (before) }
        }
        @if end < total {
            a.button.small href=(asked.address("/sessions", end)) rel="next" { (after) " →" }
        }
    }
}

/// Sessions in a table.
pub(crate) fn table(rows: &[SessionRow], now: Timestamp, zone: &TimeZone) -> Markup {
    ordered_table(rows, now, zone, None)
}

/// Sessions in a table whose columns can be sorted by, if it is known what is asked.
fn ordered_table(
    rows: &[SessionRow],
    now: Timestamp,
    zone: &TimeZone,
    asked: Option<&Asked>,
) -> Markup {
    let head = |text: &str, order: Order, class: &str| {
        let is_current = asked.is_some_and(|asked| asked.order == order);
        let is_text = matches!(
            order,
            Order::Title | Order::Project | Order::Branch | Order::Model | Order::Status
        );
        let sorted = if is_text { "ascending" } else { "descending" };
        html! {
            th class=(class) aria-sort=[is_current.then_some(sorted)] {
                @match asked {
                    Some(asked) => a href=(asked.sorted_by(order)) { (text) },
                    None => (text),
                }
            }
        }
    };
    let has_sums = asked.is_some();
    html! {
        div.table-scroll {
            table.table {
                thead {
                    tr {
                        (head("Session", Order::Title, ""))
                        @if has_sums { (head("Status", Order::Status, "hide-narrow")) }
                        (head("Project", Order::Project, ""))
                        (head("Branch", Order::Branch, "hide-narrow"))
                        (head("Model", Order::Model, "hide-narrow"))
                        @if has_sums {
                            (head("Turns", Order::Turns, "number hide-narrow"))
                            (head("Messages", Order::Messages, "number hide-narrow"))
                            (head("Failed", Order::Failed, "number hide-narrow"))
                            (head("Cost", Order::Cost, "number"))
                        }
                        (head("Size", Order::Size, "number hide-narrow"))
                        (head("Age", Order::Age, "number"))
                    }
                }
                tbody { @for row in rows { (table_row(row, now, zone, has_sums)) } }
            }
        }
    }
}

fn table_row(row: &SessionRow, now: Timestamp, zone: &TimeZone, has_sums: bool) -> Markup {
    let sums = row.sums.unwrap_or_default();
    let known = |number: Option<u64>| number.map_or_else(|| "…".to_owned(), count);
    html! {
        tr {
            td.wide {
                div.cut {
                    (dot(row)) " "
                    a href=(address(row)) { bdi { (title(row)) } }
                    @if row.archived { " " (archived_tag()) }
                }
            }
            @if has_sums {
                td.muted.hide-narrow { (row.status.unwrap_or_default().replace('_', " ")) }
            }
            td.muted { div.cut.project { bdi { (project(row)) } } }
            td.muted.hide-narrow { div.cut.branch { bdi { (shown(row.branch.as_deref().unwrap_or_default())) } } }
            td.muted.hide-narrow { div.cut.model { bdi { (short_model(row.model.as_deref().unwrap_or_default())) } } }
            @if has_sums {
                td.number.muted.hide-narrow { (known(sums.turns)) }
                td.number.muted.hide-narrow { (count(sums.messages)) }
                td.number.hide-narrow {
                    @match sums.failed {
                        Some(0) => span.faint { "0" },
                        Some(failed) => a.bad href=(format!("{}?show=errors", address(row))) { (count(failed)) },
                        None => span.faint { "…" },
                    }
                }
                td.number { a href=(format!("{}/cost", address(row))) { (money(sums.cost_usd)) @if sums.is_more { "+" } } }
            }
            td.number.muted.hide-narrow { (size(row.bytes)) }
            td.number.muted { (age_tag(now, zone, row.updated.0)) }
        }
    }
}

/// Where a session is read.
pub(crate) fn address(row: &SessionRow) -> String {
    format!("/session/{}", row.name)
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
    shown(recto_view::short_model(model))
}

/// What marks a session that only the archive has.
pub(crate) fn archived_tag() -> Markup {
    html! { span.tag title="Claude Code no longer has this session; the archive of recto collect does" { "archived" } }
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
