//! One thing in a turn, as it is shown. Pages and the API cut long texts; what is cut off has
//! an address of its own.

use recto_log::UserText;
use recto_session::Diff;
use recto_session::Item;
use recto_session::Origin;
use recto_session::Overflow;
use recto_session::Shown;
use serde::Serialize;
use serde::Serializer;
use serde_json::value::RawValue;

use crate::MediaRow;
use crate::Moment;
use crate::OverflowRow;
use crate::cut;

/// How long texts are at most, in bytes, where they are cut.
const MOST_TEXT: usize = 64 * 1024;
const MOST_RESULT: usize = 8 * 1024;
const MOST_INPUT: usize = 16 * 1024;
const MOST_LINE: usize = 2000;
const MOST_DIFF_LINES: usize = 400;

/// One thing in a turn.
#[derive(Debug, Serialize)]
pub struct ItemRow {
    /// `prompt`, `answer`, `thinking`, `call`, `result` or `note`.
    pub item: &'static str,
    /// The number of its turn.
    pub turn: u32,
    /// The number of its line.
    pub line: u64,
    /// The id of its line.
    pub uuid: Option<String>,
    /// When its line was written.
    pub time: Option<Moment>,
    /// The API message that it is a part of; calls of one message ran side by side.
    pub message: Option<String>,
    /// Whether its line belongs to a subagent.
    pub sidechain: bool,
    /// Images and documents in it; of a call, those of its result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediaRow>,
    /// What it says.
    #[serde(flatten)]
    pub what: ItemKind,
}

/// What an item says.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ItemKind {
    /// Something that a person typed, or a subagent's task.
    Prompt {
        /// What was typed.
        #[serde(flatten)]
        text: Text,
        /// Pictures and documents in it.
        pictures: usize,
        /// `prompt`, `command`, `bash` or `agent`.
        kind: &'static str,
        /// Whether it was typed while the model worked.
        queued: bool,
    },
    /// Text of the model, which is Markdown.
    Answer {
        /// The text.
        #[serde(flatten)]
        text: Text,
    },
    /// Thinking of the model.
    Thinking {
        /// The text; empty where it is encrypted or kept back.
        #[serde(flatten)]
        text: Text,
    },
    /// A call of a tool.
    Call {
        /// The id that ties it to its result.
        id: String,
        /// The tool.
        tool: String,
        /// The argument that says most.
        about: String,
        /// All arguments.
        input: Input,
        /// The address of all arguments, where they are cut.
        #[serde(skip_serializing_if = "Option::is_none")]
        input_rest: Option<String>,
        /// What became of it, where that is asked for together with the call.
        #[serde(flatten)]
        outcome: Option<CallOutcome>,
    },
    /// What a tool gave back, where it is not shown with its call.
    Result {
        /// The id of the call.
        id: String,
        /// What came.
        #[serde(flatten)]
        result: ResultRow,
    },
    /// Something that happened.
    Note {
        /// `compaction`, `summary`, `interrupt`, …
        kind: &'static str,
        /// What happened.
        #[serde(flatten)]
        text: Text,
    },
}

/// What became of a call.
#[derive(Debug, Serialize)]
pub struct CallOutcome {
    /// From the call to its result.
    pub duration_ms: Option<u64>,
    /// The subagent that it started.
    pub agent: Option<String>,
    /// What came of it; none while there is no result.
    pub result: Option<ResultRow>,
}

/// A text, and where the rest is if it is cut.
#[derive(Debug, Serialize)]
pub struct Text {
    /// The text, or its beginning.
    pub text: String,
    /// The whole length in bytes.
    pub bytes: usize,
    /// The address of the whole text, if it is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
}

