//! What an edit would do, to be shown before it is done.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::EntryUuid;

use crate::LineSource;
use crate::NodeId;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::edit::write::WHOLE;
use crate::fold::bits::Bits;
use crate::health::Amount;
use crate::health::estimated_tokens;
use crate::request::Generation;
use crate::request::Reach;
use crate::request::Sent;
use crate::request::reach;

/// An edit that is ready to be written.
#[derive(Debug, Clone)]
pub struct Plan<'m> {
    /// The new log.
    pub draft: Draft<'m>,
    /// What goes, by kind and name.
    pub rows: Vec<PlanRow>,
    /// The lines of the chain that are not sent any more: those that go, and
    /// those that a summary stands for.
    pub removed: HashSet<EntryUuid>,
    /// What the newest clients send before the edit.
    pub before: Amount,
    /// What they send after it.
    pub after: Amount,
    /// What is worth knowing, in words.
    pub notes: Vec<String>,
    /// Whether what was asked for was reached; only a number of tokens can be
    /// out of reach.
    pub is_reached: bool,
}

/// What goes, of one kind and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRow {
    /// What it is.
    pub kind: PlanKind,
    /// The tool, the type of the attachment, the kind of the line; may be empty.
    pub name: String,
    /// How many.
    pub count: u64,
    /// How many bytes of content go; of lines outside the conversation, how
    /// many bytes of the log.
    pub bytes: u64,
    /// An estimate of their tokens; nothing for what no client sends.
    pub tokens: u64,
}

/// What a row of a plan is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlanKind {
    /// The text of a tool's result; the call stays.
    Result,
    /// A call with its result.
    Call,
    /// A picture or document.
    Image,
    /// An attachment.
    Attachment,
    /// Thinking.
    Thinking,
    /// An answer of white space that has lost the rest of its message.
    Blank,
    /// Lines of a turn.
    Turn,
    /// Lines that a summary stands for.
    Compressed,
    /// Lines that are not part of the conversation.
    Meta,
}

impl PlanKind {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            PlanKind::Result => "result",
            PlanKind::Call => "call",
            PlanKind::Image => "image",
            PlanKind::Attachment => "attachment",
            PlanKind::Thinking => "thinking",
            PlanKind::Blank => "blank",
            PlanKind::Turn => "turn",
            PlanKind::Compressed => "compressed",
            PlanKind::Meta => "meta",
        }
    }
}

/// Counts what goes.
#[derive(Debug, Default)]
pub(super) struct Tally {
    rows: BTreeMap<(PlanKind, String), (u64, u64)>,
}

impl Tally {
    pub(super) fn add(&mut self, kind: PlanKind, name: &str, bytes: u64) {
        let row = self.rows.entry((kind, name.to_owned())).or_default();
        row.0 += 1;
        row.1 += bytes;
    }

    /// Adds bytes to what was counted before: a call and its result are one.
    pub(super) fn add_bytes(&mut self, kind: PlanKind, name: &str, bytes: u64) {
        self.rows.entry((kind, name.to_owned())).or_default().1 += bytes;
    }

    pub(super) fn finish(self) -> Vec<PlanRow> {
        let row = |((kind, name), (count, bytes))| {
            let is_sent = kind != PlanKind::Meta;
            let tokens = if is_sent { estimated_tokens(bytes) } else { 0 };
            PlanRow { kind, name, count, bytes, tokens }
        };
        self.rows.into_iter().map(row).collect()
    }
}

/// The newest clients' request, and how large lines are after an edit.
#[derive(Debug)]
pub(super) struct Sizes {
    pub(super) reach: Reach,
    /// The bytes of content of lines whose content changes.
    changed: HashMap<NodeId, u64>,
    /// What single blocks of them have lost.
    lost: HashMap<(NodeId, usize), u64>,
}

impl Sizes {
    pub(super) fn new(manuscript: &Manuscript) -> Sizes {
        let reach = reach(&manuscript.session, Generation::latest());
        Sizes { reach, changed: HashMap::new(), lost: HashMap::new() }
    }

