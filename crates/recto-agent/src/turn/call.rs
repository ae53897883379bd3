//! One call of a tool: checks, hooks, permission, the tool itself, hooks again.

mod asking;
mod confined;
mod following;
mod outcome;

use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use recto_log::EntryUuid;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::ask::Reply;
use super::checkpoint::Copied;
use super::event::DeniedCall;
use super::event::TurnEvent;
use super::output_schema::OutputSchema;
use super::sentence;
use super::shared::HookScene;
use super::shared::Shared;
use super::shared::lock;
use crate::hook;
use crate::hook::Answer;
use crate::hook::Choice;
use crate::hook::Facts;
use crate::hook::PermissionAnswer;
use crate::permission::Call;
use crate::permission::Decision;
use crate::permission::Mode;
use crate::permission::PermissionUpdate;
use crate::permission::Permissions;
use crate::permission::Reason;
use crate::permission::Verdict;
use crate::tool;
use crate::tool::Denial;
use crate::tool::Prepared;
use crate::tool::Tool;
use crate::tool::ToolCall;
use crate::tool::ToolOutcome;
use crate::tool::prepare;
use crate::tool::prepare_answered;

pub(super) use outcome::result_block;
pub(super) use outcome::result_meta;

/// The tool that takes the output that was asked for.
pub(super) const STRUCTURED_OUTPUT: &str = "StructuredOutput";

/// A call on its way.
#[derive(Debug, Clone)]
pub(super) struct Calling {
    pub(super) shared: Arc<Shared>,
    pub(super) tools: Arc<tool::Session>,
    pub(super) scene: HookScene,
    pub(super) schema: Option<Arc<OutputSchema>>,
    pub(super) cancel: CancellationToken,
}

/// A call that is over.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) call: ToolCall,
    /// The line of the log that has the call.
    pub(super) line: EntryUuid,
    pub(super) outcome: ToolOutcome,
    /// `permissionDecision` of the log line.
    pub(super) decision: Option<Value>,
    /// Lines of hooks before and after the result.
    pub(super) before: Vec<hook::Line>,
    pub(super) after: Vec<hook::Line>,
    /// A hook ends the run.
    pub(super) stop: Option<String>,
    /// A hook wants the call to be made later.
    pub(super) is_deferred: bool,
    /// Whoever was asked wants the turn to end.
    pub(super) interrupts: bool,
    pub(super) copied: Option<Copied>,
    /// The output that was asked for.
    pub(super) structured_output: Option<Value>,
    pub(super) took: Duration,
    /// Whether the tool itself ran.
    pub(super) has_run: bool,
}

/// A decision about a call, and what it changes.
struct Permitted {
    decision: Value,
    denied: Option<ToolOutcome>,
    updated_input: Option<Value>,
    interrupts: bool,
}

impl Calling {
    /// That the output may be given; where everything may, because of the mode.
    fn accepts_output(&self) -> Value {
        let mut decision = json!({"decision": "accept", "source": "config"});
        if self.shared.mode() == Mode::BypassPermissions.name() {
            decision["reasonType"] = "mode".into();
        }
        decision
    }

    /// Whether a call changes nothing, so that it may run beside others.
    pub(super) fn may_overlap(&self, call: &ToolCall) -> bool {
        match Tool::named(&call.name) {
            Some(Tool::Bash) => {
                let command = call.input.get("command").and_then(Value::as_str);
                let place = self.shared.place_in(self.tools.cwd());
                let is_background = call.input.get("run_in_background") == Some(&json!(true));
                !is_background
                    && command.is_some_and(|command| Permissions::only_looks(command, &place))
            }
            Some(tool) => tool.is_read_only(),
            None => {
                let offer = self.tools.offer.get();
                offer.mcp_tool(&call.name).is_some_and(|tool| tool.is_read_only)
            }
        }
    }

