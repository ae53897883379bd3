//! Compaction: a long conversation goes on from a summary of itself.

use std::time::Instant;

use recto_log::Role;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::conversation::Written;
use super::event::TurnEvent;
use super::event::UserSaid;
use super::sentence::milliseconds;
use super::shared::lock;
use super::transcript::CompactFacts;
use super::transcript::Kept;
use crate::api::estimate_tokens;
use crate::hook::Event;
use crate::hook::Facts;
use crate::hook::Label;
use crate::hook::compaction_instructions;
use crate::hook::compaction_refusal;
use crate::hook::compaction_report;
use crate::tool::estimated_tokens;
use crate::wire::Block;
use crate::wire::Message;
use crate::wire::Request;

/// What a summary may take.
const SUMMARY_TOKENS: u64 = 20_000;
/// How much of a prompt is told where no model writes the summary.
const SHOWN: usize = 600;
/// How many prompts are.
const MOST_PROMPTS: usize = 40;

const ASK: &str = "Stop working for a moment and write a summary of this conversation. You will continue from the summary alone, so it must have everything the work needs. Call no tool. Write these parts, each as short as it can be without losing facts:
1. What the user wants, in their own words where those matter, and every correction they made.
2. What was done: files that were read, changed or made, with their paths and what matters in them; commands that were run and what came of them.
3. What was decided, and why; what was tried and failed.
4. The current state: what was in progress when this message came.
5. What is left to do, in order.
Keep exact names, paths, numbers, error messages and code that will be needed again.";

const HEAD: &str = "This session is being continued from a previous conversation that ran out of context. A summary of it follows.";

/// How a compaction ended.
pub(super) enum Outcome {
    /// With lines in the log, which these events tell.
    Done(Box<[TurnEvent; 2]>),
    /// There is nothing to compact.
    Refused(String),
    /// Hooks forbid it, in these words.
    Forbidden(String),
}

impl Conversation {
    /// Whether the next request would come near the window.
    pub(super) fn needs_compaction(&self) -> bool {
        if self.speaker.is_some() || self.transcript.history.is_empty() {
            return false;
        }
        self.tokens_now() >= self.shared.compaction_threshold()
    }

    /// About how many tokens the next request has.
    fn tokens_now(&self) -> u64 {
        let size = lock(&self.shared.size).clone();
        match size.counted {
            // Nobody has counted yet.
            0 => estimate_tokens(&self.request()),
            counted => counted + self.transcript.history.open_bytes() as u64 / 4,
        }
    }

    /// Compacts in the middle of a turn.
    pub(super) async fn compact_by_itself(&mut self, cancel: &CancellationToken) -> Written<()> {
        let keeps = match self.turn.requests {
            0 => Kept::AnswerAndPrompt,
            _ => Kept::Nothing,
        };
        self.compact_keeping(keeps, cancel).await
    }

    /// The endpoint refused a request because of its length. What came last stays.
    pub(super) async fn compact_refused(&mut self, cancel: &CancellationToken) -> Written<()> {
        let keeps = match (self.turn.requests, self.transcript.history.answers()) {
            (0 | 1, 0 | 1) => Kept::Prompt,
            (0 | 1, _) => Kept::AnswerAndPrompt,
            (_, 0 | 1) => Kept::Nothing,
            _ => Kept::Step,
        };
        self.compact_keeping(keeps, cancel).await
    }

    /// Says that there is too little to make a summary of.
    pub(super) async fn tell_too_short(&mut self) {
        let status = json!({
            "type": "system", "subtype": "status", "status": "compacting", "compact_output_chars": 0,
        });
        self.tell(TurnEvent::System(status)).await;
        let status = json!({
            "type": "system", "subtype": "status", "status": null,
            "compact_result": "failed", "compact_error": "too_few_groups",
        });
        self.tell(TurnEvent::System(status)).await;
    }

    async fn compact_keeping(&mut self, keeps: Kept, cancel: &CancellationToken) -> Written<()> {
        if let Outcome::Done(events) = self.compact("auto", keeps, "", cancel).await? {
            self.turn.user_lines += 1;
            for event in *events {
                self.tell(event).await;
            }
            self.announce_world()?;
            self.announce_day()?;
        }
        Ok(())
    }

