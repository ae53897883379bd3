//! One session, as it is read: `/session/ID`, and its subagents below it.
//!
//! The page has the head, the outline and the first turns; `reader.js` asks for
//! further turns as fragments, and without scripts a link leads to them. What
//! needs all of the log (cost, health, what fills the context) is a fragment of
//! its own, so that a large session opens at once.

mod call;
mod costs;
mod facts;
mod head;
mod items;
mod media;
mod outline;
mod rename;
mod turn;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::Path;
use axum::extract::State;
use axum::routing::get;
use maud::Markup;
use maud::html;
use recto_log::AgentId;
use recto_session::NodeId;
use recto_session::request::Generation;
use recto_session::request::history_to;

use outline::Outline;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::format::plural;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::sessions::title;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_view::Next;
use recto_view::Reading;
use recto_view::SessionHead;
use recto_view::SessionName;
use recto_view::Show;
use recto_view::TurnQuery;
use recto_view::TurnRow;
use recto_view::TurnView;

/// How many turns a page and a fragment have at most, and how many things in them.
const MOST_TURNS: usize = 12;
const MOST_ITEMS: usize = 60;

/// How many lines of a turn come at once. A turn can be a day of work, and a browser that has
/// all of it in a page is slow.
const MOST_LINES: usize = 90;

pub(crate) fn routes() -> Router<Context> {
    Router::new()
        .route("/{session}", get(session))
        .route("/{session}/turns", get(turns))
        .route("/{session}/news", get(news))
        .route("/{session}/facts", get(facts::facts))
        .route("/{session}/costs", get(costs::costs))
        .route("/{session}/cost", get(costs::page))
        .route("/{session}/name", get(rename::name))
        .route("/{session}/agent/{agent}", get(session))
        .route("/{session}/agent/{agent}/turns", get(turns))
        .route("/{session}/agent/{agent}/news", get(news))
}

/// Which log an address names.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    session: SessionName,
    agent: Option<AgentId>,
}

impl Log {
    fn of(parts: &HashMap<String, String>) -> Result<Log, Failure> {
        let missing = || Failure::not_found("no session has this id");
        let session = parts.get("session").and_then(|id| id.parse().ok()).ok_or_else(missing)?;
        let agent = match parts.get("agent") {
            Some(agent) => Some(agent.parse().map_err(|_| missing())?),
            None => None,
        };
        Ok(Log { session, agent })
    }

    /// Its address as a page.
    fn page(&self) -> String {
        self.below("/session", "agent")
    }

    /// Its address in the API.
    fn api(&self) -> String {
        self.below("/api/v1/sessions", "agents")
    }

    fn below(&self, root: &str, agents: &str) -> String {
        match &self.agent {
            Some(agent) => format!("{root}/{}/{agents}/{}", self.session, agent.as_str()),
            None => format!("{root}/{}", self.session),
        }
    }
}

/// Which turns are wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    from: u32,
    skip: usize,
    /// The first turn that is not wanted.
    until: Option<u32>,
    /// The last line of the branch that is wanted; all branches without it.
    branch: Option<String>,
    /// The line that is meant, by its number in the log.
    line: Option<u64>,
    /// Of the first turn, the line before which to stop.
    stop: Option<usize>,
    /// Which items are wanted.
    show: Show,
    /// The words to mark in the line that is meant, one on each line.
    mark: Option<String>,
}

impl Wanted {
    fn read(parameters: &mut Parameters) -> Result<Wanted, Failure> {
        Ok(Wanted {
            from: parameters.value("from")?.unwrap_or(1).max(1),
            skip: parameters.value("skip")?.unwrap_or(0),
            until: parameters.value("until")?,
            branch: parameters.text("branch"),
            line: parameters.value("line")?,
            stop: parameters.value("stop")?,
            mark: parameters.text("mark"),
            show: match parameters.text("show") {
                Some(name) => Show::named(&name)?,
                None => Show::All,
            },
        })
    }

