//! Lines of a log as rows of tables.
//!
//! Every row depends on its line and on where the line is, on nothing else: so a segment gives
//! the same rows whoever reads it, and whenever.

use std::borrow::Cow;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use recto_log::Block;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::decode;
use recto_log::json::Value;
use recto_session::usage::PriceTable;
use recto_session::usage::RecordFlags;
use recto_session::usage::UsageLine;

use crate::block_text::cut;
use crate::block_text::file_of;
use crate::block_text::kind_of;
use crate::block_text::text_of;
use crate::schema::PARSER_VERSION;
use crate::schema::Table;

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// Text.
    Text(&'a str),
    /// A number.
    Long(i64),
    /// True or false.
    Bool(bool),
    /// A day, in days since 1970.
    Day(i32),
    /// Microseconds since 1970.
    Micros(i64),
}

impl<'a> Cell<'a> {
    fn text(text: Option<&'a str>) -> Cell<'a> {
        text.map_or(Cell::Null, Cell::Text)
    }

    fn long(number: Option<i64>) -> Cell<'a> {
        number.map_or(Cell::Null, Cell::Long)
    }
}

/// Takes rows. The values are in the order of [`Table::columns`].
pub type TakeRow<'s, E> = dyn FnMut(Table, &[Cell<'_>]) -> Result<(), E> + 's;

/// Where lines are from.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The machine.
    pub machine: String,
    /// Who uses it.
    pub user: Option<String>,
    /// The project's folder.
    pub project: Option<String>,
    /// The session, where the name of the file says it.
    pub session: Option<String>,
    /// The subagent, where the name of the file says it.
    pub agent: Option<String>,
    /// The file.
    pub file: String,
    /// Which version of it.
    pub generation: String,
    /// What was withheld.
    pub policy: String,
    /// When the file was written, for lines without a time.
    pub modified: Timestamp,
}

/// A day, and where its week and month begin, in days since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// The day.
    pub day: i32,
    /// The Monday.
    pub week: i32,
    /// The first of the month.
    pub month: i32,
}

impl Days {
    /// Those of a time; those of 1970 for one that engines have no date for.
    pub fn of(time: Timestamp) -> Days {
        let time = in_tables(time).unwrap_or_default();
        let date = time.to_zoned(TimeZone::UTC).date();
        let day = days_of(date);
        let week = day - i32::from(date.weekday().to_monday_zero_offset());
        Days { day, week, month: day - i32::from(date.day()) + 1 }
    }
}

/// A time as tables have it: none beyond what every engine has a date for. ClickHouse has none
/// before 1900 and behind 2299, Python none before the year 1; one such row, and they read nothing.
fn in_tables(time: Timestamp) -> Option<Timestamp> {
    const FIRST: Timestamp = Timestamp::UNIX_EPOCH;
    const LAST: Timestamp = Timestamp::constant(10_413_791_999, 999_999_999);
    (FIRST <= time && time <= LAST).then_some(time)
}

/// A day in days since 1970.
pub fn days_of(date: Date) -> i32 {
    let epoch = Date::constant(1970, 1, 1);
    date.since(epoch).map_or(0, |span| span.get_days())
}

/// A day, from days since 1970.
pub fn date_of(days: i32) -> Date {
    let epoch = Date::constant(1970, 1, 1);
    epoch.checked_add(jiff::Span::new().days(days)).unwrap_or(epoch)
}

/// Which tables are wanted, and what of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// The table of lines.
    pub lines: bool,
    /// That of blocks.
    pub blocks: bool,
    /// The texts of blocks.
    pub texts: bool,
    /// The table of usage.
    pub usage: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Wanted = Wanted { lines: true, blocks: true, texts: true, usage: true };
    /// Nothing.
    pub const NONE: Wanted = Wanted { lines: false, blocks: false, texts: false, usage: false };
}

