//! A turn: steps until the model is done, or something ends it.

mod failing;

use recto_log::build::HookSummary;
use recto_log::build::Level;
use recto_log::build::MetaLine;
use recto_log::build::QueueLine;
use recto_log::build::QueueStep;
use recto_log::build::SystemLine;
use recto_log::build::UserContent;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::conversation::Written;
use super::event::End;
use super::event::TurnEvent;
use super::hosted::lifecycle;
use super::sentence;
use super::shared::lock;
use super::step::Step;
use super::step::StepEnd;
use super::totals::dollars;
use crate::hook::Facts;
use crate::hook::stop_summary;
use crate::tool::Note;
use crate::wire::Json;

/// How often an answer that was cut is gone on with, in a row.
const MOST_CUTS: u32 = 3;
/// How often a model may ask for more room, in a row.
const MOST_CONTINUATIONS: u32 = 3;
/// How often it may give an output of the wrong shape.
const MOST_WRONG_OUTPUTS: u32 = 5;
/// How often hooks may send a subagent back to work.
const MOST_AGENT_BLOCKS: u32 = 8;

/// After how many steps without a word the model is reminded of the user.
const SILENT_STEPS: u64 = 5;

/// What waits for the model, or does not any more.
fn queue_line(step: QueueStep, text: &str) -> QueueLine<'_> {
    QueueLine::new(step, jiff::Timestamp::now(), Some(UserContent::Text(text.into())))
}

/// What happened in a row.
#[derive(Default)]
struct Counts {
    cuts: u32,
    continuations: u32,
    refusals: u32,
    empties: u32,
    reminders: u32,
    wrong_outputs: u32,
    stop_blocks: u32,
    compactions: u32,
}

/// Whether a turn goes on.
enum Verdict {
    GoOn,
    End(End),
}

impl Conversation {
    /// Works until the turn is over.
    pub(super) async fn work(&mut self, cancel: &CancellationToken) -> End {
        match self.steps(cancel).await {
            Ok(end) => end,
            Err(error) => End::LogFailed(error.to_string()),
        }
    }

    async fn steps(&mut self, cancel: &CancellationToken) -> Written<End> {
        let mut counts = Counts::default();
        loop {
            if let Some(most) = self.limits.max_turns.filter(|most| self.turn.requests >= *most) {
                let attachment = json!({
                    "type": "max_turns_reached",
                    "maxTurns": most,
                    "turnCount": self.turn.requests + 1,
                    "exitCommitted": false,
                });
                self.transcript.attachment(&attachment, None)?;
                return Ok(End::MaxTurns(most));
            }
            // Of a turn before this one.
            if let Some(budget) = self.spent().filter(|_| self.turn.requests == 0) {
                return Ok(End::Budget(budget));
            }
            self.follow_model();
            if self.needs_compaction() {
                self.compact_by_itself(cancel).await?;
            }
            let step = self.step(cancel).await?;
            self.turn.requests += 1;
            match self.judge(step, &mut counts, cancel).await? {
                Verdict::GoOn => {}
                Verdict::End(end) => return Ok(end),
            }
            if cancel.is_cancelled() {
                self.say_interrupted(sentence::INTERRUPTED).await?;
                return Ok(End::InterruptedText);
            }
        }
    }

