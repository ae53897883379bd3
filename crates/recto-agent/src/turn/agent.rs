//! Subagents: a conversation of its own, with a log of its own.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use recto_log::build::Envelope;
use recto_store::append::LogWriter;
use recto_store::append::SyncPolicy;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tokio_util::sync::DropGuard;

use super::conversation::Conversation;
use super::event::End;
use super::event::Speaker;
use super::event::TurnEvent;
use super::history::History;
use super::host;
use super::prompt;
use super::sentence::milliseconds;
use super::shared::HookScene;
use super::shared::Shared;
use super::shared::lock;
use super::transcript::Transcript;
use super::transcript::version;
use crate::hook::Facts;
use crate::tool;
use crate::tool::AgentDone;
use crate::tool::AgentReport;
use crate::tool::AgentRequest;
use crate::tool::AgentType;
use crate::tool::Host;
use crate::tool::Ids;
use crate::tool::Offer;
use crate::tool::Tool;
use crate::wire::Block;

/// A subagent that runs.
type Running = Pin<Box<dyn Future<Output = AgentReport> + Send>>;

/// So many subagents may stand below each other; the last one starts none.
const MOST_DEPTH: u32 = 3;

/// Who starts a subagent: the session itself, or another subagent.
#[derive(Debug, Clone, Default)]
pub(super) struct Above {
    /// How many subagents there are above the new one.
    pub(super) depth: u32,
    pub(super) agent: Option<String>,
}

/// How a subagent runs.
#[derive(Debug, Clone)]
pub(super) struct AgentStart {
    pub(super) is_background: bool,
    pub(super) above: Above,
}

impl AgentStart {
    /// 1 for a subagent of the session itself.
    fn depth(&self) -> u32 {
        self.above.depth + 1
    }
}

/// Runs a subagent to its end. Cancelled, it ends soon, and nothing that it started is left;
/// otherwise what it left in the background belongs to whoever called it.
pub(super) fn run(
    shared: Arc<Shared>,
    caller: Arc<tool::Session>,
    request: AgentRequest,
    how: AgentStart,
    cancel: CancellationToken,
) -> Running {
    Box::pin(async move {
        let all = shared.offer.get();
        let kind = all.agents.iter().find(|kind| kind.name == request.kind).cloned();
        let Some(kind) = kind else {
            return AgentReport::Refused(format!("Agent type '{}' not found.", request.kind));
        };
        let (host, requests) = Host::channel();
        let offer = offer_of(&all, &kind, how.depth());
        let mut session = tool::Session::new(shared.places.clone(), offer, host, Ids::default());
        session.is_subagent = true;
        session.environment.clone_from(&shared.environment);
        let tools = Arc::new(session);
        let above = Above { depth: how.depth(), agent: Some(request.id.clone()) };
        let serving = host::serve(Arc::clone(&shared), Arc::clone(&tools), above, requests);
        let serving = tokio::spawn(serving);
        let report = converse(&shared, &tools, &request, &kind, &how, &cancel).await;
        let goes_on = !cancel.is_cancelled() && tools.hand_over(&caller);
        if !goes_on {
            tools.close().await;
            serving.abort();
        }
        report
    })
}

fn offer_of(all: &Offer, kind: &AgentType, depth: u32) -> Offer {
    let mut offer = all.clone();
    let is_named = |tool: Tool| match &kind.tools {
        Some(names) => names.iter().any(|name| name == tool.name()),
        None => true,
    };
    // Only the session itself speaks to its user.
    offer.withhold_but(|tool| {
        is_named(tool) && !tool.asks() && (tool != Tool::Agent || depth < MOST_DEPTH)
    });
    if let Some(names) = &kind.tools {
        offer.mcp.retain(|tool| names.contains(&tool.name()));
    }
    offer
}

