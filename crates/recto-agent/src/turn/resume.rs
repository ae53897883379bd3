//! A conversation that goes on: what was said, and where the next line hangs.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::io::Seek as _;
use std::io::SeekFrom;
use std::path::Path;

use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::Role;
use recto_session::BlockFact;
use recto_session::LineSource;
use recto_session::NodeId;
use recto_session::Parent;
use recto_session::Session;
use recto_session::health::estimated_tokens;
use recto_session::health::reach_summary;
use recto_session::request::Addition;
use recto_session::request::DropReason;
use recto_session::request::Dropped;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::request::Reach;
use recto_session::request::RequestOptions;
use recto_session::request::Sent;
use recto_session::request::reach;
use recto_session::request::reach_from;
use recto_session::request::request;
use recto_store::Loaded;
use recto_store::Mended;
use recto_store::StoreError;

use super::history::plain;
use super::sound::sound;
use super::totals::ModelTotals;
use super::totals::money;
use crate::wire::Block;
use crate::wire::Json;
use crate::wire::Message;

/// Why a session does not go on.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// The log cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is nothing in it to go on from.
    #[error("{0}")]
    Refused(String),
    /// No message has the uuid that was named.
    #[error("No message found with message.uuid of: {0}")]
    NoMessage(String),
    /// More or less would be left out than the turn that was named.
    #[error("Resume rejected by --resume-drops-turn: {0}")]
    OtherTurn(String),
}

/// Where a conversation is cut before it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The last message to keep.
    pub at: String,
    /// The prompt of the one turn that may be left out.
    pub drops: Option<String>,
}

/// What a log says to a client that goes on with it.
#[derive(Debug, Clone, Default)]
pub struct Resumed {
    pub(super) messages: Vec<Message>,
    pub(super) leaf: Option<EntryUuid>,
    pub(super) turns: u64,
    pub(super) lines: u64,
    /// Calls without a result, each with the line that has it.
    pub(super) open_calls: Vec<(String, EntryUuid)>,
    /// The last prompt was never answered.
    pub(super) needs_answer: bool,
    /// The model that answered last.
    pub model: Option<String>,
    /// The kind of agent that the session is now run as.
    pub(super) runs_as: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// What was put right or left out, in words.
    pub told: Vec<String>,
    /// The tools that were called.
    pub(super) tools: BTreeSet<String>,
    /// Its name in words.
    pub(super) slug: Option<String>,
    /// What the session cost so far, by model.
    pub(super) spent: Vec<(String, ModelTotals)>,
}

impl Resumed {
    /// Reads a log. `model` is the one that will be asked; `at` is the last message to keep.
    /// What is wrong with the log is put right here, and told; the file stays as it is.
    pub fn read(
        path: &Path,
        model: Option<&str>,
        at: Option<&Cut>,
    ) -> Result<Resumed, ResumeError> {
        let loaded = Loaded::read_as(path, Generation::latest())?;
        let session = &loaded.session;
        let mut resumed = Resumed {
            turns: prompts(session),
            lines: session.nodes().len() as u64,
            model: last_model(session),
            title: session.meta.custom_title.clone(),
            tools: tools(session),
            spent: spent(path),
            slug: last_slug(path),
            ..Resumed::default()
        };
        let reach = match at {
            Some(Cut { at, drops }) => {
                let none = || ResumeError::NoMessage(at.to_owned());
                let leaf = session.find(&EntryUuid::new(at)).ok_or_else(none)?;
                if let Some(prompt) = drops {
                    check_dropped(session, leaf, prompt)?;
                }
                reach_from(session, Generation::latest(), leaf)
            }
            None => reach(session, Generation::latest()),
        };
        if reach.outcome == Outcome::Resumed {
            resumed.note_open(session, &reach);
        }
        resumed.leaf = reach.leaf.map(|leaf| session.node(leaf).uuid());
        let mended = match at.is_some() || is_whole(session, &reach) {
            true => None,
            false => Mended::read(path)?,
        };
        match &mended {
            Some(mended) => {
                resumed.take(&mended.session, &mended.reach, mended, model)?;
                resumed.leaf = known_leaf(mended, session).or(resumed.leaf);
                resumed.told.push(mended_words(mended, path));
            }
            None => resumed.take(session, &reach, &loaded, model)?,
        }
        Ok(resumed)
    }

