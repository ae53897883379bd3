//! What a host hears of a subagent that works.

use recto_log::EntryUuid;
use serde_json::json;

use super::Conversation;
use super::doing;
use crate::tool::ToolCall;
use crate::turn::event::TurnEvent;
use crate::turn::event::UserSaid;
use crate::turn::receiving::Receiving;
use crate::turn::sentence;
use crate::turn::totals::ModelTotals;

impl Conversation {
    /// Tells what a subagent shall do that is waited for.
    pub(in crate::turn) async fn tell_task(&self, uuid: EntryUuid, prompt: &str) {
        let Some(speaker) = self.speaker.clone().filter(|speaker| !speaker.is_background) else {
            return;
        };
        let said = UserSaid {
            uuid: uuid.to_string(),
            content: json!([{"type": "text", "text": prompt}]),
            speaker: Some(speaker),
            tool_use_result: None,
            meta: None,
            is_synthetic: false,
            refused: None,
            replay: None,
        };
        self.tell(TurnEvent::User(Box::new(said))).await;
    }

    /// Tells what a subagent does.
    pub(in crate::turn) async fn tell_task_progress(
        &mut self,
        call: &ToolCall,
        receiving: &Receiving,
    ) {
        let Some(speaker) = self.speaker.clone() else { return };
        self.turn.begun += 1;
        let usage = receiving.first_usage.as_ref().or(self.turn.last_usage.as_ref());
        let last = usage.map(ModelTotals::of).unwrap_or_default();
        let line = json!({
            "type": "system",
            "subtype": "task_progress",
            "task_id": speaker.agent,
            "run_id": speaker.run,
            "tool_use_id": speaker.tool_use,
            "description": doing(call),
            "subagent_type": speaker.kind,
            "usage": {
                "total_tokens": last.all(),
                "tool_uses": self.turn.begun,
                "duration_ms": sentence::milliseconds(self.turn.began.elapsed()),
            },
            "last_tool_name": call.name,
        });
        self.tell(TurnEvent::System(line)).await;
    }
}
