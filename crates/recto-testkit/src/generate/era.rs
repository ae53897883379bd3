//! The client versions that are imitated, and the models.
//!
//! Owns: what differs between versions as data. Does not own: the writing of lines.

use super::Shape;
use super::random::Random;

/// How the usage of a message is spread over its lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UsageStyle {
    /// Every line has the final numbers.
    Repeated,
    /// Small output numbers and a null stop reason first, the real ones on the last line.
    Streaming,
    /// The numbers of the first event on every line; the final ones are never written.
    StartOnly,
}

/// Where subagent logs go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentLayout {
    /// `KEY/agent-ID.jsonl`, beside the session.
    Beside,
    /// `KEY/SESSION/subagents/agent-ID.jsonl`.
    Below,
}

/// One client version.
pub(super) struct Era {
    pub(super) version: &'static str,
    pub(super) usage: UsageStyle,
    /// Tool results hang on their own call, so that parallel calls make a tree.
    pub(super) tree: bool,
    pub(super) agent_layout: AgentLayout,
    /// Start of an agent id and how many hexadecimal digits follow.
    pub(super) agent_id: (&'static str, usize),
    /// Subagent logs start with the prompt.
    pub(super) agent_prompt: bool,
    pub(super) warm_up: bool,
    /// `progress` lines are written, as members of the chain.
    pub(super) progress: bool,
    /// Attachments, request lines and the tail block are written.
    pub(super) new: bool,
}

pub(super) const ERAS: [Era; 5] = [
    Era {
        version: "2.0.36",
        usage: UsageStyle::Repeated,
        tree: false,
        agent_layout: AgentLayout::Beside,
        agent_id: ("", 8),
        agent_prompt: true,
        warm_up: true,
        progress: false,
        new: false,
    },
    Era {
        version: "2.0.50",
        usage: UsageStyle::Streaming,
        tree: false,
        agent_layout: AgentLayout::Beside,
        agent_id: ("", 8),
        agent_prompt: false,
        warm_up: true,
        progress: false,
        new: false,
    },
    Era {
        version: "2.0.76",
        usage: UsageStyle::Streaming,
        tree: false,
        agent_layout: AgentLayout::Beside,
        agent_id: ("a", 6),
        agent_prompt: true,
        warm_up: true,
        progress: false,
        new: false,
    },
    Era {
        version: "2.1.29",
        usage: UsageStyle::StartOnly,
        tree: true,
        agent_layout: AgentLayout::Below,
        agent_id: ("a", 6),
        agent_prompt: true,
        warm_up: false,
        progress: true,
        new: false,
    },
    Era {
        version: "2.1.325",
        usage: UsageStyle::Repeated,
        tree: true,
        agent_layout: AgentLayout::Below,
        agent_id: ("a", 16),
        agent_prompt: true,
        warm_up: false,
        progress: false,
        new: true,
    },
];

/// The version of the next session.
pub(super) fn choose(random: &mut Random, shape: Shape) -> &'static Era {
    let new = match shape {
        Shape::Old => false,
        Shape::New => true,
        Shape::Mixed => random.chance(5_000),
    };
    if new { &ERAS[4] } else { &ERAS[random.below(4)] }
}

/// A model: its name and its prices in hundred-millionths of a dollar per token.
#[derive(Clone, Copy)]
pub(super) struct Model {
    pub(super) name: &'static str,
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_create: u64,
    pub(super) cache_read: u64,
}

pub(super) const HAIKU: Model = Model {
    name: "claude-haiku-4-5-20251001",
    input: 100,
    output: 500,
    cache_create: 125,
    cache_read: 10,
};
const SONNET: Model = Model {
    name: "claude-sonnet-4-5-20250929",
    input: 300,
    output: 1500,
    cache_create: 375,
    cache_read: 30,
};
const OPUS_OLD: Model = Model {
    name: "claude-opus-4-5-20251101",
    input: 500,
    output: 2500,
    cache_create: 625,
    cache_read: 50,
};
const OPUS_NEW: Model =
    Model { name: "claude-opus-5-5", input: 400, output: 2000, cache_create: 500, cache_read: 20 };

/// The model of the next session.
pub(super) fn choose_model(random: &mut Random, era: &Era) -> Model {
    match (era.new, random.chance(6_000)) {
        (true, true) => OPUS_NEW,
        (false, true) => OPUS_OLD,
        (_, false) => SONNET,
    }
}