async fn converse(
    shared: &Arc<Shared>,
    tools: &Arc<tool::Session>,
    request: &AgentRequest,
    kind: &AgentType,
    how: &AgentStart,
    cancel: &CancellationToken,
) -> AgentReport {
    let model = request.model.as_deref().map_or_else(|| shared.model(), prompt::model_named);
    let path = shared.places.agent_log(&request.id);
    let meta = path.with_extension("meta.json");
    write_meta(shared, &meta, request, kind, &model, how, false);
    let mut envelope = Envelope::new(recto_log::Generation::latest());
    envelope.session = shared.places.session.parse().ok();
    envelope.agent = request.id.parse().ok();
    envelope.user_type = Some("external".to_owned());
    envelope.entrypoint = Some(shared.entrypoint.clone());
    envelope.cwd = Some(tools.cwd().display().to_string());
    envelope.version = Some(version("2.1.325"));
    let writer = shared.keeps_log.then(|| LogWriter::new(&shared.home, &path, SyncPolicy::Never));
    let history = History::new(&model, Vec::new());
    let mut transcript = Transcript::new(envelope, writer, history, shared.style);
    transcript.mirror_to(shared.mirror.clone(), &path);
    let words = kind
        .prompt
        .clone()
        .unwrap_or_else(|| format!("{}{}", prompt::SUBAGENT, prompt::about_kind(&kind.name)));
    let system = vec![Block::text(&words)];
    let mut conversation =
        Conversation::new(Arc::clone(shared), Arc::clone(tools), transcript, system);
    conversation.own_model = Some(model.clone());
    conversation.transcript.set_prompt_id(&lock(&shared.prompt_id));
    conversation.speaker = Some(Speaker {
        tool_use: request.tool_use.clone(),
        agent: request.id.clone(),
        kind: kind.name.clone(),
        description: request.description.clone(),
        is_background: how.is_background,
        run: request.run.clone(),
    });
    let branch = conversation.branch();
    let cwd = tools.cwd().display().to_string();
    conversation.transcript.set_cwd(&cwd, branch);
    if let Err(error) = start(&mut conversation, request, cancel).await {
        return AgentReport::Refused(error.to_string());
    }
    let end = conversation.work(cancel).await;
    write_meta(shared, &meta, request, kind, &model, how, true);
    let turn = &conversation.turn;
    match end {
        End::ApiError(text, _) | End::PromptTooLong(text, _) => AgentReport::ApiError(text),
        End::LogFailed(why) => AgentReport::Refused(why),
        _ if turn.text.is_empty() => AgentReport::Silent,
        _ => {
            let usage = turn.last_usage.as_ref().map(|usage| usage.to_serde()).unwrap_or_default();
            let last = turn.last_usage.as_ref().map(super::totals::ModelTotals::of);
            AgentReport::Done(Box::new(AgentDone {
                text: turn.text.clone(),
                model,
                calls: turn.calls.clone(),
                usage,
                tokens: last.unwrap_or_default().all(),
                duration_ms: milliseconds(turn.began.elapsed()),
            }))
        }
    }
}

async fn start(
    conversation: &mut Conversation,
    request: &AgentRequest,
    cancel: &CancellationToken,
) -> super::conversation::Written<()> {
    conversation.transcript.task(&request.prompt)?;
    let id = uuid::Uuid::new_v4().to_string();
    let scene: HookScene = conversation.scene();
    let kind = request.kind.as_str();
    let shared = Arc::clone(&conversation.shared);
    let hooks = shared.run_hooks(&Facts::SubagentStart, &scene, Some(kind), &id, cancel).await;
    if let Some((answer, _)) = hooks {
        conversation.write_hook_lines(&answer.lines)?;
    }
    let place = shared.place_in(conversation.tools.cwd());
    let git = crate::memory::Git::find(&place.cwd);
    let environment = crate::memory::Environment::look(&place, git.as_ref(), None);
    conversation
        .transcript
        .attachment(&environment.attachment(), Some((&environment.note(), "system")))?;
    Ok(())
}

