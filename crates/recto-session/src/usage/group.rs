//! What rows are made of, and which records are meant.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::Ledger;
use super::Record;
use crate::NameId;

/// What stands for what the log does not tell.
const UNKNOWN: &str = "unknown";

/// What a row can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// A day.
    Day,
    /// A week, from Monday, as ISO 8601 counts them.
    Week,
    /// A month.
    Month,
    /// An hour of a day.
    Hour,
    /// A window of five hours.
    Block,
    /// A session.
    Session,
    /// A project.
    Project,
    /// A model.
    Model,
    /// A git branch.
    Branch,
    /// The tools that a message calls.
    Tool,
    /// A subagent, or the main log.
    Agent,
}

impl Dimension {
    /// All of them.
    pub const ALL: [Dimension; 11] = [
        Dimension::Day,
        Dimension::Week,
        Dimension::Month,
        Dimension::Session,
        Dimension::Project,
        Dimension::Model,
        Dimension::Branch,
        Dimension::Tool,
        Dimension::Agent,
        Dimension::Hour,
        Dimension::Block,
    ];

    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            Dimension::Day => "day",
            Dimension::Week => "week",
            Dimension::Month => "month",
            Dimension::Hour => "hour",
            Dimension::Block => "block",
            Dimension::Session => "session",
            Dimension::Project => "project",
            Dimension::Model => "model",
            Dimension::Branch => "branch",
            Dimension::Tool => "tool",
            Dimension::Agent => "agent",
        }
    }

    /// Whether rows follow each other in time.
    pub fn is_time(self) -> bool {
        match self {
            Dimension::Day
            | Dimension::Week
            | Dimension::Month
            | Dimension::Hour
            | Dimension::Block => true,
            Dimension::Session
            | Dimension::Project
            | Dimension::Model
            | Dimension::Branch
            | Dimension::Tool
            | Dimension::Agent => false,
        }
    }
}

/// What stands for a row while records are added up: no text yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Code {
    /// A year and a number in it, or hours and milliseconds since 1970.
    Time(i64, i64),
    Name(NameId),
    /// The log of the session itself, for those that group by subagents.
    Main,
    /// What the log does not tell.
    Unknown,
}

/// By what records are grouped, and where days begin.
#[derive(Debug, Clone)]
pub struct Grouping {
    /// One, or two.
    pub dimensions: Vec<Dimension>,
    /// The time zone.
    pub zone: TimeZone,
}

impl Grouping {
    /// What a record is counted for. Blocks are given by `block_of`, because
    /// they depend on all records.
    pub(super) fn code(
        &self,
        dimension: Dimension,
        ledger: &Ledger,
        record: &Record,
        block_of: &dyn Fn(Timestamp) -> Option<Timestamp>,
    ) -> Code {
        let name = |id: Option<NameId>| id.map_or(Code::Unknown, Code::Name);
        let time = |code: &dyn Fn(DateTime) -> (i64, i64)| match record.time() {
            Some(time) => {
                let (a, b) = code(self.zone.to_datetime(time));
                Code::Time(a, b)
            }
            None => Code::Unknown,
        };
        match dimension {
            Dimension::Day => time(&|at| (i64::from(at.year()), i64::from(at.day_of_year()))),
            Dimension::Month => time(&|at| (i64::from(at.year()), i64::from(at.month()))),
            Dimension::Week => time(&|at| {
                let week = at.date().iso_week_date();
                (i64::from(week.year()), i64::from(week.week()))
            }),
            Dimension::Hour => time(&|at| {
                (i64::from(at.year()), i64::from(at.day_of_year()) * 24 + i64::from(at.hour()))
            }),
            Dimension::Block => match record.time().and_then(block_of) {
                Some(start) => Code::Time(0, start.as_millisecond()),
                None => Code::Unknown,
            },
            Dimension::Session => name(ledger.session_of(record)),
            Dimension::Project => Code::Name(ledger.project_of(record)),
            Dimension::Model => name(record.model),
            Dimension::Branch => name(record.branch),
            Dimension::Tool => record.tools.map_or(Code::Main, Code::Name),
            Dimension::Agent => ledger.agent_of(record).map_or(Code::Main, Code::Name),
        }
    }

