//! The tables: every column once, for Parquet, Delta, SQLite and the reference page.
//!
//! No lists, no structures, no reserved words as names. Days are those of UTC.

/// What a column contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// A whole number of 64 bits.
    Long,
    /// A whole number of 32 bits.
    Int,
    /// True or false.
    Bool,
    /// A day of UTC.
    Date,
    /// A time in microseconds, UTC.
    Time,
}

impl ColumnType {
    /// Its name in a Delta schema.
    pub fn delta(self) -> &'static str {
        match self {
            ColumnType::Text => "string",
            ColumnType::Long => "long",
            ColumnType::Int => "integer",
            ColumnType::Bool => "boolean",
            ColumnType::Date => "date",
            ColumnType::Time => "timestamp",
        }
    }

    /// Its name in SQLite.
    pub fn sqlite(self) -> &'static str {
        match self {
            ColumnType::Text | ColumnType::Date | ColumnType::Time => "TEXT",
            ColumnType::Long | ColumnType::Int | ColumnType::Bool => "INTEGER",
        }
    }
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it contains.
    pub kind: ColumnType,
    /// Whether a row can lack it.
    pub nullable: bool,
    /// What it says.
    pub about: &'static str,
}

/// A table that is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// One row for each line of a log.
    Lines,
    /// One row for each content block of a message.
    Blocks,
    /// One row for each line with token counts.
    Usage,
    /// One row for each segment that was read.
    Segments,
    /// One row for each price.
    Prices,
}

impl Table {
    /// All of them.
    pub const ALL: [Table; 5] =
        [Table::Lines, Table::Blocks, Table::Usage, Table::Segments, Table::Prices];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Lines => "lines",
            Table::Blocks => "blocks",
            Table::Usage => "usage",
            Table::Segments => "segments",
            Table::Prices => "prices",
        }
    }

    /// What its rows are.
    pub fn about(self) -> &'static str {
        match self {
            Table::Lines => "One row for each line of a log, every version of the log included.",
            Table::Blocks => "One row for each content block of a message: text, calls, results.",
            Table::Usage => {
                "One row for each line with token counts. A message has several such lines and \
                 copies: sum the view `messages`, not this table."
            }
            Table::Segments => "One row for each archived segment that the tables contain.",
            Table::Prices => "The price list: micro-dollars for a million tokens.",
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> Vec<Column> {
        let (base, own): (&[Column], &[Column]) = match self {
            Table::Lines => (&BASE, &LINES),
            Table::Blocks => (&BASE, &BLOCKS),
            Table::Usage => (&BASE, &USAGE),
            Table::Segments => (&[], &SEGMENTS),
            Table::Prices => (&[], &PRICES),
        };
        base.iter().chain(own).copied().collect()
    }

    /// The table of a name.
    pub fn of_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }
}

/// The version of the rules that make rows of lines. A higher one asks for `recto lake rebuild`.
pub const PARSER_VERSION: i64 = 1;

const fn must(name: &'static str, kind: ColumnType, about: &'static str) -> Column {
    Column { name, kind, nullable: false, about }
}

const fn may(name: &'static str, kind: ColumnType, about: &'static str) -> Column {
    Column { name, kind, nullable: true, about }
}

use ColumnType::Bool;
use ColumnType::Date;
use ColumnType::Int;
use ColumnType::Long;
use ColumnType::Text;
use ColumnType::Time;

const MACHINE: Column =
    must("machine", Text, "The machine and home that the log is from; `local` for your own home.");
const USER: Column = may("user_id", Text, "Who uses that machine, as it last reported.");
const PROJECT: Column =
    may("project", Text, "The folder name of the project, as Claude Code spells it.");
const SESSION: Column = may("session_id", Text, "The session.");
const FILE: Column = must("file_id", Text, "The log file; the same wherever it is moved.");
const GENERATION: Column =
    must("gen", Text, "Which version of the file: a rewritten log has a new one.");
const DAY: Column = must("day", Date, "The UTC day; where no time is known, that of the file.");
const WEEK: Column = must("week", Date, "The Monday of that week.");
const MONTH: Column = must("month", Date, "The first day of that month.");
const PARSER: Column = must("parser_v", Int, "The version of the parser that made the row.");

/// What rows of lines have in common.
const BASE: [Column; 13] = [
    MACHINE,
    USER,
    PROJECT,
    SESSION,
    FILE,
    GENERATION,
    must("off", Long, "The line's place in the file: in bytes, or a number that orders lines."),
    may("ts", Time, "The time of the line, UTC."),
    may("ts_ms", Long, "The same in milliseconds since 1970."),
    DAY,
    WEEK,
    MONTH,
    PARSER,
];

