//! What can be wrong with a line.

use std::fmt;

/// Something that was found in a line. It stands beside the entry, never
/// instead of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line's number, from 1.
    pub line: u64,
    /// Where the line starts in the file.
    pub offset: u64,
    /// What is wrong.
    pub kind: ProblemKind,
    /// More about it. It can quote names from the log: sanitise it before
    /// it goes to a terminal.
    pub detail: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The line is odd, but everything in it can be used.
    Note,
    /// The line, or a part of it, is lost to the reader.
    Damage,
}

/// Every kind of problem there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The line is no JSON; a write was torn, or two were mixed.
    NotJson,
    /// Two objects stand on one line: the line end between two writes is gone.
    GluedLine,
    /// The last line is no JSON and has no line end: a write is not finished.
    TornLine,
    /// The line is JSON but no object. Some clients refuse a whole session for it.
    NotObject,
    /// The line holds NUL bytes, as a crash of the file system leaves them.
    NulBytes,
    /// The line is longer than the cap, or has too many keys, and was not read.
    LineTooLong,
    /// A string holds bytes that are no UTF-8; they read as U+FFFD.
    InvalidUtf8,
    /// The object has no `type`.
    NoType,
    /// A key occurs twice; the last one counts.
    DuplicateKey,
    /// The line begins with a byte order mark.
    ByteOrderMark,
    /// The `type` is not known to this version of recto.
    UnknownType,
    /// The `subtype`, or the type of an attachment, is not known.
    UnknownSubtype,
    /// A line of the conversation has no `message` object.
    NoMessage,
}

impl ProblemKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [ProblemKind; 13] = [
        ProblemKind::NotJson,
        ProblemKind::GluedLine,
        ProblemKind::TornLine,
        ProblemKind::NotObject,
        ProblemKind::NulBytes,
        ProblemKind::LineTooLong,
        ProblemKind::InvalidUtf8,
        ProblemKind::NoType,
        ProblemKind::DuplicateKey,
        ProblemKind::ByteOrderMark,
        ProblemKind::UnknownType,
        ProblemKind::UnknownSubtype,
        ProblemKind::NoMessage,
    ];

    /// The stable name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::NotJson => "not-json",
            ProblemKind::GluedLine => "glued-line",
            ProblemKind::TornLine => "torn-line",
            ProblemKind::NotObject => "not-object",
            ProblemKind::NulBytes => "nul-bytes",
            ProblemKind::LineTooLong => "line-too-long",
            ProblemKind::InvalidUtf8 => "invalid-utf8",
            ProblemKind::NoType => "no-type",
            ProblemKind::DuplicateKey => "duplicate-key",
            ProblemKind::ByteOrderMark => "byte-order-mark",
            ProblemKind::UnknownType => "unknown-type",
            ProblemKind::UnknownSubtype => "unknown-subtype",
            ProblemKind::NoMessage => "no-message",
        }
    }

    /// What it means, in words.
    pub fn about(self) -> &'static str {
        match self {
            ProblemKind::NotJson => "the line is not JSON: a write was torn or two were mixed",
            ProblemKind::GluedLine => {
                "two objects on one line: clients since 2.1.200 read the first, older ones none"
            }
            ProblemKind::TornLine => "the last line is not finished",
            ProblemKind::NotObject => {
                "the line is JSON but not an object: clients 2.1.29 and 2.1.200 stumble over it"
            }
            ProblemKind::NulBytes => "the line contains NUL bytes, as a crash leaves them",
            ProblemKind::LineTooLong => "the line is too long to be held, and was not read",
            ProblemKind::InvalidUtf8 => "a string contains bytes that are not UTF-8",
            ProblemKind::NoType => "the object has no type",
            ProblemKind::DuplicateKey => "a key occurs twice; the last one counts",
            ProblemKind::ByteOrderMark => "the line begins with a byte order mark",
            ProblemKind::UnknownType => "recto does not know this type of line",
            ProblemKind::UnknownSubtype => "recto does not know this subtype",
            ProblemKind::NoMessage => "a line of the conversation has no message",
        }
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self {
            ProblemKind::NotJson
            | ProblemKind::GluedLine
            | ProblemKind::TornLine
            | ProblemKind::NotObject
            | ProblemKind::NulBytes
            | ProblemKind::LineTooLong
            | ProblemKind::InvalidUtf8
            | ProblemKind::NoMessage => Severity::Damage,
            ProblemKind::NoType
            | ProblemKind::DuplicateKey
            | ProblemKind::ByteOrderMark
            | ProblemKind::UnknownType
            | ProblemKind::UnknownSubtype => Severity::Note,
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
