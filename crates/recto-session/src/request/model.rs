//! Which model a client asks when it resumes, and what depends on it.

use recto_log::Kind;

use super::Generation;
use super::Sent;
use crate::Session;

/// The models that the newest clients know, longer names before their beginnings.
const KNOWN: [&str; 12] = [
    "opus-5-5",
    "opus-5",
    "opus-4-8",
    "opus-4-7",
    "opus-4-6",
    "opus-4-5",
    "sonnet-5-5",
    "sonnet-5",
    "sonnet-4-6",
    "sonnet-4-5",
    "haiku-4-5",
    "fable-5",
];

/// The model that the newest clients ask for instead of one they do not know, unless they
/// are told otherwise.
const DEFAULT: &str = "opus-5-5";

/// Models that have no messages of the system inside a conversation.
const NO_SYSTEM_TURNS: [&str; 6] =
    ["opus-4-5", "opus-4-6", "opus-4-7", "sonnet-4-5", "sonnet-4-6", "haiku-4-5"];

/// Models that have them, but are not told how hard to think there.
const NO_EFFORT: [&str; 4] = ["opus-4-8", "opus-5", "sonnet-5", "fable-5"];

/// The model that a request goes to.
pub(super) struct AskedModel {
    generation: Generation,
    family: &'static str,
    /// The name, where the client does not know it and asks for it all the same.
    unknown: Option<String>,
}

impl AskedModel {
    /// The model that was chosen; by default the one that answered last.
    pub(super) fn new(
        session: &Session,
        generation: Generation,
        sent: &[Sent],
        chosen: Option<&str>,
    ) -> AskedModel {
        if let Some(chosen) = chosen {
            let family = family(chosen);
            let unknown = family.is_none().then(|| chosen.to_owned());
            return AskedModel { generation, family: family.unwrap_or(DEFAULT), unknown };
        }
        let last = sent.iter().rev().find_map(|sent| {
            let Sent::Line(line) = sent else { return None };
            let node = session.node(line.node);
            let model = session.name(node.model.filter(|_| node.kind == Kind::Assistant)?);
            (model != "<synthetic>").then_some(model)
        });
        AskedModel { generation, family: last.and_then(family).unwrap_or(DEFAULT), unknown: None }
    }

    /// Whether reminders are messages of the system: models before that are told inside
    /// the user's messages.
    pub(super) fn has_system_turns(&self) -> bool {
        self.generation >= Generation::V2_1_200 && !NO_SYSTEM_TURNS.contains(&self.family)
    }

    /// Whether the first turn says how hard the model is to think.
    pub(super) fn says_effort(&self) -> bool {
        self.generation == Generation::V2_1_300
            && self.has_system_turns()
            && !NO_EFFORT.contains(&self.family)
    }

    /// Whether signed thinking of a model is sent back: since 2.1.200, only to the model
    /// that signed it.
    pub(super) fn takes_thinking_of(&self, model: &str) -> bool {
        if self.generation < Generation::V2_1_200 || model.is_empty() {
            return true;
        }
        match &self.unknown {
            Some(name) => name == model,
            None => family(model) == Some(self.family),
        }
    }
}

/// What a client takes a name for, however it is spelled or dated.
fn family(model: &str) -> Option<&'static str> {
    let model = model.replace('.', "-");
    KNOWN.into_iter().find(|known| model.contains(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_known_however_it_is_spelled() {
        assert_eq!(family("claude-opus-4-5-20251101"), Some("opus-4-5"));
        assert_eq!(family("us.anthropic.claude-opus-4-5-20251101-v1:0"), Some("opus-4-5"));
        assert_eq!(family("anthropic/claude-sonnet-4.5"), Some("sonnet-4-5"));
        assert_eq!(family("claude-opus-5-5-20260901"), Some("opus-5-5"));
        for unknown in ["claude-opus-4-20250514", "claude-opus-4-1-20250805", "glm-4.7", ""] {
            assert_eq!(family(unknown), None, "{unknown}");
        }
    }
}
