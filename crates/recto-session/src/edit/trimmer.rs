//! Single steps of trimming, each of which can be taken alone.

use std::collections::HashSet;

use memchr::memmem;
use recto_log::Block;
use recto_log::Kind;
use recto_log::Source;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_log::json::write_string;

use crate::BlockFact;
use crate::LineSource;
use crate::NameId;
use crate::NodeId;
use crate::edit::Change;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::edit::PathStep;
use crate::edit::Plan;
use crate::edit::ages::Ages;
use crate::edit::cut::Cut;
use crate::edit::cut::elements;
use crate::edit::mend::mend;
use crate::edit::plan::PlanKind;
use crate::edit::plan::Sizes;
use crate::edit::plan::Tally;
use crate::edit::plan::read_line;
use crate::edit::plan::size_text;

/// A session that is being trimmed.
pub(super) struct Trimmer<'m> {
    pub(super) manuscript: &'m Manuscript,
    pub(super) ages: Ages,
    pub(super) sizes: Sizes,
    pub(super) cut: Cut<'m>,
    draft: Draft<'m>,
    tally: Tally,
    source: String,
    /// Results that are notes by now.
    noted: HashSet<(NodeId, usize)>,
    /// Lines without pictures by now.
    pictured: HashSet<NodeId>,
}

/// A block whose content becomes a note.
struct Noted {
    /// The place of the block among those of its line.
    block: usize,
    path: Vec<PathStep>,
    json: Vec<u8>,
    bytes: u64,
    name: String,
}

