//! A session up to some point.

use recto_log::EntryUuid;
use recto_log::Kind;

use crate::NodeId;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Link;
use crate::edit::Manuscript;
use crate::request::Generation;
use crate::request::history_to;
use crate::turns;

/// Where a fork ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkPoint {
    /// After the last line of a turn.
    Turn(u32),
    /// After a line.
    Line(EntryUuid),
}

/// The session up to a point: the conversation that led there, what belongs to
/// it, and nothing of other branches. It is chained line by line, so that every
/// client takes all of it. Gives the line that is resumed from.
pub fn fork<'m>(
    manuscript: &'m Manuscript,
    point: &ForkPoint,
) -> Result<(Draft<'m>, NodeId), EditError> {
    let session = &manuscript.session;
    let at = match point {
        ForkPoint::Line(uuid) => session
            .find(uuid)
            .filter(|id| !session.node(*id).flags.is_sidechain)
            .ok_or_else(|| EditError::NoLine { uuid: uuid.to_string() })?,
        ForkPoint::Turn(number) => last_line_of(manuscript, *number)?,
    };
    let mut parts = history_to(session, at, Generation::latest());
    // Nothing can go on from progress.
    let is_progress = |id: &mut NodeId| session.node(*id).kind == Kind::Progress;
    while parts.last_mut().is_some_and(|part| part.pop_if(is_progress).is_some()) {}
    let leaf = parts.last().and_then(|part| part.last()).copied();
    let leaf = leaf.ok_or(EditError::NoConversation)?;
    let mut is_kept = vec![false; session.node_count()];
    for id in parts.iter().flatten() {
        is_kept[id.index()] = true;
    }
    let end = parts.iter().flatten().map(|id| manuscript.place(*id)).max().unwrap_or(0);
    let mut draft = Draft::new(manuscript);
    for (place, line) in manuscript.lines().iter().enumerate() {
        let stays = match line.node {
            // Lines of subagents in the main log are not on the way.
            Some(id) if session.node(id).flags.is_sidechain => place < end,
            Some(id) => is_kept[id.index()] && manuscript.place(id) == place,
            // Damage makes some clients stop or refuse, and the source keeps it.
            None if line.kind == Kind::Opaque => false,
            None => place < end || is_title(line.kind),
        };
        if !stays {
            draft.remove_line(place);
        }
    }
    draft.relink();
    for part in &parts {
        draft.chain(Link::Root, part);
    }
    Ok((draft, leaf))
}

/// Titles are written again and again, so the last one may come after the end.
fn is_title(kind: Kind) -> bool {
    matches!(kind, Kind::CustomTitle | Kind::AiTitle | Kind::AgentName | Kind::Summary)
}

/// The last line of a turn that the newest clients would send or pass.
fn last_line_of(manuscript: &Manuscript, number: u32) -> Result<NodeId, EditError> {
    let session = &manuscript.session;
    let turns = turns(session);
    let last = u32::try_from(turns.len()).unwrap_or(u32::MAX);
    let turn = turns.numbered(session, number).ok_or(EditError::NoTurn { number, last })?;
    // A compaction ends a turn, but what it begins is no longer the turn.
    let boundaries = &session.facts().compactions;
    let is_boundary = |id: NodeId| boundaries.iter().any(|found| found.boundary == id);
    let main = turn.nodes.iter().copied();
    let main = main.filter(|id| !session.node(*id).flags.is_sidechain && !is_boundary(*id));
    main.max_by_key(|id| session.node(*id).line).ok_or(EditError::NoConversation)
}
