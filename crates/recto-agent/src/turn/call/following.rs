//! What a call changes for the session beside its result.

use serde_json::json;

use super::Calling;
use crate::hook::Facts;
use crate::permission::Mode;
use crate::tool::ToolOutcome;
use crate::turn::event::TurnEvent;
use crate::turn::shared::HookScene;
use crate::turn::shared::lock;

impl Calling {
    /// Hooks that look at another working directory.
    pub(super) async fn after_moving(&self, before: &std::path::Path) {
        let now = self.tools.cwd();
        if now == before || self.scene.agent.is_some() {
            return;
        }
        let (old, new) = (before.display().to_string(), now.display().to_string());
        let scene = HookScene { cwd: new.clone(), ..self.scene.clone() };
        let facts = Facts::CwdChanged { old: &old, new: &new };
        let id = uuid::Uuid::new_v4().to_string();
        self.shared.run_hooks(&facts, &scene, None, &id, &self.cancel).await;
    }

    /// A skill was launched: what it needs is allowed while the turn lasts.
    pub(super) fn follow_skill(&self, outcome: &ToolOutcome) {
        let offer = self.tools.offer.get();
        let skill =
            offer.skills.iter().find(|skill| outcome.structured["commandName"] == *skill.name);
        if let Some(skill) = skill {
            lock(&self.shared.permissions).allow_for_turn(&skill.allowed);
        }
    }

    /// The plan was approved.
    pub(super) async fn leave_plan_mode(&self) {
        {
            let mut permissions = lock(&self.shared.permissions);
            if permissions.mode != Mode::Plan {
                return;
            }
            permissions.mode = Mode::Default;
        }
        self.tell_mode().await;
    }

    /// Says that the mode is another one now.
    pub(super) async fn tell_mode(&self) {
        let line = json!({"type": "system", "subtype": "status", "status": null, "permissionMode": self.shared.mode()});
        self.shared.events.send(TurnEvent::System(line)).await;
    }
}