    /// The last calls of the conversation with their results, in its order.
    pub fn last_calls(&self, most: usize) -> Vec<Block> {
        let mut found = Vec::new();
        let mut calls = 0;
        let blocks =
            self.messages.iter().rev().flat_map(|message| message.blocks().into_iter().rev());
        for block in blocks {
            let kind = block.kind();
            if kind == "tool_use" {
                calls += 1;
            }
            if calls > most {
                break;
            }
            if matches!(kind.as_str(), "tool_use" | "tool_result") {
                found.push(block);
            }
        }
        found.reverse();
        found
    }

    /// The messages of what is sent.
    fn take(
        &mut self,
        session: &Session,
        reach: &Reach,
        log: &dyn LineSource,
        model: Option<&str>,
    ) -> Result<(), ResumeError> {
        if let Outcome::Refused { .. } | Outcome::Hangs { .. } = reach.outcome {
            return Err(ResumeError::Refused(reach.outcome.why().unwrap_or_default()));
        }
        let options =
            RequestOptions { model: model.map(str::to_owned), ..RequestOptions::default() };
        let request = request(session, reach, log, &options);
        if let Some(size) = request.too_large {
            return Err(ResumeError::Refused(size.to_string()));
        }
        let lost = request.unreadable.len();
        if lost > 0 {
            self.told.push(format!("unreadable lines in the log: {lost}"));
        }
        let is_foreign = |dropped: &&Dropped| dropped.reason == DropReason::ForeignThinking;
        let foreign = request.dropped.iter().filter(is_foreign).count();
        if foreign > 0 {
            self.told.push(format!("omitted thinking signed by another model: {foreign} lines"));
        }
        let messages = plain(Message::all_of(request.messages).unwrap_or_default());
        let (messages, changed) = sound(messages);
        if changed > 0 {
            self.told.push(format!("omitted blocks that no endpoint accepts: {changed}"));
        }
        self.messages = messages;
        // Endpoints want to hear the user first.
        if self.messages.first().is_some_and(|first| first.role() != Some(Role::User)) {
            self.messages.insert(0, Message::user([Block::text(LOST_BEGINNING)]));
        }
        Ok(())
    }

    /// What a client that was cut off left open.
    fn note_open(&mut self, session: &Session, reach: &Reach) {
        for sent in &reach.sent {
            match sent {
                Sent::Added(Addition::Interrupted { calls }) => {
                    for call in calls.iter() {
                        let id = session.name(*call).to_owned();
                        let line = session.ids().find(|line| has_call(session, *line, &id));
                        if let Some(line) = line {
                            self.open_calls.push((id, session.node(line).uuid()));
                        }
                    }
                }
                Sent::Added(Addition::NoResponse) => self.needs_answer = true,
                Sent::Added(Addition::Continue) | Sent::Line(_) => {}
            }
        }
    }

    /// Makes the conversation smaller until it has about so many tokens; whether it was too
    /// large. Results become notes first, the old and large ones before others; then the oldest
    /// turns go. What was said last stays. The log keeps everything.
    pub fn fit(&mut self, tokens: u64) -> bool {
        let before: u64 = self.messages.iter().map(size).sum();
        if before <= tokens {
            return false;
        }
        let last = (0..self.messages.len()).rev().find(|at| is_prompt(&self.messages[*at]));
        let (mut total, noted) = self.note_results(before, tokens, last.unwrap_or_default());
        let mut first = 0;
        while total > tokens {
            // A turn begins with a prompt of the user.
            let next = (first + 1..self.messages.len()).find(|at| is_prompt(&self.messages[*at]));
            let Some(next) = next else { break };
            total -= self.messages[first..next].iter().map(size).sum::<u64>();
            first = next;
        }
        self.messages.drain(..first);
        self.told.push(format!(
            "about {before} tokens became {total}: results replaced with notes: {noted}, oldest messages omitted: {first}; the log still has everything"
        ));
        true
    }

