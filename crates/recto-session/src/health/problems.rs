//! What is wrong with a session, each with what follows from it.

use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::Severity;

use super::HealthProblem;
use super::MOST_PROBLEMS;
use super::MOST_REQUEST_BYTES;
use super::counts;
use super::fate::Fate;
use super::fate::Fates;
use super::fate::can_begin;
use crate::BlockFact;
use crate::Node;
use crate::NodeId;
use crate::Parent;
use crate::Session;
use crate::plural;
use crate::request::Generation;
use crate::request::Outcome;
use crate::request::Reach;
use crate::request::Sent;
use crate::with_marks;

/// A kind of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProblemClass {
    /// A client would not resume.
    NotResumed,
    /// The line that a line follows is not there.
    MissingParent,
    /// The line that a line follows is of an unknown type.
    UnknownInChain,
    /// The parents of a line lead back to it.
    Cycle,
    /// An answer or a result follows nothing.
    NoParent,
    /// The log has several beginnings.
    SeveralRoots,
    /// A user or assistant line says nothing.
    NoContent,
    /// A line of the chain has no uuid.
    NoUuid,
    /// A uuid occurs twice.
    RepeatedUuid,
    /// A line is no JSON object.
    DamagedLine,
    /// A line is `null`.
    NullLine,
    /// Lines say that they belong to another session.
    OtherSession,
    /// A tool call has no result.
    CallWithoutResult,
    /// A result has no call.
    ResultWithoutCall,
    /// A text block is empty.
    BlankText,
    /// Thinking has no signature.
    UnsignedThinking,
    /// A string holds half of a character.
    LoneSurrogate,
    /// The request is larger than the API takes.
    RequestTooLarge,
}

impl ProblemClass {
    /// All classes.
    pub const ALL: [ProblemClass; 18] = [
        ProblemClass::NotResumed,
        ProblemClass::MissingParent,
        ProblemClass::UnknownInChain,
        ProblemClass::Cycle,
        ProblemClass::NoParent,
        ProblemClass::SeveralRoots,
        ProblemClass::NoContent,
        ProblemClass::NoUuid,
        ProblemClass::RepeatedUuid,
        ProblemClass::DamagedLine,
        ProblemClass::NullLine,
        ProblemClass::OtherSession,
        ProblemClass::CallWithoutResult,
        ProblemClass::ResultWithoutCall,
        ProblemClass::BlankText,
        ProblemClass::UnsignedThinking,
        ProblemClass::LoneSurrogate,
        ProblemClass::RequestTooLarge,
    ];

    /// Whether a line does not follow what it should.
    pub fn is_broken_link(self) -> bool {
        matches!(
            self,
            ProblemClass::MissingParent
                | ProblemClass::UnknownInChain
                | ProblemClass::Cycle
                | ProblemClass::NoParent
                | ProblemClass::SeveralRoots
        )
    }

    /// A stable name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            ProblemClass::NotResumed => "not-resumed",
            ProblemClass::MissingParent => "missing-parent",
            ProblemClass::UnknownInChain => "unknown-in-chain",
            ProblemClass::Cycle => "cycle",
            ProblemClass::NoParent => "no-parent",
            ProblemClass::SeveralRoots => "several-roots",
            ProblemClass::NoContent => "no-content",
            ProblemClass::NoUuid => "no-uuid",
            ProblemClass::RepeatedUuid => "repeated-uuid",
            ProblemClass::DamagedLine => "damaged-line",
            ProblemClass::NullLine => "null-line",
            ProblemClass::OtherSession => "other-session",
            ProblemClass::CallWithoutResult => "call-without-result",
            ProblemClass::ResultWithoutCall => "result-without-call",
            ProblemClass::BlankText => "blank-text",
            ProblemClass::UnsignedThinking => "unsigned-thinking",
            ProblemClass::LoneSurrogate => "lone-surrogate",
            ProblemClass::RequestTooLarge => "request-too-large",
        }
    }
}

/// Problems as they are found.
#[derive(Default)]
pub(super) struct List {
    problems: Vec<HealthProblem>,
    counts: HashMap<ProblemClass, usize>,
    unlisted: u64,
}

