//! One case, again.

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use recto_agent::permission;
use recto_agent::permission::CommandLine;
use recto_agent::permission::Mode;
use recto_agent::permission::Permissions;
use recto_agent::permission::Place;
use recto_agent::permission::Verdict;
use recto_agent::settings::Settings;
use recto_agent::tool;
use recto_agent::tool::Deferred;
use recto_agent::tool::Denial;
use recto_agent::tool::Host;
use recto_agent::tool::HostRequest;
use recto_agent::tool::Ids;
use recto_agent::tool::Job;
use recto_agent::tool::Offer;
use recto_agent::tool::Places;
use recto_agent::tool::Session;
use recto_agent::tool::Tool;
use recto_agent::tool::ToolCall;
use recto_agent::tool::ToolOutcome;
use recto_agent::tool::Web;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;

use super::files;
use super::files::APP;
use super::files::HOME;
use super::files::Snapshot;
use super::like;
use super::like::Bindings;
use super::model;
use super::server::Server;

const SESSION: &str = "5e55104e-0000-4000-8000-000000000001";
const PLAN: &str = "/home/dev/.claude/plans/quiet-open-plan.md";

/// Tools that the recorded client deferred.
const DEFERRED: [(&str, &str); 11] = [
    ("CronCreate", "start a task at times"),
    ("CronDelete", "remove a task at times from the list"),
    ("CronList", "list tasks at times"),
    ("EnterWorktree", "work in a worktree of git"),
    ("ExitWorktree", "leave a worktree of git"),
    ("Monitor", "watch something in the background"),
    ("NotebookEdit", "edit a cell of a Jupyter notebook"),
    ("SendMessage", "send a message to an agent"),
    ("TaskStop", "stop a background task"),
    ("WebFetch", "fetch a page by its url"),
    ("WebSearch", "search the web"),
];

/// What cases of one file leave for the next.
#[derive(Default)]
pub(super) struct Family {
    session: Option<Arc<Session>>,
    /// The tools that earlier cases used: those with subagents were recorded in one session,
    /// unless they name another one.
    used: BTreeSet<String>,
    recorded_in: Value,
}

impl Family {
    fn take_over(&mut self, case: &Value, session: &Session) {
        if case["session"] != self.recorded_in {
            self.recorded_in = case["session"].clone();
            self.used.clear();
        }
        self.used.iter().for_each(|tool| session.note_used(tool));
    }
}

/// Runs a case, and tells how it differs.
pub(super) async fn run(case: &Value, family: &mut Family) -> anyhow::Result<Option<String>> {
    let id = case["id"].as_str().unwrap_or_default();
    let kind = id.split('/').next().unwrap_or_default().to_owned();
    // Tasks were recorded in one session, unless they name another one.
    let is_continued = kind == "task" && case["session"] == family.recorded_in;
    if kind == "task" {
        family.recorded_in = case["session"].clone();
    }
    if !is_continued || family.session.is_none() {
        files::empty(Path::new(HOME));
        files::empty(Path::new("/tmp"));
        family.session = None;
    }
    files::prepare(&case["setup"])?;
    std::env::set_current_dir(APP)?;
    let session = match &family.session {
        Some(session) => Arc::clone(session),
        None => new_session(case, &kind)?,
    };
    if kind == "task" {
        family.session = Some(Arc::clone(&session));
        skip_numbers(case);
    }
    if kind == "agent" {
        family.take_over(case, &session);
    }
    let before = Snapshot::take();
    let mut bindings = Bindings::default();
    bindings.set("session", SESSION);
    let mut difference = None;
    for step in groups(case) {
        let how = run_step(case, &step, &session, &mut bindings).await?;
        difference = difference.or(how);
    }
    family.used = session.used_tools();
    let after = Snapshot::take();
    session.close().await;
    let recorded = &case["files_after"];
    let difference = difference.or_else(|| {
        // A recording without files says nothing about them.
        recorded.is_object().then(|| after.difference(&before, recorded, &mut bindings)).flatten()
    });
    Ok(difference)
}

/// Numbers of tasks that cases made which are not here.
fn skip_numbers(case: &Value) {
    let created = case["results"][0]["content"].as_str().unwrap_or_default();
    let number = created.strip_prefix("Task #").and_then(|rest| rest.split(' ').next());
    let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) else { return };
    let directory = Path::new(HOME).join(".claude/tasks").join(SESSION);
    let is_next = directory.join(format!("{}.json", number.saturating_sub(1))).exists();
    let is_missing = created.contains("created") && number > 1 && !is_next;
    if is_missing && std::fs::create_dir_all(&directory).is_ok() {
        std::fs::write(directory.join(".highwatermark"), (number - 1).to_string()).ok();
        std::fs::write(directory.join(".lock"), "").ok();
    }
}

