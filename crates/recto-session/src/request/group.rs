//! Items to turns and answers.

use super::Generation;
use super::beside::put_beside;
use super::piece::Piece;
use super::piece::PieceKind;
use super::render::AnswerId;
use super::render::Item;

/// Consecutive items of one role.
pub(super) enum Group {
    Turn(Turn),
    Answer { id: AnswerId, pieces: Vec<Piece> },
}

/// All that the model is told between two answers.
#[derive(Default)]
pub(super) struct Turn {
    /// What the user says, line by line, and results.
    pub(super) user: Vec<Vec<Piece>>,
    /// What the client says in between.
    pub(super) reminders: Vec<Reminder>,
    /// What the client says in a message of its own.
    pub(super) system: Vec<String>,
}

/// What the client says for one attachment.
pub(super) struct Reminder {
    pub(super) pieces: Vec<Piece>,
}

/// Gathers items.
pub(super) fn group(items: Vec<Item>, generation: Generation) -> Vec<Group> {
    let mut groups = Groups { generation, done: Vec::new(), turn: None };
    for item in items {
        groups.add(item);
    }
    let mut groups = groups.finish();
    drop_hollow_answers(&mut groups, generation);
    groups
}

/// Groups so far, and the turn that is still open.
struct Groups {
    generation: Generation,
    done: Vec<Group>,
    turn: Option<Turn>,
}

impl Groups {
    fn add(&mut self, item: Item) {
        let generation = self.generation;
        let is_old = generation < Generation::V2_1_100;
        match item {
            Item::User { pieces, .. }
                if pieces.is_empty() && (is_old || generation == Generation::V2_1_300) => {}
            Item::Answer { pieces, .. } if pieces.is_empty() && is_old => {}
            Item::User { pieces, joins } => {
                let user = &mut self.open_turn().user;
                match user.last_mut() {
                    Some(before) if joins => join(before, pieces, generation),
                    _ => user.push(pieces),
                }
            }
            Item::Reminder { pieces, folds } => {
                let turn = self.open_turn();
                if !(folds && put_beside(&mut turn.user, &pieces, generation)) {
                    turn.reminders.push(Reminder { pieces });
                }
            }
            Item::System(text) => self.open_turn().system.push(text),
            Item::Answer { id, pieces } => self.add_answer(id, pieces),
        }
    }

    fn open_turn(&mut self) -> &mut Turn {
        self.turn.get_or_insert_default()
    }

    /// Adds to the answer before if it is the same message; a turn with results
    /// may stand in between, except for the oldest clients.
    fn add_answer(&mut self, id: AnswerId, mut pieces: Vec<Piece>) {
        match self.known_answer(id) {
            Some(known) => known.append(&mut pieces),
            None => {
                self.done.extend(self.turn.take().map(Group::Turn));
                self.done.push(Group::Answer { id, pieces });
            }
        }
    }

    /// The answer before that is the same message. Since 2.1.200 it is looked for behind
    /// other answers too, up to what the user says.
    fn known_answer(&mut self, id: AnswerId) -> Option<&mut Vec<Piece>> {
        let generation = self.generation;
        if self.turn.as_ref().is_some_and(|turn| !can_pass(turn, generation)) {
            return None;
        }
        for group in self.done.iter_mut().rev() {
            match group {
                Group::Answer { id: other, pieces } if is_same(*other, id, generation) => {
                    return Some(pieces);
                }
                Group::Turn(turn) if can_pass(turn, generation) => {}
                Group::Answer { .. } if generation >= Generation::V2_1_200 => {}
                Group::Answer { .. } | Group::Turn(_) => return None,
            }
        }
        None
    }

    fn finish(mut self) -> Vec<Group> {
        self.done.extend(self.turn.take().map(Group::Turn));
        self.done
    }
}

/// Whether an answer goes on across a turn: the newest clients put what they tell behind
/// the results.
fn can_pass(turn: &Turn, generation: Generation) -> bool {
    let has_result = turn.user.iter().flatten().any(Piece::is_result);
    let is_told = generation == Generation::V2_1_300 && turn.user.is_empty();
    generation != Generation::V2_0_0 && (has_result || is_told)
}

/// Adds blocks to those of the line before; from 2.1.100 with a line end where
/// text meets text.
pub(super) fn join(before: &mut Vec<Piece>, pieces: Vec<Piece>, generation: Generation) {
    if generation >= Generation::V2_1_100
        && pieces.first().is_some_and(Piece::is_text)
        && let Some(last) = before.last_mut().filter(|last| last.is_text())
    {
        last.end_line();
    }
    before.extend(pieces);
}

/// Lines without a message id were one message up to 2.1.199.
fn is_same(one: AnswerId, other: AnswerId, generation: Generation) -> bool {
    one == other && (one != AnswerId::Unnamed || generation < Generation::V2_1_200)
}

/// 2.1.100 to 2.1.299: answers of thinking and blank text go; what was around
/// them is not joined any more.
fn drop_hollow_answers(groups: &mut Vec<Group>, generation: Generation) {
    if !matches!(generation, Generation::V2_1_100 | Generation::V2_1_200) {
        return;
    }
    let is_hollow = |piece: &Piece| {
        matches!(piece.kind, PieceKind::Thinking | PieceKind::Text { is_blank: true })
    };
    groups.retain(|group| match group {
        Group::Answer { pieces, .. } => pieces.is_empty() || !pieces.iter().all(is_hollow),
        Group::Turn(_) => true,
    });
}
