//! Questions about calls, to whoever can answer them.

use recto_store::append::Activity;

use super::Calling;
use super::Reply;
use crate::permission::Decision;
use crate::permission::PermissionUpdate;
use crate::tool::Prepared;
use crate::turn::ask::Question;
use crate::turn::event::State;
use crate::turn::event::TurnEvent;
use crate::turn::shared::lock;

impl Calling {
    /// Asks whoever can be asked; `None` if nobody can.
    pub(super) async fn ask(&self, prepared: &Prepared, decision: &Decision) -> Option<Reply> {
        let asker = self.shared.asker.as_ref()?;
        let _turn = self.shared.asking.lock().await;
        let (answer, answered) = tokio::sync::oneshot::channel();
        let question = Question {
            tool: prepared.name().to_owned(),
            input: prepared.call.input.clone(),
            id: prepared.call.id.clone(),
            agent: self.scene.agent.as_ref().map(|(id, _)| id.clone()),
            text: decision.text.clone(),
            reason: (decision.reason.type_name(), decision.reason.sentence().map(str::to_owned)),
            suggestions: decision.offers().map(PermissionUpdate::to_json).collect(),
            blocked_path: decision.blocked_path.clone(),
            server: self.server_of(prepared.name()),
            cwd: self.tools.cwd(),
            answer,
        };
        // A tool that answers is no action of anybody.
        if self.shared.permission_tool.is_none() {
            *lock(&self.shared.asked) = Some(prepared.call.clone());
            self.shared.presence.does(Activity::Waiting("permission prompt".to_owned()));
            self.shared.events.send(TurnEvent::State(State::RequiresAction)).await;
        }
        asker.send(question).await.ok()?;
        let reply = tokio::select! {
            reply = answered => reply.ok(),
            () = self.cancel.cancelled() => None,
        };
        // Whoever cuts the turn short says so first.
        let is_open = lock(&self.shared.asked).take().is_some();
        if is_open {
            self.shared.presence.does(Activity::Busy);
            self.shared.events.send(TurnEvent::State(State::Running)).await;
        }
        if reply.is_none() {
            *lock(&self.shared.unanswered) = Some(prepared.call.id.clone());
        }
        let failed = "Tool permission request failed: Error: no answer";
        Some(reply.unwrap_or_else(|| Reply::Failed(failed.to_owned())))
    }

    fn server_of(&self, tool: &str) -> Option<(String, &'static str)> {
        let server = self.tools.offer.get().mcp_tool(tool)?.server.clone();
        let source = self.shared.servers.source(&server)?;
        Some((server, source))
    }
}
