//! One request and its answer: blocks go into the log as they end, and calls begin at once.

mod cut;

use std::time::Instant;

use recto_log::EntryUuid;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::conversation::Conversation;
use super::conversation::Written;
use super::event::Said;
use super::event::TurnEvent;
use super::jobs::Jobs;
use super::progress::PACE;
use super::receiving::Receiving;
use super::receiving::Thinking;
use super::receiving::call_of;
use super::receiving::merged;
use super::receiving::sendable;
use super::receiving::with_unparsed;
use super::sentence;
use super::shared::lock;
use super::transcript::AnswerBlock;
use super::transcript::new_uuid;
use crate::api::ApiError;
use crate::api::ApiEvent;
use crate::api::Exchange;
use crate::api::Failure;
use crate::tool::ToolCall;
use crate::wire::Answer;
use crate::wire::Block;
use crate::wire::Json;
use crate::wire::StreamError;
use crate::wire::StreamEvent;

/// How a step ended.
#[derive(Debug)]
pub(super) enum StepEnd {
    /// With an answer, and all its calls are done.
    Answered,
    /// The answer was cut after some blocks, which are kept.
    Cut,
    /// The endpoint failed.
    Failed(Box<Failure>),
    /// The user interrupted while the model spoke.
    InterruptedText,
    /// The user interrupted while calls ran.
    InterruptedTools,
}

/// What came of a step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) end: StepEnd,
    pub(super) has_calls: bool,
    /// Whether the model said anything.
    pub(super) is_empty: bool,
    /// Whether it said a word to the user.
    pub(super) has_text: bool,
    /// A hook ends the run.
    pub(super) stop: Option<String>,
    /// A hook wants this call to be made later.
    pub(super) deferred: Option<ToolCall>,
    /// Whoever was asked ends the turn.
    pub(super) interrupts: bool,
    /// Calls with their results, for hooks that look at all of them.
    pub(super) batch: Vec<Value>,
    pub(super) message: String,
    /// The request that gave it.
    pub(super) request: Option<String>,
}

/// How often a call that begins is let work first: enough for what it tells at once.
const FIRST_STEPS: u32 = 12;

/// What is made of an event.
enum Next {
    GoOn,
    End(StepEnd),
}

