//! A conversation that goes on: what was said, and where the next line hangs.

use std::io::Read as _;
use std::io::Seek as _;
use std::io::SeekFrom;
use std::path::Path;

use recto_log::EntryUuid;
use recto_log::Kind;
use recto_session::BlockFact;
use recto_session::LineSource;
use recto_session::NodeId;
use recto_session::Session;
use recto_session::request::Addition;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::request::RequestOptions;
use recto_session::request::Sent;
use recto_session::request::history_to;
use recto_session::request::messages_of;
use recto_session::request::reach;
use recto_session::request::request;
use recto_store::Loaded;
use recto_store::StoreError;

use super::history::plain;
use super::totals::ModelTotals;
use super::totals::money;
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
    /// The title.
    pub title: Option<String>,
    /// What was put right, in words.
    pub told: Vec<String>,
    /// What the session cost so far, by model.
    pub(super) spent: Vec<(String, ModelTotals)>,
}

impl Resumed {
    /// Reads a log. `model` is the one that will be asked; `at` is the last message to keep.
    pub fn read(
        path: &Path,
        model: Option<&str>,
        at: Option<&str>,
    ) -> Result<Resumed, ResumeError> {
        let loaded = Loaded::read_as(path, Generation::latest())?;
        let session = &loaded.session;
        let mut resumed = Resumed {
            turns: prompts(session),
            lines: session.nodes().len() as u64,
            model: last_model(session),
            title: session.meta.custom_title.clone(),
            spent: spent(path),
            ..Resumed::default()
        };
        match at {
            Some(uuid) => resumed.read_to(&loaded, uuid, model)?,
            None => resumed.read_all(&loaded, model)?,
        }
        Ok(resumed)
    }

    fn read_all(&mut self, loaded: &Loaded, model: Option<&str>) -> Result<(), ResumeError> {
        let session = &loaded.session;
        let reach = reach(session, Generation::latest());
        if let Outcome::Refused { .. } | Outcome::Hangs { .. } = reach.outcome {
            return Err(ResumeError::Refused(reach.outcome.why().unwrap_or_default()));
        }
        let options =
            RequestOptions { model: model.map(str::to_owned), ..RequestOptions::default() };
        let request = request(session, &reach, loaded, &options);
        let lost = request.unreadable.len();
        if lost > 0 {
            self.told.push(format!("{lost} lines of the log could not be read"));
        }
        self.messages = plain(Message::all_of(request.messages).unwrap_or_default());
        self.leaf = request.leaf.map(|leaf| session.node(leaf).uuid());
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
        Ok(())
    }

    /// Up to a message, which need not be the last of its branch.
    fn read_to(
        &mut self,
        loaded: &Loaded,
        uuid: &str,
        model: Option<&str>,
    ) -> Result<(), ResumeError> {
        let session = &loaded.session;
        let none = || ResumeError::NoMessage(uuid.to_owned());
        let leaf = session.find(&EntryUuid::new(uuid)).ok_or_else(none)?;
        let parts = history_to(session, leaf, Generation::latest());
        let mut lines = Vec::new();
        for line in parts.last().into_iter().flatten() {
            let bytes = loaded.line(session.node(*line).span());
            lines.extend_from_slice(&bytes.map_err(StoreError::from)?);
            lines.push(b'\n');
        }
        let model = model.map(str::to_owned).or_else(|| self.model.clone()).unwrap_or_default();
        let messages = messages_of(&lines, &model);
        self.messages = plain(Message::all_of(messages).unwrap_or_default());
        self.leaf = Some(session.node(leaf).uuid());
        Ok(())
    }

    /// Leaves out the oldest turns until about so many tokens are left; whether any went.
    pub fn fit(&mut self, tokens: u64) -> bool {
        let size = |message: &Message| message.json().bytes().len() as u64 / 4;
        let mut total: u64 = self.messages.iter().map(size).sum();
        let mut first = 0;
        while total > tokens {
            // A turn begins with a prompt of the user.
            let next = (first + 1..self.messages.len()).find(|at| is_prompt(&self.messages[*at]));
            let Some(next) = next else { break };
            total -= self.messages[first..next].iter().map(size).sum::<u64>();
            first = next;
        }
        if first == 0 {
            return false;
        }
        self.messages.drain(..first);
        self.told.push(format!("left out the first {first} messages to fit {tokens} tokens"));
        true
    }
}

fn is_prompt(message: &Message) -> bool {
    message.role() == Some(recto_log::Role::User)
        && !message.blocks().iter().any(|block| block.kind() == "tool_result")
}

fn has_call(session: &Session, line: NodeId, id: &str) -> bool {
    session.node(line).blocks.iter().any(|block| match block {
        BlockFact::ToolUse { id: known, .. } => session.name(*known) == id,
        _ => false,
    })
}

fn prompts(session: &Session) -> u64 {
    let is_prompt = |node: &recto_session::Node<'_>| {
        node.kind == Kind::User
            && !node.has_result()
            && !node.flags.is_meta
            && !node.flags.is_sidechain
    };
    session.nodes().filter(is_prompt).count() as u64
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
    let mut file = recto_store::open_file(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    let lines = tail.split(|byte| *byte == b'\n').rev();
    let is_cost = |line: &&[u8]| line.starts_with(br#"{"type":"cost-state""#);
    lines.into_iter().find(is_cost).map(<[u8]>::to_vec)
}