    async fn judge(
        &mut self,
        step: Step,
        counts: &mut Counts,
        cancel: &CancellationToken,
    ) -> Written<Verdict> {
        match step.end {
            StepEnd::InterruptedText => return Ok(Verdict::End(End::InterruptedText)),
            StepEnd::InterruptedTools => return Ok(Verdict::End(End::InterruptedTools)),
            StepEnd::Failed(failure) => {
                let may_compact = counts.compactions == 0
                    && self.speaker.is_none()
                    && self.transcript.history.has_answer();
                let is_too_large = sentence::is_too_large(&failure.error);
                if may_compact && is_too_large && self.transcript.history.answers() == 1 {
                    self.tell_too_short().await;
                    return self.failed(&failure).await;
                }
                if may_compact && (is_too_large || sentence::is_too_long(&failure.error)) {
                    counts.compactions += 1;
                    self.compact_refused(cancel).await?;
                    return Ok(Verdict::GoOn);
                }
                return self.failed(&failure).await;
            }
            StepEnd::Cut if !step.has_calls => {
                counts.cuts += 1;
                if counts.cuts > MOST_CUTS {
                    let text = "API Error: the answer was cut off repeatedly".to_owned();
                    let failed = super::event::Failed { error: "unknown", ..Default::default() };
                    self.say_failure(&text, &failed, None).await?;
                    return Ok(Verdict::End(End::ApiError(text, failed)));
                }
                self.say_for_user(sentence::CUT_OFF, None).await?;
                return Ok(Verdict::GoOn);
            }
            StepEnd::Cut => {}
            StepEnd::Answered => counts.cuts = 0,
        }
        if let Some(call) = step.deferred {
            let input = call.input.to_string();
            return Ok(Verdict::End(End::Deferred(call.id, call.name, input)));
        }
        if step.interrupts {
            self.say_interrupted(sentence::INTERRUPTED_TOOLS).await?;
            return Ok(Verdict::End(End::InterruptedTools));
        }
        if step.has_calls {
            return self.after_calls(&step, counts, cancel).await;
        }
        if let Some(budget) = self.spent() {
            return Ok(Verdict::End(End::Budget(budget)));
        }
        let stop_reason = self.turn.stop_reason.clone().unwrap_or_default();
        match stop_reason.as_str() {
            "max_tokens" | "model_context_window_exceeded" => {
                counts.continuations += 1;
                if counts.continuations > MOST_CONTINUATIONS {
                    return self.failed_at_limit().await;
                }
                self.say_for_user(sentence::MAX_TOKENS, None).await?;
                return Ok(Verdict::GoOn);
            }
            "refusal" if counts.refusals == 0 => {
                counts.refusals += 1;
                lock(&self.shared.totals).refusals += 1;
                let content = "The endpoint's safeguards stopped the response above · continuing once with that noted";
                self.inform(content, Level::Notice).await?;
                self.say_for_user(sentence::REFUSED, Some(&step.message)).await?;
                return Ok(Verdict::GoOn);
            }
            "refusal" => return self.refused_again(&step).await,
            _ if step.is_empty && counts.empties == 0 => {
                counts.empties += 1;
                self.say_for_user(sentence::EMPTY, None).await?;
                return Ok(Verdict::GoOn);
            }
            _ => {}
        }
        if self.schema.is_some() && counts.reminders == 0 {
            counts.reminders += 1;
            self.say_for_user(sentence::STRUCTURED_OUTPUT, None).await?;
            return Ok(Verdict::GoOn);
        }
        self.stop_hooks(counts, cancel).await
    }

    /// A remark for the user, in the log and the stream.
    pub(super) async fn inform(&mut self, content: &str, level: Level) -> Written<()> {
        self.transcript.system(&SystemLine::Informational { content: content.into(), level })?;
        let line = json!({
            "type": "system",
            "subtype": "informational",
            "content": content,
            "level": level.name(),
        });
        self.tell(TurnEvent::System(line)).await;
        Ok(())
    }

    pub(super) fn spent(&self) -> Option<f64> {
        let budget = self.limits.budget?;
        let cost = dollars(lock(&self.shared.totals).cost());
        (cost >= budget).then_some(budget)
    }

    /// What follows the results: hooks, notes, prompts that came meanwhile.
    async fn after_calls(
        &mut self,
        step: &Step,
        counts: &mut Counts,
        cancel: &CancellationToken,
    ) -> Written<Verdict> {
        if self.turn.structured_output.is_some() {
            return Ok(Verdict::End(End::Completed));
        }
        if self.schema.is_some() {
            let is_output = |call: &Value| call["tool_name"] == super::call::STRUCTURED_OUTPUT;
            counts.wrong_outputs += u32::from(step.batch.iter().any(is_output));
            if counts.wrong_outputs >= MOST_WRONG_OUTPUTS {
                return Ok(Verdict::End(End::NoStructuredOutput));
            }
        }
        let id = format!("hook-{}", uuid::Uuid::new_v4());
        let facts = Facts::PostToolBatch { calls: &step.batch };
        let hooks = self.shared.run_hooks(&facts, &self.scene(), None, &id, cancel).await;
        let mut stop = step.stop.is_some();
        if let Some((answer, _)) = hooks {
            self.write_hook_lines(&answer.lines)?;
            stop |= answer.stop.is_some() || answer.block.is_some();
        }
        if stop {
            self.turn.text.clear();
            return Ok(Verdict::End(End::HookStopped));
        }
        if let Some(budget) = self.spent() {
            return Ok(Verdict::End(End::Budget(budget)));
        }
        let before = self.tools.cwd().display().to_string();
        for mut note in self.tools.take_notes() {
            if let Note::Attached(attachment, _) = &mut note
                && attachment["type"] == "environment"
            {
                attachment["snapshot"] = self.environment().attachment()["snapshot"].take();
                self.transcript.set_cwd(&before, self.branch());
            }
            self.write_note(&note).await?;
        }
        self.tell_ended_tasks().await?;
        if self.speaker.is_none() {
            let unheard = std::mem::take(&mut *lock(&self.shared.unheard));
            for notice in unheard {
                self.write_note(&Note::System(notice)).await?;
            }
            self.take_queued().await?;
            self.remind_of_user(step)?;
        }
        self.tell_budget()?;
        for message in self.mail.take() {
            self.transcript.companion(&sentence::mail(&message), true, None)?;
        }
        self.transcript.last_prompt()?;
        Ok(Verdict::GoOn)
    }