impl Conversation {
    /// Asks the model once, and makes the calls of its answer.
    pub(super) async fn step(&mut self, cancel: &CancellationToken) -> Written<Step> {
        let began = Instant::now();
        if self.speaker.is_none() {
            self.tell(TurnEvent::Requesting).await;
        }
        let request = self.request();
        if self.speaker.is_none() {
            lock(&self.shared.size).measure(&request);
        }
        let mut exchange = self.shared.client.send(request);
        let mut receiving = Receiving::default();
        let mut jobs = Jobs::default();
        let mut step = Step {
            end: StepEnd::Answered,
            has_calls: false,
            is_empty: true,
            has_text: false,
            stop: None,
            deferred: None,
            interrupts: false,
            batch: Vec::new(),
            message: String::new(),
            request: None,
        };
        step.end = loop {
            let next = tokio::select! {
                biased;
                () = cancel.cancelled() => Next::End(self.cut_short(&mut receiving, &mut jobs, &mut step, cancel).await?),
                // What has arrived comes before what calls gave meanwhile.
                event = exchange.next() => {
                    self.receive(event, began, &mut receiving, &mut jobs, &mut step, cancel).await?
                }
                finished = jobs.next(), if !jobs.is_empty() => {
                    if let Some(finished) = finished {
                        self.take(finished, &mut receiving, &mut step).await?;
                    }
                    Next::GoOn
                }
            };
            if let Next::End(end) = next {
                break end;
            }
        };
        end_exchange(exchange);
        // Whoever gave the money hears that it is gone, and not what the last calls gave.
        self.hides_results = self.spent().is_some();
        self.turn.api += began.elapsed();
        lock(&self.shared.totals).api += began.elapsed();
        // Calls go on after the answer.
        while !jobs.is_empty()
            && !matches!(step.end, StepEnd::InterruptedText | StepEnd::InterruptedTools)
        {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    step.end = self.cut_short(&mut receiving, &mut jobs, &mut step, cancel).await?;
                }
                finished = jobs.next() => {
                    if let Some(finished) = finished {
                        self.take(finished, &mut receiving, &mut step).await?;
                    }
                }
                () = tokio::time::sleep(PACE), if self.has_progress() => {
                    self.write_progress(&receiving, began)?;
                }
            }
        }
        Ok(step)
    }

    /// A call is over.
    async fn take(
        &mut self,
        finished: super::call::Finished,
        receiving: &mut Receiving,
        step: &mut Step,
    ) -> Written<()> {
        self.write_enqueued()?;
        if finished.is_deferred {
            step.deferred = Some(finished.call.clone());
            self.deferred.push((finished.call.clone(), finished.line.clone()));
            self.write_hook_lines(&finished.before)?;
            let attachment = json!({
                "type": "hook_deferred_tool",
                "toolUseID": finished.call.id,
                "toolName": finished.call.name,
                "toolInput": finished.call.input,
                "hookName": "settings",
                "hookEvent": "PreToolUse",
                "permissionMode": self.shared.mode(),
            });
            self.transcript.attachment(&attachment, None)?;
            return Ok(());
        }
        receiving.open_calls.retain(|(call, _)| call.id != finished.call.id);
        step.stop = step.stop.take().or_else(|| finished.stop.clone());
        step.interrupts |= finished.interrupts;
        let response = match finished.outcome.is_error {
            true => json!(finished.outcome.content.text()),
            false => finished.outcome.content.to_json(),
        };
        step.batch.push(json!({
            "tool_name": finished.call.name,
            "tool_input": finished.call.input,
            "tool_use_id": finished.call.id,
            "tool_response": response,
        }));
        self.take_result(&finished).await
    }

    async fn receive(
        &mut self,
        event: Option<Result<ApiEvent, Failure>>,
        began: Instant,
        receiving: &mut Receiving,
        jobs: &mut Jobs,
        step: &mut Step,
        cancel: &CancellationToken,
    ) -> Written<Next> {
        match event {
            Some(Ok(ApiEvent::Adapted(change))) => {
                self.tell(TurnEvent::Told(change.to_string())).await;
            }
            Some(Ok(ApiEvent::Connected { request_id, .. })) => {
                let open_calls = std::mem::take(&mut receiving.open_calls);
                *receiving = Receiving { request_id, open_calls, ..Receiving::default() };
            }
            Some(Ok(ApiEvent::Stream(event))) => {
                self.stream_event(event, began, receiving, jobs, step, cancel).await?;
            }
            Some(Ok(ApiEvent::Block { index, block })) => {
                receiving.held = Some((index, with_unparsed(block)));
                receiving.open = None;
            }
            Some(Ok(ApiEvent::Retry { attempt, most, wait, error })) => {
                self.count_cut(receiving);
                if receiving.written > 0 || receiving.held.is_some() {
                    self.release(receiving, jobs, step, cancel).await?;
                    self.tell_lost(receiving, step, &error).await?;
                    return Ok(Next::End(StepEnd::Cut));
                }
                self.tell_abandoned(receiving, false).await;
                // That an answer was an error from its start is not told.
                if !matches!(error, ApiError::Stream { error: StreamError::Reported(_), .. }) {
                    self.write_retry(&error, attempt, most, wait)?;
                    self.tell(TurnEvent::Retry { attempt, most, wait, error }).await;
                }
            }
            Some(Ok(ApiEvent::Whole)) => {
                self.count_cut(receiving);
                if receiving.written > 0 || receiving.held.is_some() {
                    self.release(receiving, jobs, step, cancel).await?;
                    return Ok(Next::End(StepEnd::Cut));
                }
                self.tell_abandoned(receiving, false).await;
            }
            Some(Ok(ApiEvent::Answer(answer))) => {
                self.take_answer(*answer, receiving, jobs, step, cancel).await?;
                return Ok(Next::End(StepEnd::Answered));
            }
            Some(Err(failure)) => {
                if receiving.written > 0 || receiving.held.is_some() {
                    let is_passing = failure.error.is_passing();
                    if is_passing {
                        self.count_cut(receiving);
                    }
                    self.release(receiving, jobs, step, cancel).await?;
                    self.tell_abandoned(receiving, false).await;
                    if is_passing {
                        self.tell_lost(receiving, step, &failure.error).await?;
                        return Ok(Next::End(StepEnd::Cut));
                    }
                }
                return Ok(Next::End(StepEnd::Failed(Box::new(failure))));
            }
            None => return Ok(Next::End(StepEnd::Cut)),
        }
        Ok(Next::GoOn)
    }

    async fn stream_event(
        &mut self,
        event: StreamEvent,
        began: Instant,
        receiving: &mut Receiving,
        jobs: &mut Jobs,
        step: &mut Step,
        cancel: &CancellationToken,
    ) -> Written<()> {
        match &event {
            StreamEvent::Ping | StreamEvent::Error(_) | StreamEvent::Unknown { .. } => {
                return Ok(());
            }
            StreamEvent::MessageStart { message } => {
                receiving.first_usage = message.get("usage");
                receiving.message = Some(message.clone());
            }
            StreamEvent::BlockStart { index, block } => {
                // An answer without blocks is none to wait for.
                self.turn.first_event.get_or_insert_with(|| self.turn.began.elapsed());
                self.release(receiving, jobs, step, cancel).await?;
                receiving.block_began = Some(Instant::now());
                receiving.thinking = Thinking::default();
                if let recto_log::Block::Text { text } = block.view() {
                    let text = text.as_str().unwrap_or_default().into_owned();
                    receiving.open = Some((*index, text));
                }
            }
            StreamEvent::BlockDelta { delta, .. } => {
                if let (Some(text), Some((_, open))) = (delta.text(), &mut receiving.open) {
                    open.push_str(&text);
                }
                if let Some(text) = delta.thinking() {
                    self.tell_thinking(&mut receiving.thinking, &text).await;
                }
            }
            StreamEvent::BlockStop { .. } => {
                // The line of the block comes first.
                receiving.held_stop = Some(event);
                return Ok(());
            }
            StreamEvent::MessageDelta { event } => {
                receiving.message = receiving.message.take().map(|message| merged(message, event));
                self.release(receiving, jobs, step, cancel).await?;
            }
            StreamEvent::MessageStop => {}
        }
        self.tell_stream(event, began, receiving).await;
        Ok(())
    }

    /// Writes the block that is held, tells it, and makes its call.
    async fn release(
        &mut self,
        receiving: &mut Receiving,
        jobs: &mut Jobs,
        step: &mut Step,
        cancel: &CancellationToken,
    ) -> Written<()> {
        let Some((index, block)) = receiving.held.take() else { return Ok(()) };
        let block = self.with_plan(sendable(block));
        let message = receiving.message.clone().unwrap_or_else(|| json!({}).into());
        let call = call_of(&block);
        let is_waited_for = self.speaker.as_ref().is_some_and(|speaker| !speaker.is_background);
        // Of a subagent that is waited for, what it does is told before what it says.
        if let Some(call) = call.as_ref().filter(|_| is_waited_for) {
            self.tell_task_progress(call, receiving).await;
        }
        let uuid = self.write_block(&message, &block, index, receiving, false).await?;
        receiving.written += 1;
        let says = block.kind() == "text"
            && block.view().text().is_some_and(|text| !text.trim().is_empty());
        step.has_text |= says;
        step.is_empty &= block.is_thinking() || (block.kind() == "text" && !says);
        if let Some(stop) = receiving.held_stop.take() {
            self.tell_stream(stop, Instant::now(), receiving).await;
        }
        if let Some(text) = block.view().text().filter(|_| !block.is_thinking())
            && block.kind() == "text"
        {
            self.turn.text = text.into_owned();
        }
        if let Some(call) = call {
            step.has_calls = true;
            receiving.open_calls.push((call.clone(), uuid.clone()));
            if !is_waited_for {
                self.tell_task_progress(&call, receiving).await;
            }
            let calling = self.calling(cancel);
            let may_overlap = calling.may_overlap(&call);
            jobs.add(may_overlap, calling.run(call, uuid));
            // It begins before the rest of the answer is read.
            for _ in 0..FIRST_STEPS {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// A call that shows the plan says which one.
    fn with_plan(&self, block: Block) -> Block {
        let is_exit =
            block.view().name().as_deref() == Some(crate::tool::Tool::ExitPlanMode.name());
        let file = self.tools.plan_file().filter(|_| is_exit);
        let Some((file, plan)) = file.and_then(|file| {
            let plan = std::fs::read_to_string(&file).ok()?;
            Some((file, plan))
        }) else {
            return block;
        };
        let mut input = block.json().to_serde()["input"].clone();
        input["plan"] = plan.into();
        input["planFilePath"] = file.display().to_string().into();
        block.json().with("input", input.to_string().as_bytes()).into()
    }

    async fn write_block(
        &mut self,
        message: &Json,
        block: &Block,
        index: u64,
        receiving: &Receiving,
        is_aborted: bool,
    ) -> Written<EntryUuid> {
        let uuid = new_uuid();
        let is_shown = block.kind() == "thinking";
        let thinking = is_shown.then(|| receiving.block_began.map(|began| began.elapsed()));
        let thinking = thinking.flatten();
        let model = self.model();
        let kind = self.speaker.as_ref().map(|speaker| speaker.kind.clone());
        self.transcript.answer(&AnswerBlock {
            message,
            block,
            index,
            request_id: receiving.request_id.as_deref(),
            requested_model: &model,
            agent_kind: kind.as_deref(),
            is_aborted,
            thinking_milliseconds: thinking.map(sentence::milliseconds),
            uuid: uuid.clone(),
        })?;
        let mut content = b"[".to_vec();
        content.extend_from_slice(block.json().bytes());
        content.push(b']');
        let mut message = message.with("content", &content);
        // One that came in one piece is known with its end.
        if !receiving.is_whole {
            message = message.with("stop_reason", b"null");
        }
        if message.get("stop_sequence").is_some() {
            message = message.with("stop_sequence", b"null");
        }
        if let Some(usage) = &receiving.first_usage {
            message = message.with("usage", usage.bytes());
        }
        if self.speaker.is_some() && self.has_progress() {
            self.note_for_parent("assistant", &message.to_serde());
        }
        let said = Said {
            uuid: uuid.to_string(),
            message,
            speaker: self.speaker.clone(),
            request_id: receiving.request_id.clone(),
            is_aborted,
            thinking,
            failure: None,
            prompts: match self.speaker {
                None => std::mem::take(&mut self.turn.unanswered),
                Some(_) => Vec::new(),
            },
            command: None,
        };
        self.tell(TurnEvent::Said(Box::new(said))).await;
        Ok(uuid)
    }

    async fn take_answer(
        &mut self,
        answer: Answer,
        receiving: &mut Receiving,
        jobs: &mut Jobs,
        step: &mut Step,
        cancel: &CancellationToken,
    ) -> Written<()> {
        self.release(receiving, jobs, step, cancel).await?;
        // What came in one piece was not seen block by block.
        let seen = usize::try_from(receiving.written).unwrap_or(usize::MAX);
        receiving.is_whole = receiving.first_usage.is_none();
        receiving.message = Some(answer.message.with("content", b"[]"));
        receiving.request_id = answer.request_id.clone().or(receiving.request_id.take());
        for (index, finished) in answer.blocks.iter().enumerate().skip(seen) {
            receiving.held = Some((index as u64, with_unparsed(finished.clone())));
            self.release(receiving, jobs, step, cancel).await?;
        }
        if let Some(usage) = answer.message.get("usage") {
            let model = match answer.model() {
                model if model.is_empty() => self.model(),
                model => model,
            };
            let counted = lock(&self.shared.totals).count(&model, &usage);
            self.turn.first_usage.get_or_insert(counted);
            if self.speaker.is_none() {
                lock(&self.shared.size).count(counted);
            }
            self.turn.usage.add(&counted);
            self.turn.last_usage = Some(usage);
        }
        self.turn.stop_reason = answer.stop_reason();
        step.message = answer.id();
        step.request.clone_from(&receiving.request_id);
        Ok(())
    }
}

/// Dropping it ends it.
fn end_exchange(exchange: Exchange) {
    drop(exchange);
}