/// Makes rows of the lines of one file, one after the other.
pub struct RowMaker<'a> {
    origin: &'a Origin,
    prices: &'a PriceTable,
    wanted: Wanted,
    last: Days,
    last_time: Option<Timestamp>,
    /// The prompt before, by its id and time: a prompt can be two lines.
    prompt: Option<(String, Timestamp)>,
    /// Lines so far.
    pub lines: u64,
    /// Lines that could not be read.
    pub bad_lines: u64,
    scratch: String,
}

/// What all rows of a line begin with.
struct Base<'a> {
    session: Option<Cow<'a, str>>,
    offset: i64,
    time: Option<Timestamp>,
    days: Days,
}

impl<'a> RowMaker<'a> {
    /// For the lines of a file.
    pub fn new(origin: &'a Origin, prices: &'a PriceTable, wanted: Wanted) -> RowMaker<'a> {
        RowMaker {
            origin,
            prices,
            wanted,
            last: Days::of(origin.modified),
            last_time: None,
            prompt: None,
            lines: 0,
            bad_lines: 0,
            scratch: String::new(),
        }
    }

    /// Makes the rows of the next line.
    pub fn line<E>(
        &mut self,
        line: RawLine<'_>,
        offset: u64,
        take: &mut TakeRow<'_, E>,
    ) -> Result<(), E> {
        let (entry, _) = decode(line);
        if entry.kind() == Kind::Blank {
            return Ok(());
        }
        self.lines += 1;
        self.bad_lines += u64::from(entry.opaque_reason().is_some());
        let time = entry.timestamp().and_then(in_tables);
        // Days are computed once for many lines of the same day.
        if let Some(time) = time
            && self.last_time.is_none_or(|last| day_number(last) != day_number(time))
        {
            self.last = Days::of(time);
            self.last_time = Some(time);
        }
        let said = entry.session_id();
        let session = self.origin.session.as_deref().map(Cow::Borrowed).or(said);
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        let base = Base { session, offset, time, days: self.last };
        if self.wanted.lines {
            self.line_row(&entry, &base, take)?;
        }
        if self.wanted.usage {
            self.usage_row(&entry, &base, take)?;
        }
        if self.wanted.blocks {
            self.block_rows(&entry, &base, take)?;
        }
        Ok(())
    }

    fn base<'b>(&self, base: &'b Base<'_>) -> [Cell<'b>; 13]
    where
        'a: 'b,
    {
        let origin = self.origin;
        [
            Cell::Text(&origin.machine),
            Cell::text(origin.user.as_deref()),
            Cell::text(origin.project.as_deref()),
            Cell::text(base.session.as_deref()),
            Cell::Text(&origin.file),
            Cell::Text(&origin.generation),
            Cell::Long(base.offset),
            base.time.map_or(Cell::Null, |time| Cell::Micros(time.as_microsecond())),
            Cell::long(base.time.map(Timestamp::as_millisecond)),
            Cell::Day(base.days.day),
            Cell::Day(base.days.week),
            Cell::Day(base.days.month),
            Cell::Long(PARSER_VERSION),
        ]
    }

    fn agent<'b>(&'b self, entry: &Entry<'_>) -> Option<Cow<'b, str>> {
        let own = self.origin.agent.as_deref().map(Cow::Borrowed);
        own.or_else(|| entry.agent_id().map(|agent| Cow::Owned(agent.to_string())))
    }

    fn line_row<E>(
        &mut self,
        entry: &Entry<'_>,
        base: &Base<'_>,
        take: &mut TakeRow<'_, E>,
    ) -> Result<(), E> {
        let user = match entry.kind() {
            Kind::User | Kind::ToolResult => Some(classify_user(entry)),
            _ => None,
        };
        let starts = user.is_some_and(|user| self.starts_turn(entry, user));
        let kind = entry.type_name();
        let [subtype, uuid, parent] = [entry.subtype(), entry.str("uuid"), entry.str("parentUuid")];
        let agent = self.agent(entry);
        let [version, branch, cwd] = [entry.version(), entry.git_branch(), entry.cwd()];
        let message = entry.get("message").filter(|value| value.is_object());
        let message = message.and_then(|message| message.str("id"));
        let duration = entry.get("durationMs").and_then(Value::as_u64);
        let own = [
            Cell::Long(i64::try_from(entry.line().length).unwrap_or(i64::MAX)),
            Cell::Text(kind.as_deref().unwrap_or("opaque")),
            Cell::text(subtype.as_deref()),
            Cell::text(uuid.as_deref()),
            Cell::text(parent.as_deref()),
            Cell::Bool(entry.is_sidechain() || self.origin.agent.is_some()),
            Cell::text(agent.as_deref()),
            Cell::text(version.as_deref()),
            Cell::text(branch.as_deref()),
            Cell::text(cwd.as_deref()),
            Cell::long(duration.and_then(|duration| i64::try_from(duration).ok())),
            Cell::text(user.map(user_kind)),
            Cell::Bool(starts),
            Cell::Bool(entry.is_api_error()),
            Cell::Bool(entry.opaque_reason().is_some()),
            Cell::text(message.as_deref()),
            Cell::Text(&self.origin.policy),
        ];
        give(take, Table::Lines, &self.base(base), &own)
    }

    /// Whether a line begins a turn, and is not another part of the prompt before it.
    fn starts_turn(&mut self, entry: &Entry<'_>, user: UserText) -> bool {
        if !begins_turn(user) {
            return false;
        }
        let known = self.prompt.take();
        let time = entry.timestamp();
        if user != UserText::Human {
            return true;
        }
        let parent = entry.str("parentUuid");
        let is_more = known
            .is_some_and(|(uuid, at)| parent.as_deref() == Some(uuid.as_str()) && time == Some(at));
        self.prompt = entry.str("uuid").map(Cow::into_owned).zip(time);
        !is_more
    }

    fn usage_row<E>(
        &self,
        entry: &Entry<'_>,
        base: &Base<'_>,
        take: &mut TakeRow<'_, E>,
    ) -> Result<(), E> {
        let Some(usage) = UsageLine::of(entry) else { return Ok(()) };
        let inner = entry.agent_progress().map(|told| decode(told.line).0);
        let inner = inner.as_ref().unwrap_or(entry);
        let message = inner.message();
        let stop = message.as_ref().and_then(|message| message.stop_reason());
        let request = inner.str("requestId");
        let time = usage.time.or(base.time);
        let cost = usage.model.as_deref().zip(message.and_then(|message| message.usage_value()));
        let cost = cost.and_then(|(model, value)| {
            let cost = self.prices.cost_of(model, value, time.unwrap_or(self.origin.modified));
            micros(cost.ok()?.pico())
        });
        let said = usage.session.as_deref();
        let is_copied =
            said.is_some_and(|said| self.origin.session.as_deref().is_some_and(|own| own != said));
        let agent = usage.agent.as_ref().map(ToString::to_string);
        let agent = agent.or_else(|| self.agent(entry).map(Cow::into_owned));
        let key = format!("{:032x}", usage.key);
        let has = |flag| Cell::Bool(usage.flags.has(flag));
        let counts = usage.counts;
        let own = [
            Cell::Text(&key),
            Cell::text(usage.id.as_deref()),
            Cell::text(request.as_deref()),
            Cell::text(usage.model.as_deref()),
            Cell::text(agent.as_deref()),
            Cell::Bool(entry.is_sidechain() || agent.is_some()),
            has(RecordFlags::TOLD),
            Cell::Bool(is_copied),
            has(RecordFlags::HAS_STOP),
            Cell::text(stop.as_deref()),
            Cell::Long(counts.input.into()),
            Cell::Long(counts.output.into()),
            Cell::Long(counts.cache_read.into()),
            Cell::Long(counts.writes() as i64),
            Cell::Long(counts.write_5m.into()),
            Cell::Long(counts.write_1h.into()),
            Cell::Long(counts.web_searches.into()),
            Cell::long(cost),
        ];
        give(take, Table::Usage, &self.base(base), &own)
    }

    fn block_rows<E>(
        &mut self,
        entry: &Entry<'_>,
        base: &Base<'_>,
        take: &mut TakeRow<'_, E>,
    ) -> Result<(), E> {
        let Some(message) = entry.message() else { return Ok(()) };
        let mut scratch = std::mem::take(&mut self.scratch);
        let [uuid, id] = [entry.str("uuid"), message.object().str("id")];
        let model = message.model();
        let role = message.object().str("role");
        let agent = self.agent(entry).map(Cow::into_owned);
        let is_sidechain = entry.is_sidechain() || self.origin.agent.is_some();
        for (idx, block) in message.content().blocks().enumerate() {
            scratch.clear();
            let length = text_of(&block, self.wanted.texts, &mut scratch);
            let is_cut = cut(&mut scratch);
            let (tool, tool_id) = (block.name(), block.id());
            let file = block.input().and_then(file_of);
            let is_error = matches!(block, Block::ToolResult { is_error: true, .. });
            let has_text = self.wanted.texts && length > 0;
            let own = [
                Cell::Long(i64::try_from(idx).unwrap_or(i64::MAX)),
                Cell::text(uuid.as_deref()),
                Cell::text(role.as_deref()),
                Cell::Text(kind_of(&block)),
                Cell::text(id.as_deref()),
                Cell::text(model.as_deref()),
                Cell::text(agent.as_deref()),
                Cell::text(tool_id.as_deref()),
                Cell::text(tool.as_deref()),
                Cell::Bool(is_error),
                Cell::text(file.as_deref()),
                Cell::Long(i64::try_from(length).unwrap_or(i64::MAX)),
                Cell::Bool(is_cut),
                Cell::Bool(is_sidechain),
                if has_text { Cell::Text(&scratch) } else { Cell::Null },
            ];
            give(take, Table::Blocks, &self.base(base), &own)?;
        }
        self.scratch = scratch;
        Ok(())
    }
}

