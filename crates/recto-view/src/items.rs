//! One thing in a turn, as it is shown. Texts are cut; what is cut off has an
//! address of its own.

use recto_log::UserText;
use recto_session::Diff;
use recto_session::Item;
use recto_session::Origin;
use recto_session::QueuedPrompt;
use serde::Serialize;

use crate::Moment;
use crate::cut;

/// How long texts are at most, in bytes.
const MOST_TEXT: usize = 64 * 1024;
const MOST_RESULT: usize = 8 * 1024;
const MOST_INPUT: usize = 16 * 1024;
const MOST_DIFF_LINES: usize = 400;

/// One thing in a turn.
#[derive(Debug, Serialize)]
pub struct ItemView {
    /// The number of its line.
    pub line: u64,
    pub uuid: Option<String>,
    pub time: Option<Moment>,
    /// The API message that it is a part of; calls of one message ran side by side.
    pub message: Option<String>,
    pub sidechain: bool,
    #[serde(flatten)]
    pub what: ItemKind,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ItemKind {
    Prompt {
        text: Text,
        pictures: usize,
        kind: &'static str,
        queued: bool,
    },
    Answer {
        text: Text,
    },
    /// The text is empty where it is encrypted or kept back.
    Thinking {
        text: Text,
    },
    Call {
        id: String,
        name: String,
        about: String,
        /// The arguments, as JSON text, which may be cut.
        input: Text,
        duration_ms: Option<u64>,
        /// The subagent that it started.
        agent: Option<String>,
        result: Option<ResultView>,
    },
    /// A result without a call.
    Result {
        id: String,
        result: ResultView,
    },
    Note {
        kind: &'static str,
        text: Text,
    },
}

/// A text, and where the rest is if it is cut.
#[derive(Debug, Serialize)]
pub struct Text {
    pub text: String,
    /// The whole length in bytes.
    pub bytes: usize,
    /// The address of the whole text, if it is cut.
    pub rest: Option<String>,
}

impl Text {
    fn cut(text: &str, most: usize, rest: impl FnOnce() -> String) -> Text {
        let (shown, is_cut) = cut(text, most);
        Text { text: shown, bytes: text.len(), rest: is_cut.then(rest) }
    }
}

/// What came of a call.
#[derive(Debug, Serialize)]
pub struct ResultView {
    pub text: Text,
    pub error: bool,
    pub pictures: usize,
    pub diff: Option<DiffView>,
    pub overflow: Option<OverflowView>,
}

/// The file with the whole text, where it was too long for the log.
#[derive(Debug, Serialize)]
pub struct OverflowView {
    pub name: String,
    pub bytes: Option<u64>,
    /// Whether it is there and can be read.
    pub there: bool,
}

#[derive(Debug, Serialize)]
pub struct DiffView {
    pub path: String,
    pub added: u64,
    pub removed: u64,
    /// Each with its sign.
    pub lines: Vec<String>,
    /// Lines that are not listed.
    pub more: usize,
}

impl From<&Diff> for DiffView {
    fn from(diff: &Diff) -> DiffView {
        let lines = diff.lines.iter().take(MOST_DIFF_LINES);
        DiffView {
            path: diff.path.clone(),
            added: diff.added,
            removed: diff.removed,
            lines: lines.map(|line| cut(line, 2000).0).collect(),
            more: diff.lines.len().saturating_sub(MOST_DIFF_LINES),
        }
    }
}

/// Where an item stands.
pub struct Place<'a> {
    pub origin: &'a Origin,
    pub message: Option<&'a str>,
    /// The address of the log in the API.
    pub base: &'a str,
}

