//! One session in numbers.

use std::collections::BTreeMap;
use std::path::Path;

use recto_log::Kind;
use recto_log::UserText;
use recto_session::BlockFact;
use recto_session::FileFate;
use recto_session::NodeId;
use recto_session::Session;
use recto_session::Tokens;
use recto_session::Turn;
use recto_session::TurnKind;
use recto_session::file_uses;
use recto_session::status::beginning;
use recto_store::Digest;
use recto_store::FileKind;
use recto_store::SessionFile;
use recto_store::StoreError;
use serde::Serialize;

use crate::CallRow;
use crate::Moment;
use crate::Profile;
use crate::Reading;
use crate::TokenColumns;
use crate::TokenCounts;
use crate::library::Library;
use crate::profile::goal;
use crate::profile::last_output;
use crate::profile::last_part;
use crate::statistics::tenth;

/// How many of the first prompts are given, and how many characters of the first line of each.
const FIRST_PROMPTS: usize = 10;
const PROMPT_LINE: usize = 100;

/// One session, or one subagent, in numbers.
#[derive(Debug, Serialize)]
pub struct SessionStats {
    /// The log.
    pub id: String,
    /// What the session is.
    #[serde(flatten)]
    pub profile: Profile,
    /// The time of the first line that has one.
    pub started: Option<Moment>,
    /// The time of the last line that has one.
    pub ended: Option<Moment>,
    /// The sum of all turns.
    pub working_ms: u64,
    /// Lines of the log.
    pub lines: u64,
    /// Lines that readers lose.
    pub damaged_lines: usize,
    /// Its turns.
    pub turns: usize,
    /// Turns that a prompt began.
    pub prompts: usize,
    /// Messages of models.
    pub messages: u64,
    /// Calls of tools.
    pub tool_calls: usize,
    /// Calls that failed.
    pub failed_tool_calls: usize,
    /// Calls without a result.
    pub open_tool_calls: usize,
    /// Files that it changed.
    pub files_changed: usize,
    /// Files that it only read.
    pub files_read: usize,
    /// Lines added.
    pub lines_added: u64,
    /// Lines removed.
    pub lines_removed: u64,
    /// How often it was compacted.
    pub compactions: usize,
    /// Subagents that it started.
    pub agents: usize,
    /// How often the user interrupted it.
    pub interrupts: usize,
    /// Answers of the API that are errors.
    pub api_errors: u64,
    /// The last call without a result.
    pub pending: Option<CallRow>,
    /// Its tokens, each message counted once.
    pub tokens: TokenCounts,
    /// The models that answered.
    pub models: Vec<ModelRow>,
    /// Lines by kind.
    pub entries: Vec<KindCount>,
    /// Lines of the queue.
    pub queue_lines: u64,
    /// Lines with snapshots of files.
    pub snapshot_lines: u64,
    /// Clients that wrote the log.
    pub versions: Vec<VersionCount>,
    /// Lines of answers by why the message ended.
    pub stop_reasons: Vec<StopCount>,
    /// Content blocks by type.
    pub blocks: Vec<BlockCount>,
    /// The first lines of the first ten prompts, 100 characters at most each.
    pub first_prompts: Vec<String>,
}

/// What a model did.
#[derive(Debug, Serialize)]
pub struct ModelRow {
    /// The model.
    pub model: String,
    /// API messages.
    pub messages: u64,
    /// Their tokens.
    #[serde(flatten)]
    pub tokens: TokenSums,
}

/// Tokens, under the names of `recto usage`.
#[derive(Debug, Serialize)]
pub struct TokenSums {
    /// Those of all kinds.
    #[serde(flatten)]
    pub columns: TokenColumns,
    /// Of those written to the cache, for five minutes.
    pub cache_creation_5m_tokens: u64,
    /// Of those written to the cache, for an hour.
    pub cache_creation_1h_tokens: u64,
    /// Tokens read from the cache, in percent of all that was sent.
    pub cache_hit_percent: Option<f64>,
}

/// Lines of one kind.
#[derive(Debug, Serialize)]
pub struct KindCount {
    /// The kind.
    pub kind: &'static str,
    /// How many.
    pub lines: u64,
}

/// Lines of one version of the client.
#[derive(Debug, Serialize)]
pub struct VersionCount {
    /// The version.
    pub version: String,
    /// How many.
    pub lines: u64,
}

/// Lines of answers with one reason to stop.
#[derive(Debug, Serialize)]
pub struct StopCount {
    /// None where the line does not say it.
    pub reason: Option<String>,
    /// How many.
    pub lines: u64,
}