/// Millionths, rounded; a half goes to the even side, so that sums are not too large.
fn micros(pico: u128) -> Option<i64> {
    let (whole, rest) = (pico / 1_000_000, pico % 1_000_000);
    let is_up = rest > 500_000 || (rest == 500_000 && whole % 2 == 1);
    i64::try_from(whole + u128::from(is_up)).ok()
}

fn day_number(time: Timestamp) -> i64 {
    time.as_second().div_euclid(86_400)
}

fn give<E>(
    take: &mut TakeRow<'_, E>,
    table: Table,
    base: &[Cell<'_>],
    own: &[Cell<'_>],
) -> Result<(), E> {
    let mut row = [Cell::Null; 32];
    let count = base.len() + own.len();
    row[..base.len()].copy_from_slice(base);
    row[base.len()..count].copy_from_slice(own);
    take(table, &row[..count])
}

fn begins_turn(text: UserText) -> bool {
    match text {
        UserText::Human
        | UserText::AgentTask
        | UserText::Command
        | UserText::BashInput
        | UserText::TaskNotification
        | UserText::CompactSummary => true,
        UserText::ToolResult
        | UserText::Interrupt
        | UserText::CommandOutput
        | UserText::BashOutput
        | UserText::Meta
        | UserText::Picture
        | UserText::Nothing => false,
    }
}

fn user_kind(text: UserText) -> &'static str {
    match text {
        UserText::Human => "human",
        UserText::ToolResult => "tool_result",
        UserText::Interrupt => "interrupt",
        UserText::Command => "command",
        UserText::CommandOutput => "command_output",
        UserText::BashInput => "bash_input",
        UserText::BashOutput => "bash_output",
        UserText::TaskNotification => "task_notification",
        UserText::CompactSummary => "compact_summary",
        UserText::Meta => "meta",
        UserText::Picture => "picture",
        UserText::AgentTask => "agent_task",
        UserText::Nothing => "nothing",
    }
}