const LINES: [Column; 17] = [
    must("len", Long, "The length of the line in bytes."),
    must("line_type", Text, "The type of the line; `opaque` if it is not JSON."),
    may("line_subtype", Text, "Its subtype."),
    may("uuid", Text, "The id of the line."),
    may("parent_uuid", Text, "The line that it follows."),
    must("is_sidechain", Bool, "Whether it is part of a subagent's conversation."),
    may("agent_id", Text, "The subagent."),
    may("client_version", Text, "The version of Claude Code."),
    may("git_branch", Text, "The git branch."),
    may("cwd", Text, "The working directory."),
    may("duration_ms", Long, "A duration, if the line has one."),
    may(
        "user_kind",
        Text,
        "Of user lines: human, tool_result, interrupt, command, meta and others.",
    ),
    must("starts_turn", Bool, "Whether a turn starts here."),
    must("is_api_error", Bool, "Whether it is an error of the API."),
    must("is_bad", Bool, "Whether the line could not be read."),
    may("message_id", Text, "The API message."),
    must("policy", Text, "What was withheld or redacted before it was sent; `raw`: nothing."),
];

const BLOCKS: [Column; 15] = [
    must("idx", Int, "Its place in the line, from 0."),
    may("uuid", Text, "The id of the line."),
    may("role", Text, "`user` or `assistant`."),
    must("kind", Text, "text, thinking, tool_use, tool_result, image, document and others."),
    may("message_id", Text, "The API message."),
    may("model", Text, "The model."),
    may("agent_id", Text, "The subagent."),
    may("tool_use_id", Text, "The id that links a call to its result."),
    may("tool_name", Text, "The called tool."),
    must("is_error", Bool, "Whether it is a result that failed."),
    may("file_path", Text, "The file that the call names."),
    must("text_len", Long, "The length of the text in bytes."),
    must("text_cut", Bool, "Whether the text was longer than 1 MiB and is cut."),
    must("is_sidechain", Bool, "Whether it is part of a subagent's conversation."),
    may("text", Text, "The text; of calls the arguments as JSON."),
];

const USAGE: [Column; 18] = [
    must("message_key", Text, "The same for all lines and copies of an API message."),
    may("message_id", Text, "The API message."),
    may("request_id", Text, "The API request."),
    may("model", Text, "The model."),
    may("agent_id", Text, "The subagent."),
    must("is_sidechain", Bool, "Whether it is part of a subagent's conversation."),
    must("is_told", Bool, "Whether only a progress line of the parent's log reports it."),
    must("is_copied", Bool, "Whether the line names another session than its file."),
    must("has_stop", Bool, "Whether the line has a stop reason."),
    may("stop_reason", Text, "The stop reason."),
    must("input_tokens", Long, "Input tokens, without cache tokens."),
    must("output_tokens", Long, "Output tokens."),
    must("cache_read_tokens", Long, "Tokens read from the cache."),
    must("cache_write_tokens", Long, "Tokens written to the cache."),
    must("cache_write_5m", Long, "Of these, for five minutes."),
    must("cache_write_1h", Long, "Of these, for an hour."),
    must("web_searches", Long, "Web searches of the server."),
    may("cost_micros", Long, "The cost in micro-dollars; null without a price."),
];

const SEGMENTS: [Column; 19] = [
    MACHINE,
    USER,
    PROJECT,
    SESSION,
    FILE,
    GENERATION,
    must("range_start", Long, "Its first byte in the file."),
    must("range_end", Long, "The byte after its last one."),
    must("line_count", Long, "Its lines."),
    must("bad_lines", Long, "Lines that could not be read."),
    must("sha256", Text, "The digest of its content."),
    must("captured_ms", Long, "When it was archived, in milliseconds since 1970."),
    must("policy", Text, "What was withheld or redacted before it was sent; `raw`: nothing."),
    may("path", Text, "The file, below Claude Code's home directory."),
    may("problem", Text, "Why it could not be read, or that its last line is not finished."),
    DAY,
    WEEK,
    MONTH,
    PARSER,
];

const PRICES: [Column; 8] = [
    must("model", Text, "The model."),
    may("from_day", Date, "The first day; null if the price always applied."),
    may("input_micros", Long, "A million input tokens, in micro-dollars."),
    may("output_micros", Long, "A million output tokens."),
    may("cache_read_micros", Long, "A million tokens read from the cache."),
    may("cache_write_5m_micros", Long, "A million tokens written for five minutes."),
    may("cache_write_1h_micros", Long, "A million tokens written for an hour."),
    must("source", Text, "The list that the price is from."),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that some engine takes for its own.
    const RESERVED: [&str; 24] = [
        "end",
        "start",
        "offset",
        "order",
        "group",
        "select",
        "table",
        "user",
        "from",
        "to",
        "timestamp",
        "date",
        "type",
        "values",
        "index",
        "key",
        "row",
        "rows",
        "range",
        "limit",
        "all",
        "any",
        "case",
        "when",
    ];

    #[test]
    fn names_are_plain_and_no_engine_has_a_meaning_for_them() {
        for table in Table::ALL {
            let mut seen = Vec::new();
            for column in table.columns() {
                let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
                assert!(column.name.bytes().all(|byte| plain(byte) || byte == b'_'));
                assert!(!RESERVED.contains(&column.name), "{}", column.name);
                assert!(!seen.contains(&column.name), "{} twice", column.name);
                assert!(column.about.ends_with('.'), "{}", column.name);
                seen.push(column.name);
            }
            assert_eq!(Table::of_name(table.name()), Some(table));
        }
    }
}