    /// The same from another place on, as what stands behind the `?`.
    fn address(&self, next: Next) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("from", &next.from.to_string());
        if next.skip > 0 {
            query.append_pair("skip", &next.skip.to_string());
        }
        if let Some(until) = self.until {
            query.append_pair("until", &until.to_string());
        }
        if let Some(stop) = self.stop.filter(|_| next.from == self.from) {
            query.append_pair("stop", &stop.to_string());
        }
        self.choice(&mut query);
        query.finish()
    }

    /// What is wanted wherever one is.
    fn choice(&self, query: &mut form_urlencoded::Serializer<'_, String>) {
        if let Some(branch) = &self.branch {
            query.append_pair("branch", branch);
        }
        if self.show != Show::All {
            query.append_pair("show", self.show.name());
        }
    }

    /// The same from the beginning, with the `?` if there is anything behind it.
    fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        self.choice(&mut query);
        match query.finish() {
            query if query.is_empty() => query,
            query => format!("?{query}"),
        }
    }
}

/// Turns that were asked for, and where to go on.
struct Part {
    turns: Vec<TurnView>,
    next: Option<Next>,
}

/// Which turns of which log an address asks for.
fn asked(
    parts: &HashMap<String, String>,
    mut parameters: Parameters,
) -> Result<(Log, Wanted), Failure> {
    let asked = (Log::of(parts)?, Wanted::read(&mut parameters)?);
    parameters.finish()?;
    Ok(asked)
}

/// `/session/ID`
async fn session(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let (log, wanted) = asked(&parts, parameters)?;
    context.work(move |context| whole(context, &log, &wanted)).await
}

/// `/session/ID/turns`: turns only.
async fn turns(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let (log, wanted) = asked(&parts, parameters)?;
    context
        .work(move |context| {
            let reading = context.library.read_any(log.session, log.agent.as_ref())?;
            Ok(Page(fragment(context, &log, &reading, &wanted)?))
        })
        .await
}

/// `/session/ID/news`: the numbers of the head, and the outline from a turn on, for a
/// page that follows.
async fn news(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let (log, wanted) = asked(&parts, parameters)?;
    context
        .work(move |context| {
            let reading = context.library.read_any(log.session, log.agent.as_ref())?;
            let head = context.library.session(log.session)?;
            let turns = outline_turns(&log, &reading, &head, &wanted)?;
            let outline = Outline { log: &log, turns: &turns, head: &head, wanted: &wanted };
            Ok(Page(html! {
                div data-turns=(turns.last().map_or(0, |turn| turn.turn)) {
                    @if log.agent.is_none() { (head::numbers(&head)) }
                    (outline.head())
                    (outline.entries(wanted.from))
                }
            }))
        })
        .await
}

/// The turns of an outline: those of the branch that is wanted.
fn outline_turns(
    log: &Log,
    reading: &Reading,
    head: &SessionHead,
    wanted: &Wanted,
) -> Result<Vec<TurnRow>, Failure> {
    let mut turns = match &log.agent {
        Some(_) => recto_view::outline(reading),
        None => head.outline.clone(),
    };
    if let Some(tip) = &wanted.branch {
        let on_branch = turns_on_branch(reading, tip)?;
        let mut on_branch = on_branch.into_iter();
        turns.retain(|_| on_branch.next().unwrap_or(true));
    }
    turns.retain(|turn| wanted.show.has_turn(reading, turn.turn as usize - 1));
    Ok(turns)
}

/// Where a line is shown. A result is shown with its call.
#[derive(Debug, Clone, Copy)]
struct Target {
    turn: u32,
    /// The line that it is shown with.
    line: u64,
    /// How many lines of the turn come before it.
    skip: usize,
}

