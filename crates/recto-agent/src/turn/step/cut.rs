//! When the user interrupts a step.

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Step;
use super::StepEnd;
use crate::turn::conversation::Conversation;
use crate::turn::conversation::Written;
use crate::turn::event::State;
use crate::turn::event::TurnEvent;
use crate::turn::jobs::Jobs;
use crate::turn::receiving::Receiving;
use crate::turn::sentence;
use crate::turn::shared::lock;
use crate::wire::Block;

impl Conversation {
    /// The user interrupted: what was said stays, and every call gets an answer, at once.
    pub(super) async fn cut_short(
        &mut self,
        receiving: &mut Receiving,
        jobs: &mut Jobs,
        step: &mut Step,
        cancel: &CancellationToken,
    ) -> Written<StepEnd> {
        self.release(receiving, jobs, step, cancel).await?;
        if let Some((index, text)) = receiving.open.clone()
            && !text.trim().is_empty()
            && !self.shared.control.is_terminated()
        {
            let message = receiving.message.clone().unwrap_or_else(|| json!({}).into());
            self.write_block(&message, &Block::text(&text), index, receiving, true).await?;
            receiving.written += 1;
        }
        let asked = lock(&self.shared.asked).take();
        if let Some(call) = &asked {
            self.tell(TurnEvent::State(State::Running)).await;
            lock(&self.shared.denials).push(json!({
                "tool_name": call.name,
                "tool_use_id": call.id,
                "tool_input": call.input,
            }));
        }
        let open = std::mem::take(&mut receiving.open_calls);
        let end = if open.is_empty() && !step.has_calls {
            StepEnd::InterruptedText
        } else {
            StepEnd::InterruptedTools
        };
        let unanswered = lock(&self.shared.unanswered).take();
        let asked = asked.map(|call| call.id).or(unanswered);
        self.reject(&open, asked.as_deref()).await?;
        self.deferred.clear();
        let text = match end {
            StepEnd::InterruptedText => sentence::INTERRUPTED,
            _ => sentence::INTERRUPTED_TOOLS,
        };
        self.say_interrupted(text).await?;
        self.transcript.last_prompt()?;
        if matches!(end, StepEnd::InterruptedText) {
            self.turn.stop_reason = None;
            self.tell_abandoned(receiving, true).await;
        }
        // Processes of cancelled calls end now.
        jobs.settle().await;
        Ok(end)
    }
}