/// Content blocks of one type.
#[derive(Debug, Serialize)]
pub struct BlockCount {
    /// The type.
    pub kind: &'static str,
    /// How many.
    pub blocks: u64,
}

impl Library {
    /// One session, or one subagent, in numbers.
    pub fn session_stats(&self, reading: &Reading) -> Result<SessionStats, StoreError> {
        let session = reading.session();
        let digest = Digest::read(&reading.log.path, reading.log.is_agent())?;
        let facts = session.facts();
        let files = file_uses(session);
        let files_read = files.values().filter(|file| file.fate() == FileFate::Read).count();
        let agents = match SessionFile::of(reading.log.clone()) {
            Some(file) => {
                let agents = self.home().agent_tree(&self.inventory(), &file, &reading.loaded);
                agents.iter().filter(|agent| agent.kind == FileKind::Agent).count()
            }
            None => 0,
        };
        let (models, tokens) = models(session);
        let turns = reading.turns();
        let counts = &session.counts;
        Ok(SessionStats {
            id: reading.log.name(),
            started: digest.started.map(Moment),
            ended: digest.ended.map(Moment),
            profile: profile(reading, digest),
            working_ms: turns.clone().filter_map(|turn| turn.length()).sum(),
            lines: session.lines,
            damaged_lines: session.damaged.len(),
            turns: reading.turns.len(),
            prompts: turns.clone().filter(|turn| turn.kind == TurnKind::Human).count(),
            messages: models.iter().map(|model| model.messages).sum(),
            // A result without its call says nothing of a tool.
            tool_calls: facts.calls.iter().filter(|call| call.call.is_some()).count(),
            failed_tool_calls: facts.calls.iter().filter(|call| call.is_error).count(),
            open_tool_calls: facts.calls.iter().filter(|call| call.result.is_none()).count(),
            files_changed: files.len() - files_read,
            files_read,
            lines_added: facts.files.iter().map(|touch| touch.added).sum(),
            lines_removed: facts.files.iter().map(|touch| touch.removed).sum(),
            compactions: facts.compactions.len(),
            agents,
            interrupts: turns.clone().filter(|turn| turn.is_interrupted).count(),
            api_errors: turns.map(|turn| u64::from(turn.api_errors)).sum(),
            pending: pending(reading),
            tokens: tokens.into(),
            models,
            entries: largest_first(&counts.kinds, |kind, lines| KindCount {
                kind: kind.name(),
                lines,
            }),
            queue_lines: counts.of_kind(Kind::QueueOperation),
            snapshot_lines: counts.of_kind(Kind::FileHistorySnapshot),
            versions: counts
                .versions
                .iter()
                .map(|(version, lines)| VersionCount { version: version.clone(), lines: *lines })
                .collect(),
            stop_reasons: largest_first(&counts.stop_reasons, |reason, lines| StopCount {
                reason: reason.clone(),
                lines,
            }),
            blocks: largest_first(&counts.blocks, |kind, blocks| BlockCount { kind, blocks }),
            first_prompts: first_prompts(reading),
        })
    }
}

impl From<Tokens> for TokenSums {
    fn from(tokens: Tokens) -> TokenSums {
        TokenSums {
            columns: tokens.into(),
            cache_creation_5m_tokens: tokens.cache_creation_5m,
            cache_creation_1h_tokens: tokens.cache_creation_1h,
            cache_hit_percent: tokens.cache_hit_percent().map(tenth),
        }
    }
}

fn largest_first<N, T>(counts: &[(N, u64)], row: impl Fn(&N, u64) -> T) -> Vec<T> {
    let mut counts: Vec<&(N, u64)> = counts.iter().collect();
    counts.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    counts.into_iter().map(|(name, number)| row(name, *number)).collect()
}

fn profile(reading: &Reading, digest: Digest) -> Profile {
    let log = &reading.log;
    let is_of_home = log.session.is_some() || log.is_agent();
    Profile {
        title: digest.title.map(|(title, _)| title),
        goal: digest.first_prompt.as_deref().map(goal),
        last_output: last_answer(reading),
        project: Some(log.project.key.clone()).filter(|_| is_of_home),
        project_name: digest.cwd.as_deref().and_then(|cwd| last_part(Path::new(cwd))),
        cwd: digest.cwd,
        branch: digest.branch,
        model: digest.model,
        version: digest.version,
        subagent: log.is_agent(),
    }
}

