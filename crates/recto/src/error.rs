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
            CommandError::Store(error) => error.fmt(f),
            CommandError::Io(error) => error.fmt(f),
            CommandError::BrokenPipe => f.write_str("the output was closed"),
        }
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
