//! Turns and answers to the `messages` of a request.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use recto_log::json::replace_lone_surrogates;
use recto_log::json::write_string;

use super::Generation;
use super::answer::tidy;
use super::client_text::NO_CONTENT;
use super::client_text::TOOL_LOADED;
use super::client_text::wrap;
use super::group::Group;
use super::group::Reminder;
use super::group::Turn;
use super::group::group;
use super::group::join;
use super::pair::pair;
use super::piece::Piece;
use super::piece::with_line_end;
use super::render::Item;
use super::render::Rules;
use crate::fold::client_text::trim;

/// A message of a request.
pub(super) enum Message {
    User(Vec<Piece>),
    Assistant(Vec<Piece>),
    System { text: Option<String>, effort: Option<String> },
}

/// Makes messages of what lines say.
pub(super) fn messages(items: Vec<Item>, rules: &Rules, effort: Option<&str>) -> Vec<Message> {
    let groups = pair(group(items, rules.generation), rules.generation);
    let mut effort = effort.filter(|_| rules.model.says_effort());
    let mut messages = Vec::with_capacity(groups.len());
    for group in groups {
        match group {
            Group::Turn(turn) => add_turn(&mut messages, turn, rules.generation, &mut effort),
            Group::Answer { pieces, .. } if !pieces.is_empty() => {
                messages.push(Message::Assistant(tidy(pieces, rules.generation)));
            }
            Group::Answer { .. } if rules.generation >= Generation::V2_1_100 => {
                messages.push(Message::Assistant(vec![Piece::empty_answer(NO_CONTENT)]));
            }
            Group::Answer { .. } => {}
        }
    }
    messages
}

fn add_turn(
    messages: &mut Vec<Message>,
    mut turn: Turn,
    generation: Generation,
    effort: &mut Option<&str>,
) {
    // A message of the system follows one of the user.
    if generation == Generation::V2_1_300 && turn.user.is_empty() && turn.reminders.is_empty() {
        let texts = turn.system.drain(..);
        let pieces = texts.map(|text| Piece::text(&wrap(&text))).collect();
        turn.reminders.push(Reminder { pieces, folds: false });
    }
    let sends_empty =
        matches!(generation, Generation::V2_1_100 | Generation::V2_1_200) && !turn.user.is_empty();
    let mut results = Vec::new();
    let mut texts = Vec::new();
    for pieces in turn.user {
        let (of_tools, rest): (Vec<Piece>, Vec<Piece>) =
            pieces.into_iter().partition(Piece::is_result);
        results.extend(of_tools);
        if !rest.is_empty() {
            texts.push(rest);
        }
    }
    let (folded, reminders): (Vec<Reminder>, Vec<Reminder>) = turn
        .reminders
        .into_iter()
        .partition(|reminder| results.last().is_some_and(|last| folds(last, reminder, generation)));
    if let Some(last) = results.last_mut() {
        fold(last, &folded);
    }
    let mut others = Vec::new();
    if generation == Generation::V2_1_300 && results.iter().any(Piece::has_reference) {
        others.push(Piece::text(TOOL_LOADED));
    }
    for (at, mut reminder) in reminders.into_iter().enumerate() {
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
    for text in texts {
        join(&mut others, text, generation);
    }
    results.append(&mut others);
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

/// Whether a reminder beside a result goes into the result's own text.
fn folds(result: &Piece, reminder: &Reminder, generation: Generation) -> bool {
    let content = result.get("content");
    reminder.folds
        && !result.has_reference()
        && content.is_some_and(|content| {
            content.is_string() || (generation == Generation::V2_1_300 && content.is_array())
        })
}

fn fold(result: &mut Piece, reminders: &[Reminder]) {
    let texts: Vec<&Piece> = reminders.iter().flat_map(|reminder| &reminder.pieces).collect();
    if texts.is_empty() {
        return;
    }
    let Some(content) = result.get("content") else { return };
    let folded = match content.as_str() {
        Some(text) => {
            let own = trim(&text);
            let mut parts: Vec<_> = texts.iter().map(|piece| piece.text_inside()).collect();
            if !own.is_empty() {
                parts.insert(0, own.into());
            }
            let mut folded = Vec::new();
            write_string(&mut folded, &parts.join("\n\n"));
            folded
        }
        None => fold_blocks(content, &texts),
    };
    result.set("content", &folded);
}

fn fold_blocks(content: Value<'_>, texts: &[&Piece]) -> Vec<u8> {
    let mut blocks: Vec<Piece> = content.elements().map(Piece::read).collect();
    for text in texts {
        if let Some(last) = blocks.last_mut().filter(|last| last.is_text())
            && let Some(longer) = last.get("text").and_then(with_line_end)
        {
            last.set("text", &longer);
        }
        blocks.push(Piece::text(&text.text_inside()));
    }
    array(&blocks)
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
