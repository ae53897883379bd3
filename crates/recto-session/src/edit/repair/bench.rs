//! The log while it is repaired.
//!
//! Owns: the lines and their changes so far, the session that they make, and
//! the rule that no step may cost any client a line. Does not own: what is
//! looked for.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

use recto_log::EntryUuid;
use recto_log::Patch;
use recto_log::RawLine;
use recto_log::decode;

use super::Applied;
use super::Clients;
use super::Fix;
use super::Repair;
use super::RepairOptions;
use super::state::Now;
use super::state::Sheet;
use super::state::Sorter;
use super::state::State;
use super::step::Step;
use super::tree::first_kept;
use crate::LineSource;
use crate::NodeId;
use crate::Parent;
use crate::Session;
use crate::edit::Change;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::edit::Place;
use crate::edit::Rewrite;
use crate::edit::compare;
use crate::edit::compare::lowers_reach;
use crate::fold::hash::IdMap;
use crate::request::Generation;

/// Longer lines are not read; no client takes them for part of a conversation.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// How much of a line that is too long tells what it is.
const START_BYTES: u64 = 4096;
/// If steps do harm together, so many are tried one by one.
const MOST_SINGLE: usize = 64;
/// So many ways to make one step are tried.
const MOST_WAYS: usize = 4;

/// A line while the log is repaired, by its place in the list of all sheets.
pub(super) type SheetId = usize;

/// One thing to do.
#[derive(Debug, Clone)]
pub(super) enum Edit {
    /// Changes a value.
    Change(SheetId, Change),
    /// Says what a line follows.
    Parent(SheetId, Option<EntryUuid>),
    /// Takes a line out. Lines that follow it follow what it followed.
    Remove(SheetId),
    /// Takes a line out and keeps it beside the log.
    Aside(SheetId),
    /// Puts a line in before another.
    Insert(SheetId, Vec<u8>),
    /// Puts a line in at the end.
    Append(Vec<u8>),
    /// Puts lines in this order, at the places that they have.
    Order(Vec<SheetId>),
}

/// When it is asked whether a client brings back less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// After all is done; see [`Bench::is_harmless_since`].
    Whole,
    /// After each step.
    EachStep,
}

/// A point to go back to.
pub(super) struct Mark<'m> {
    state: State,
    now: Now<'m>,
    fixes: usize,
}

impl From<Step> for Applied {
    fn from(step: Step) -> Applied {
        Applied { fix: step.fix, line: step.line, words: step.words }
    }
}

/// Whether no client brings back less of one log than of another.
fn is_harmless(old: &Session, new: &Session, removed: &HashSet<EntryUuid>) -> bool {
    compare(old, new, removed, &Rewrite::none()).losses.is_empty() && !lowers_reach(old, new)
}

/// A log on the bench.
pub(super) struct Bench<'m, 'o, 'f> {
    source: &'m Manuscript,
    pub(super) options: &'o RepairOptions<'o>,
    /// The clients that are to bring back everything, the oldest first.
    pub(super) generations: Vec<Generation>,
    log: &'f dyn LineSource,
    state: State,
    /// The log as it is by now. Its line `n` is the sheet `n - 1` in order.
    pub(super) now: Now<'m>,
    fixes: Vec<Applied>,
    /// The uuids of lines that were taken out since the last mark.
    removed: HashSet<EntryUuid>,
    /// What could not be done.
    pub(super) left: Vec<String>,
}

