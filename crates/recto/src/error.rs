//! Errors of commands: what went wrong, what to do, and the exit code.

use std::fmt;
use std::io;

use recto_store::StoreError;
use recto_view::ViewError;
use recto_view::hint;

/// How a command ended when nothing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did what was asked: exit code 0.
    Done,
    /// It found problems, or found nothing: exit code 1.
    Found,
    /// It was ended: this exit code.
    Code(u8),
}

/// Why a command could not do what was asked.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The user asked for something that is not there.
    User {
        kind: &'static str,
        message: String,
        /// What may have been meant.
        candidates: Vec<String>,
        hints: Vec<String>,
    },
    /// A file could not be read.
    Store(StoreError),
    /// Writing the output failed.
    Io(io::Error),
    /// The reader of the output went away.
    BrokenPipe,
}

impl CommandError {
    pub(crate) fn user(kind: &'static str, message: impl Into<String>) -> CommandError {
        CommandError::User {
            kind,
            message: message.into(),
            candidates: Vec::new(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> CommandError {
        if let CommandError::User { hints, .. } = &mut self {
            hints.push(hint.into());
        }
        self
    }

    pub(crate) fn with_candidate(mut self, candidate: impl Into<String>) -> CommandError {
        if let CommandError::User { candidates, .. } = &mut self {
            candidates.push(candidate.into());
        }
        self
    }

    /// What may have been meant.
    pub(crate) fn candidates(&self) -> &[String] {
        match self {
            CommandError::User { candidates, .. } => candidates,
            CommandError::Store(_) | CommandError::Io(_) | CommandError::BrokenPipe => &[],
        }
    }

    /// A stable name, for machines.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            CommandError::User { kind, .. } => kind,
            CommandError::Store(error) => error.kind(),
            CommandError::Io(_) => "io",
            CommandError::BrokenPipe => "broken-pipe",
        }
    }

    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            CommandError::User { hints, .. } => hints.clone(),
            CommandError::Store(error) => hint(error).map(str::to_owned).into_iter().collect(),
            CommandError::Io(_) | CommandError::BrokenPipe => Vec::new(),
        }
    }

    /// 1 where nothing was found, 2 where the command could not run.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            CommandError::User { kind: "not-found" | "no-sessions", .. } => 1,
            // A turn or line that does not exist, whichever command looks for it.
            CommandError::Store(error) if matches!(error.kind(), "no-turn" | "no-line") => 1,
            _ => 2,
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::User { message, .. } => f.write_str(message),
            CommandError::Store(error) => f.write_str(&without_jargon(&error.to_string())),
            CommandError::Io(error) => f.write_str(&without_jargon(&error.to_string())),
            CommandError::BrokenPipe => f.write_str("the output was closed"),
        }
    }
}

/// An error of the system in plain words: `cannot open x: permission denied`.
fn without_jargon(text: &str) -> String {
    let text = match text.rfind(" (os error ") {
        Some(at) if text.ends_with(')') => &text[..at],
        _ => text,
    };
    let Some((what, why)) = text.rsplit_once(": ") else { return text.to_owned() };
    let why = match why {
        "No such file or directory" => "no such file or directory",
        "Permission denied" => "permission denied",
        "Is a directory" => "it is a directory",
        "Not a directory" => "part of the path is not a directory",
        "No space left on device" => "the disk is full",
        "Read-only file system" => "the file system is read-only",
        other => other,
    };
    let named = what.strip_prefix("failed to ").and_then(|what| what.split_once(" `"));
    match named.and_then(|(verb, name)| Some((verb, name.strip_suffix('`')?))) {
        Some((verb, name)) => {
            let verb = match verb.split(' ').next().unwrap_or(verb) {
                "canonicalize" => "find",
                verb => verb,
            };
            format!("cannot {verb} {name}: {why}")
        }
        None => format!("{what}: {why}"),
    }
}

impl From<ViewError> for CommandError {
    fn from(error: ViewError) -> CommandError {
        match error {
            ViewError::Store(error) => CommandError::Store(error),
            ViewError::Refused { kind, message, hint } => {
                let error = CommandError::user(kind, message);
                hint.into_iter().fold(error, CommandError::with_hint)
            }
            ViewError::NotFound(message) => CommandError::user("not-found", message),
            ViewError::Internal(message) => CommandError::user("internal", message),
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> CommandError {
        CommandError::Store(error)
    }
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> CommandError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CommandError::BrokenPipe,
            _ => CommandError::Io(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::without_jargon;

    #[test]
    fn errors_of_the_system_are_said_in_plain_words() {
        for (told, said) in [
            (
                "failed to canonicalize path `nope.toml`: No such file or directory (os error 2)",
                "cannot find nope.toml: no such file or directory",
            ),
            (
                "failed to open file `/a: b`: Permission denied (os error 13)",
                "cannot open /a: b: permission denied",
            ),
            ("/x: Is a directory (os error 21)", "/x: it is a directory"),
            ("a title is one line", "a title is one line"),
            ("line 3: expected `=`", "line 3: expected `=`"),
        ] {
            assert_eq!(without_jargon(told), said);
        }
    }
}
