//! Many sessions in numbers.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_session::statistics::Activity;
use recto_session::statistics::Statistics;
use recto_session::statistics::Tally;
use recto_session::statistics::ToolStatistics;
use recto_store::LogFile;
use recto_store::SessionFile;
use serde::Serialize;

use crate::ModelRow;
use crate::Moment;
use crate::TokenSums;
use crate::library::Library;
use crate::listing::ListedLog;

/// The days of the week, as they are counted.
const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Many sessions in numbers. Copies of lines in several logs count once.
#[derive(Debug, Serialize)]
pub struct StatsReport {
    /// Sessions that match.
    pub sessions: u64,
    /// Logs of their subagents.
    pub agents: u64,
    /// Turns of the sessions.
    pub turns: u64,
    /// Turns that a prompt began.
    pub prompts: u64,
    /// Messages of models, those of subagents too.
    pub messages: u64,
    /// The time of the first turn or message.
    pub started: Option<Moment>,
    /// The time of the last one.
    pub ended: Option<Moment>,
    /// The zone of hours and days.
    pub time_zone: String,
    /// The sum of all turns in which a model worked.
    pub working_ms: u64,
    /// Tokens of all messages.
    #[serde(flatten)]
    pub tokens: TokenSums,
    /// Most calls first.
    pub tools: Vec<ToolTotal>,
    /// Most messages first.
    pub models: Vec<ModelRow>,
    /// How long turns took.
    pub turn_lengths: TurnLengths,
    /// From midnight.
    pub hours: Vec<HourRow>,
    /// From Monday.
    pub days: Vec<DayRow>,
    /// The sessions whose turns took the longest; what they copied counts here.
    pub longest_sessions: Vec<LongSession>,
    /// The size of the context by turn.
    pub context: Vec<ContextRow>,
    /// The files changed most.
    pub files: Vec<ChangedFile>,
    /// Logs that could not be read, and why.
    #[serde(skip)]
    pub skipped: Vec<String>,
}

/// What became of the calls of a tool.
#[derive(Debug, Serialize)]
pub struct ToolTotal {
    /// The tool.
    pub name: String,
    /// Its calls.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Without a result.
    pub open: u64,
    /// Failed, in percent of those with a result.
    pub failed_percent: Option<f64>,
    /// The time of half of the calls is at most this.
    pub median_ms: Option<u64>,
    /// The time of all turns.
    pub total_ms: u64,
}

/// How long turns take.
#[derive(Debug, Serialize)]
pub struct TurnLengths {
    /// Half of the turns took at most this.
    pub median_ms: Option<u64>,
    /// Nine of ten take at most this.
    pub p90_ms: Option<u64>,
    /// How many turns took how long.
    pub ranges: Vec<LengthRow>,
}

/// Turns of one range of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LengthRow {
    /// The least length.
    pub from_ms: u64,
    /// What all are shorter than; none in the last range.
    pub below_ms: Option<u64>,
    /// How many turns.
    pub turns: u64,
}

/// What happened in an hour of the day.
#[derive(Debug, Serialize)]
pub struct HourRow {
    /// The hour, from 0.
    pub hour: usize,
    /// What happened.
    #[serde(flatten)]
    pub activity: ActivityCounts,
}

/// What happened on a day of the week.
#[derive(Debug, Serialize)]
pub struct DayRow {
    /// `monday`, `tuesday`, …
    pub day: &'static str,
    /// What happened.
    #[serde(flatten)]
    pub activity: ActivityCounts,
}

/// Prompts and messages.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ActivityCounts {
    /// Prompts that were typed.
    pub prompts: u64,
    /// Messages of models.
    pub messages: u64,
}

/// A session, and how long its turns took.
#[derive(Debug, Serialize)]
pub struct LongSession {
    /// The session.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// How long models worked in it.
    pub working_ms: u64,
    /// Its turns.
    pub turns: u64,
    /// Its calls of tools.
    pub tool_calls: u64,
}

/// How large the context is at some turn.
#[derive(Debug, Serialize)]
pub struct ContextRow {
    /// The number of the turn, from 1.
    pub turn: u32,
    /// Sessions that have such a turn.
    pub sessions: u64,
    /// The tokens that its first message was sent, in the middle of all.
    pub median_tokens: u64,
}

/// How often a file was changed.
#[derive(Debug, Serialize)]
pub struct ChangedFile {
    /// The file.
    pub path: String,
    /// How often it was changed.
    pub edits: u64,
    /// Lines added.
    pub lines_added: u64,
    /// Lines removed.
    pub lines_removed: u64,
    /// Sessions and subagents that changed it.
    pub logs: u64,
}