    /// Tasks that ended while the model worked: it hears of them with the next results.
    async fn tell_ended_tasks(&mut self) -> Written<()> {
        if self.speaker.is_some() {
            for notice in self.tools.take_notices() {
                self.write_note(&Note::System(notice.text)).await?;
            }
        }
        self.write_enqueued()?;
        for notice in std::mem::take(&mut self.ended_tasks) {
            let (uuid, delivery) = (super::transcript::new_uuid(), uuid::Uuid::new_v4());
            let mut line = queue_line(QueueStep::Remove, &notice.text);
            line.reason = Some("absorbed_mid_turn".into());
            line.command = Some(uuid.clone());
            line.delivery = Some(delivery.to_string().into());
            self.transcript.meta(&MetaLine::QueueOperation(line))?;
            let attachment = json!({
                "type": "queued_command",
                "prompt": notice.text,
                "source_uuid": uuid.to_string(),
                "delivery_id": delivery.to_string(),
                "commandMode": "task-notification",
                "origin": {"kind": "task-notification", "producer": "session-task"},
                "runId": notice.run,
            });
            self.transcript.attachment(&attachment, Some((&notice.text, "system")))?;
        }
        Ok(())
    }

    /// A model that works on and on without a word is reminded of who waits.
    fn remind_of_user(&mut self, step: &Step) -> Written<()> {
        self.turn.silent = if step.has_text { 0 } else { self.turn.silent + 1 };
        if self.turn.silent == 0 || !self.turn.silent.is_multiple_of(SILENT_STEPS) {
            return Ok(());
        }
        let attachment = json!({"type": "silent_turn_reminder", "text": sentence::SILENT});
        self.transcript.attachment(&attachment, Some((sentence::SILENT, "system")))?;
        Ok(())
    }

    /// How much of the budget is left, if there is one.
    pub(super) fn tell_budget(&mut self) -> Written<()> {
        let Some(total) = self.limits.budget.filter(|_| self.speaker.is_none()) else {
            return Ok(());
        };
        let used = dollars(lock(&self.shared.totals).cost());
        let remaining = total - used;
        let attachment =
            json!({"type": "budget_usd", "used": used, "total": total, "remaining": remaining});
        let note = format!("USD budget: ${used}/${total}; ${remaining} remaining");
        self.transcript.attachment(&attachment, Some((&note, "system")))?;
        Ok(())
    }