/// The text of the last answer in the file that has any, as rows have it.
pub(crate) fn last_answer(reading: &Reading) -> Option<String> {
    let session = reading.session();
    let has_text = |id: &NodeId| {
        let node = session.node(*id);
        node.user == UserText::Nothing
            && node.kind == Kind::Assistant
            && !node.flags.is_api_error
            && node.blocks.iter().any(|block| matches!(block, BlockFact::Text { is_blank: false }))
    };
    let last = session.ids().filter(has_text).max_by_key(|id| session.node(*id).line);
    last.map(|id| last_output(&reading.text(id)))
}

/// Messages that a model wrote, each once, and the tokens of all.
fn models(session: &Session) -> (Vec<ModelRow>, Tokens) {
    let mut all = Tokens::default();
    let mut models: BTreeMap<&str, (u64, Tokens)> = BTreeMap::new();
    for message in session.facts().messages.iter().filter(|message| !message.is_synthetic) {
        let model = message.model.map_or("", |model| session.name(model));
        let (messages, tokens) = models.entry(model).or_default();
        *messages += 1;
        tokens.add(message.tokens);
        all.add(message.tokens);
    }
    let row = |(model, (messages, tokens)): (&str, (u64, Tokens))| ModelRow {
        model: model.to_owned(),
        messages,
        tokens: tokens.into(),
    };
    (models.into_iter().map(row).collect(), all)
}

/// The last call without a result.
pub(crate) fn pending(reading: &Reading) -> Option<CallRow> {
    let calls = &reading.session().facts().calls;
    let call = calls.iter().rev().find(|call| call.result.is_none())?;
    Some(CallRow {
        id: reading.session().name(call.id).to_owned(),
        tool: reading.name(call.name).unwrap_or_default(),
        about: beginning(&reading.call_about(call), 200),
        since: call.called().map(Moment),
    })
}

fn first_prompts(reading: &Reading) -> Vec<String> {
    // The task of a subagent inside its parent's log is not a prompt.
    let is_prompt = |turn: &Turn<'_>| {
        turn.kind == TurnKind::Human || turn.kind == TurnKind::Agent && reading.log.is_agent()
    };
    let prompts = reading.turns().filter(is_prompt).take(FIRST_PROMPTS);
    prompts
        .map(|turn| {
            let text = reading.prompt(&turn);
            beginning(text.trim().lines().next().unwrap_or_default(), PROMPT_LINE)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use recto_session::usage::PriceTable;
    use recto_store::Home;
    use recto_testkit::Client;
    use recto_testkit::FakeHome;
    use recto_testkit::SessionBuilder;

    use super::*;
    use crate::LibraryOptions;

    const ONE: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn lines_blocks_stop_reasons_and_versions_are_counted() {
        let fake = FakeHome::new();
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let mut log = SessionBuilder::new(ONE, Client::V2_1_29);
        for number in 0..12 {
            log = log.prompt(&format!("Prompt {number}\nwith more")).answer("Done.");
        }
        let call = r#"{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}"#;
        let log = log.compaction("All was done.").model_block(call).raw(
            "{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"x\"}\n\
             {\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{}}\n{torn\n",
        );
        fake.add(&log, now);
        let library = Library::new(LibraryOptions {
            home: Home::open(fake.path()).unwrap(),
            cache: None,
            data: None,
            prices: PriceTable::default(),
            zone: Some(TimeZone::UTC),
            now: Some(now),
        });
        let reading = library.read_any(ONE.parse::<recto_log::SessionId>().unwrap(), None).unwrap();
        let stats = library.session_stats(&reading).unwrap();
        let lines = |kind: &str| {
            stats.entries.iter().find(|one| one.kind == kind).map_or(0, |one| one.lines)
        };
        assert_eq!(stats.entries.iter().map(|one| one.lines).sum::<u64>(), stats.lines);
        assert_eq!((lines("assistant"), lines("(opaque)")), (13, 1));
        assert_eq!((stats.queue_lines, stats.snapshot_lines, stats.damaged_lines), (1, 1, 1));
        assert_eq!((stats.prompts, stats.compactions), (12, 1));
        assert_eq!(stats.versions[0].version, "2.1.29");
        assert_eq!(stats.stop_reasons.iter().map(|one| one.lines).sum::<u64>(), 13);
        assert_eq!(stats.first_prompts.len(), 10);
        assert_eq!(stats.first_prompts[9], "Prompt 9");
        let blocks: Vec<(&str, u64)> =
            stats.blocks.iter().map(|one| (one.kind, one.blocks)).collect();
        assert_eq!(blocks, [("text", 12), ("tool_use", 1)]);
        let pending = stats.pending.unwrap();
        assert_eq!((pending.tool.as_str(), pending.about.as_str()), ("Bash", "make"));
    }
}