impl<'m> Trimmer<'m> {
    pub(super) fn new(manuscript: &'m Manuscript, source: &str) -> Trimmer<'m> {
        let sizes = Sizes::new(manuscript);
        Trimmer {
            manuscript,
            ages: Ages::new(manuscript, sizes.reach.leaf),
            sizes,
            cut: Cut::new(manuscript),
            draft: Draft::new(manuscript),
            tally: Tally::default(),
            source: source.to_owned(),
            noted: HashSet::new(),
            pictured: HashSet::new(),
        }
    }

    fn read(&self, id: NodeId, log: &dyn LineSource) -> Result<Vec<u8>, EditError> {
        read_line(self.manuscript, self.manuscript.place(id), log)
    }

    /// How large the content of a result is.
    pub(super) fn result_bytes(
        &self,
        id: NodeId,
        place: usize,
        log: &dyn LineSource,
    ) -> Result<u64, EditError> {
        let bytes = self.read(id, log)?;
        let sizes = elements(&bytes, |_, _, block| {
            block.get("content").map_or(0, |content| content.bytes().len() as u64)
        });
        Ok(sizes.get(place).copied().unwrap_or(0))
    }

    /// Makes notes of results of a line whose content is larger than `least`
    /// and than the note.
    pub(super) fn note_results(
        &mut self,
        id: NodeId,
        places: &[usize],
        least: u64,
        log: &dyn LineSource,
    ) -> Result<(), EditError> {
        if self.cut.takes_line(id) {
            return Ok(());
        }
        let bytes = self.read(id, log)?;
        let found = elements(&bytes, |place, element, block| {
            let Block::ToolResult { .. } = Block::of(block) else { return None };
            let content = block.get("content")?;
            let size = content.bytes().len() as u64;
            let call = block.str("tool_use_id").unwrap_or_default();
            let (name, note) = self.result_note(id, &call, content);
            let mut json = Vec::new();
            write_string(&mut json, &note);
            let path = message_path([element.into(), "content".into()]);
            (size > least && size > json.len() as u64).then_some(Noted {
                block: place,
                path,
                json,
                bytes: size,
                name,
            })
        });
        let mut changes = Vec::new();
        for (place, noted) in found.into_iter().enumerate() {
            if let Some(noted) = noted.filter(|_| places.contains(&place))
                && self.noted.insert((id, place))
            {
                let bytes = self.sizes.left_of(id, place, noted.bytes);
                changes.push(Noted { bytes, ..noted });
            }
        }
        self.make_notes(id, PlanKind::Result, changes);
        // What the client keeps for itself is as large as the result.
        let blocks = &self.manuscript.session.node(id).blocks;
        let is_noted = |(place, block): (usize, &BlockFact)| {
            !matches!(block, BlockFact::ToolResult { .. }) || self.noted.contains(&(id, place))
        };
        if blocks.iter().enumerate().all(is_noted)
            && places.iter().any(|place| self.noted.contains(&(id, *place)))
        {
            self.draft.change(id, Change::remove(["toolUseResult".into()]));
        }
        Ok(())
    }

    /// The tool, and the note that stands for its result.
    fn result_note(&self, id: NodeId, call: &str, content: Value<'_>) -> (String, String) {
        let session = &self.manuscript.session;
        let is_call = |block: &BlockFact| match block {
            BlockFact::ToolResult { id, .. } if session.name(*id) == call => Some(*id),
            _ => None,
        };
        let name = session.node(id).blocks.iter().find_map(is_call);
        let name = name.and_then(|name| session.facts().call(name)?.name);
        let name = name.map_or("tool", |name| session.name(name));
        let mut note = format!(
            "[{} of {name} output removed by recto; recto show {} --turn {} --tools, call {call}]",
            size_text(content.bytes().len() as u64),
            self.source,
            self.ages.turn(id),
        );
        if let Some(path) = persisted_path(content) {
            note +=
                &format!("\n<persisted-output>\nFull output saved to: {path}\n</persisted-output>");
        }
        (name.to_owned(), note)
    }

    /// Makes notes of the pictures and documents of a line, in results too.
    pub(super) fn note_images(
        &mut self,
        id: NodeId,
        log: &dyn LineSource,
    ) -> Result<(), EditError> {
        let node = self.manuscript.session.node(id);
        let may_hold =
            |block: &BlockFact| matches!(block, BlockFact::Media | BlockFact::ToolResult { .. });
        let is_done = self.cut.takes_line(id) || !self.pictured.insert(id);
        if is_done || !node.blocks.iter().any(may_hold) {
            return Ok(());
        }
        let bytes = self.read(id, log)?;
        // Most results hold none, and finding that out is cheap.
        if !["\"image\"", "\"document\""]
            .iter()
            .any(|name| memmem::find(&bytes, name.as_bytes()).is_some())
        {
            return Ok(());
        }
        let found = elements(&bytes, |place, element, block| {
            let mut inside: Vec<Noted> = Vec::new();
            match Block::of(block) {
                Block::ToolResult { .. } => {
                    let parts = block.get("content").into_iter().flat_map(Value::elements);
                    for (part, value) in parts.enumerate() {
                        let path = [element.into(), "content".into(), part.into()];
                        inside.extend(image_note(place, message_path(path), value));
                    }
                }
                _ => inside.extend(image_note(place, message_path([element.into()]), block)),
            }
            inside
        });
        let mut has_inner = false;
        let mut changes = Vec::new();
        for (place, inside) in found.into_iter().enumerate() {
            // A result that is a note has no pictures any more.
            if !self.noted.contains(&(id, place)) {
                has_inner |= inside.iter().any(|noted| noted.path.len() > 3);
                changes.extend(inside);
            }
        }
        self.make_notes(id, PlanKind::Image, changes);
        if has_inner {
            self.draft.change(id, Change::remove(["toolUseResult".into()]));
        }
        Ok(())
    }

    fn make_notes(&mut self, id: NodeId, kind: PlanKind, notes: Vec<Noted>) {
        for noted in notes {
            let saved = noted.bytes.saturating_sub(noted.json.len() as u64);
            self.sizes.shrink(self.manuscript, id, noted.block, saved);
            self.tally.add(kind, &noted.name, saved);
            self.draft.change(id, Change::set(noted.path, noted.json));
        }
    }

    /// Drops an attachment. Prompts that were queued are no attachments to the
    /// user.
    pub(super) fn drop_attachment(&mut self, id: NodeId) {
        let session = &self.manuscript.session;
        let node = session.node(id);
        let name = node.subtype.map_or("", |name| session.name(name));
        if node.kind == Kind::Attachment && name != "queued_command" && !self.cut.takes_line(id) {
            self.tally.add(PlanKind::Attachment, name, u64::from(node.content_bytes));
            self.cut.remove_line(id);
        }
    }

    /// Drops calls with their results.
    pub(super) fn drop_calls(&mut self, calls: &HashSet<NameId>) {
        self.cut.remove_calls(calls);
        self.cut.close();
    }

    /// What the newest clients would send now.
    pub(super) fn tokens(&self) -> u64 {
        self.sizes.amount(self.manuscript, |id| !self.cut.takes_line(id)).tokens
    }

    /// The plan.
    pub(super) fn finish(
        mut self,
        wanted: Option<u64>,
        log: &dyn LineSource,
    ) -> Result<Plan<'m>, EditError> {
        let before = Sizes::new(self.manuscript).amount(self.manuscript, |_| true);
        self.cut.finish(&mut self.draft, &mut self.sizes, &mut self.tally, log)?;
        if self.draft.is_unchanged() {
            return Err(EditError::NothingToDo);
        }
        let stranded = mend(&mut self.draft, &self.sizes, &self.ages.history, log)?;
        let (after, removed) = self.sizes.left(&self.draft, &stranded);
        let is_reached = wanted.is_none_or(|wanted| after.tokens <= wanted);
        let mut notes = Vec::new();
        if let Some(wanted) = wanted.filter(|_| !is_reached) {
            notes.push(format!(
                "cannot reach about {wanted} tokens without changing prompts and answers; the minimum is about {}",
                after.tokens
            ));
        }
        // What was trimmed is not sent any more, and an unexplained zero looks like a defect.
        if after.tokens >= before.tokens && wanted.is_none() {
            notes.push(
                "the request stays as large as before: Claude Code no longer sends what was trimmed, because a compaction replaced it or it is on another branch"
                    .to_owned(),
            );
        }
        let rows = self.tally.finish();
        Ok(Plan { draft: self.draft, rows, removed, before, after, notes, is_reached })
    }
}