fn shown_at(reading: &Reading, line: u64) -> Option<Target> {
    let session = reading.session();
    let id = session.ids().find(|id| session.node(*id).line == line)?;
    let calls = session.facts().calls.iter();
    let call = calls.filter(|call| call.result == Some(id)).find_map(|call| call.call);
    let id = call.unwrap_or(id);
    let turn = reading.turn_number(id);
    let nodes = reading.turns.nodes((turn as usize).checked_sub(1)?);
    let skip = nodes.iter().position(|node| *node == id).unwrap_or(0);
    Some(Target { turn, line: session.node(id).line, skip })
}

fn whole(context: &Context, log: &Log, wanted: &Wanted) -> Result<Page, Failure> {
    let reading: Arc<Reading> = context.library.read_any(log.session, log.agent.as_ref())?;
    let head = context.library.session(log.session)?;
    let outline = outline_turns(log, &reading, &head, wanted)?;
    let target = wanted.line.and_then(|line| shown_at(&reading, line));
    let name = title(&head.session);
    let others = context.library.namesakes(&context.library.find(log.session)?.file);
    // What ended long ago does nothing.
    let now_doing = match head.session.status {
        Some(_) => context.library.statuses(Some(log.session.id)),
        None => Vec::new(),
    };
    let body = html! {
        div.reader data-log=(log.page()) data-session=(log.session.id.to_string()) data-api=(log.api())
            data-agent=[log.agent.as_ref().map(AgentId::as_str)]
            data-turns=(outline.last().map_or(0, |turn| turn.turn)) data-branch=[wanted.branch.as_deref()] data-show=(wanted.show.name())
            data-edits=[(context.allows_edits && !head.session.archived).then_some("true")]
            data-target=[target.map(|at| at.line)] data-target-turn=[target.map(|at| at.turn)]
            data-target-skip=[target.map(|at| at.skip)] data-mark-words=[wanted.mark.as_deref().map(shown)] {
            div.reader-main {
                @match &log.agent {
                    Some(agent) => (head::agent_head(log, agent.as_str(), &name)),
                    None => (head::head(context, log, &head, now_doing.first(), &others)),
                }
                (head::bar(context, log, &head, wanted))
                @if log.agent.is_none() {
                    div #costs .costs data-load=(format!("/session/{}/costs", log.session)) data-costs=(format!("/api/v1/sessions/{}/costs", log.session)) {}
                }
                @if log.agent.is_none() && head.branches.len() > 1 {
                    (head::branches(log, &head.branches, wanted))
                }
                p #printed-turns .print-only { (printed(&outline, wanted)) }
                div #turns .turns {
                    @if wanted.from > 1 || wanted.skip > 0 {
                        @let start = wanted.from.saturating_sub(MOST_TURNS as u32).max(1);
                        @let before = Wanted { until: Some(wanted.from), ..wanted.clone() };
                        @let query = before.address(Next { from: start, skip: 0 });
                        a.more.earlier href=(format!("{}?{}", log.page(), Wanted { until: None, ..before.clone() }.address(Next { from: start, skip: 0 })))
                            data-more=(format!("{}/turns?{query}", log.page())) { "Earlier turns" }
                    }
                    (fragment(context, log, &reading, wanted)?)
                }
            }
            (Outline { log, turns: &outline, head: &head, wanted }.markup())
            p #reader-status .unseen role="status" {}
        }
    };
    let name = if log.agent.is_some() { format!("Subagent · {name}") } else { name };
    Ok(page(&one_line(&name, 80), Nav::Sessions, &body))
}

/// Which turns a page has that is printed without scripts. The script knows better.
fn printed(turns: &[TurnRow], wanted: &Wanted) -> String {
    let all = turns.len();
    match all > MOST_TURNS {
        false => format!("{}.", plural(all as u64, "turn")),
        true => format!(
            "Turns from {} on, {MOST_TURNS} of {all} at most. An export has all of them.",
            wanted.from
        ),
    }
}

