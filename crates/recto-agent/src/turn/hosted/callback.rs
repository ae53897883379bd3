//! Hooks that the host runs.

use std::time::Instant;

use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::super::event::TurnEvent;
use super::super::shared::Shared;
use super::super::shared::lock;
use crate::hook::Callback;
use crate::hook::Event;
use crate::hook::Ran;
use crate::hook::callback_failed;
use crate::hook::callback_ran;

impl Shared {
    /// The hooks of the host for an event.
    pub(in crate::turn) fn callbacks_for(
        &self,
        event: Event,
        subject: Option<&str>,
    ) -> Vec<Callback> {
        let all = lock(&self.callbacks);
        all.iter().filter(|callback| callback.is_for(event, subject)).cloned().collect()
    }

    /// Runs hooks of the host at the same time; what they did, in their order.
    pub(in crate::turn) async fn run_callbacks(
        &self,
        callbacks: &[Callback],
        input: &Value,
        id: &str,
        cancel: &CancellationToken,
    ) -> Vec<Ran> {
        let Some(link) = &self.link else { return Vec::new() };
        let mut running = Vec::new();
        for callback in callbacks {
            let (callback, link, cancel) = (callback.clone(), link.clone(), cancel.clone());
            let request = json!({
                "subtype": "hook_callback",
                "callback_id": callback.id,
                "input": input,
                "tool_use_id": id,
            });
            running.push(tokio::spawn(async move {
                let began = Instant::now();
                let answer = link.ask(request, Some(callback.timeout), &cancel).await;
                let failed = callback_failed(&callback, &answer);
                (callback_ran(&callback, &answer, began.elapsed()), failed)
            }));
        }
        let mut ran = Vec::new();
        for task in running {
            let Ok((done, failed)) = task.await else { continue };
            if let Some(line) = failed {
                self.events.send(TurnEvent::System(line)).await;
            }
            ran.push(done);
        }
        ran
    }
}