fn new_session(case: &Value, kind: &str) -> anyhow::Result<Arc<Session>> {
    let config = Path::new(HOME).join(".claude");
    let places = Places {
        home: PathBuf::from(HOME),
        config: config.clone(),
        project: PathBuf::from(APP),
        project_key: "-home-dev-app".to_owned(),
        session: SESSION.into(),
        temporary: PathBuf::from("/tmp/claude-1000"),
        shell: PathBuf::from("/bin/bash"),
    };
    let is_attended = kind.starts_with("host");
    let mut offer = if is_attended { Offer::attended() } else { Offer::headless() };
    // The cases about loading tools ran with those of a session as it is.
    let names_no_tools = ["search", "mcp"].contains(&kind);
    if !names_no_tools {
        offer.add(Tool::Glob);
        offer.add(Tool::Grep);
        // They named the tools that they wanted, and these were none of them.
        offer.tools.remove(&Tool::SendMessage);
        let unnamed = [
            Tool::EnterWorktree,
            Tool::ExitWorktree,
            Tool::ListAgents,
            Tool::ListMcpResources,
            Tool::ReadMcpResource,
            Tool::ToolSearch,
        ];
        unnamed.iter().for_each(|tool| offer.disable(tool.name()));
    }
    let deferred = |(name, about): &(&str, &str)| Deferred {
        name: (*name).to_owned(),
        about: (*about).to_owned(),
    };
    if names_no_tools {
        offer.deferred = DEFERRED.iter().map(deferred).collect();
    }
    let folders = [PathBuf::from(APP).join(".claude"), config];
    offer.skills = tool::skills_in(&folders);
    offer.agents = tool::built_in_agents();
    offer.agents.extend(tool::agents_in(&folders));
    let server = Server::of(&case["setup"]["args"])?;
    let server = server.map(|(server, tools)| {
        for tool in &tools {
            offer.deferred.push(Deferred { name: tool.name(), about: tool.about.clone() });
        }
        offer.mcp = tools;
        server
    });
    let (host, requests) = Host::channel();
    let mut session = Session::new(places, offer, host, Ids::Random);
    session.web = Web { preflight: Some("https://claude.ai/api/web/domain_info".to_owned()) };
    if case["setup"]["mode"] == "plan" {
        session.set_planning(true, Some(PathBuf::from(PLAN)));
    }
    let session = Arc::new(session);
    tokio::spawn(answer(requests, Arc::clone(&session), server));
    Ok(session)
}

/// Answers what tools ask.
async fn answer(
    mut requests: UnboundedReceiver<HostRequest>,
    session: Arc<Session>,
    mut server: Option<Server>,
) {
    while let Some(request) = requests.recv().await {
        match request {
            HostRequest::CountTokens { text, answer } => {
                answer.send(Some(model::tokens(&text))).ok();
            }
            HostRequest::RunAgent { request, answer, .. } => {
                let session = Arc::clone(&session);
                tokio::spawn(async move {
                    answer.send(model::run(&request, &session).await).ok();
                });
            }
            HostRequest::StartAgent { request, answer, .. } => {
                answer.send(Ok(model::model_of(&request))).ok();
                let session = Arc::clone(&session);
                tokio::spawn(async move {
                    let report = model::run(&request, &session).await;
                    session.end_agent(&request.id, &report);
                });
            }
            HostRequest::CallMcp { tool, input, answer, .. } => {
                let gone = || Err("there is no server".to_owned());
                let result =
                    server.as_mut().map_or_else(gone, |server| server.call(&tool.tool, &input));
                answer.send(result).ok();
            }
            HostRequest::Resources { answer, .. } => {
                answer.send(Err("there is no server".to_owned())).ok();
            }
            HostRequest::AskAboutPage { answer, .. } => {
                answer.send(None).ok();
            }
            HostRequest::Tell { answer, .. } => {
                answer.send(()).ok();
            }
            HostRequest::SearchWeb { answer, .. } => {
                // The recorded endpoint searched nothing, and said so much.
                let said = serde_json::json!({"type": "text", "text": "Default answer."});
                answer.send(Ok(vec![said])).ok();
            }
        }
    }
}

/// The positions of the calls of each message.
pub(in crate::parity) fn groups(case: &Value) -> Vec<Vec<usize>> {
    let mut steps: Vec<Vec<usize>> = Vec::new();
    let mut last: Option<&Value> = None;
    for (at, call) in case["calls"].as_array().into_iter().flatten().enumerate() {
        let step = call.get("step");
        match steps.last_mut().filter(|_| step.is_some() && step == last) {
            Some(same) => same.push(at),
            None => steps.push(vec![at]),
        }
        last = step;
    }
    steps
}