impl List {
    fn add(
        &mut self,
        class: ProblemClass,
        severity: Severity,
        line: u64,
        consequence: impl Into<String>,
    ) {
        let count = self.counts.entry(class).or_default();
        *count += 1;
        if *count > MOST_PROBLEMS {
            self.unlisted += 1;
        } else {
            let consequence = consequence.into();
            self.problems.push(HealthProblem { class, severity, line, consequence });
        }
    }

    pub(super) fn finish(mut self) -> (Vec<HealthProblem>, u64) {
        self.problems.sort_by_key(|problem| (problem.line, problem.class));
        (self.problems, self.unlisted)
    }
}

/// What clients would do with a session.
#[derive(Clone, Copy)]
pub(super) struct Seen<'s> {
    /// The newest ones.
    pub(super) reach: &'s Reach,
    /// What becomes of each line in their hands.
    pub(super) fates: &'s Fates,
    /// Those that are as old as the log, where they lose prompts.
    pub(super) older: &'s [(Generation, Fates)],
}

/// Looks for everything that is known to go wrong, by what the newest clients
/// would do, and those that are as old as the log.
pub(super) fn find(
    session: &Session,
    seen: Seen<'_>,
    found_elsewhere: &dyn Fn(&EntryUuid) -> Option<String>,
    list: &mut List,
) {
    let Seen { reach, fates, older } = seen;
    let losses = Losses::new(session, fates);
    let older: Vec<(Generation, Losses)> = older
        .iter()
        .map(|(generation, fates)| (*generation, Losses::new(session, fates)))
        .collect();
    outcome(session, reach, list);
    links(session, fates, (&losses, &older), found_elsewhere, list);
    cycles(session, list);
    lines(session, list);
    calls(session, fates, list);
    blocks(session, reach, list);
}

/// How many lines of the conversation are lost at each line.
#[derive(Default)]
struct Losses {
    /// Empty if nothing is lost, as in most logs.
    at: Vec<u32>,
}

impl Losses {
    fn new(session: &Session, fates: &Fates) -> Losses {
        let mut losses = Losses::default();
        for (node, fate) in session.nodes().zip(fates.iter()) {
            if let Fate::Lost { at: line } = fate
                && counts(node)
            {
                losses.at.resize(session.node_count(), 0);
                losses.at[line.index()] += 1;
            }
        }
        losses
    }

    fn at(&self, id: NodeId) -> u64 {
        self.at.get(id.index()).copied().map_or(0, u64::from)
    }
}

fn outcome(session: &Session, reach: &Reach, list: &mut List) {
    if reach.outcome == Outcome::Resumed {
        return;
    }
    let why = reach.outcome.why().unwrap_or_default();
    let what = match reach.outcome {
        Outcome::Hangs { .. } => "would hang",
        Outcome::Refused { .. } | Outcome::Resumed => "would refuse the session",
    };
    let line = reach.leaf.map_or(0, |leaf| session.node(leaf).line);
    let text = format!("clients {} {what}: {why}", reach.generation);
    list.add(ProblemClass::NotResumed, Severity::Damage, line, text);
}