/// `agent-<id>.meta.json` beside the log.
fn write_meta(
    shared: &Shared,
    path: &Path,
    request: &AgentRequest,
    kind: &AgentType,
    model: &str,
    how: &AgentStart,
    is_finished: bool,
) {
    if !shared.keeps_log {
        return;
    }
    let mut meta = json!({
        "agentType": request.kind,
        "isBuiltIn": kind.prompt.is_none(),
        "description": request.description,
        "toolUseId": request.tool_use,
    });
    if let Some(parent) = &how.above.agent {
        meta["parentAgentId"] = parent.as_str().into();
    }
    meta["spawnDepth"] = how.depth().into();
    let shape = if how.is_background { "background" } else { "foreground" };
    meta["requestShape"] = shape.into();
    meta["resolvedModel"] = model.into();
    if is_finished {
        meta["finished"] = Value::Bool(true);
    }
    // The log has everything; this file only helps to find it.
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
        let _ = std::fs::write(path, meta.to_string());
    }
}

/// Starts a subagent that nobody waits for, and tells about it.
pub(super) async fn start_in_background(
    shared: Arc<Shared>,
    tools: Arc<tool::Session>,
    request: AgentRequest,
    above: Above,
    (cancel, running): (CancellationToken, DropGuard),
) {
    let run = tools.run_of_task(&request.id).unwrap_or_default();
    let request = AgentRequest { run: run.clone(), ..request };
    let mut task = json!({
        "task_id": request.id,
        "run_id": run,
        "task_type": "local_agent",
        "subagent_type": request.kind,
        "description": request.description,
    });
    let system = |subtype: &str, fields: Value| {
        let mut line = json!({"type": "system", "subtype": subtype});
        if let (Some(line), Some(fields)) = (line.as_object_mut(), fields.as_object()) {
            line.extend(fields.clone());
        }
        TurnEvent::System(line)
    };
    let events = shared.events.clone();
    if let Some(parent) = &above.agent {
        task["parent_task_id"] = parent.as_str().into();
    }
    events.send(system("background_tasks_changed", json!({"tasks": [task]}))).await;
    let mut started = json!({
        "task_id": request.id,
        "run_id": run,
        "tool_use_id": request.tool_use,
        "description": request.description,
        "subagent_type": request.kind,
        "is_backgrounded": true,
        "spawn_depth": above.depth + 1,
    });
    if let Some(parent) = &above.agent {
        started["parent_task_id"] = parent.as_str().into();
    }
    started["task_type"] = "local_agent".into();
    started["prompt"] = request.prompt.as_str().into();
    events.send(system("task_started", started)).await;
    tokio::spawn(async move {
        let id = request.id.clone();
        let tool_use = request.tool_use.clone();
        let start = AgentStart { is_background: true, above };
        let caller = Arc::clone(&tools);
        let report = self::run(Arc::clone(&shared), caller, request, start, cancel.clone()).await;
        drop(running);
        let report = Some(report).filter(|_| !cancel.is_cancelled());
        let (status, summary) = match &report {
            Some(AgentReport::Done(done)) => ("completed", done.text.clone()),
            Some(AgentReport::Silent) => ("failed", String::new()),
            Some(AgentReport::ApiError(why) | AgentReport::Refused(why)) => ("failed", why.clone()),
            None => ("stopped", String::new()),
        };
        let end = json!({"task_id": id, "run_id": run, "patch": {"status": status, "end_time": jiff::Timestamp::now().as_millisecond()}});
        shared.events.send(system("task_updated", end)).await;
        let output = shared.places.tasks().join(format!("{id}.output"));
        let notification = json!({
            "task_id": id,
            "run_id": run,
            "tool_use_id": tool_use,
            "status": status,
            "output_file": output,
            "summary": summary,
        });
        shared.events.send(system("task_notification", notification)).await;
        shared.events.send(system("background_tasks_changed", json!({"tasks": []}))).await;
        if let Some(report) = &report {
            tools.end_agent(&id, report);
        }
    });
}