fn message_path<const N: usize>(rest: [PathStep; N]) -> Vec<PathStep> {
    ["message".into(), "content".into()].into_iter().chain(rest).collect()
}

/// A text block that stands for a picture or document, if a block is one.
fn image_note(place: usize, path: Vec<PathStep>, block: Value<'_>) -> Option<Noted> {
    let (what, source) = match Block::of(block) {
        Block::Image { source } => ("image", source),
        Block::Document { source } => ("document", source),
        _ => return None,
    };
    let (kind, size) = match source {
        Source::Base64 { media_type, data } => {
            let kind = media_type.and_then(Value::as_str).unwrap_or_default();
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            // Four characters stand for three bytes.
            (kind, data.map_or(0, |data| data.bytes().len() as u64 * 3 / 4))
        }
        Source::Url { .. } => ("at an address".to_owned(), block.bytes().len() as u64),
        Source::Other(_) => (String::new(), block.bytes().len() as u64),
    };
    let note = format!("[{what} removed by recto: {} {kind}", size_text(size));
    let note = format!("{}]", note.trim_end());
    let json = ObjectWriter::new().string("type", "text").string("text", &note).finish();
    let bytes = block.bytes().len() as u64;
    Some(Noted { block: place, path, json, bytes, name: what.to_owned() })
}

/// Where the client has put the whole text of a result that was too large.
fn persisted_path(content: Value<'_>) -> Option<String> {
    const SAVED: &str = "saved to: ";
    let text = recto_log::Content::of(Some(content)).text();
    let inside = &text[text.find("<persisted-output>")?..];
    let path = &inside[inside.find(SAVED)? + SAVED.len()..];
    Some(path.lines().next()?.trim().to_owned())
}