    /// The text of a code.
    pub(super) fn label(&self, dimension: Dimension, ledger: &Ledger, code: Code) -> String {
        let day = |year: i64, day: i64| {
            let first = jiff::civil::Date::new(i16::try_from(year).unwrap_or(0), 1, 1);
            let day = i32::try_from(day - 1).unwrap_or(0);
            let date = first.and_then(|first| first.checked_add(jiff::Span::new().try_days(day)?));
            date.map_or_else(|_| "unknown".to_owned(), |date| date.to_string())
        };
        match (code, dimension) {
            (Code::Unknown, _) => UNKNOWN.to_owned(),
            (Code::Main, Dimension::Tool) => "none".to_owned(),
            (Code::Main, _) => "main".to_owned(),
            (Code::Name(id), _) => ledger.name(id).to_owned(),
            (Code::Time(year, month), Dimension::Month) => format!("{year:04}-{month:02}"),
            (Code::Time(year, week), Dimension::Week) => format!("{year:04}-W{week:02}"),
            (Code::Time(year, hour), Dimension::Hour) => {
                format!("{} {:02}:00", day(year, hour / 24), hour % 24)
            }
            (Code::Time(_, start), Dimension::Block) => {
                let start = Timestamp::from_millisecond(start).unwrap_or_default();
                self.zone.to_datetime(start).strftime("%Y-%m-%d %H:%M").to_string()
            }
            (Code::Time(year, number), _) => day(year, number),
        }
    }
}

/// Which records are meant. What is not said does not matter.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Not before.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// A path, a part of one, or the name of a project's directory.
    pub project: Option<String>,
    /// A part of the model's name.
    pub model: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The subagent.
    pub agent: Option<String>,
    /// The name of the project's directory, as a whole.
    pub project_key: Option<String>,
    /// The model's name as a whole, as rows have it.
    pub exact_model: Option<String>,
    /// The log, as the ledger names it.
    pub log: Option<String>,
}

impl Selection {
    /// Whether a record is meant. One without a time is not meant by a span.
    pub fn holds(&self, ledger: &Ledger, record: &Record) -> bool {
        let text = |id: Option<NameId>| id.map(|id| ledger.name(id));
        let fits_time = match (self.since, self.until, record.time()) {
            (None, None, _) => true,
            (_, _, None) => false,
            (since, until, Some(time)) => {
                since.is_none_or(|since| time >= since) && until.is_none_or(|until| time < until)
            }
        };
        let contains = |text: Option<&str>, part: &str| {
            text.is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()))
        };
        fits_time
            && self.log.as_deref().is_none_or(|log| ledger.file_of(record).path == log)
            && self
                .session
                .as_deref()
                .is_none_or(|session| text(ledger.session_of(record)) == Some(session))
            && self
                .agent
                .as_deref()
                .is_none_or(|agent| text(ledger.agent_of(record)) == Some(agent))
            && self.branch.as_deref().is_none_or(|branch| text(record.branch) == Some(branch))
            && self
                .project_key
                .as_deref()
                .is_none_or(|key| ledger.name(ledger.project_of(record)) == key)
            && self
                .exact_model
                .as_deref()
                .is_none_or(|model| text(record.model).unwrap_or(UNKNOWN) == model)
            && self.model.as_deref().is_none_or(|model| contains(text(record.model), model))
            && self.project.as_deref().is_none_or(|project| {
                let cwd = text(record.cwd);
                if project.starts_with('/') {
                    cwd.is_some_and(|cwd| std::path::Path::new(cwd).starts_with(project))
                } else {
                    contains(cwd, project) || ledger.file_of(record).project == project
                }
            })
    }
}