    /// Turns results before a message into notes, as far as needed; the size by then, and how
    /// many.
    fn note_results(&mut self, mut total: u64, tokens: u64, last: usize) -> (u64, u64) {
        let worth = |at: &usize| size(&self.messages[*at]) * (last - at) as u64;
        let has_result = |at: &usize| !is_prompt(&self.messages[*at]);
        let mut places: Vec<usize> = (0..last).filter(has_result).collect();
        places.sort_by_cached_key(|at| std::cmp::Reverse(worth(at)));
        let mut noted = 0;
        for at in places {
            if total <= tokens {
                break;
            }
            let before = size(&self.messages[at]);
            let mut is_changed = false;
            let blocks = self.messages[at].blocks();
            let blocks: Vec<Block> = blocks
                .into_iter()
                .map(|block| match note(&block) {
                    Some(note) => {
                        is_changed = true;
                        noted += 1;
                        note
                    }
                    None => block,
                })
                .collect();
            if is_changed {
                self.messages[at] = self.messages[at].with_blocks(&blocks);
                total -= before.saturating_sub(size(&self.messages[at]));
            }
        }
        (total, noted)
    }
}

/// What stands for prompts that a log has lost.
const LOST_BEGINNING: &str = "[The beginning of this conversation is lost.]";

/// Results up to this many bytes are not worth a note.
const SMALL_RESULT: usize = 400;

/// A note in place of a large result.
fn note(block: &Block) -> Option<Block> {
    let content = block.json().get("content")?;
    if block.kind() != "tool_result" || content.bytes().len() <= SMALL_RESULT {
        return None;
    }
    let note = format!("[A result of {} bytes was omitted to save space.]", content.bytes().len());
    Some(block.json().with("content", Json::string(&note).bytes()).into())
}

/// About how many tokens a message has.
fn size(message: &Message) -> u64 {
    estimated_tokens(message.json().bytes().len() as u64)
}

fn is_prompt(message: &Message) -> bool {
    message.role() == Some(Role::User)
        && !message.blocks().iter().any(|block| block.kind() == "tool_result")
}

/// Whether a client that resumes loses nothing. Where it might, a repair looks closer.
fn is_whole(session: &Session, reach: &Reach) -> bool {
    let is_missing = |node: recto_session::Node<'_>| matches!(node.parent, Parent::Missing(_));
    let are_lines_whole = session.damaged.is_empty()
        && session.repeated.is_empty()
        && session.without_uuid.is_empty()
        && session.first_null_line.is_none();
    are_lines_whole
        && reach.outcome == Outcome::Resumed
        && !session.nodes().any(is_missing)
        && reach_summary(session, reach).is_whole()
}

/// Where the next line hangs: on the last line of the mended log that is in the file.
fn known_leaf(mended: &Mended, file: &Session) -> Option<EntryUuid> {
    let mut at = mended.reach.leaf;
    // A repair leaves no circles, but nothing here relies on it.
    for _ in 0..mended.session.node_count() {
        let node = mended.session.node(at?);
        if file.find(&node.uuid()).is_some() {
            return Some(node.uuid());
        }
        at = match node.parent {
            Parent::Node(above) => Some(above),
            Parent::Root | Parent::Missing(_) => None,
        };
    }
    None
}

/// What was put right, in one line.
fn mended_words(mended: &Mended, path: &Path) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for fix in &mended.fixes {
        match counts.iter_mut().find(|(name, _)| *name == fix.fix.name()) {
            Some((_, count)) => *count += 1,
            None => counts.push((fix.fix.name(), 1)),
        }
    }
    let fixes: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    let session = path.file_stem().unwrap_or_default().to_string_lossy();
    format!(
        "repaired for this run: {}; `recto repair {session} --in-place` repairs the log itself",
        fixes.join(", ")
    )
}

/// The tools that were called, by the names of their time.
fn tools(session: &Session) -> BTreeSet<String> {
    let names = session.facts().calls.iter().filter_map(|call| call.name);
    names.map(|name| session.name(name).to_owned()).collect()
}