    /// Notes prompts that came while the model worked, and tasks that ended, before what
    /// follows them.
    pub(super) fn write_enqueued(&mut self) -> Written<()> {
        if self.speaker.is_some() {
            return Ok(());
        }
        for notice in self.tools.take_notices() {
            let line = queue_line(QueueStep::Enqueue, &notice.text);
            self.transcript.meta(&MetaLine::QueueOperation(line))?;
            self.ended_tasks.push(notice);
        }
        for content in self.shared.control.take_unlogged() {
            let text = match &content {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let line = queue_line(QueueStep::Enqueue, &text);
            self.transcript.meta(&MetaLine::QueueOperation(line))?;
        }
        Ok(())
    }

    /// Prompts that came while the model worked are part of this turn.
    async fn take_queued(&mut self) -> Written<()> {
        self.write_enqueued()?;
        for prompt in self.shared.control.take_all(|prompt| !super::command::is_command(prompt)) {
            if let Some(uuid) = &prompt.uuid {
                self.tell(lifecycle(uuid, "started")).await;
                self.turn.prompts.push(uuid.to_string());
            }
            let text = match &prompt.content {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let uuid = prompt.uuid.clone().unwrap_or_else(super::transcript::new_uuid);
            let delivery = uuid::Uuid::new_v4().to_string();
            let mut line = queue_line(QueueStep::Remove, &text);
            line.reason = Some("absorbed_mid_turn".into());
            line.command = Some(uuid.clone());
            line.delivery = Some(delivery.as_str().into());
            self.transcript.meta(&MetaLine::QueueOperation(line))?;
            let attachment = json!({
                "type": "queued_command",
                "prompt": text,
                "source_uuid": uuid.to_string(),
                "delivery_id": delivery,
                "commandMode": "prompt",
            });
            let note = sentence::queued(&text);
            self.transcript.attachment(&attachment, Some((&note, "system")))?;
        }
        Ok(())
    }

    /// Hooks at the end of a turn can send the model back to work.
    async fn stop_hooks(
        &mut self,
        counts: &mut Counts,
        cancel: &CancellationToken,
    ) -> Written<Verdict> {
        let id = uuid::Uuid::new_v4().to_string();
        let active = counts.stop_blocks > 0;
        let text = self.turn.text.clone();
        let scene = self.scene();
        let is_agent = self.speaker.is_some();
        let transcript = match &self.speaker {
            Some(speaker) => self.shared.places.agent_log(&speaker.agent).display().to_string(),
            None => String::new(),
        };
        let facts = if is_agent {
            Facts::SubagentStop {
                active,
                transcript: &transcript,
                last_message: &text,
                tasks: &[],
                crons: &[],
            }
        } else {
            Facts::Stop { active, last_message: &text, tasks: &[], crons: &[] }
        };
        let kind = self.speaker.as_ref().map(|speaker| speaker.kind.clone());
        let hooks = self.shared.run_hooks(&facts, &scene, kind.as_deref(), &id, cancel).await;
        let Some((answer, ran)) = hooks else { return Ok(Verdict::End(End::Completed)) };
        let may_block = !is_agent || counts.stop_blocks < MOST_AGENT_BLOCKS;
        let block = answer.block.clone().filter(|_| answer.stop.is_none() && may_block);
        if let Some(block) = &block {
            self.say_for_user(&format!("Stop hook feedback:\n{}", block.message), None).await?;
        }
        if !is_agent {
            // That hooks sent it back is told once.
            let is_new = |line: &&Value| !active || line["subtype"] != "notification";
            for line in answer.stream.iter().filter(is_new) {
                self.tell(TurnEvent::System(line.clone())).await;
            }
        }
        self.write_hook_lines(&answer.lines)?;
        if !is_agent {
            self.write_stop_summary(&stop_summary(&ran, &answer, &id))?;
        }
        if answer.stop.is_some() {
            return Ok(Verdict::End(End::StopHookPrevented));
        }
        if block.is_some() || (!answer.contexts.is_empty() && may_block) {
            counts.stop_blocks += 1;
            return Ok(Verdict::GoOn);
        }
        Ok(Verdict::End(End::Completed))
    }

    fn write_stop_summary(&mut self, summary: &Value) -> Written<()> {
        let json = Json::from(summary);
        let value = json.value();
        let list = |name: &str| value.get(name).unwrap_or(recto_log::json::Value::NULL);
        let text = |name: &str| value.str(name).unwrap_or_default();
        self.transcript.system(&SystemLine::StopHookSummary(HookSummary {
            hooks: summary["hookCount"].as_u64().unwrap_or_default(),
            infos: list("hookInfos"),
            errors: list("hookErrors"),
            additional_context: value.get("hookAdditionalContext"),
            prevented: summary["preventedContinuation"] == true,
            stop_reason: text("stopReason"),
            has_output: summary["hasOutput"] == true,
            tool_use: text("toolUseID"),
        }))?;
        Ok(())
    }

    /// The branch that is checked out; `HEAD` where there is none, as clients write it.
    pub(super) fn branch(&self) -> Option<String> {
        let git = crate::memory::Git::find(&self.tools.cwd());
        Some(git.and_then(|git| git.branch).unwrap_or_else(|| "HEAD".to_owned()))
    }
}
