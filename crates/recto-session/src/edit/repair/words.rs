//! What a fix does, in words.

use std::fmt;

use jiff::Timestamp;

use crate::edit::change::written;

/// What a fix does. All lines of a log may be mended, and it may have millions: words that are
/// said of many lines are put together when somebody asks for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Fixed(&'static str),
    Hung {
        line: u64,
        why: Why,
    },
    /// In milliseconds.
    Time(i64),
    Text(Box<str>),
}

/// Why a line is hung on another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    SameAnswer,
    HasCall,
    BeforeInLogAndTime,
    BeforeInTime,
    BeforeInLog,
    AboveUnknown,
}

impl Why {
    fn words(self) -> &'static str {
        match self {
            Why::SameAnswer => "which is part of the same answer",
            Why::HasCall => "which contains its call",
            Why::BeforeInLogAndTime => "the line before it in the log and in time",
            Why::BeforeInTime => {
                "the newest line before it in time, as clients since 2.1.100 take it"
            }
            Why::BeforeInLog => "the line before it in the log; that is a guess",
            Why::AboveUnknown => "which is above the line that it follows",
        }
    }
}

impl Words {
    /// The line is hung on another, by its number.
    pub(super) fn hung(line: u64, why: Why) -> Words {
        Words(Kind::Hung { line, why })
    }

    /// The line gets a time.
    pub(super) fn time(time: Timestamp) -> Words {
        Words(Kind::Time(time.as_millisecond()))
    }
}

impl From<&'static str> for Words {
    fn from(words: &'static str) -> Words {
        Words(Kind::Fixed(words))
    }
}

impl From<String> for Words {
    fn from(words: String) -> Words {
        Words(Kind::Text(words.into()))
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Fixed(words) => f.write_str(words),
            Kind::Hung { line, why } => write!(f, "linked to line {line}, {}", why.words()),
            Kind::Time(time) => {
                let time = Timestamp::from_millisecond(*time).unwrap_or_default();
                write!(f, "the line gets the time {}", written(time))
            }
            Kind::Text(words) => f.write_str(words),
        }
    }
}