    /// Makes a call.
    pub(super) async fn run(self, call: ToolCall, line: EntryUuid) -> Finished {
        let mut finished = Finished {
            outcome: ToolOutcome::text("", Value::Null),
            call,
            line,
            decision: None,
            before: Vec::new(),
            after: Vec::new(),
            stop: None,
            is_deferred: false,
            interrupts: false,
            copied: None,
            structured_output: None,
            took: Duration::ZERO,
            has_run: false,
        };
        if finished.call.name == STRUCTURED_OUTPUT
            && let Some(schema) = &self.schema
        {
            finished.decision = Some(self.accepts_output());
            finished.outcome = match schema.check(&finished.call.input) {
                Ok(()) => {
                    finished.structured_output = Some(finished.call.input.clone());
                    let text = "Structured output provided successfully";
                    ToolOutcome::text(text, json!(text))
                }
                Err(why) => {
                    ToolOutcome::failed(format!("Output does not match required schema: {why}"))
                }
            };
            return finished;
        }
        // A host may have changed the mode.
        if lock(&self.shared.permissions).mode == Mode::Plan && !self.tools.is_planning() {
            self.tools.set_planning(true, None);
        }
        let prepared = match prepare(finished.call.clone(), &self.tools) {
            Ok(prepared) => prepared,
            Err(outcome) => {
                finished.outcome = *outcome;
                return finished;
            }
        };
        self.run_prepared(&mut finished, prepared).await;
        finished
    }

    async fn run_prepared(&self, finished: &mut Finished, mut prepared: Prepared) {
        let name = prepared.name().to_owned();
        let place = self.shared.place_in(self.tools.cwd());
        let early = {
            let call = Call { tool: &name, input: &prepared.call.input };
            lock(&self.shared.permissions).refuse_early(call, &place)
        };
        if let Some(decision) = early {
            finished.decision = Some(decision.log_value());
            finished.outcome = self.denied(&decision, &prepared.call);
            return;
        }
        let facts =
            Facts::PreToolUse { tool: &name, input: &prepared.call.input, id: &prepared.call.id };
        let id = prepared.call.id.clone();
        let hooks = self.shared.run_hooks(&facts, &self.scene, None, &id, &self.cancel).await;
        let answer = hooks.map(|(answer, _)| answer).unwrap_or_default();
        for line in answer.lines.iter().cloned() {
            match line.attachment["type"] == "hook_stopped_continuation" {
                true => finished.after.push(line),
                false => finished.before.push(line),
            }
        }
        finished.stop.clone_from(&answer.stop);
        if let Some((Choice::Defer, _)) = answer.choice {
            finished.is_deferred = true;
            return;
        }
        // What does not run is listed as the model wanted it.
        let runs = answer.block.is_none();
        if let Some(input) = answer.updated_input.as_ref().filter(|_| runs) {
            let call = ToolCall { input: input.clone(), ..prepared.call.clone() };
            prepared = match prepare(call, &self.tools) {
                Ok(prepared) => prepared,
                Err(outcome) => {
                    finished.outcome = *outcome;
                    return;
                }
            };
        }
        let permitted = self.permit(finished, &prepared, &answer).await;
        finished.decision = Some(permitted.decision);
        finished.interrupts = permitted.interrupts;
        if let Some(outcome) = permitted.denied {
            finished.outcome = outcome;
            return;
        }
        if let Some(input) = permitted.updated_input {
            prepared = match prepare_answered(prepared, input, &self.tools) {
                Ok(prepared) => prepared,
                Err(outcome) => {
                    finished.outcome = *outcome;
                    return;
                }
            };
        }
        finished.copied = self.keep_copy(&prepared);
        let cwd = self.tools.cwd();
        let began = Instant::now();
        finished.has_run = true;
        finished.outcome = prepared.run(&self.tools, &self.cancel).await;
        if prepared.tool() == Some(Tool::Bash) {
            lock(&self.shared.permissions).note_command();
        }
        if let Some(outcome) = self.run_again(&prepared, &finished.outcome).await {
            finished.outcome = outcome;
        }
        finished.took = began.elapsed();
        if !finished.outcome.is_error {
            match prepared.tool() {
                Some(Tool::ExitPlanMode) => self.leave_plan_mode().await,
                Some(Tool::Skill) => self.follow_skill(&finished.outcome),
                _ => {}
            }
        }
        self.after_run(finished, &prepared).await;
        self.after_moving(&cwd).await;
    }

    /// Keeps the file that a call is about to change.
    fn keep_copy(&self, prepared: &Prepared) -> Option<Copied> {
        let checkpoints = self.shared.checkpoints.as_ref()?;
        let key = match prepared.tool()? {
            Tool::Edit | Tool::Write | Tool::MultiEdit => "file_path",
            Tool::NotebookEdit => "notebook_path",
            _ => return None,
        };
        let path = prepared.call.input.get(key)?.as_str()?;
        let path = self.shared.place_in(self.tools.cwd()).absolute(path);
        lock(checkpoints).before(&path)
    }

