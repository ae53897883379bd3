//! Words in all sessions, found by the index.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;

use super::ROWS;
use super::empty;
use super::line_address;
use super::link::Link;
use super::paging;
use super::search_form::MOST_PAGES;
use super::search_form::Typed;
use super::search_form::form;
use super::session_link;
use super::text::clock;
use super::text::count;
use super::text::one_line;
use super::text::path_end;
use super::text::percent;
use super::text::plural;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_view::Choices;
use recto_view::HitView;
use recto_view::Part;
use recto_view::SavedSearch;
use recto_view::SearchAnswer;
use recto_view::SearchQuery;
use recto_view::figures::IndexState;

/// How many hits of a session are seen at once.
const FIRST: usize = 4;

/// What there is to show.
enum Found {
    /// Nothing was asked yet.
    Nothing,
    Answer(SearchAnswer, IndexState),
    /// What was typed cannot be understood.
    Refused(Failure),
}

pub(crate) async fn search(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Response<Body>, Failure> {
    let typed = Typed::take(&mut parameters)?;
    parameters.finish()?;
    let asked = typed.clone();
    let work = move |context: &Context| Ok((find(context, &asked), context.library.choices()));
    let (found, choices) = context.work(work).await?;
    let searches = context.answer(|library| Ok(library.marks()?.searches)).await?;
    let status = match &found {
        Found::Refused(failure) => failure.status,
        _ => StatusCode::OK,
    };
    let title = typed.text.as_deref().map_or_else(|| "Search".to_owned(), one_line);
    let Page(markup) = page(
        &title,
        Nav::Search,
        &body(&typed, &choices, &searches, &found, context.library.zone()),
    );
    let mut response = Page(markup).into_response();
    *response.status_mut() = status;
    Ok(response)
}

fn find(context: &Context, typed: &Typed) -> Found {
    let Some(text) = typed.query() else { return Found::Nothing };
    let answer = || -> Result<Found, Failure> {
        let filter = typed.filter(context)?;
        let state = context.library.index_state();
        let limit = typed.page * ROWS;
        let wanted = SearchQuery { text, filter, by_rank: typed.by_rank, from: 0, limit };
        let mut answer = context.library.search(&wanted, &context.asker)?;
        let before = ((typed.page - 1) * ROWS).min(answer.hits.len());
        answer.hits.drain(..before);
        Ok(Found::Answer(answer, state))
    };
    answer().unwrap_or_else(Found::Refused)
}

fn body(
    typed: &Typed,
    choices: &Choices,
    searches: &[SavedSearch],
    found: &Found,
    zone: &TimeZone,
) -> Markup {
    html! {
        header.page-head { h1 { "Search" } }
        (form(typed, choices))
        (saved(typed, searches))
        div #search-results {
        @match found {
            Found::Nothing => (help(true)),
            Found::Refused(failure) => {
                div.notice.bad role="alert" {
                    div { strong { (failure.message) } @if let Some(hint) = &failure.hint { p { (hint) } } }
                }
                (help(true))
            }
            Found::Answer(answer, state) => {
                @match state {
                    IndexState::Ready => {}
                    IndexState::Building(done, all) => (building(*done, *all)),
                    // The search names what is wrong with an index that it has met itself.
                    IndexState::Failed(why) if answer.remarks.is_empty() => {
                        div.notice.warn { "Could not build the search index (" (one_line(why)) "), so all logs are read for each search. The result is the same." }
                    }
                    IndexState::Failed(_) => {}
                }
                (answer_markup(typed, answer, zone))
                (help(false))
            }
        }
        }
    }
}

/// Searches that were saved, and a way to save this one.
fn saved(typed: &Typed, searches: &[SavedSearch]) -> Markup {
    html! {
        div.saved-searches {
            @if !searches.is_empty() {
                ul aria-label="Saved searches" {
                    @for search in searches {
                        li {
                            a.chip href=(Link::new("/search").with("q", &search.query)) title=(shown(&search.query)) { bdi { (one_line(&search.name)) } }
                            button.button.quiet.small.icon type="button" data-forget-search=(shown(&search.name)) aria-label=(format!("Remove the saved search {}", one_line(&search.name))) { "×" }
                        }
                    }
                }
            }
            @if let Some(query) = typed.query() {
                details.menu {
                    summary.button.small.quiet { "Save this search" }
                    form.sheet.marks-form.save-search data-query=(shown(&query)) {
                        label { span { "Name" } input.field name="name" required maxlength="80" autocomplete="off"; }
                        button.button.primary { "Save" }
                    }
                }
            }
        }
    }
}

