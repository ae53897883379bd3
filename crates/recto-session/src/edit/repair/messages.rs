//! Answers: their message id and their model.

use std::collections::HashMap;

use recto_log::Kind;

use super::Fix;
use super::bench::Bench;
use super::bench::Edit;
use super::step::Step;
use crate::NameId;
use crate::NodeId;
use crate::Session;
use crate::edit::Change;
use crate::edit::EditError;
use crate::request::Generation;
use crate::request::Hang;
use crate::request::Outcome;
use crate::request::reach;

/// Without one id for all lines of an answer clients lose its thinking and its
/// parallel calls. Lines of one request are one answer; lines without an id
/// are one with those that they follow.
pub(super) fn message_ids(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    let session = &bench.now.session;
    let mut steps = Vec::new();
    let mut add = |id: NodeId, message: &str, words: &str| {
        let change = Change::set_string(["message".into(), "id".into()], message);
        steps.push(Step::new(
            Fix::MessageId,
            bench.number_of(id),
            format!("{words}: {message}"),
            Edit::Change(bench.sheet_of(id), change),
        ));
    };
    let requests = Requests::new(session);
    for id in session.ids() {
        let node = session.node(id);
        if node.kind != Kind::Assistant || !node.flags.has_message || node.flags.is_sidechain {
            continue;
        }
        let first = requests.first_line(session, id);
        match (node.message, session.node(first).message) {
            (Some(own), Some(name)) if own != name => {
                add(id, session.name(name), "the line is part of the answer of its request");
            }
            (None, Some(name)) => add(id, session.name(name), "the line gets a message id"),
            (None, None) => {
                let uuid = session.node(first).uuid().to_string().replace('-', "");
                add(id, &format!("msg_{uuid}"), "the line gets a message id");
            }
            (Some(_), Some(_) | None) => {}
        }
    }
    Ok(steps)
}

/// An answer has at most so many lines.
const MOST_RUN: usize = 1000;

/// The requests that answers came from.
struct Requests {
    by_message: HashMap<NameId, NameId>,
}

impl Requests {
    fn new(session: &Session) -> Requests {
        let messages = session.facts().messages.iter();
        let real = messages.filter(|message| !message.is_synthetic && !message.is_api_error);
        let requests = real.filter_map(|message| Some((message.id, message.request?)));
        Requests { by_message: requests.collect() }
    }

    /// The first line of the answer that a line is part of. Lines are one
    /// answer if they follow each other, and have no message id or are of one
    /// request.
    fn first_line(&self, session: &Session, id: NodeId) -> NodeId {
        let mut first = id;
        for _ in 0..MOST_RUN {
            let Some(above) = session.parent(first) else { break };
            let (node, upper) = (session.node(first), session.node(above));
            let is_one = match (node.message, upper.message) {
                (Some(own), Some(other)) => own == other || self.are_one(own, other),
                (None, _) => !upper.flags.is_synthetic,
                (Some(_), None) => false,
            };
            if upper.kind != Kind::Assistant || !is_one {
                break;
            }
            first = above;
        }
        first
    }

    fn are_one(&self, own: NameId, other: NameId) -> bool {
        let request = self.by_message.get(&own);
        request.is_some() && request == self.by_message.get(&other)
    }
}

/// Clients 2.1.200 to 2.1.299 hang if the last answer names no model.
pub(super) fn models(bench: &mut Bench<'_, '_, '_>) -> Result<Vec<Step>, EditError> {
    if !bench.generations.contains(&Generation::V2_1_200) {
        return Ok(Vec::new());
    }
    let session = &bench.now.session;
    let Outcome::Hangs { why: Hang::NoModel { line } } =
        reach(session, Generation::V2_1_200).outcome
    else {
        return Ok(Vec::new());
    };
    let place = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
    let answers = session.nodes().filter_map(|node| node.model);
    let requests = session.records.requests.iter().filter_map(|request| request.model);
    let mut names = requests.chain(answers).map(|model| session.name(model));
    let is_model = |name: &&str| !name.is_empty() && !name.starts_with('<');
    let Some(model) = names.rfind(is_model) else { return Ok(Vec::new()) };
    let change = Change::set_string(["message".into(), "model".into()], model);
    Ok(vec![Step::new(
        Fix::Model,
        bench.number(place),
        format!("the last answer names the model of another: {model}"),
        Edit::Change(bench.sheet(place), change),
    )])
}
