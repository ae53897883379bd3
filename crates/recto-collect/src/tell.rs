//! What a machine tells others in a store, beside its segments.

use std::time::Duration;

use jiff::Timestamp;
use recto_store::keep::SegmentKey;

use crate::beat::Beat;
use crate::error::CollectError;
use crate::report::SendReport;
use crate::send::Sender;

/// A machine tells that it lives this often, if there is nothing to send.
const BEAT: Duration = Duration::from_secs(3600);

impl Sender {
    /// Tells those who build on the store what is new. Listing finds it as well: whether a hint
    /// arrives does not matter.
    pub(crate) async fn hint(&self, keys: &[SegmentKey]) {
        let now = (self.options().clock)();
        let hour = now.strftime("d=%Y-%m-%d/h=%H");
        for (number, keys) in keys.chunks(1000).enumerate() {
            let machine = self.archive().machine();
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            let Ok(json) = serde_json::to_vec(&serde_json::json!({
                "machine": machine.to_string(), "keys": keys,
            })) else {
                continue;
            };
            let time = now.as_millisecond();
            let name = format!("ledger/v1/{hour}/{machine}-{time}-{number}.json");
            let _ = self.store().put_new(&name, json.into()).await;
        }
    }

    /// Tells the fleet that this machine lives, and how far it is.
    pub(crate) async fn beat(&self, report: &SendReport) -> Result<(), CollectError> {
        let now = (self.options().clock)();
        let last = self.state().text("beat")?.and_then(|text| text.parse::<Timestamp>().ok());
        let is_recent = |last: Timestamp| now.duration_since(last).unsigned_abs() < BEAT;
        if report.objects == 0 && last.is_some_and(is_recent) {
            return Ok(());
        }
        let machine = self.archive().machine();
        let beat = Beat::new(self.facts(), machine, self.policy().name(), now, report);
        self.store().put_over(&Beat::key(machine), beat.to_json().into()).await?;
        self.learn_forgotten().await?;
        self.state().set_text("beat", Some(&now.to_string()))
    }
}