/// Lines that follow nothing, or something that is not there.
fn links(
    session: &Session,
    fates: &Fates,
    (losses, older): (&Losses, &[(Generation, Losses)]),
    found_elsewhere: &dyn Fn(&EntryUuid) -> Option<String>,
    list: &mut List,
) {
    let unknown = session.records.unknown.iter();
    let unknown: HashMap<&EntryUuid, (u64, &str)> =
        unknown.map(|line| (&line.uuid, (line.line, line.type_name.as_str()))).collect();
    let mut roots = Vec::new();
    for id in session.ids() {
        let node = session.node(id);
        if node.flags.is_sidechain {
            continue;
        }
        let is_reached = fates.of(id) == Fate::Sent;
        let lost = losses.at(id);
        let lost_by_older = older.iter().find(|(_, losses)| losses.at(id) > 0);
        let severity = match lost > 0 || lost_by_older.is_some() {
            true => Severity::Damage,
            false => Severity::Note,
        };
        let loss = || match lost_by_older {
            Some((generation, losses)) if lost == 0 => format!(
                "clients like {} would lose {} at line {}",
                generation.observed(),
                messages(losses.at(id)),
                with_marks(node.line)
            ),
            Some(_) | None => loss_text(node, is_reached, lost),
        };
        match node.parent {
            Parent::Node(_) => {}
            Parent::Missing(missing) => {
                let Some(uuid) = session.missing_uuid(missing) else { continue };
                if let Some((line, kind)) = unknown.get(uuid) {
                    let loss = loss();
                    let text = format!(
                        "{loss}: its parent, line {line}, is of the type \"{kind}\", which no client chains"
                    );
                    list.add(ProblemClass::UnknownInChain, severity, node.line, text);
                    continue;
                }
                let mut text = format!("{}: parent {uuid} is missing", loss());
                if let Some(place) = found_elsewhere(uuid) {
                    text += &format!("; found in {place}");
                }
                list.add(ProblemClass::MissingParent, severity, node.line, text);
            }
            Parent::Root if can_begin(node) => roots.push(id),
            Parent::Root => {
                let what = if node.has_result() { "a result" } else { "an answer" };
                let text = format!("{}: {what} that follows nothing", loss());
                list.add(ProblemClass::NoParent, severity, node.line, text);
            }
        }
    }
    several_roots(session, fates, &roots, list);
}

/// What is lost at a line whose link is broken, in words.
fn loss_text(node: Node<'_>, is_reached: bool, lost: u64) -> String {
    let line = with_marks(node.line);
    match (is_reached, lost) {
        (true, 0) if node.line == 1 => "the log begins in the middle of a conversation".into(),
        (true, 0) => format!("clients before 2.1.100 would lose what is before line {line}"),
        (true, lost) => format!("a resume would lose {} before line {line}", messages(lost)),
        (false, 0) => format!("line {line} is not reached"),
        (false, lost) => format!("a resume would lose {} from line {line} on", messages(lost)),
    }
}

/// Beginnings other than the first that are no compaction.
fn several_roots(session: &Session, fates: &Fates, roots: &[NodeId], list: &mut List) {
    let left = session.nodes().zip(fates.iter());
    let left = left.filter(|(node, fate)| counts(*node) && *fate == Fate::OtherBeginning).count();
    if left == 0 {
        return;
    }
    for id in roots.iter().skip(1) {
        let node = session.node(*id);
        if node.logical_parent.is_none() {
            let text = format!(
                "line {} has no parent; {} below other beginnings would be skipped",
                with_marks(node.line),
                messages(left as u64)
            );
            list.add(ProblemClass::SeveralRoots, Severity::Note, node.line, text);
        }
    }
}

/// One line of each cycle.
fn cycles(session: &Session, list: &mut List) {
    // In a cycle one line at least follows itself or a later one.
    let follows_earlier = |id: NodeId| session.parent(id).is_none_or(|parent| parent.0 < id.0);
    if session.ids().all(follows_earlier) {
        return;
    }
    // 0: not looked at; else the walk that passed the line.
    let mut passed = vec![0u32; session.node_count()];
    for (walk, start) in (1u32..).zip(session.ids()) {
        let mut at = Some(start);
        while let Some(id) = at {
            match passed[id.index()] {
                0 => passed[id.index()] = walk,
                other => {
                    if other == walk {
                        let line = session.node(id).line;
                        let text = format!(
                            "clients before 2.1.100 hang on every session of the project: the parents of line {} lead back to it",
                            with_marks(line)
                        );
                        list.add(ProblemClass::Cycle, Severity::Damage, line, text);
                    }
                    break;
                }
            }
            at = session.parent(id);
        }
    }
}