/// Turns, and a link to those that follow.
fn fragment(
    context: &Context,
    log: &Log,
    reading: &Reading,
    wanted: &Wanted,
) -> Result<Markup, Failure> {
    let part = part(context, log, reading, wanted)?;
    let look = turn::Look { context, log, reading };
    Ok(html! {
        @for turn in &part.turns {
            (turn::turn(&look, turn))
        }
        @match part.next {
            Some(next) => {
                @let query = wanted.address(next);
                a.more href=(format!("{}?{query}", log.page()))
                    data-more=(format!("{}/turns?{query}", log.page())) { "More turns" }
            }
            None => {
                @if part.turns.is_empty() && reading.turns.is_empty() {
                    div.empty { strong { "No messages yet" } "Turns appear here as they are written." }
                } @else if part.turns.is_empty() && wanted.from == 1 && wanted.until.is_none() {
                    div.empty { strong { "No matching turns" } a href=(log.page()) { "Show all turns" } }
                }
            }
        }
    })
}

fn part(context: &Context, log: &Log, reading: &Reading, wanted: &Wanted) -> Result<Part, Failure> {
    let on_branch = match &wanted.branch {
        Some(tip) => Some(turns_on_branch(reading, tip)?),
        None => None,
    };
    let until = wanted.until.unwrap_or(u32::MAX);
    let mut part = Part { turns: Vec::new(), next: None };
    let mut items = 0;
    let mut skip = first_line_of_message(reading, wanted.from, wanted.skip);
    for at in wanted.from as usize - 1..reading.turns.len() {
        let number = at as u32 + 1;
        if number >= until {
            break;
        }
        if on_branch.as_ref().is_some_and(|on_branch| !on_branch[at]) {
            continue;
        }
        if part.turns.len() == MOST_TURNS || items >= MOST_ITEMS {
            part.next = Some(Next { from: number, skip: 0 });
            break;
        }
        if !wanted.show.has_turn(reading, at) {
            skip = 0;
            continue;
        }
        let stop = wanted.stop.filter(|_| number == wanted.from).unwrap_or(usize::MAX);
        let lines = MOST_LINES.min(stop.saturating_sub(skip));
        if lines == 0 {
            continue;
        }
        let query =
            TurnQuery { from: number, skip, count: 1, lines: Some(lines), show: wanted.show };
        let page = context.library.turns(reading, &log.api(), query)?;
        skip = 0;
        items += page.turns.iter().map(|turn| turn.items.len()).sum::<usize>();
        part.turns.extend(page.turns);
        // The turn is longer than what is given at once.
        if let Some(next) = page.next.filter(|next| next.from == number && next.skip < stop) {
            part.next = Some(next);
            break;
        }
    }
    Ok(part)
}

/// Moves a place in a turn back to the first line of its API message, so that
/// calls that ran side by side are shown together.
fn first_line_of_message(reading: &Reading, turn: u32, skip: usize) -> usize {
    let nodes = reading.turns.nodes(turn as usize - 1);
    let message = |at: usize| nodes.get(at).and_then(|id| reading.session().node(*id).message);
    let mut skip = skip.min(nodes.len());
    while skip > 0 && message(skip).is_some() && message(skip - 1) == message(skip) {
        skip -= 1;
    }
    skip
}

/// For each turn, whether it led to a line.
fn turns_on_branch(reading: &Reading, tip: &str) -> Result<Vec<bool>, Failure> {
    let session = reading.session();
    let is_tip = |id: &NodeId| session.node(*id).uuid().to_string() == tip;
    let tip = session.ids().find(is_tip);
    let tip = tip.ok_or_else(|| Failure::not_found("the session has no such branch"))?;
    let mut is_on_way = vec![false; session.node_count()];
    for id in history_to(session, tip, Generation::latest()).iter().flatten() {
        is_on_way[id.index()] = true;
    }
    let has_one = |at: usize| reading.turns.nodes(at).iter().any(|id| is_on_way[id.index()]);
    Ok((0..reading.turns.len()).map(has_one).collect())
}
