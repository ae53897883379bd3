//! Subagents: a conversation of its own, with a log of its own.

mod stats;
mod told;

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
pub use stats::AgentStats;
use told::tell_ended;
use told::tell_started;

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
        session.sandbox.clone_from(&shared.sandbox);
        let tools = Arc::new(session);
        let above = Above { depth: how.depth(), agent: Some(request.id.clone()) };
        let serving = host::serve(Arc::clone(&shared), Arc::clone(&tools), above, requests);
        let serving = tokio::spawn(serving);
        if let Some(worktree) = &request.worktree {
            tools.set_cwd(&worktree.path);
        }
        let mut report = converse(&shared, &tools, &request, &kind, &how, &cancel).await;
        if let Some(worktree) = request.worktree.clone() {
            let kept = tool::settle_worktree(worktree).await;
            if let AgentReport::Done(done) = &mut report {
                done.worktree = kept;
            }
        }
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
        let is_of_session = matches!(
            tool,
            Tool::EnterWorktree | Tool::ExitWorktree | Tool::ListAgents | Tool::SendMessage
        );
        is_named(tool)
            && !tool.asks()
            && !is_of_session
            && (tool != Tool::Agent || depth < MOST_DEPTH)
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
    envelope.session = shared.places.session.get().parse().ok();
    envelope.agent = request.id.parse().ok();
    envelope.user_type = Some("external".to_owned());
    envelope.entrypoint = Some(shared.entrypoint.clone());
    envelope.cwd = Some(tools.cwd().display().to_string());
    envelope.version = Some(version("2.1.325"));
    let writer = shared.keeps_log.then(|| LogWriter::new(&shared.home, &path, SyncPolicy::Never));
    let (history, leaf) = match request.is_continued {
        true => History::of_log(&path, &model),
        false => (History::new(&model, Vec::new()), None),
    };
    let mut transcript = Transcript::new(envelope, writer, history, shared.style, &shared.slug);
    transcript.go_on_from(leaf, 0, 0);
    transcript.mirror_to(shared.mirror.clone(), &path);
    let words = kind
        .prompt
        .clone()
        .unwrap_or_else(|| format!("{}{}", prompt::SUBAGENT, prompt::about_kind(&kind.name)));
    let system = vec![Block::text(&words)];
    let mut conversation =
        Conversation::new(Arc::clone(shared), Arc::clone(tools), transcript, system);
    conversation.own_model = Some(model.clone());
    conversation.mail = request.mail.clone();
    conversation.transcript.set_prompt_id(&lock(&shared.prompt_id));
    conversation.speaker = Some(Speaker {
        tool_use: request.tool_use.clone(),
        agent: request.id.clone(),
        kind: kind.name.clone(),
        description: request.description.clone(),
        is_background: how.is_background,
        run: request.run.clone(),
        depth: how.depth(),
    });
    let branch = conversation.branch();
    let cwd = tools.cwd().display().to_string();
    conversation.transcript.set_cwd(&cwd, branch);
    if let Err(error) = start(&mut conversation, request, cancel).await {
        return AgentReport::Refused(error.to_string());
    }
    let mut end = conversation.work(cancel).await;
    while end == End::Completed {
        let messages = request.mail.take_or_close();
        if messages.is_empty() {
            break;
        }
        if let Err(error) = conversation.transcript.task(&messages.join("\n\n")) {
            return AgentReport::Refused(error.to_string());
        }
        end = conversation.work(cancel).await;
    }
    write_meta(shared, &meta, request, kind, &model, how, true);
    let turn = &conversation.turn;
    match end {
        End::ApiError(text, failed) | End::PromptTooLong(text, failed) => {
            AgentReport::ApiError(super::sentence::with_details(&text, &failed, &model))
        }
        End::LogFailed(why) => AgentReport::Refused(why),
        _ if turn.text.is_empty() && turn.calls.is_empty() => AgentReport::Silent,
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
                worktree: None,
            }))
        }
    }
}

async fn start(
    conversation: &mut Conversation,
    request: &AgentRequest,
    cancel: &CancellationToken,
) -> super::conversation::Written<()> {
    let uuid = conversation.transcript.task(&request.prompt)?;
    conversation.tell_task(uuid, &request.prompt).await;
    if request.is_continued {
        return Ok(());
    }
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
    let (note, attachment) = crate::memory::date_note(jiff::Zoned::now().date());
    conversation.transcript.attachment(&attachment, Some((&note, "system")))?;
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
    if let Some(worktree) = &request.worktree {
        meta["worktreePath"] = json!(worktree.path);
        meta["worktreeBranch"] = worktree.branch.as_str().into();
    }
    meta["spawnDepth"] = how.depth().into();
    let shape = if how.is_background { "background" } else { "foreground" };
    meta["requestShape"] = shape.into();
    meta["resolvedModel"] = model.into();
    if is_finished {
        meta["finished"] = Value::Bool(true);
    }
    // A store of the host has no such files.
    if let Some(mirror) = &shared.mirror {
        let mut entry = json!({"type": "agent_metadata"});
        if let (Some(entry), Some(meta)) = (entry.as_object_mut(), meta.as_object()) {
            entry.extend(meta.clone());
        }
        mirror.note_entry(&shared.places.agent_log(&request.id), entry);
    }
    // The log has everything; this file only helps to find it.
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
        let _ = std::fs::write(path, meta.to_string());
    }
}

/// Runs a subagent that is waited for, and tells about it.
pub(super) async fn run_and_tell(
    shared: Arc<Shared>,
    caller: Arc<tool::Session>,
    request: AgentRequest,
    above: Above,
    cancel: CancellationToken,
) -> AgentReport {
    let request = AgentRequest { run: tool::new_run(), ..request };
    let how = AgentStart { is_background: false, above };
    lock(&shared.agents).start(&request, &how);
    tell_started(&shared, &request, &how).await;
    let asked = request.clone();
    let report = run(Arc::clone(&shared), caller, asked, how, cancel.clone()).await;
    let told = Some(&report).filter(|_| !cancel.is_cancelled());
    lock(&shared.agents).end(told);
    tell_ended(&shared, &request, told).await;
    report
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
    let request = AgentRequest { run, ..request };
    let how = AgentStart { is_background: true, above };
    shared.events.send(TurnEvent::System(tools.tasks_line())).await;
    lock(&shared.agents).start(&request, &how);
    tell_started(&shared, &request, &how).await;
    tokio::spawn(async move {
        let (caller, asked) = (Arc::clone(&tools), request.clone());
        let report = self::run(Arc::clone(&shared), caller, asked, how, cancel.clone()).await;
        drop(running);
        let report = Some(report).filter(|_| !cancel.is_cancelled());
        lock(&shared.agents).end(report.as_ref());
        tell_ended(&shared, &request, report.as_ref()).await;
        shared.events.send(TurnEvent::System(tools.tasks_line_without(&request.id))).await;
        if let Some(report) = &report {
            tools.end_agent(&request.id, report);
        }
    });
}