/// Lines that are damaged, say nothing, or are not of this session.
fn lines(session: &Session, list: &mut List) {
    for &line in &session.damaged {
        let is_null = session.first_null_line == Some(line);
        let (class, text) = if is_null {
            let text = "clients 2.1.0 to 2.1.199 read nothing after this line, clients 2.1.200 to 2.1.299 refuse the session";
            (ProblemClass::NullLine, text)
        } else if session.glued.binary_search(&line).is_ok() {
            let text =
                "two objects on one line: clients before 2.1.200 lose both, newer ones the second";
            (ProblemClass::DamagedLine, text)
        } else {
            (ProblemClass::DamagedLine, "the line is lost")
        };
        list.add(class, Severity::Damage, line, text);
    }
    for &line in &session.without_uuid {
        let text = "the line has no uuid: no client reaches it";
        list.add(ProblemClass::NoUuid, Severity::Damage, line, text);
    }
    for &line in &session.repeated {
        let text = "a later line has the same uuid and counts instead";
        list.add(ProblemClass::RepeatedUuid, Severity::Note, line, text);
    }
    for node in session.nodes().filter(|node| counts(*node) && !node.flags.has_content) {
        let text = "the line has no message: clients before 2.1.300 refuse the session";
        list.add(ProblemClass::NoContent, Severity::Damage, node.line, text);
    }
    let sessions = &session.records.sessions;
    let main = sessions.iter().map(|(_, lines, _)| *lines).max().unwrap_or(0);
    let mut others = sessions.iter().filter(|(_, lines, _)| *lines < main);
    // Forks of old clients keep the old id on the lines that they copy.
    for (name, lines, first) in others.by_ref() {
        let text = format!(
            "{} of session {name}, as forks of old clients keep them",
            plural(*lines, "line")
        );
        list.add(ProblemClass::OtherSession, Severity::Note, *first, text);
    }
}

/// Calls and results that are not pairs.
fn calls(session: &Session, fates: &Fates, list: &mut List) {
    let last = session.nodes().rfind(|node| node.kind == Kind::Assistant);
    let last = last.and_then(|last| last.message);
    for call in &session.facts().calls {
        let (class, id, text) = match (call.call, call.result) {
            (Some(id), None) => {
                let text = if session.node(id).message == last {
                    "the call was cut off: clients drop it, or say so to the model"
                } else {
                    "the call has no result: clients drop it; the API refuses it"
                };
                (ProblemClass::CallWithoutResult, id, text)
            }
            (None, Some(id)) => (
                ProblemClass::ResultWithoutCall,
                id,
                "the result has no call: clients since 2.1.0 drop it; the API refuses it",
            ),
            (Some(_), Some(_)) | (None, None) => continue,
        };
        let node = session.node(id);
        if counts(node) && !matches!(fates.of(id), Fate::Compacted | Fate::Branch) {
            list.add(class, Severity::Note, node.line, text);
        }
    }
}

/// What the API would refuse in the lines that are sent.
fn blocks(session: &Session, reach: &Reach, list: &mut List) {
    let mut bytes = 0;
    let mut seen = HashSet::new();
    for sent in &reach.sent {
        let Sent::Line(line) = sent else { continue };
        let node = session.node(line.node);
        bytes += u64::from(node.content_bytes);
        for block in &node.blocks {
            let (class, text) = match block {
                BlockFact::Text { is_blank: true } => {
                    (ProblemClass::BlankText, "an empty text block: the API refuses the request")
                }
                BlockFact::Thinking { is_signed: false } if session.needs_signature(node) => (
                    ProblemClass::UnsignedThinking,
                    "thinking without a signature: the API refuses the request",
                ),
                _ => continue,
            };
            if seen.insert((line.node, class)) {
                list.add(class, Severity::Damage, node.line, text);
            }
        }
        if node.flags.is_broken_text {
            let text = "half a character (or no UTF-8) in a string: clients before 2.1.200 send it and the API refuses it, newer ones replace it";
            list.add(ProblemClass::LoneSurrogate, Severity::Note, node.line, text);
        }
    }
    if bytes > MOST_REQUEST_BYTES {
        let line = reach.leaf.map_or(0, |leaf| session.node(leaf).line);
        let text = format!(
            "the request has {} MB, the API takes {} MB",
            bytes / 1024 / 1024,
            MOST_REQUEST_BYTES / 1024 / 1024
        );
        list.add(ProblemClass::RequestTooLarge, Severity::Damage, line, text);
    }
}

fn messages(number: u64) -> String {
    plural(number, "message")
}