    /// Asks hooks and, if need be, somebody.
    async fn permit(
        &self,
        finished: &mut Finished,
        prepared: &Prepared,
        answer: &Answer,
    ) -> Permitted {
        let place = self.shared.place_in(self.tools.cwd());
        let name = prepared.name();
        let mut decision = {
            let call = Call { tool: name, input: &prepared.call.input };
            lock(&self.shared.permissions).decide_after_hooks(call, &place, answer)
        };
        if let Some(text) = self.leaves_sandbox(prepared) {
            decision.ask_because(text);
        }
        let is_dialog = matches!(name, "ExitPlanMode" | "AskUserQuestion");
        if is_dialog && decision.verdict == Verdict::Allowed && self.shared.asker.is_some() {
            decision.verdict = Verdict::Asked;
            decision.can_be_asked = true;
        }
        let (mut updated_input, mut interrupts) = (None, false);
        let mut by_request = false;
        if decision.verdict == Verdict::Asked {
            let suggestions: Vec<Value> =
                decision.suggestions.iter().map(PermissionUpdate::to_json).collect();
            let facts = Facts::PermissionRequest {
                tool: name,
                input: &prepared.call.input,
                suggestions: &suggestions,
            };
            let id = prepared.call.id.clone();
            let hooks = self.shared.run_hooks(&facts, &self.scene, None, &id, &self.cancel).await;
            if let Some((mut hooks, _)) = hooks {
                if let Some(why) = self.unusable_input(prepared, hooks.permission.as_ref()) {
                    hooks.refuse_permission(why);
                }
                finished.before.extend(hooks.lines);
                if let Some(answered) = hooks.permission {
                    if let PermissionAnswer::Allow { updated_input: input, updates } = &answered {
                        updated_input.clone_from(input);
                        updates.iter().for_each(|update| self.grant(update));
                    }
                    if let PermissionAnswer::Deny { interrupt, .. } = &answered {
                        interrupts = *interrupt;
                    }
                    decision = decision.answered(&answered);
                    by_request = true;
                }
            }
        }
        if decision.verdict == Verdict::Asked
            && decision.can_be_asked
            && let Some(reply) = self.ask(prepared, &decision).await
        {
            let before = self.shared.mode();
            let permitted = self.replied(reply, prepared);
            if permitted.denied.is_none() {
                self.note_way_out(prepared);
            }
            if self.shared.mode() != before {
                self.tell_mode().await;
            }
            return permitted;
        }
        let log = decision.log_value();
        let denied =
            (decision.verdict != Verdict::Allowed).then(|| self.denied(&decision, &prepared.call));
        // What a hook of `PreToolUse` forbids is no answer to a question.
        let was_asked = decision.verdict == Verdict::Asked || by_request;
        if denied.is_some() && (was_asked || !matches!(decision.reason, Reason::Hook(_))) {
            let told = DeniedCall {
                tool: name.to_owned(),
                id: prepared.call.id.clone(),
                reason_type: decision.reason.type_name(),
                reason: decision.reason.sentence().map(str::to_owned),
                message: decision.text.clone(),
                agent: self.scene.agent.as_ref().map(|(id, _)| id.clone()),
            };
            self.shared.events.send(TurnEvent::Denied(Box::new(told))).await;
        }
        Permitted { decision: log, denied, updated_input, interrupts }
    }

    /// What is wrong with the input that a hook would have a call run with.
    fn unusable_input(
        &self,
        prepared: &Prepared,
        answer: Option<&PermissionAnswer>,
    ) -> Option<String> {
        let Some(PermissionAnswer::Allow { updated_input: Some(input), .. }) = answer else {
            return None;
        };
        let name = prepared.name();
        let call = ToolCall { input: input.clone(), ..prepared.call.clone() };
        let outcome = prepare(call, &self.tools).err()?;
        let text = outcome.content.text();
        let issues = text.strip_prefix("<tool_use_error>InputValidationError: ")?;
        let issues = issues.strip_suffix("</tool_use_error>").unwrap_or(issues);
        Some(format!(
            "PermissionRequest hook for {name} returned updatedInput that failed schema validation: {issues}\nThe tool input from the model was valid; the hook's rewrite of it was not."
        ))
    }