fn building(done: u64, all: u64) -> Markup {
    let share = if all == 0 { 0.0 } else { done as f64 * 100.0 / all as f64 };
    html! {
        // Not sooner: until there is an index, a search reads all logs.
        meta http-equiv="refresh" content="15";
        div.notice role="status" {
            progress max=(all.max(1)) value=(done) {}
            span { "Building the search index: " (percent(share)) " done, newest sessions first. Until then a search reads the remaining logs itself, so it takes longer; the counts below include them. This page reloads by itself." }
        }
    }
}

fn answer_markup(typed: &Typed, answer: &SearchAnswer, zone: &TimeZone) -> Markup {
    let groups = groups(&answer.hits);
    let total = answer.total.min(MOST_PAGES * ROWS);
    html! {
        @for remark in &answer.remarks { div.notice.warn { (one_line(remark)) } }
        @if answer.total == 0 {
            div.panel { (empty("Nothing was found", "Every word must appear in the same message. Try fewer words, a prefix (pars*), or no filters.")) }
        } @else {
            p.muted.found-count role="status" { (plural(answer.total as u64, "place")) " in " (plural(answer.logs as u64, "log")) }
            @for (first, hits) in &groups {
                section.panel.found {
                    div.panel-head {
                        h2.cut { (session_link(first.name.as_deref(), None, 0, first.title.as_deref())) }
                        @if let Some(cwd) = &first.cwd { span.faint.cut title=(one_line(cwd)) { bdi { (path_end(&one_line(cwd), 2)) } } }
                        span.faint.number { (plural(hits.len() as u64, "place")) }
                    }
                    ol.hits { @for hit in hits.iter().take(FIRST) { (hit_markup(hit, zone)) } }
                    @if hits.len() > FIRST {
                        details.further {
                            summary { (plural((hits.len() - FIRST) as u64, "more place")) " in this session" }
                            ol.hits { @for hit in hits.iter().skip(FIRST) { (hit_markup(hit, zone)) } }
                        }
                    }
                }
            }
            (paging(&typed.link(), typed.page, total, "places"))
            @if answer.total > total { p.faint { "Lists only the first " (count(total as u64)) " are listed; more words find fewer." } }
        }
    }
}

/// Hits by session, in the order of the first of each.
fn groups(hits: &[HitView]) -> Vec<(&HitView, Vec<&HitView>)> {
    let mut groups: Vec<(&HitView, Vec<&HitView>)> = Vec::new();
    for hit in hits {
        let known = groups.iter_mut().find(|(first, _)| {
            first.name == hit.name && (hit.session.is_some() || first.agent == hit.agent)
        });
        match known {
            Some((_, of_it)) => of_it.push(hit),
            None => groups.push((hit, vec![hit])),
        }
    }
    groups
}

fn hit_markup(hit: &HitView, zone: &TimeZone) -> Markup {
    let kind = match (&hit.tool, hit.role) {
        (Some(tool), "tool-result") => format!("{} result", one_line(tool)),
        (Some(tool), _) => one_line(tool),
        (None, "user") => "prompt".to_owned(),
        (None, "assistant") => "answer".to_owned(),
        (None, role) => role.to_owned(),
    };
    let address = hit.name.as_deref().map(|id| {
        let address = line_address(id, hit.agent.as_deref(), hit.turn, hit.line);
        with_words(&address, &hit.parts)
    });
    let head = html! {
        span class=(if hit.error { "tag bad" } else { "tag" }) { (kind) @if hit.error { ", failed" } }
        @if hit.turn > 0 { span.faint.number { "turn " (hit.turn) } }
        @if let Some(agent) = &hit.agent { span.tag.violet { "agent " (one_line(agent)) } }
        @if let Some(time) = hit.timestamp { time.faint datetime=(time.0) { (clock(time.0, zone)) } }
    };
    let text = html! {
        p.snippet { bdi {
            @for part in &hit.parts {
                @if part.mark { mark { (shown(&part.text)) } } @else { (shown(&part.text)) }
            }
        } }
    };
    html! {
        li {
            @match address {
                Some(address) => a.hit href=(address) { div.hit-head { (head) } (text) },
                None => div.hit { div.hit-head { (head) } (text) },
            }
        }
    }
}