impl Place<'_> {
    fn item(&self, what: ItemKind) -> ItemView {
        ItemView {
            line: self.origin.line,
            uuid: self.origin.uuid.clone(),
            time: self.origin.time.map(Moment),
            message: self.message.map(str::to_owned),
            sidechain: self.origin.is_sidechain,
            what,
        }
    }

    fn text(&self, text: &str) -> Text {
        Text::cut(text, MOST_TEXT, || format!("{}/lines/{}", self.base, self.origin.line))
    }

    fn result(&self, item: &Item) -> Option<(String, ResultView)> {
        let Item::Result { id, text, pictures, is_error, diff, overflow } = item else {
            return None;
        };
        let overflow = overflow.as_ref().map(|overflow| OverflowView {
            name: overflow.name.clone(),
            bytes: overflow.bytes,
            there: overflow.path.is_some(),
        });
        let address = || format!("{}/results/{}", self.base, encoded(id));
        let mut shown = Text::cut(text, MOST_RESULT, address);
        if overflow.as_ref().is_some_and(|overflow| overflow.there) {
            shown.rest = Some(address());
        }
        let view = ResultView {
            text: shown,
            error: *is_error,
            pictures: *pictures,
            diff: diff.as_ref().map(DiffView::from),
            overflow,
        };
        Some((id.clone(), view))
    }
}

impl ItemView {
    /// The view of anything but a call.
    pub fn of(item: &Item, place: &Place<'_>) -> Option<ItemView> {
        let what = match item {
            Item::Prompt { text, pictures, kind, is_queued } => ItemKind::Prompt {
                text: place.text(text),
                pictures: *pictures,
                kind: prompt_kind(*kind),
                queued: *is_queued,
            },
            Item::Answer { text } => ItemKind::Answer { text: place.text(text) },
            Item::Thinking { text } => ItemKind::Thinking { text: place.text(text) },
            Item::Note { kind, text } => {
                ItemKind::Note { kind: kind.name(), text: place.text(text) }
            }
            Item::Result { .. } => {
                let (id, result) = place.result(item)?;
                ItemKind::Result { id, result }
            }
            Item::Call { .. } => return None,
        };
        Some(place.item(what))
    }

    /// The view of a call with what came of it.
    pub fn call(
        item: &Item,
        place: &Place<'_>,
        result: Option<&Item>,
        agent: Option<String>,
        duration_ms: Option<u64>,
    ) -> ItemView {
        let Item::Call { id, name, about, input } = item else {
            return place.item(ItemKind::Answer { text: place.text("") });
        };
        let input = String::from_utf8_lossy(input);
        let rest = || format!("{}/lines/{}", place.base, place.origin.line);
        place.item(ItemKind::Call {
            id: id.clone(),
            name: name.clone(),
            about: cut(about, 2000).0,
            input: Text::cut(&input, MOST_INPUT, rest),
            duration_ms,
            agent,
            result: result.and_then(|result| place.result(result)).map(|(_, view)| view),
        })
    }

    /// A prompt that only the queue tells.
    pub fn queued(prompt: &QueuedPrompt) -> ItemView {
        ItemView {
            line: prompt.line,
            uuid: None,
            time: prompt.time.map(Moment),
            message: None,
            sidechain: false,
            what: ItemKind::Prompt {
                text: Text::cut(&prompt.text, MOST_TEXT, String::new),
                pictures: prompt.pictures,
                kind: "prompt",
                queued: true,
            },
        }
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let result = |result: &ResultView| {
            let diff = result.diff.as_ref();
            let lines = diff.map_or(0, |diff| diff.lines.iter().map(String::len).sum());
            result.text.text.len() + lines
        };
        200 + match &self.what {
            ItemKind::Prompt { text, .. }
            | ItemKind::Answer { text }
            | ItemKind::Thinking { text }
            | ItemKind::Note { text, .. } => text.text.len(),
            ItemKind::Call { input, result: came, .. } => {
                input.text.len() + came.as_ref().map_or(0, result)
            }
            ItemKind::Result { result: came, .. } => result(came),
        }
    }
}

fn prompt_kind(kind: UserText) -> &'static str {
    match kind {
        UserText::Command => "command",
        UserText::BashInput => "bash",
        UserText::AgentTask => "agent",
        _ => "prompt",
    }
}

/// A text as a part of an address.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_addresses_hold_nothing_that_means_something() {
        assert_eq!(encoded("toolu_01-a"), "toolu_01-a");
        assert_eq!(encoded("../é?#"), "%2E%2E%2F%C3%A9%3F%23");
    }
}
