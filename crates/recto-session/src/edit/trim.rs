//! Less text, the same conversation: results become notes, pictures and
//! attachments go.
//!
//! Prompts, answers and thinking are never touched. Lines of subagents are not
//! either: no client sends them on resume.

use std::collections::HashSet;

use recto_log::Kind;

use crate::BlockFact;
use crate::LineSource;
use crate::NameId;
use crate::NodeId;
use crate::edit::EditError;
use crate::edit::Manuscript;
use crate::edit::Plan;
use crate::edit::budget::shrink_to;
use crate::edit::trimmer::Trimmer;

/// What is to be trimmed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrimOptions {
    /// Which results go, and how.
    pub results: Option<ResultPolicy>,
    /// Whether pictures and documents become notes.
    pub images: bool,
    /// Whether attachments go, but for prompts that were queued.
    pub attachments: bool,
    /// So many turns at the end are never touched.
    pub keep_last: u32,
    /// Trim more, the cheapest first, until a request has about so many tokens.
    pub to_tokens: Option<u64>,
    /// The session that notes point to: where the whole text still is.
    pub source: String,
}

/// Which results are trimmed: those that fit all conditions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResultPolicy {
    /// At least so many prompts came after them.
    pub older_than: Option<u32>,
    /// Their content is larger than so many bytes.
    pub larger_than: Option<u64>,
    /// They are of one of these tools; of any, if there are none.
    pub tools: Vec<String>,
    /// What becomes of them.
    pub action: ResultAction,
}

/// What becomes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultAction {
    /// A short note with its size and where it can be found.
    #[default]
    Note,
    /// It goes, and its call too.
    DropPair,
}

/// Trims a session.
pub fn trim<'m>(
    manuscript: &'m Manuscript,
    options: &TrimOptions,
    log: &dyn LineSource,
) -> Result<Plan<'m>, EditError> {
    let mut trimmer = Trimmer::new(manuscript, &options.source);
    if let Some(policy) = &options.results {
        match policy.action {
            ResultAction::Note => note_results(&mut trimmer, policy, options.keep_last, log)?,
            ResultAction::DropPair => drop_pairs(&mut trimmer, policy, options.keep_last, log)?,
        }
    }
    if options.images {
        for id in lines(&trimmer, options.keep_last) {
            trimmer.note_images(id, log)?;
        }
    }
    if options.attachments {
        for id in lines(&trimmer, options.keep_last) {
            trimmer.drop_attachment(id);
        }
    }
    if let Some(tokens) = options.to_tokens {
        shrink_to(&mut trimmer, tokens, options.keep_last, log)?;
    }
    trimmer.finish(options.to_tokens, log)
}

/// The lines that may be touched.
pub(super) fn lines(trimmer: &Trimmer<'_>, keep_last: u32) -> Vec<NodeId> {
    let session = &trimmer.manuscript.session;
    let may =
        |id: &NodeId| !session.node(*id).flags.is_sidechain && trimmer.ages.age(*id) >= keep_last;
    session.ids().filter(may).collect()
}

/// Whether a result is of one of the tools that were asked for.
fn fits(trimmer: &Trimmer<'_>, call: NameId, policy: &ResultPolicy) -> bool {
    let session = &trimmer.manuscript.session;
    let name = session.facts().call(call).and_then(|call| call.name);
    policy.tools.is_empty()
        || name.is_some_and(|name| policy.tools.iter().any(|tool| tool == session.name(name)))
}

/// The results that fit, but for their size, with the lines that they are in.
fn results(
    trimmer: &Trimmer<'_>,
    policy: &ResultPolicy,
    keep_last: u32,
) -> Vec<(NodeId, usize, NameId)> {
    let session = &trimmer.manuscript.session;
    let mut found = Vec::new();
    for id in lines(trimmer, keep_last.max(policy.older_than.unwrap_or(0))) {
        let node = session.node(id);
        // A line that is not larger has no result that is.
        let is_small = |most| u64::from(node.content_bytes) <= most;
        if node.kind != Kind::User || policy.larger_than.is_some_and(is_small) {
            continue;
        }
        for (place, block) in node.blocks.iter().enumerate() {
            if let BlockFact::ToolResult { id: call, .. } = *block
                && fits(trimmer, call, policy)
            {
                found.push((id, place, call));
            }
        }
    }
    found
}

fn note_results(
    trimmer: &mut Trimmer<'_>,
    policy: &ResultPolicy,
    keep_last: u32,
    log: &dyn LineSource,
) -> Result<(), EditError> {
    let least = policy.larger_than.unwrap_or(0);
    let found = results(trimmer, policy, keep_last);
    for group in found.chunk_by(|one, other| one.0 == other.0) {
        let places: Vec<usize> = group.iter().map(|(_, place, _)| *place).collect();
        trimmer.note_results(group[0].0, &places, least, log)?;
    }
    Ok(())
}

fn drop_pairs(
    trimmer: &mut Trimmer<'_>,
    policy: &ResultPolicy,
    keep_last: u32,
    log: &dyn LineSource,
) -> Result<(), EditError> {
    let mut calls = HashSet::new();
    for (id, place, call) in results(trimmer, policy, keep_last) {
        let is_large = match policy.larger_than {
            Some(least) => trimmer.result_bytes(id, place, log)? > least,
            None => true,
        };
        if is_large {
            calls.insert(call);
        }
    }
    trimmer.drop_calls(&calls);
    Ok(())
}
