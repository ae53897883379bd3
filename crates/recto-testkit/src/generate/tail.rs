//! The tail block: state that the new client appends again and again; the last one wins.
//!
//! Owns: last-prompt, mode, permission-mode, titles, tools-used, atis-latch, cost-state. Does not own:
//! prices (`era`).

use super::Generator;
use super::transcript::Transcript;
use super::truth::Usage;

use super::era::Model;

/// A uuid that names nothing.
const NO_LEAF: &str = "00000000-0000-0000-0000-000000000000";

impl Generator {
    /// The whole block.
    pub(super) fn tail_block(&mut self, transcript: &mut Transcript) {
        if !transcript.era.new || transcript.agent.is_some() {
            return;
        }
        let leaf = transcript.leaf_uuid().unwrap_or(NO_LEAF).to_string();
        self.last_prompt(transcript, &leaf, false);
        let id = transcript.session_id.clone();
        self.plain(transcript, "mode", |json| {
            json.text("mode", "normal").text("sessionId", &id);
        });
        if transcript.interactive {
            self.plain(transcript, "permission-mode", |json| {
                json.text("permissionMode", "auto").text("sessionId", &id);
            });
            self.title(transcript);
        }
        if !transcript.new.tools.is_empty() {
            let tools: Vec<&str> = transcript.new.tools.iter().copied().collect();
            self.plain(transcript, "tools-used", |json| {
                json.texts("tools", tools).text("sessionId", &id);
            });
        }
        self.plain(transcript, "atis-latch", |json| {
            json.text("atis", "").text("sessionId", &id);
        });
        self.cost_state(transcript);
    }

    /// Which leaf a resume starts from.
    pub(super) fn last_prompt(&mut self, transcript: &mut Transcript, leaf: &str, explicit: bool) {
        let (id, prompt) = (transcript.session_id.clone(), transcript.new.last_prompt.clone());
        self.plain(transcript, "last-prompt", |json| {
            json.text("lastPrompt", &prompt).text("leafUuid", leaf);
            if explicit {
                json.flag("explicit", true);
            }
            json.text("sessionId", &id);
        });
    }

    /// The rewind marker.
    pub(super) fn no_leaf(&mut self, transcript: &mut Transcript) {
        self.last_prompt(transcript, NO_LEAF, true);
    }

    fn title(&mut self, transcript: &mut Transcript) {
        let (id, title) = (transcript.session_id.clone(), transcript.new.title.clone());
        if transcript.turn_ends.len() % 5 == 4 {
            self.plain(transcript, "custom-title", |json| {
                json.text("customTitle", &title).text("sessionId", &id);
            });
            self.plain(transcript, "agent-name", |json| {
                json.text("agentName", &title).text("sessionId", &id);
            });
        } else {
            self.plain(transcript, "ai-title", |json| {
                json.text("aiTitle", &title).text("sessionId", &id);
            });
        }
    }

    /// Tokens and cost so far, of the session and its subagents.
    fn cost_state(&mut self, transcript: &mut Transcript) {
        let id = transcript.session_id.clone();
        let costs = transcript.new.costs.clone();
        let total: u64 = costs.values().map(|(model, usage)| price(*model, usage)).sum();
        let duration = (transcript.now - transcript.started).max(0) as u64;
        let started = transcript.started.max(0) as u64;
        self.plain(transcript, "cost-state", |json| {
            json.text("sessionId", &id).key("totalCostUSD").literal(&dollars(total));
            json.number("totalAPIDuration", duration / 3);
            json.number("totalAPIDurationWithoutRetries", duration / 3);
            json.number("totalToolDuration", duration / 5).number("totalLinesAdded", 0);
            json.number("totalLinesRemoved", 0).number("totalDuration", duration);
            json.number("startTime", started).key("modelUsage").open();
            for (name, (model, usage)) in &costs {
                json.key(name).open().number("inputTokens", usage.input);
                json.number("outputTokens", usage.output).number("thinkingTokens", 0);
                json.number("cacheReadInputTokens", usage.cache_read);
                json.number("cacheCreationInputTokens", usage.cache_create);
                json.number("cacheCreationEphemeral5mInputTokens", usage.cache_create);
                json.number("cacheCreationEphemeral1hInputTokens", 0);
                json.number("webSearchRequests", 0).key("costUSD");
                json.literal(&dollars(price(*model, usage))).close();
            }
            json.close().flag("hasUnknownModelCost", false);
        });
    }
}

/// Hundred-millionths of a dollar.
fn price(model: Model, usage: &Usage) -> u64 {
    usage.input * model.input
        + usage.output * model.output
        + usage.cache_create * model.cache_create
        + usage.cache_read * model.cache_read
}

/// `0.0315926`.
fn dollars(hundred_millionths: u64) -> String {
    let whole = hundred_millionths / 100_000_000;
    let digits = format!("{whole}.{:08}", hundred_millionths % 100_000_000);
    digits.trim_end_matches('0').trim_end_matches('.').to_string()
}