/// The arguments of a call: JSON as the log has it. Where they are cut, and where a strict
/// parser would refuse them, they are a string with their text.
#[derive(Debug)]
pub struct Input {
    /// The JSON text, or its beginning.
    pub text: String,
    /// The whole length in bytes.
    pub bytes: usize,
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The value is read, not only skipped: skipping accepts lone surrogates.
        let is_json = serde_json::from_str::<serde_json::Value>(&self.text).is_ok();
        match serde_json::from_str::<&RawValue>(&self.text) {
            Ok(raw) if is_json => raw.serialize(serializer),
            _ => self.text.serialize(serializer),
        }
    }
}

/// What came of a call.
#[derive(Debug, Serialize)]
pub struct ResultRow {
    /// What the model got.
    #[serde(flatten)]
    pub text: Text,
    /// Pictures in it.
    pub pictures: usize,
    /// Whether the call failed.
    pub is_error: bool,
    /// The file with the whole text, where it was too long for the log.
    pub overflow: Option<OverflowRow>,
    /// What an edit changed.
    pub diff: Option<DiffRow>,
}

/// What an edit changed.
#[derive(Debug, Serialize)]
pub struct DiffRow {
    /// The file.
    pub path: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The lines of the patch, each with its sign.
    pub lines: Vec<String>,
    /// Lines that are not listed.
    pub more: usize,
}

/// How much of long texts a row has.
#[derive(Debug, Clone, Copy)]
pub enum Extent<'a> {
    /// All of them.
    Whole,
    /// Their beginnings.
    Cut {
        /// The address of the log in the API; the rest of a text is below it.
        base: &'a str,
    },
}

impl Extent<'_> {
    /// A text of `most` bytes at most; its whole is at a place below the log's address.
    fn cut(self, text: &str, most: usize, place: impl FnOnce() -> String) -> Text {
        let (shown, is_cut) = match self {
            Extent::Whole => (text.to_owned(), false),
            Extent::Cut { .. } => cut(text, most),
        };
        Text { text: shown, bytes: text.len(), rest: self.address(place).filter(|_| is_cut) }
    }

    fn address(self, place: impl FnOnce() -> String) -> Option<String> {
        match self {
            Extent::Whole => None,
            Extent::Cut { base } => Some(format!("{base}/{}", place())),
        }
    }

    fn diff(self, diff: &Diff) -> DiffRow {
        let (most_lines, most) = match self {
            Extent::Whole => (usize::MAX, usize::MAX),
            Extent::Cut { .. } => (MOST_DIFF_LINES, MOST_LINE),
        };
        DiffRow {
            path: diff.path.clone(),
            added: diff.added,
            removed: diff.removed,
            lines: diff.lines.iter().take(most_lines).map(|line| cut(line, most).0).collect(),
            more: diff.lines.len().saturating_sub(most_lines),
        }
    }

    /// What the model got of a result. All of it is asked for at one address, be it in the log
    /// or in a file beside it.
    fn result_text(self, id: &str, text: &str, overflow: Option<&Overflow>) -> Text {
        let place = || format!("results/{}", encoded(id));
        let mut text = self.cut(text, MOST_RESULT, place);
        if overflow.is_some_and(|overflow| overflow.path.is_some()) {
            text.rest = self.address(place);
        }
        text
    }
}

impl From<&Overflow> for OverflowRow {
    fn from(overflow: &Overflow) -> OverflowRow {
        OverflowRow {
            name: overflow.name.clone(),
            path: overflow.path.clone(),
            bytes: overflow.bytes,
            text: overflow.text.clone(),
        }
    }
}