fn has_call(session: &Session, line: NodeId, id: &str) -> bool {
    session.node(line).blocks.iter().any(|block| match block {
        BlockFact::ToolUse { id: known, .. } => session.name(*known) == id,
        _ => false,
    })
}

fn prompts(session: &Session) -> u64 {
    session.nodes().filter(is_prompt_line).count() as u64
}

fn is_prompt_line(node: &recto_session::Node<'_>) -> bool {
    node.kind == Kind::User && !node.has_result() && !node.flags.is_meta && !node.flags.is_sidechain
}

/// Fails unless what follows a line is exactly the turn of a prompt.
fn check_dropped(session: &Session, kept: NodeId, prompt: &str) -> Result<(), ResumeError> {
    let whole = reach(session, Generation::latest());
    let other = |why: &str| ResumeError::OtherTurn(why.to_owned());
    let Some(at) = whole.chain.iter().position(|line| *line == kept) else {
        return Err(other("the message to keep is not part of the current conversation"));
    };
    let dropped = whole.chain.iter().skip(at + 1).map(|line| session.node(*line));
    let prompts: Vec<EntryUuid> = dropped.filter(is_prompt_line).map(|node| node.uuid()).collect();
    match prompts.as_slice() {
        [] => Err(other("no turn follows the message to keep")),
        [one] if *one == EntryUuid::new(prompt) => Ok(()),
        [one] => Err(other(&format!("the turn that follows is that of prompt {one}"))),
        [first, ..] => {
            let count = prompts.len();
            Err(other(&format!("{count} turns follow, the first is that of prompt {first}")))
        }
    }
}

fn last_model(session: &Session) -> Option<String> {
    let models = session.facts().messages.iter().rev();
    let model = models.filter(|message| !message.is_synthetic).find_map(|message| message.model)?;
    Some(session.name(model).to_owned())
}

/// How much of the end of a log is looked at for what it cost.
const TAIL: u64 = 512 << 10;

/// What the last `cost-state` line near the end of a log says.
fn spent(path: &Path) -> Vec<(String, ModelTotals)> {
    let Some(line) = last_cost_line(path) else { return Vec::new() };
    let Ok(line) = serde_json::from_slice::<serde_json::Value>(&line) else { return Vec::new() };
    let models = line["modelUsage"].as_object().into_iter().flatten();
    let of = |(name, usage): (&String, &serde_json::Value)| {
        let number = |key: &str| usage[key].as_u64().unwrap_or_default();
        let totals = ModelTotals {
            input: number("inputTokens"),
            output: number("outputTokens"),
            thinking: number("thinkingTokens"),
            cache_read: number("cacheReadInputTokens"),
            cache_write: number("cacheCreationInputTokens"),
            cache_write_1h: number("cacheCreationEphemeral1hInputTokens"),
            web_searches: number("webSearchRequests"),
            web_fetches: 0,
            cost: money(usage["costUSD"].as_f64().unwrap_or_default()),
        };
        (name.clone(), totals)
    };
    models.map(of).collect()
}

fn last_cost_line(path: &Path) -> Option<Vec<u8>> {
    let tail = tail(path)?;
    let lines = tail.split(|byte| *byte == b'\n').rev();
    let is_cost = |line: &&[u8]| line.starts_with(br#"{"type":"cost-state""#);
    lines.into_iter().find(is_cost).map(<[u8]>::to_vec)
}

/// The name in words that lines near the end of a log have.
fn last_slug(path: &Path) -> Option<String> {
    let tail = tail(path)?;
    let lines = tail.split(|byte| *byte == b'\n').rev();
    let mut slugs = lines.filter_map(|line| {
        let line: serde_json::Value = serde_json::from_slice(line).ok()?;
        line["slug"].as_str().map(str::to_owned)
    });
    // Newer logs have none.
    slugs.next()
}

fn tail(path: &Path) -> Option<Vec<u8>> {
    let mut file = recto_store::open_file(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    Some(tail)
}
