//! A text in one session: every place where it is, in the order of the log.

use std::collections::HashMap;

use recto_session::Item;
use recto_session::NodeId;
use recto_session::items;
use recto_session::search::Expression;
use recto_session::search::ExpressionOptions;
use serde::Serialize;

use crate::Reading;
use crate::error::ViewError;
use crate::library::Asker;

/// How many places are listed.
const MOST_PLACES: usize = 5000;

/// What is looked for in a session.
#[derive(Debug, Clone)]
pub struct FindQuery {
    /// The text, or the regular expression.
    pub text: String,
    /// Whether it is a regular expression.
    pub is_regex: bool,
}

/// The places of a text in a session.
#[derive(Debug, Serialize)]
pub struct FoundPlaces {
    /// How often the text is there.
    pub total: usize,
    /// In which items, in the order of the log; 5,000 at most.
    pub places: Vec<FoundPlace>,
}

/// An item that has the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FoundPlace {
    /// Its turn.
    pub turn: u32,
    /// The line that it is shown with; a result is shown with its call.
    pub line: u64,
    /// How many lines of the turn come before that line.
    pub skip: usize,
    /// How often the item has the text.
    pub count: usize,
}

/// Looks for a text in what a session shows. Letters match in both cases.
pub fn find_in(
    reading: &Reading,
    query: &FindQuery,
    asker: &Asker,
) -> Result<FoundPlaces, ViewError> {
    if query.text.is_empty() {
        return Err(ViewError::refused("bad-query", "`q` is empty"));
    }
    let options = ExpressionOptions {
        ignores_case: true,
        is_literal: !query.is_regex,
        ..ExpressionOptions::default()
    };
    let expression = Expression::new(&query.text, options).map_err(|error| {
        let message = error.message.lines().last().unwrap_or_default().to_owned();
        ViewError::refused("bad-query", message).with_hint("check the regular expression")
    })?;
    let session = reading.session();
    let calls = session.facts().calls.iter();
    let call_of: HashMap<NodeId, NodeId> =
        calls.filter_map(|call| Some((call.result?, call.call?))).collect();
    let mut found = FoundPlaces { total: 0, places: Vec::new() };
    for at in 0..reading.turns.len() {
        if !asker.is_waiting() {
            break;
        }
        let nodes = reading.turns.nodes(at);
        for (skip, id) in nodes.iter().enumerate() {
            let count = |entry: &recto_log::Entry<'_>| -> usize {
                items(entry).iter().map(|item| count_in(&expression, item)).sum()
            };
            let count = reading.loaded.with_entry(*id, count).unwrap_or(0);
            if count == 0 {
                continue;
            }
            found.total += count;
            // A call and its result are one place.
            let shown = call_of.get(id).copied().unwrap_or(*id);
            let place = FoundPlace {
                turn: reading.turn_number(shown).max(1),
                line: session.node(shown).line,
                skip: nodes.iter().position(|node| *node == shown).unwrap_or(skip),
                count,
            };
            let known = found.places.iter_mut().rev().take(64);
            if let Some(known) = known.into_iter().find(|known| known.line == place.line) {
                known.count += count;
            } else if found.places.len() < MOST_PLACES {
                found.places.push(place);
            }
        }
    }
    Ok(found)
}

fn count_in(expression: &Expression, item: &Item) -> usize {
    let count =
        |text: &str| expression.regex().find_iter(text).filter(|one| !one.is_empty()).count();
    match item {
        Item::Prompt { text, .. }
        | Item::Answer { text }
        | Item::Thinking { text }
        | Item::Result { text, .. } => count(text),
        // What the client adds for the model is not shown.
        Item::Note { kind: recto_session::NoteKind::Meta, .. } => 0,
        Item::Note { text, .. } => count(text),
        Item::Call { input, name, .. } => count(name) + count(&String::from_utf8_lossy(input)),
    }
}