async fn run_step(
    case: &Value,
    step: &[usize],
    session: &Arc<Session>,
    bindings: &mut Bindings,
) -> anyhow::Result<Option<String>> {
    let mut jobs = Vec::new();
    for at in step {
        let call = &case["calls"][at];
        if let Some(what) = call.get("do") {
            outside(what).await?;
            return Ok(None);
        }
        jobs.push(job(call, *at, &case["setup"]["mode"], session, bindings));
    }
    let mut outcomes: Vec<Option<ToolOutcome>> = step.iter().map(|_| None).collect();
    tool::run_all(jobs, |at, outcome| {
        if let Some(place) = outcomes.get_mut(at) {
            *place = Some(outcome);
        }
    })
    .await;
    // Notices belong to the step; they are not compared.
    drop((session.take_notes(), session.take_notices()));
    let mut difference = None;
    for (at, outcome) in step.iter().zip(outcomes) {
        let recorded = &case["results"][at];
        let outcome = outcome.context("a call has no outcome")?;
        let how = compare(case, &case["calls"][at], recorded, &outcome, bindings);
        difference = difference.or(how.map(|how| format!("call {at}: {how}")));
    }
    Ok(difference)
}

fn job(
    call: &Value,
    at: usize,
    mode: &Value,
    session: &Arc<Session>,
    bindings: &Bindings,
) -> Job<ToolOutcome> {
    let mut input = bindings.filled_value(&call["input"]);
    if input["file_path"] == "{planfile}" {
        input["file_path"] = Value::from(PLAN);
    }
    let name = call["name"].as_str().unwrap_or_default().to_owned();
    let tool_call = ToolCall { id: format!("toolu_{at}"), name, input };
    let prepared = tool::prepare(tool_call.clone(), session);
    let may_overlap = prepared.as_ref().is_ok_and(|prepared| prepared.is_read_only());
    let answer = call["asked"][0]["answer"].clone();
    let answer = bindings.filled_value(&answer);
    let mode = mode.as_str().and_then(Mode::parse);
    let session = Arc::clone(session);
    // A call is checked when its turn comes: the ones before it may change what it finds.
    Job::new(may_overlap, async move {
        let prepared = match tool::prepare(tool_call, &session) {
            Ok(prepared) => prepared,
            Err(outcome) => return *outcome,
        };
        let permitted = if answer.is_null() {
            permitted(prepared, mode, &session)
        } else {
            asked(prepared, &answer, &session)
        };
        let prepared = match permitted {
            Ok(prepared) => prepared,
            Err(outcome) => return *outcome,
        };
        let outcome = prepared.run(&session, &CancellationToken::new()).await;
        session.note_used(prepared.name());
        outcome
    })
}

/// What the permissions of the session say. Nobody is there to ask.
fn permitted(
    prepared: tool::Prepared,
    mode: Option<Mode>,
    session: &Session,
) -> Result<tool::Prepared, Box<ToolOutcome>> {
    let settings = Settings::from_layers(Vec::new());
    let permissions = Permissions::new(&settings, &CommandLine { mode, ..CommandLine::default() });
    let mut place = Place::new(PathBuf::from(APP), PathBuf::from(HOME));
    place.cwd = session.cwd();
    place.writable.push(PathBuf::from(PLAN));
    let call = permission::Call { tool: prepared.name(), input: &prepared.call.input };
    let decision = permissions.decide(call, &place);
    if decision.verdict == Verdict::Allowed {
        return Ok(prepared);
    }
    Err(Box::new(ToolOutcome::failed(decision.text)))
}

/// What the host answered when it was asked.
fn asked(
    prepared: tool::Prepared,
    answer: &Value,
    session: &Session,
) -> Result<tool::Prepared, Box<ToolOutcome>> {
    match answer["behavior"].as_str() {
        Some("deny") => {
            let text = answer["message"].as_str().unwrap_or_default();
            Err(Box::new(ToolOutcome::denied(text, Denial::Rule)))
        }
        Some("allow") => tool::prepare_answered(prepared, answer["updatedInput"].clone(), session),
        _ => Ok(prepared),
    }
}

/// Something that happens outside.
async fn outside(what: &Value) -> anyhow::Result<()> {
    if let Some(seconds) = what["sleep"].as_f64() {
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    }
    files::change(what)
}

fn compare(
    case: &Value,
    call: &Value,
    recorded: &Value,
    outcome: &ToolOutcome,
    bindings: &mut Bindings,
) -> Option<String> {
    if recorded["is_error"] != outcome.is_error {
        let text: String = outcome.content.text().chars().take(200).collect();
        return Some(format!("is_error is {}: {text}", outcome.is_error));
    }
    if case["unstable"] == "text" {
        return None;
    }
    let is_any_order = case["unstable"] == "order"
        || (call["name"] == "Grep" && call["input"]["output_mode"].is_string());
    let content = outcome.content.to_json();
    if let Some(how) = like::difference(&recorded["content"], &content, bindings, is_any_order) {
        return Some(format!("content {how}"));
    }
    let structured = &recorded["toolUseResult"];
    let how = like::difference(structured, &outcome.structured, bindings, is_any_order)?;
    Some(format!("toolUseResult {how}"))
}