    fn replied(&self, reply: Reply, prepared: &Prepared) -> Permitted {
        match reply {
            Reply::Allow { updated_input, updated_permissions } => {
                for update in updated_permissions.iter().filter_map(PermissionUpdate::from_json) {
                    self.grant(&update);
                }
                let scope = if updated_permissions.is_empty() { "once" } else { "session" };
                let decision = json!({
                    "decision": "accept",
                    "source": "user_temporary",
                    "grantScope": scope,
                    "reasonCode": "unknown",
                });
                Permitted { decision, denied: None, updated_input, interrupts: false }
            }
            Reply::Deny { message, interrupt } => {
                self.list_denial(&prepared.call);
                let decision =
                    json!({"decision": "reject", "source": "user_reject", "reasonCode": "unknown"});
                let denied = match interrupt {
                    true => {
                        let mut outcome = ToolOutcome::denied(sentence::REJECTED, Denial::User);
                        outcome.structured = Value::String(sentence::REJECTED_LOG.to_owned());
                        outcome
                    }
                    false => ToolOutcome::denied(message, Denial::Rule),
                };
                let denied = Some(denied);
                Permitted { decision, denied, updated_input: None, interrupts: interrupt }
            }
            Reply::Failed(why) => {
                self.list_denial(&prepared.call);
                let decision = json!({
                    "decision": "reject",
                    "source": "config",
                    "reasonType": "other",
                    "reasonCode": "unknown",
                });
                let denied = Some(ToolOutcome::denied(why, Denial::Rule));
                Permitted { decision, denied, updated_input: None, interrupts: false }
            }
        }
    }

    /// Takes over what was granted for later calls.
    fn grant(&self, update: &PermissionUpdate) {
        let directories = lock(&self.shared.permissions).apply(update);
        lock(&self.shared.place).additional.extend(directories.clone());
        self.tools.add_directories(directories);
    }

    fn list_denial(&self, call: &ToolCall) {
        // Scripts know it by this name.
        let name = if call.name == "Agent" { "Task" } else { call.name.as_str() };
        let denial = json!({
            "tool_name": name,
            "tool_use_id": call.id,
            "tool_input": call.input,
        });
        lock(&self.shared.denials).push(denial);
    }

    fn denied(&self, decision: &Decision, call: &ToolCall) -> ToolOutcome {
        if decision.listed {
            self.list_denial(call);
        }
        let text = &decision.text;
        let tagged = text
            .strip_prefix("<tool_use_error>")
            .and_then(|rest| rest.strip_suffix("</tool_use_error>"));
        let plain = tagged.unwrap_or(text);
        let log = match plain.starts_with("Error: ") {
            true => plain.to_owned(),
            false => format!("Error: {plain}"),
        };
        let mut outcome =
            ToolOutcome { is_error: true, ..ToolOutcome::text(text.clone(), log.into()) };
        if let Some(kind) = decision.kind {
            outcome.line.insert("toolDenialKind".into(), kind.name().into());
        }
        outcome
    }

    /// Hooks that look at what came of a call.
    async fn after_run(&self, finished: &mut Finished, prepared: &Prepared) {
        if self.cancel.is_cancelled() {
            return;
        }
        let duration_ms = u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX);
        let (tool, input, id) = (prepared.name(), &prepared.call.input, prepared.call.id.as_str());
        let error = finished.outcome.content.text();
        let structured = finished.outcome.structured.clone();
        let facts = if finished.outcome.is_error {
            Facts::PostToolUseFailure {
                tool,
                input,
                id,
                error: &error,
                interrupted: false,
                duration_ms,
            }
        } else {
            Facts::PostToolUse { tool, input, id, response: &structured, duration_ms }
        };
        let hooks = self.shared.run_hooks(&facts, &self.scene, None, id, &self.cancel).await;
        let Some((answer, _)) = hooks else { return };
        finished.after.extend(answer.lines);
        if !finished.outcome.is_error {
            finished.stop = answer.stop.or(finished.stop.take());
            if let Some(output) = answer.updated_output {
                outcome::replace_output(&mut finished.outcome, output);
            }
        }
    }
}