    /// The lines that are sent, in order.
    pub(super) fn sent(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.reach.sent.iter().filter_map(|sent| match sent {
            Sent::Line(line) => Some(line.node),
            Sent::Added(_) => None,
        })
    }

    /// How large a line is now.
    pub(super) fn bytes(&self, manuscript: &Manuscript, id: NodeId) -> u64 {
        let own = || u64::from(manuscript.session.node(id).content_bytes);
        self.changed.get(&id).copied().unwrap_or_else(own)
    }

    /// Notes that a block of a line has lost some bytes.
    pub(super) fn shrink(&mut self, manuscript: &Manuscript, id: NodeId, block: usize, bytes: u64) {
        let now = self.bytes(manuscript, id);
        self.changed.insert(id, now.saturating_sub(bytes));
        *self.lost.entry((id, block)).or_default() += bytes;
    }

    /// What is left of the bytes of a block.
    pub(super) fn left_of(&self, id: NodeId, block: usize, bytes: u64) -> u64 {
        bytes.saturating_sub(self.lost.get(&(id, block)).copied().unwrap_or(0))
    }

    /// What is sent after an edit, and the lines that are not sent any more.
    pub(super) fn left(
        &self,
        draft: &Draft<'_>,
        stranded: &[NodeId],
    ) -> (Amount, HashSet<EntryUuid>) {
        let session = &draft.manuscript().session;
        let is_stranded = Bits::of(session.node_count(), stranded);
        let stays = |id| draft.keeps(id) && !is_stranded.has(id);
        let mut removed = draft.removed();
        removed.extend(stranded.iter().map(|id| session.node(*id).uuid()));
        (self.amount(draft.manuscript(), stays), removed)
    }

    /// What is sent of the lines of which `stays` holds.
    pub(super) fn amount(&self, manuscript: &Manuscript, stays: impl Fn(NodeId) -> bool) -> Amount {
        let mut amount = Amount::default();
        for id in self.sent().filter(|id| stays(*id)) {
            amount.lines += u64::from(manuscript.session.node(id).is_spoken());
            amount.tokens += estimated_tokens(self.bytes(manuscript, id));
        }
        amount
    }
}

/// The bytes of a line that is to be changed, without a byte order mark.
pub(super) fn read_line(
    manuscript: &Manuscript,
    place: usize,
    log: &dyn LineSource,
) -> Result<Vec<u8>, EditError> {
    let line = place as u64 + 1;
    let span = manuscript.lines().get(place).ok_or(EditError::SourceChanged { line })?.span;
    if span.length > WHOLE {
        return Err(EditError::LineTooLong { line });
    }
    let bytes = log.line(span).map_err(|error| EditError::of_line(line, &error))?;
    Ok(match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => rest.to_vec(),
        None => bytes.into_owned(),
    })
}

/// A size in words, such as `12.3 kB`.
pub(super) fn size_text(bytes: u64) -> String {
    let scaled = |unit: u64, name: &str| {
        let tenths = bytes / (unit / 10);
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1000 => format!("{bytes} B"),
        1000..1_000_000 => scaled(1000, "kB"),
        _ => scaled(1_000_000, "MB"),
    }
}

/// A text on one line, with at most so many characters.
pub(super) fn shortened(text: &str, most: usize) -> String {
    let mut short = String::new();
    for (count, character) in text
        .split_whitespace()
        .flat_map(|word| [" ", word])
        .skip(1)
        .flat_map(str::chars)
        .enumerate()
    {
        if count == most {
            short.push('…');
            break;
        }
        short.push(character);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_digit_after_the_point() {
        let sizes = [0, 999, 1000, 12_345, 999_999, 1_250_000];
        assert_eq!(
            sizes.map(size_text),
            ["0 B", "999 B", "1.0 kB", "12.3 kB", "999.9 kB", "1.2 MB"]
        );
    }

    #[test]
    fn a_short_text_is_on_one_line() {
        assert_eq!(shortened(" a\n\tb  c ", 10), "a b c");
        assert_eq!(shortened("größer als", 4), "größ…");
        assert_eq!(shortened("", 4), "");
    }
}