    /// Replaces the conversation by a summary; what the user says goes into the question.
    pub(super) async fn compact(
        &mut self,
        trigger: &'static str,
        keeps: Kept,
        instructions: &str,
        cancel: &CancellationToken,
    ) -> Written<Outcome> {
        if self.transcript.history.is_empty() {
            return Ok(Outcome::Refused("No messages to compact".to_owned()));
        }
        let began = Instant::now();
        let before = self.tokens_now();
        let mut wishes: Vec<String> = Vec::new();
        wishes.extend((!instructions.is_empty()).then(|| instructions.to_owned()));
        let facts = Facts::PreCompact { trigger, instructions };
        let id = uuid::Uuid::new_v4().to_string();
        let shared = std::sync::Arc::clone(&self.shared);
        let scene = self.scene();
        if let Some((_, ran)) = shared.run_hooks(&facts, &scene, None, &id, cancel).await {
            if let Some(why) = compaction_refusal(&ran) {
                return Ok(Outcome::Forbidden(why));
            }
            wishes.extend(compaction_instructions(&ran).into_iter().map(str::to_owned));
            let label = Label { event: Event::PreCompact, subject: None, id: "" };
            self.compaction_told = compaction_report(label, &ran);
        } else {
            self.compaction_told.clear();
        }
        let mut status = json!({"type": "system", "subtype": "status", "status": "compacting"});
        if trigger == "auto" {
            status["compact_output_chars"] = 0.into();
        }
        self.tell(TurnEvent::System(status)).await;
        let summary = self.summary(&wishes, cancel).await;
        let done = json!({"type": "system", "subtype": "status", "status": null, "compact_result": "success"});
        self.tell(TurnEvent::System(done)).await;
        let text = self.framed(&summary);
        let after = estimated_tokens(&text) + {
            let size = lock(&self.shared.size);
            size.system + size.tools
        };
        let written = self.transcript.compact(&CompactFacts {
            trigger,
            summary: &text,
            before,
            after,
            milliseconds: milliseconds(began.elapsed()),
            keeps,
        })?;
        *lock(&self.shared.size) = super::size::Size::default();
        let facts = Facts::PostCompact { trigger, summary: &summary };
        let id = uuid::Uuid::new_v4().to_string();
        if let Some((_, ran)) = shared.run_hooks(&facts, &scene, None, &id, cancel).await {
            let label = Label { event: Event::PostCompact, subject: None, id: "" };
            self.compaction_told.extend(compaction_report(label, &ran));
        }
        let mut metadata = json!({
            "trigger": trigger,
            "pre_tokens": before,
            "post_tokens": after,
            "cumulative_dropped_tokens": written.dropped,
            "duration_ms": milliseconds(began.elapsed()),
        });
        let uuids: Vec<String> = written.kept.iter().map(ToString::to_string).collect();
        if let (Some(head), Some(tail)) = (uuids.first(), uuids.last()) {
            let anchor = written.summary.to_string();
            metadata["preserved_segment"] =
                json!({"head_uuid": head, "anchor_uuid": anchor, "tail_uuid": tail});
            metadata["preserved_messages"] =
                json!({"anchor_uuid": anchor, "uuids": uuids, "all_uuids": uuids});
        }
        let boundary = json!({
            "type": "system",
            "subtype": "compact_boundary",
            "compact_metadata": metadata,
            "logical_parent_uuid": written.logical_parent.map(|uuid| uuid.to_string()),
        });
        let is_manual = trigger == "manual";
        let said = UserSaid {
            uuid: written.summary.to_string(),
            content: match is_manual {
                true => Value::String(text),
                false => json!([{"type": "text", "text": text}]),
            },
            speaker: None,
            tool_use_result: None,
            meta: None,
            is_synthetic: true,
            refused: None,
            replay: is_manual.then_some(false),
        };
        let events = [TurnEvent::System(boundary), TurnEvent::User(Box::new(said))];
        Ok(Outcome::Done(Box::new(events)))
    }

    /// What the model reads from now on in place of the conversation.
    fn framed(&self, summary: &str) -> String {
        let mut text = format!("{HEAD}\n\n{summary}");
        if self.shared.keeps_log {
            text.push_str(&format!(
                "\n\nThe whole conversation is in {}, if a detail is missing.",
                lock(&self.shared.log).display()
            ));
        }
        text.push_str("\nContinue where you stopped, without mentioning the summary.");
        text
    }

    /// By the model; where it does not answer, made of the prompts.
    async fn summary(&mut self, wishes: &[String], cancel: &CancellationToken) -> String {
        let mut question = ASK.to_owned();
        for wish in wishes {
            question.push_str(&format!("\n\nThe user says about the summary: {wish}"));
        }
        let mut request: Request = self.request();
        request.max_tokens = request.max_tokens.min(SUMMARY_TOKENS);
        request.messages.push(Message::user([Block::text(&question)]));
        request.set_field("tool_choice", json!({"type": "none"}).into());
        if request.tools.is_empty() {
            request.fields.retain(|(name, _)| name != "tool_choice");
        }
        let why = tokio::select! {
            answer = self.shared.client.send(request).answer() => match answer {
                Ok(answer) => {
                    if let Some(usage) = answer.message.get("usage") {
                        let counted = lock(&self.shared.totals).count(&answer.model(), &usage);
                        self.turn.usage.add(&counted);
                    }
                    match answer.text_of_blocks().trim() {
                        "" => "it was empty".to_owned(),
                        text => return text.to_owned(),
                    }
                }
                Err(failure) => failure.error.to_string(),
            },
            () = cancel.cancelled() => "it was interrupted".to_owned(),
        };
        self.tell(TurnEvent::Told(format!("the model gave no summary: {why}"))).await;
        self.summary_of_prompts(&why)
    }

    /// What the user said, in their order, and the last words of the model.
    fn summary_of_prompts(&self, why: &str) -> String {
        let shown = |text: &str| match text.char_indices().nth(SHOWN) {
            Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
            None => text.to_owned(),
        };
        let mut prompts = Vec::new();
        for message in self.transcript.history.messages() {
            if message.role() != Some(Role::User) {
                continue;
            }
            for block in message.blocks() {
                if block.kind() == "text"
                    && let Some(text) = block.view().text()
                    && !text.trim_start().starts_with("<system-reminder>")
                {
                    prompts.push(shown(text.trim()));
                }
            }
        }
        let skipped = prompts.len().saturating_sub(MOST_PROMPTS);
        let mut text = format!("There is no summary ({why}). The user said, in this order:");
        for prompt in prompts.iter().skip(skipped) {
            text.push_str(&format!("\n- {prompt}"));
        }
        if !self.turn.text.is_empty() {
            text.push_str(&format!("\n\nYour last words were: {}", shown(&self.turn.text)));
        }
        text
    }
}