impl Library {
    /// Adds up the logs of sessions and of their subagents. Lists of sessions and of files have
    /// `limit` rows. `tell` is called with the number of logs so far and that of all.
    pub fn statistics(
        &self,
        mut sessions: Vec<ListedLog>,
        limit: usize,
        tell: &(dyn Fn(u64, u64) + Sync),
    ) -> StatsReport {
        sessions.sort_by_cached_key(|one| first_counts(&one.session, one.digest.started));
        let mut logs: Vec<LogFile> = sessions.iter().map(|one| (*one.session).clone()).collect();
        let files: Vec<&SessionFile> = sessions.iter().map(|one| &one.session).collect();
        logs.extend(self.home().agent_logs_of(&self.inventory(), &files));
        let mut tally = Tally::new(self.zone().clone());
        let (mut sums, mut skipped) = (Vec::with_capacity(sessions.len()), Vec::new());
        self.home().statistics(&logs, self.cache(), tell, &mut |log| {
            // The logs of sessions come first, in their order.
            sums.push(match &log {
                Ok(log) => {
                    tally.add(log);
                    (log.working_milliseconds(), log.turns(), log.calls())
                }
                Err(error) => {
                    skipped.push(error.to_string());
                    (0, 0, 0)
                }
            });
        });
        let long = sessions.into_iter().zip(sums);
        let long = long.map(|(one, (working_ms, turns, tool_calls))| LongSession {
            id: one.session.id.to_string(),
            title: one.digest.title.as_ref().map(|(title, _)| title.clone()),
            cwd: one.digest.cwd.clone(),
            working_ms,
            turns,
            tool_calls,
        });
        let mut longest: Vec<LongSession> = long.filter(|one| one.working_ms > 0).collect();
        longest.sort_by_key(|one| std::cmp::Reverse(one.working_ms));
        longest.truncate(limit);
        let mut report = StatsReport::of(tally.finish(), self.zone());
        report.files.truncate(limit);
        StatsReport { longest_sessions: longest, skipped, ..report }
    }
}

/// The first log that has something counts: that of a session before those that copied it, and
/// before those of subagents.
pub(crate) fn first_counts(log: &LogFile, started: Option<Timestamp>) -> impl Ord + use<> {
    (log.is_agent(), started.is_none(), started, log.modified(), log.path.clone())
}

/// To a tenth of a percent.
pub(crate) fn tenth(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

impl StatsReport {
    pub(crate) fn of(statistics: Statistics, zone: &TimeZone) -> StatsReport {
        let counts = |activity: &Activity| ActivityCounts {
            prompts: activity.prompts,
            messages: activity.messages,
        };
        let hours = statistics.hours.iter().map(counts).enumerate();
        let days = DAYS.into_iter().zip(statistics.weekdays.iter().map(counts));
        StatsReport {
            sessions: statistics.sessions,
            agents: statistics.agents,
            turns: statistics.turns,
            prompts: statistics.prompts,
            messages: statistics.messages,
            started: statistics.started.map(Moment),
            ended: statistics.ended.map(Moment),
            time_zone: zone_name(zone),
            working_ms: statistics.working_milliseconds,
            tokens: statistics.tokens.into(),
            tools: statistics.tools.into_iter().map(ToolTotal::from).collect(),
            models: statistics
                .models
                .into_iter()
                .map(|model| ModelRow {
                    model: model.name,
                    messages: model.messages,
                    tokens: model.tokens.into(),
                })
                .collect(),
            turn_lengths: TurnLengths {
                median_ms: statistics.median_turn,
                p90_ms: statistics.long_turn,
                ranges: statistics
                    .lengths
                    .iter()
                    .map(|range| LengthRow {
                        from_ms: range.from,
                        below_ms: range.below,
                        turns: range.turns,
                    })
                    .collect(),
            },
            hours: hours.map(|(hour, activity)| HourRow { hour, activity }).collect(),
            days: days.map(|(day, activity)| DayRow { day, activity }).collect(),
            longest_sessions: Vec::new(),
            context: statistics
                .contexts
                .iter()
                .map(|point| ContextRow {
                    turn: point.turn,
                    sessions: point.sessions,
                    median_tokens: point.median_tokens,
                })
                .collect(),
            files: statistics
                .files
                .into_iter()
                .map(|file| ChangedFile {
                    path: file.path,
                    edits: file.edits,
                    lines_added: file.added,
                    lines_removed: file.removed,
                    logs: file.logs,
                })
                .collect(),
            skipped: Vec::new(),
        }
    }
}

impl From<ToolStatistics> for ToolTotal {
    fn from(tool: ToolStatistics) -> ToolTotal {
        let ended = tool.calls - tool.open;
        ToolTotal {
            failed_percent: (ended > 0).then(|| tenth(tool.failed as f64 * 100.0 / ended as f64)),
            name: tool.name,
            calls: tool.calls,
            failed: tool.failed,
            open: tool.open,
            median_ms: tool.median_milliseconds,
            total_ms: tool.total_milliseconds,
        }
    }
}

/// What to call a zone.
fn zone_name(zone: &TimeZone) -> String {
    match (zone.iana_name(), zone.to_fixed_offset()) {
        (Some(name), _) => name.to_owned(),
        (None, Ok(offset)) => offset.to_string(),
        (None, Err(_)) => "local".to_owned(),
    }
}
