//! When the endpoint fails: another model, or the error in the model's place.

use recto_log::build::SystemLine;
use serde_json::json;

use super::Verdict;
use crate::api::ApiError;
use crate::api::Failure;
use crate::turn::conversation::Conversation;
use crate::turn::conversation::Written;
use crate::turn::event::End;
use crate::turn::event::FailedMore;
use crate::turn::event::Said;
use crate::turn::event::TurnEvent;
use crate::turn::prompt::display_name;
use crate::turn::receiving::Receiving;
use crate::turn::sentence;
use crate::turn::shared::lock;
use crate::turn::step::Step;
use crate::wire::StreamError;

impl Conversation {
    /// Another model answers from now on.
    pub(super) async fn tell_fallback(&mut self, other: &str, is_overloaded: bool) -> Written<()> {
        let from = self.shared.model();
        let (first, second) = (display_name(&from), display_name(other));
        let (trigger, content) = match is_overloaded {
            true => ("overloaded", format!("Switched to {second} due to high demand for {first}")),
            false => ("model_not_found", format!("Switched to {second}: there is no {first}")),
        };
        self.transcript.system(&SystemLine::ModelFallback {
            content: content.as_str().into(),
            trigger: trigger.into(),
            from: from.as_str().into(),
            to: other.into(),
        })?;
        let line = json!({
            "type": "system",
            "subtype": "model_fallback",
            "trigger": trigger,
            "original_model": from,
            "fallback_model": other,
            "content": content,
        });
        self.tell(TurnEvent::System(line)).await;
        Ok(())
    }

    /// The endpoint failed for good, unless another model may answer.
    pub(super) async fn failed(&mut self, failure: &Failure) -> Written<Verdict> {
        let mut failed = sentence::failed(&failure.error);
        let request = failure.request_id.clone();
        failed.more = Some(Box::new(FailedMore { request, ..FailedMore::default() }));
        let other = self.shared.fallback_model.clone();
        let is_overloaded = sentence::is_overloaded(&failed);
        if let Some(other) = other
            && (is_overloaded || failed.error == "model_not_found")
            && self.own_model.is_none()
            && other != self.shared.model()
        {
            self.tell_fallback(&other, is_overloaded).await?;
            self.transcript.history.set_model(&other);
            *lock(&self.shared.model) = other;
            return Ok(Verdict::GoOn);
        }
        // At the end of all attempts it is the server's fault.
        let failed = match failed.status {
            Some(529) => crate::turn::event::Failed { error: "server_error", ..failed },
            _ => failed,
        };
        let host = self.shared.client.endpoint().host();
        let (text, is_too_long) = match sentence::is_too_long(&failure.error) {
            true => (sentence::too_long(&failure.error), true),
            false => (sentence::failure(failure, &host, &self.model()), false),
        };
        self.say_failure(&text, &failed, failure.request_id.as_deref()).await?;
        Ok(Verdict::End(match is_too_long {
            true => End::PromptTooLong(text, failed),
            false => End::ApiError(text, failed),
        }))
    }

    /// The model refused what was asked, and refused again when it was told so.
    pub(super) async fn refused_again(&mut self, step: &Step) -> Written<Verdict> {
        let model = self.model();
        let prompt = self.transcript.prompt_uuid();
        self.transcript.system(&SystemLine::ModelRefusal {
            from: model.as_str().into(),
            prompt: prompt.clone(),
        })?;
        let mut line = json!({
            "type": "system",
            "subtype": "model_refusal_no_fallback",
            "original_model": model,
            "api_refusal_category": null,
            "api_refusal_explanation": null,
            "refused_user_message_uuid": prompt.to_string(),
            "content": "",
        });
        if let Some(request) = &step.request {
            line["request_id"] = request.as_str().into();
        }
        self.tell(TurnEvent::System(line)).await;
        lock(&self.shared.totals).refusals += 1;
        let failed = crate::turn::event::Failed {
            error: "invalid_request",
            more: Some(Box::new(FailedMore {
                refused: Some(step.message.clone()),
                ..FailedMore::default()
            })),
            ..Default::default()
        };
        let text = sentence::refused(&display_name(&model), &step.message);
        self.say_in_its_place(&text, &failed, step.request.as_deref(), "refusal").await?;
        Ok(Verdict::End(End::ApiError(text, failed)))
    }

    /// The model used up what it may say, again and again, without a word.
    pub(super) async fn failed_at_limit(&mut self) -> Written<Verdict> {
        let failed = crate::turn::event::Failed {
            error: "max_output_tokens",
            cause: Some("max_output_tokens"),
            more: Some(Box::new(FailedMore { cut: Some("output_limit"), ..FailedMore::default() })),
            ..Default::default()
        };
        let text = sentence::at_limit(self.request().max_tokens);
        self.say_failure(&text, &failed, None).await?;
        Ok(Verdict::End(End::ApiError(text, failed)))
    }

    /// The answer was cut off behind a call, which runs nevertheless: says so, in the model's
    /// place, beside the call.
    pub(in crate::turn) async fn tell_lost(
        &mut self,
        receiving: &Receiving,
        step: &Step,
        error: &ApiError,
    ) -> Written<()> {
        let is_connection =
            !matches!(error, ApiError::Stream { error: StreamError::Reported(_), .. });
        if !step.has_calls {
            return Ok(());
        }
        let failed = crate::turn::event::Failed {
            error: "server_error",
            cause: is_connection.then_some("connection_failed"),
            ..Default::default()
        };
        let words = if is_connection { sentence::LOST } else { sentence::BROKEN };
        let (text, stop_reason) = (self.turn.text.clone(), self.turn.stop_reason.clone());
        let reason = receiving.message.as_ref().and_then(|message| message.str("stop_reason"));
        let reason = reason.unwrap_or("tool_use".into()).into_owned();
        self.say_in_its_place(words, &failed, None, &reason).await?;
        (self.turn.text, self.turn.stop_reason) = (text, stop_reason);
        Ok(())
    }

    /// An error of the endpoint in the model's place.
    pub(super) async fn say_failure(
        &mut self,
        text: &str,
        failed: &crate::turn::event::Failed,
        request_id: Option<&str>,
    ) -> Written<()> {
        self.say_in_its_place(text, failed, request_id, "stop_sequence").await
    }

    pub(super) async fn say_in_its_place(
        &mut self,
        text: &str,
        failed: &crate::turn::event::Failed,
        request_id: Option<&str>,
        stop_reason: &str,
    ) -> Written<()> {
        let id = uuid::Uuid::new_v4().to_string();
        let uuid = self.transcript.synthetic(&id, text, Some((failed, request_id)))?;
        self.turn.stop_reason = Some(stop_reason.to_owned());
        self.turn.text = text.to_owned();
        let message = json!({
            "diagnostics": null,
            "id": id,
            "container": null,
            "model": "<synthetic>",
            "role": "assistant",
            "stop_details": null,
            "stop_reason": stop_reason,
            "stop_sequence": "",
            "type": "message",
            "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
            "content": [{"type": "text", "text": text}],
            "context_management": null,
        });
        let said = Said {
            uuid: uuid.to_string(),
            message: message.into(),
            speaker: self.speaker.clone(),
            request_id: request_id.map(str::to_owned),
            is_aborted: false,
            thinking: None,
            failure: Some(failed.clone()),
            prompts: std::mem::take(&mut self.turn.unanswered),
            command: None,
        };
        self.tell(TurnEvent::Said(Box::new(said))).await;
        Ok(())
    }
}