impl ItemRow {
    /// The row of an item.
    pub fn new(turn: u32, origin: &Origin, item: &Item, extent: Extent<'_>) -> ItemRow {
        let line = || format!("lines/{}", origin.line);
        let text = |text: &str| extent.cut(text, MOST_TEXT, line);
        let (item, what) = match item {
            Item::Prompt { text: typed, pictures, kind, is_queued } => {
                let (kind, queued) = (prompt_kind(*kind), *is_queued);
                let mut text = text(typed);
                // What only the queue tells is not a line that can be asked for.
                text.rest = text.rest.filter(|_| origin.uuid.is_some() || !queued);
                ("prompt", ItemKind::Prompt { text, pictures: *pictures, kind, queued })
            }
            Item::Answer { text: said } => ("answer", ItemKind::Answer { text: text(said) }),
            Item::Thinking { text: said } => ("thinking", ItemKind::Thinking { text: text(said) }),
            Item::Note { kind, text: said } => {
                ("note", ItemKind::Note { kind: kind.name(), text: text(said) })
            }
            Item::Call { id, name, about, input } => {
                let input = String::from_utf8_lossy(input);
                let Text { text, bytes, rest } = extent.cut(&input, MOST_INPUT, line);
                let call = ItemKind::Call {
                    id: id.clone(),
                    tool: name.clone(),
                    about: extent.cut(about, MOST_LINE, line).text,
                    input: Input { text, bytes },
                    input_rest: rest,
                    outcome: None,
                };
                ("call", call)
            }
            Item::Result { id, text, pictures, is_error, diff, overflow } => {
                let result = ResultRow {
                    text: extent.result_text(id, text, overflow.as_ref()),
                    pictures: *pictures,
                    is_error: *is_error,
                    overflow: overflow.as_ref().map(OverflowRow::from),
                    diff: diff.as_ref().map(|diff| extent.diff(diff)),
                };
                ("result", ItemKind::Result { id: id.clone(), result })
            }
        };
        ItemRow {
            item,
            turn,
            line: origin.line,
            uuid: origin.uuid.clone(),
            time: origin.time.map(Moment),
            message: origin.message.clone(),
            sidechain: origin.is_sidechain,
            media: Vec::new(),
            what,
        }
    }

    /// The row of what a log shows, with whole texts.
    pub fn whole(shown: &Shown) -> ItemRow {
        ItemRow::new(shown.turn, &shown.origin, &shown.item, Extent::Whole)
    }

    /// A note about the log, which is not in it.
    pub fn remark(kind: &'static str, text: &str) -> ItemRow {
        ItemRow {
            item: "note",
            turn: 0,
            line: 0,
            uuid: None,
            time: None,
            message: None,
            sidechain: false,
            media: Vec::new(),
            what: ItemKind::Note {
                kind,
                text: Text { text: text.to_owned(), bytes: text.len(), rest: None },
            },
        }
    }

    /// The call with what became of it; other items stay as they are.
    pub(crate) fn with_outcome(mut self, outcome: CallOutcome) -> ItemRow {
        if let ItemKind::Call { outcome: place, .. } = &mut self.what {
            *place = Some(outcome);
        }
        self
    }

    /// About how many bytes it takes.
    pub fn size(&self) -> usize {
        let size = |result: &ResultRow| {
            let diff = result.diff.as_ref();
            let lines = diff.map_or(0, |diff| diff.lines.iter().map(String::len).sum());
            result.text.text.len() + lines
        };
        200 + match &self.what {
            ItemKind::Prompt { text, .. }
            | ItemKind::Answer { text }
            | ItemKind::Thinking { text }
            | ItemKind::Note { text, .. } => text.text.len(),
            ItemKind::Call { input, outcome, .. } => {
                let result = outcome.as_ref().and_then(|outcome| outcome.result.as_ref());
                input.text.len() + result.map_or(0, size)
            }
            ItemKind::Result { result, .. } => size(result),
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

    #[test]
    fn arguments_are_json_where_every_parser_reads_them() {
        let shown = |text: &str| {
            let input = Input { text: text.to_owned(), bytes: text.len() };
            serde_json::to_string(&input).unwrap()
        };
        assert_eq!(shown(r#"{"b":1.0, "a":12345678901234567890123}"#).len(), 38);
        assert_eq!(shown(r#"{"a":"cut"#), r#""{\"a\":\"cut""#);
        assert_eq!(shown(r#"{"a":"\ud800"}"#), r#""{\"a\":\"\\ud800\"}""#);
    }
}