impl<'m, 'o, 'f> Bench<'m, 'o, 'f> {
    pub(super) fn new(
        source: &'m Manuscript,
        options: &'o RepairOptions<'o>,
        log: &'f dyn LineSource,
    ) -> Bench<'m, 'o, 'f> {
        let state = State::of(source.lines().len());
        let generations = match options.clients {
            Clients::All => Generation::ALL.to_vec(),
            Clients::Writer => {
                let writer = source.session.writer();
                Generation::ALL.into_iter().filter(|generation| *generation >= writer).collect()
            }
        };
        Bench {
            source,
            options,
            generations,
            log,
            state,
            now: Now::Source(source),
            fixes: Vec::new(),
            removed: HashSet::new(),
            left: Vec::new(),
        }
    }

    /// Whether a fix is to be made.
    pub(super) fn makes(&self, fix: Fix) -> bool {
        let is_asked_for =
            self.options.only.as_ref().map_or(fix.is_default(), |only| only.contains(&fix));
        is_asked_for && !self.options.except.contains(&fix)
    }

    /// Whether a fix that only clients before some generation need is to be made.
    pub(super) fn makes_for_before(&self, fix: Fix, newer: Generation) -> bool {
        let is_named = self.options.only.as_ref().is_some_and(|only| only.contains(&fix));
        self.makes(fix) && (is_named || self.generations.iter().any(|old| *old < newer))
    }

    /// The sheet at a place of the log as it is by now.
    pub(super) fn sheet(&self, place: usize) -> SheetId {
        self.state.at(place)
    }

    /// The sheet of a line of the chain.
    pub(super) fn sheet_of(&self, id: NodeId) -> SheetId {
        self.sheet(self.now.place(id))
    }

    /// The number of a line in the old log; of a new line, that of the next old one.
    pub(super) fn number(&self, place: usize) -> u64 {
        let later = self.state.old_from(place).map(|sheet| sheet as u64 + 1);
        later.unwrap_or(self.source.lines().len() as u64)
    }

    /// The number of a line of the chain in the old log.
    pub(super) fn number_of(&self, id: NodeId) -> u64 {
        self.number(self.now.place(id))
    }

    /// The lines of the conversation.
    pub(super) fn spoken(&self) -> usize {
        self.now.session.nodes().filter(|node| node.is_spoken()).count()
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.fixes.is_empty()
    }

    /// The bytes of a line as it is by now, without a byte order mark.
    pub(super) fn text(&mut self, sheet: SheetId) -> Result<Vec<u8>, EditError> {
        let bytes = self.bytes(sheet)?;
        Ok(bytes.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(bytes))
    }

    fn bytes(&mut self, sheet: SheetId) -> Result<Vec<u8>, EditError> {
        let (place, changes) = match self.state.get(sheet) {
            Sheet::New { bytes } => return Ok(bytes.to_vec()),
            Sheet::Old { place, changes } => (place, changes),
        };
        let gone = EditError::SourceChanged { line: place as u64 + 1 };
        let mut span = self.source.lines().get(place).ok_or(gone)?.span;
        let is_long = span.length > MOST_BYTES;
        if is_long {
            span.length = START_BYTES;
        }
        let line = place as u64 + 1;
        let bytes = self.log.line(span).map_err(|error| EditError::of_line(line, &error))?;
        if is_long || changes.is_empty() {
            return Ok(bytes.into_owned());
        }
        patched(&bytes, &changes).ok_or(EditError::SourceChanged { line })
    }

    /// The log as it is by now, to go back to.
    pub(super) fn mark(&mut self) -> Mark<'m> {
        self.removed.clear();
        Mark { state: self.state.clone(), now: self.now.clone(), fixes: self.fixes.len() }
    }

    /// Undoes everything since a mark.
    pub(super) fn go_back(&mut self, mark: Mark<'m>) {
        self.state = mark.state;
        self.now = mark.now;
        self.fixes.truncate(mark.fixes);
    }

    /// Whether no client brings back less than at a mark.
    pub(super) fn is_harmless_since(&self, mark: &Mark<'_>) -> bool {
        let (old, new) = (&mark.now.session, &self.now.session);
        is_harmless(old, new, &self.removed)
    }

    /// Makes steps, as far as the guard allows it. Whether any was made.
    pub(super) fn take(&mut self, steps: Vec<Step>, guard: Guard) -> Result<bool, EditError> {
        let is_step = |step: &Step| self.makes(step.fix) && !step.edits.as_slice().is_empty();
        let steps: Vec<Step> = steps.into_iter().filter(is_step).collect();
        if steps.is_empty() {
            return Ok(false);
        }
        if guard == Guard::Whole {
            self.make(steps)?;
            return Ok(true);
        }
        if self.attempt(&steps)? {
            return Ok(true);
        }
        let mut is_made = false;
        for step in &steps {
            // Alone, the one step was tried just now.
            let skipped = usize::from(steps.len() == 1);
            let mut was_made = false;
            for way in step.ways().skip(skipped).take(MOST_WAYS) {
                was_made =
                    steps.len() <= MOST_SINGLE && self.attempt(std::slice::from_ref(&way))?;
                if was_made {
                    break;
                }
            }
            is_made |= was_made;
            if !was_made {
                self.left.push(format!(
                    "line {}: {} not applied, because clients would bring back less",
                    step.line,
                    step.fix.name()
                ));
            }
        }
        Ok(is_made)
    }

    /// Makes steps, whatever they do. There may be millions, so what is not needed any more
    /// is forgotten on the way.
    fn make(&mut self, steps: Vec<Step>) -> Result<(), EditError> {
        let removed = self.apply(&steps)?;
        self.removed.extend(removed);
        self.fixes.extend(steps.into_iter().map(Applied::from));
        self.now = Now::Source(self.source);
        self.now = Now::Changed(Arc::new(self.read_again()?));
        Ok(())
    }

    /// Makes steps, unless they do harm.
    fn attempt(&mut self, steps: &[Step]) -> Result<bool, EditError> {
        let before = self.state.clone();
        let removed = self.apply(steps)?;
        let after = self.read_again()?;
        if !is_harmless(&self.now.session, &after.session, &removed) {
            self.state = before;
            return Ok(false);
        }
        self.removed.extend(removed);
        self.now = Now::Changed(Arc::new(after));
        self.fixes.extend(steps.iter().cloned().map(Applied::from));
        Ok(true)
    }

    /// Makes the edits of steps. Gives the uuids that are gone.
    fn apply(&mut self, steps: &[Step]) -> Result<HashSet<EntryUuid>, EditError> {
        // Lines may be put in another order; what goes is named by where it was.
        let order = self.state.order.clone();
        let mut is_linked = HashSet::new();
        let mut gone = HashSet::new();
        let mut inserted: HashMap<SheetId, Vec<SheetId>> = HashMap::new();
        let mut appended = Vec::new();
        let mut sorter = Sorter::default();
        for edit in steps.iter().flat_map(|step| step.edits.as_slice()) {
            match edit {
                Edit::Change(sheet, change) => self.change(*sheet, change.clone())?,
                Edit::Parent(sheet, parent) => {
                    is_linked.insert(*sheet);
                    self.change(*sheet, Change::parent(parent.as_ref()))?;
                }
                Edit::Remove(sheet) => {
                    gone.insert(*sheet);
                }
                Edit::Aside(sheet) => {
                    if gone.insert(*sheet) && *sheet < self.state.old {
                        Arc::make_mut(&mut self.state.aside).push(*sheet);
                    }
                }
                Edit::Insert(before, bytes) => {
                    inserted.entry(*before).or_default().push(self.state.add(bytes.clone()));
                }
                Edit::Append(bytes) => {
                    appended.push(self.state.add(bytes.clone()));
                }
                Edit::Order(sheets) => sorter.put_in_order(&mut self.state, sheets),
            }
        }
        if gone.is_empty() && inserted.is_empty() && appended.is_empty() {
            return Ok(HashSet::new());
        }
        let removed = self.relink(&gone, &is_linked, order.as_deref())?;
        let mut order = Vec::with_capacity(self.state.count() + appended.len());
        let short = |sheet: SheetId| u32::try_from(sheet).unwrap_or(u32::MAX);
        for sheet in self.state.sheets() {
            order.extend(inserted.remove(&sheet).into_iter().flatten().map(short));
            if !gone.contains(&sheet) {
                order.push(short(sheet));
            }
        }
        order.extend(appended.into_iter().map(short));
        self.state.set_order(Arc::new(order));
        Ok(removed)
    }

    fn change(&mut self, sheet: SheetId, change: Change) -> Result<(), EditError> {
        let Some(at) = sheet.checked_sub(self.state.old) else {
            Arc::make_mut(&mut self.state.changes).add(sheet, change);
            return Ok(());
        };
        let gone = EditError::SourceChanged { line: 0 };
        let bytes = Arc::make_mut(&mut self.state.new).get_mut(at).ok_or(gone)?;
        let gone = EditError::SourceChanged { line: 0 };
        *bytes = patched(bytes, &[&change]).ok_or(gone)?;
        Ok(())
    }

    /// Hangs lines that followed lines that go on what those followed.
    fn relink(
        &mut self,
        gone: &HashSet<SheetId>,
        is_linked: &HashSet<SheetId>,
        order: Option<&Vec<u32>>,
    ) -> Result<HashSet<EntryUuid>, EditError> {
        if gone.is_empty() {
            return Ok(HashSet::new());
        }
        let sheet = |place: usize| order.map_or(place, |order| order[place] as SheetId);
        let places = (0..self.now.lines().len()).filter(|place| gone.contains(&sheet(*place)));
        let nodes: HashSet<NodeId> = places.filter_map(|place| self.now.node_at(place)).collect();
        let session = &self.now.session;
        let mut links = Vec::new();
        let mut known = IdMap::default();
        for id in session.ids().filter(|id| !nodes.contains(id)) {
            let sheet = self.sheet_of(id);
            if let Parent::Node(above) = session.link(id)
                && nodes.contains(&above)
                && !is_linked.contains(&sheet)
            {
                let parent = first_kept(session, &nodes, above, &mut known);
                links.push((sheet, uuid_of(session, parent)));
            }
        }
        let removed = nodes.iter().map(|id| session.node(*id).uuid()).collect();
        for (sheet, parent) in links {
            self.change(sheet, Change::parent(parent.as_ref()))?;
        }
        Ok(removed)
    }

    /// Reads the log as it is by now.
    fn read_again(&mut self) -> Result<Manuscript, EditError> {
        let mut manuscript = Manuscript::new();
        let mut offset = 0;
        let count = self.state.count();
        for at in 0..count {
            let sheet = self.state.at(at);
            let bytes = self.bytes(sheet)?;
            let (length, is_terminated) = match self.state.get(sheet) {
                Sheet::Old { place, .. } => {
                    let gone = EditError::SourceChanged { line: place as u64 + 1 };
                    let line = self.source.lines().get(place).ok_or(gone)?;
                    let is_long = line.span.length > MOST_BYTES;
                    (
                        if is_long { line.span.length } else { bytes.len() as u64 },
                        line.is_terminated,
                    )
                }
                Sheet::New { .. } => (bytes.len() as u64, true),
            };
            let terminated = is_terminated || at + 1 < count;
            let line = RawLine { offset, number: at as u64 + 1, bytes: &bytes, length, terminated };
            manuscript.push(&decode(line).0);
            offset = line.end();
        }
        Ok(manuscript)
    }

    /// The plan.
    pub(super) fn finish(self) -> Repair<'m> {
        let mut draft = Draft::new(self.source);
        let mut places = Vec::new();
        let mut waiting = Vec::new();
        let mut is_kept = vec![false; self.source.lines().len()];
        for sheet in self.state.sheets() {
            match self.state.get(sheet) {
                Sheet::New { bytes } => waiting.push(bytes.to_vec()),
                Sheet::Old { place, .. } => {
                    for bytes in waiting.drain(..) {
                        draft.add(Place::Before(place), bytes);
                    }
                    is_kept[place] = true;
                    places.push(place);
                }
            }
        }
        for bytes in waiting {
            draft.add(Place::End, bytes);
        }
        let gone: Vec<usize> = (0..is_kept.len()).filter(|place| !is_kept[*place]).collect();
        for place in &gone {
            draft.remove_line(*place);
        }
        if !places.is_sorted() {
            places.extend(gone);
            draft.reorder(places);
        }
        draft.changes = Arc::unwrap_or_clone(self.state.changes);
        let mut aside = Arc::unwrap_or_clone(self.state.aside);
        aside.sort_unstable();
        let line = |place: usize| Some((place as u64 + 1, self.source.lines().get(place)?.span));
        Repair {
            draft,
            fixes: self.fixes,
            aside: aside.into_iter().filter_map(line).collect(),
            left: self.left,
            session: match self.now {
                Now::Source(manuscript) => manuscript.session.clone(),
                Now::Changed(manuscript) => Arc::unwrap_or_clone(manuscript).session,
            },
        }
    }
}

/// The name of what a line follows, whether it is there or not.
pub(super) fn uuid_of(session: &crate::Session, parent: Parent) -> Option<EntryUuid> {
    match parent {
        Parent::Root => None,
        Parent::Node(id) => Some(session.node(id).uuid()),
        Parent::Missing(missing) => session.missing_uuid(missing).cloned(),
    }
}

pub(super) fn patched(bytes: &[u8], changes: &[&Change]) -> Option<Vec<u8>> {
    let mut patch = Patch::new(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).ok()?;
    for change in changes {
        change.apply(&mut patch).ok()?;
    }
    Some(patch.finish())
}
