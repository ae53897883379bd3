//! Turns and answers to the `messages` of a request.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::replace_lone_surrogates;

use super::Generation;
use super::answer::tidy;
use super::client_text::NO_CONTENT;
use super::client_text::TOOL_LOADED;
use super::client_text::TOOL_USE_INTERRUPTED;
use super::client_text::wrap;
use super::group::Group;
use super::group::Reminder;
use super::group::Turn;
use super::group::group;
use super::group::join;
use super::pair::pair;
use super::piece::Piece;
use super::piece::PieceKind;
use super::render::Item;
use super::render::Rules;

/// A message of a request.
pub(super) enum Message {
    User(Vec<Piece>),
    Assistant(Vec<Piece>),
    System { text: Option<String>, effort: Option<String> },
}

/// Makes messages of what lines say.
pub(super) fn messages(items: Vec<Item>, rules: &Rules, effort: Option<&str>) -> Vec<Message> {
    let mut groups = group(items, rules.generation);
    if rules.generation == Generation::V2_1_300 {
        groups.iter_mut().for_each(fill_empty_answer);
    }
    let groups = pair(groups, rules.generation);
    let mut effort = effort.filter(|_| rules.model.says_effort());
    let mut messages = Vec::with_capacity(groups.len());
    for group in groups {
        match group {
            Group::Turn(turn) => add_turn(&mut messages, turn, rules.generation, &mut effort),
            Group::Answer { pieces, .. } if !pieces.is_empty() => {
                messages.push(Message::Assistant(tidy(pieces, rules.generation)));
            }
            Group::Answer { .. } if rules.generation >= Generation::V2_1_200 => {
                messages.push(Message::Assistant(vec![Piece::empty_answer(TOOL_USE_INTERRUPTED)]));
            }
            Group::Answer { .. } if rules.generation >= Generation::V2_1_100 => {
                messages.push(Message::Assistant(vec![Piece::empty_answer(NO_CONTENT)]));
            }
            Group::Answer { .. } => {}
        }
    }
    messages
}

/// An answer that never had a block says so; one that loses its calls says that they were
/// interrupted.
fn fill_empty_answer(group: &mut Group) {
    if let Group::Answer { pieces, .. } = group
        && pieces.is_empty()
    {
        pieces.push(Piece::empty_answer(NO_CONTENT));
    }
}

fn add_turn(
    messages: &mut Vec<Message>,
    mut turn: Turn,
    generation: Generation,
    effort: &mut Option<&str>,
) {
    // A message of the system follows one of the user.
    if generation == Generation::V2_1_300
        && turn.user.is_empty()
        && turn.reminders.is_empty()
        && !turn.system.is_empty()
    {
        let text = std::mem::take(&mut turn.system).join("\n\n");
        turn.reminders.push(Reminder { pieces: vec![Piece::text(&wrap(&text))] });
    }
    let sends_empty =
        matches!(generation, Generation::V2_1_100 | Generation::V2_1_200) && !turn.user.is_empty();
    // Where lines become one, results come first.
    let is_one_line = turn.user.len() == 1 && turn.reminders.is_empty();
    let keeps_order = generation >= Generation::V2_1_200 && is_one_line;
    let mut results = Vec::new();
    let mut texts = Vec::new();
    for pieces in turn.user {
        let meets_next = !pieces.last().is_some_and(Piece::is_result);
        let (of_tools, rest): (Vec<Piece>, Vec<Piece>) =
            pieces.into_iter().partition(|piece| keeps_order || piece.is_result());
        results.extend(of_tools);
        if !rest.is_empty() {
            texts.push((rest, meets_next));
        }
    }
    let mut others = Vec::new();
    if generation == Generation::V2_1_300
        && results.iter().any(|result| result.named_tools || result.has_reference())
    {
        others.push(Piece::text(TOOL_LOADED));
    }
    for (at, mut reminder) in turn.reminders.into_iter().enumerate() {
        // Several texts of one attachment at the start of a turn are messages
        // of their own, but for the last.
        if at == 0 && results.is_empty() && reminder.pieces.len() > 1 {
            let last = reminder.pieces.split_off(reminder.pieces.len() - 1);
            messages.extend(reminder.pieces.into_iter().map(|piece| Message::User(vec![piece])));
            others.extend(last);
        } else {
            others.append(&mut reminder.pieces);
        }
    }
    let mut meets = true;
    for (mut text, meets_next) in texts {
        if meets {
            join(&mut others, text, generation);
        } else {
            others.append(&mut text);
        }
        meets = meets_next;
    }
    results.append(&mut others);
    drop_blank_texts(&mut results, generation, messages.is_empty());
    let is_empty = results.is_empty();
    if !is_empty || sends_empty {
        messages.push(Message::User(results));
    }
    let text = (!turn.system.is_empty()).then(|| turn.system.join("\n\n"));
    match effort.take_if(|_| !is_empty) {
        Some(effort) => messages.push(Message::System { text, effort: Some(effort.into()) }),
        None if text.is_some() => messages.push(Message::System { text, effort: None }),
        None => {}
    }
}

/// Since 2.1.200, blank texts of the user go, unless a string is all there is to send. What
/// 2.1.200 says before everything else fills a first message that became empty.
fn drop_blank_texts(pieces: &mut Vec<Piece>, generation: Generation, is_first: bool) {
    let is_one_string = matches!(&pieces[..], [piece] if piece.is_string);
    if generation < Generation::V2_1_200 || pieces.is_empty() || is_one_string {
        return;
    }
    pieces.retain(|piece| !matches!(piece.kind, PieceKind::Text { is_blank: true }));
    if pieces.is_empty() && !(is_first && generation == Generation::V2_1_200) {
        pieces.push(Piece::text(NO_CONTENT));
    }
}

fn array(pieces: &[Piece]) -> Vec<u8> {
    pieces.iter().fold(ArrayWriter::new(), |array, piece| array.json(&piece.json)).finish()
}

impl Message {
    /// The message as compact JSON.
    pub(super) fn to_json(&self) -> Vec<u8> {
        let object = ObjectWriter::new();
        match self {
            Message::User(pieces) => object.string("role", "user").json("content", &array(pieces)),
            Message::Assistant(pieces) => {
                object.string("role", "assistant").json("content", &array(pieces))
            }
            Message::System { text, effort } => {
                let object = object.string("role", "system");
                let object = match text {
                    Some(text) => object.string("content", text),
                    None => object.json("content", b"[]"),
                };
                match effort {
                    Some(effort) => {
                        let config = ObjectWriter::new().string("effort", effort).finish();
                        object.json("output_config", &config)
                    }
                    None => object,
                }
            }
        }
        .finish()
    }
}

/// The messages as compact JSON.
pub(super) fn to_json(messages: Vec<Message>, generation: Generation) -> Vec<u8> {
    let mut array = ArrayWriter::new();
    for message in messages {
        array = array.json(&message_json(&message, generation));
    }
    array.finish()
}

/// One message as a client of a generation writes it.
pub(super) fn message_json(message: &Message, generation: Generation) -> Vec<u8> {
    let json = message.to_json();
    // Older clients send a lone surrogate as it is.
    if generation >= Generation::V2_1_200 { replace_lone_surrogates(json) } else { json }
}
