//! What the engine is told, and what it says.

use std::borrow::Cow;
use std::fmt;

/// How much is taken for a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    /// Tokens of known forms, private keys, credentials in headers and addresses, and
    /// random texts that are given to a secret's name.
    Plain,
    /// All of that, and whatever is given to a secret's name by an assignment, an option,
    /// a member, a cell or an element, weak passwords too; passwords of commands, cookies,
    /// hashes of passwords.
    #[default]
    Strict,
}

/// What is replaced, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How much is taken for a secret.
    pub level: Level,
    /// Patterns beside the public rules.
    pub patterns: Vec<Pattern>,
    /// Directories that are replaced wherever they stand, such as a home.
    pub paths: Vec<String>,
    /// Names that are replaced where they stand as a word, such as that of a user.
    pub names: Vec<String>,
    /// Goes into each hash. Keep it secret, or make a new one for each run, and
    /// nobody can try guesses.
    pub salt: Vec<u8>,
    /// What becomes of thinking that holds a secret.
    pub thinking: ThinkingPolicy,
}

/// A pattern of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// What stands in the placeholder: letters, digits and `-`.
    pub name: String,
    /// The pattern. If it has a group, the first one that is filled is the secret.
    pub regex: String,
}

/// What becomes of a thinking block that holds a secret. It is signed: the API
/// refuses it with another text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThinkingPolicy {
    /// The block is removed.
    #[default]
    DropBlock,
    /// The secret is replaced, for readers who send nothing to the API.
    Replace,
    /// The block stays as it is, with the secret. It is reported.
    Leave,
}

/// A secret that was found. The secret itself is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that found it.
    pub rule: String,
    /// The hash in its placeholder.
    pub hash: String,
    /// The key of the member that it is in; empty in a text.
    pub key: String,
    /// Its length in bytes.
    pub length: usize,
    /// Whether it is in signed thinking.
    pub is_in_thinking: bool,
}

impl Finding {
    /// What stands in place of the secret.
    pub fn placeholder(&self) -> String {
        format!("[REDACTED:{}:{}]", self.rule, self.hash)
    }
}

/// What becomes of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds nothing that is replaced.
    Unchanged,
    /// It is another line.
    Changed(Change),
}

/// A line with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The line.
    pub bytes: Vec<u8>,
    /// What was found, in order.
    pub findings: Vec<Finding>,
    /// What became of thinking.
    pub thinking: ThinkingChange,
}

/// What became of the thinking of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingChange {
    /// It held no secret.
    None,
    /// So many blocks were removed; others are left.
    Dropped(usize),
    /// The line held nothing but thinking. The secret is replaced, and the line
    /// should be taken out of its chain, because the API would refuse it.
    RemoveLine,
    /// The secret was replaced: the API would refuse the block.
    Replaced,
    /// The secret was left in.
    Left,
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// What was found, in order.
    pub findings: Vec<Finding>,
}

/// Why secrets cannot be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedactError {
    /// The name of a pattern has other characters than letters, digits and `-`.
    Name(String),
    /// A pattern is none, with why.
    Pattern(String, String),
    /// A directory or a name is too short to be replaced everywhere.
    TooShort(String),
    /// There is too much to look for.
    TooMany(String),
    /// The public rules cannot be used.
    Rules(String),
}

impl fmt::Display for RedactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RedactError::Name(name) => {
                write!(f, "the name of a pattern has letters, digits and `-` only, not `{name}`")
            }
            RedactError::Pattern(name, why) => write!(f, "invalid pattern {name}: {why}"),
            RedactError::TooShort(text) => write!(f, "`{text}` is too short to be replaced"),
            RedactError::TooMany(why) => write!(f, "too many texts to replace: {why}"),
            RedactError::Rules(why) => write!(f, "the rules for secrets cannot be used: {why}"),
        }
    }
}

impl std::error::Error for RedactError {}