/// How many words are marked where a hit leads, and how long they are at most.
const MOST_WORDS: usize = 8;
const LONGEST_WORD: usize = 60;

/// The address of a line, with the words that are to be marked there.
fn with_words(address: &str, parts: &[Part]) -> String {
    let mut words: Vec<&str> =
        parts.iter().filter(|part| part.mark).map(|part| part.text.as_str()).collect();
    words.retain(|word| word.len() <= LONGEST_WORD);
    words.sort_unstable();
    words.dedup();
    words.truncate(MOST_WORDS);
    match address.split_once('#') {
        Some((before, hash)) if !words.is_empty() && before.contains('?') => {
            let words =
                form_urlencoded::byte_serialize(words.join("\n").as_bytes()).collect::<String>();
            format!("{before}&mark={words}#{hash}")
        }
        _ => address.to_owned(),
    }
}

fn help(is_open: bool) -> Markup {
    let rows = [
        ("borrow checker", "every word, in the same message"),
        ("\"connection refused\"", "an exact phrase"),
        ("pars*", "a prefix"),
        ("parse_line OR parseLine", "either of them; also matches parts of names in code"),
        ("error -test", "without a word"),
        ("tool:Bash", "calls of a tool and their results"),
        (
            "role:user",
            "what you typed; also assistant, thinking, tool-input, tool-result, summary, title, plan",
        ),
        ("file:src/main.rs", "calls about a file"),
        ("is:error", "calls that failed"),
        ("model:opus  branch:main", "messages of a model or on a branch"),
        ("project:app", "sessions of a project; -project:app excludes them"),
        ("after:7d  before:2026-11-01", "a time range"),
        ("session:3f2a1b4c", "one session, by id prefix"),
        ("tag:release  is:starred", "sessions you tagged or starred"),
    ];
    html! {
        details.panel.search-help open[is_open] {
            summary.panel-head { h2 { "Search syntax" } }
            div.table-scroll {
                table.table {
                    tbody {
                        @for (query, what) in rows {
                            tr { td.nowrap { a href=(Link::new("/search").with("q", query)) { code { (query) } } } td.wide-text { (what) } }
                        }
                    }
                }
            }
            p.panel-foot { "Ignores case and accents. Of long results, searches the first 64 KB. " code { "recto search" } " accepts the same queries." }
        }
    }
}

#[cfg(test)]
mod tests {
    use recto_view::HitRow;

    use super::*;

    fn hit(session: &str, text: &str) -> HitView {
        HitView {
            row: HitRow {
                session: Some(session.into()),
                agent: None,
                path: String::new(),
                line: 9,
                offset: 0,
                uuid: None,
                role: "user",
                tool: None,
                error: false,
                turn: 3,
                timestamp: None,
                overflow: None,
            },
            name: Some(session.into()),
            project: "-app".into(),
            cwd: Some("/home/dev/<app>".into()),
            title: Some("<img src=x onerror=alert(1)>".into()),
            parts: vec![
                Part { text: "before ".into(), mark: false },
                Part { text: text.into(), mark: true },
            ],
        }
    }

    #[test]
    fn hits_are_grouped_by_session_and_stay_text() {
        let hits = vec![hit("a", "<b>x</b>"), hit("b", "y"), hit("a", "z")];
        assert_eq!(groups(&hits).iter().map(|(_, of_it)| of_it.len()).collect::<Vec<_>>(), [2, 1]);
        let answer =
            SearchAnswer { total: 3, logs: 2, hits, next: None, remarks: vec!["note: <i>".into()] };
        let mut parameters = Parameters::parse("q=%22%3E%3Cscript%3E").unwrap();
        let typed = Typed::take(&mut parameters).unwrap();
        let found = Found::Answer(answer, IndexState::Ready);
        let shown = body(&typed, &Choices::default(), &[], &found, &TimeZone::UTC).into_string();
        assert!(shown.contains("<mark>&lt;b&gt;x&lt;/b&gt;</mark>"), "{shown}");
        assert!(shown.contains("/session/a?from=3&amp;line=9&amp;mark=z#turn-3"), "{shown}");
        for bad in ["<script", "<img", "<b>x", "<i>", "style="] {
            assert!(!shown.contains(bad), "{bad}: {shown}");
        }
    }
}
