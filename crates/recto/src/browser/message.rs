//! What the parts of the browser say to each other.
//!
//! Texts in here come from logs and have been made safe; paths have not, because
//! they are for opening files.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use crossterm::event::MouseEvent;
use jiff::Timestamp;
use recto_store::LogFile;
use recto_store::index;
use recto_view::ExportFormat;

use super::document::PageLine;
use crate::terminal::output::Look;
use crate::terminal::text::Span;

/// A log that can be read: a session, or a subagent.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) log: LogFile,
    /// The name of the log, which every command takes.
    pub(super) id: String,
    pub(super) title: String,
    /// The directory, as people write it.
    pub(super) project: String,
    /// The directory, where the log names one.
    pub(super) directory: Option<PathBuf>,
    pub(super) branch: String,
    pub(super) model: String,
    pub(super) bytes: u64,
    pub(super) modified: Timestamp,
    pub(super) live: Option<Live>,
}

/// What a running client says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Live {
    pub(super) mark: &'static str,
    pub(super) look: Look,
    pub(super) pid: u32,
}

impl Entry {
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The log of a subagent of this session.
    pub(super) fn of_agent(&self, agent: &LogFile, title: String) -> Entry {
        let (log, id) = (agent.clone(), agent.name());
        let (bytes, modified) = (agent.bytes(), agent.modified());
        Entry { log, id, title, bytes, modified, live: None, ..self.clone() }
    }

    /// The beginning of the id, which every command takes.
    pub(super) fn short_id(&self) -> String {
        let length = if self.log.is_agent() { usize::MAX } else { 8 };
        self.id().chars().take(length).collect()
    }
}

/// What a person or the system did.
pub(super) enum Input {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(u16, u16),
    Tick(Timestamp),
    Report(Report),
    /// The client that was resumed has ended, and how.
    Returned(Result<(), String>),
    /// Something outside could not be done.
    Failed(String),
}

/// What is to be done outside the state.
#[derive(Debug)]
pub(super) enum Effect {
    Read(Box<ReadRequest>),
    Search(SearchRequest),
    Errand(Errand),
    /// Look at the home now.
    Refresh,
    Copy(String),
    Resume(Resume),
    /// Go to the tmux pane of a process.
    Pane(u32),
    Redraw,
    Suspend,
    Quit,
}

/// A log, or a part of one, as lines for the screen.
#[derive(Debug, Clone)]
pub(super) struct ReadRequest {
    /// Told again in every report.
    pub(super) ticket: u64,
    pub(super) log: LogFile,
    pub(super) part: Part,
    pub(super) width: usize,
    pub(super) detail: Detail,
    pub(super) keep: Keep,
    /// Whether to go on with what is written to the log.
    pub(super) follow: bool,
    pub(super) place: Option<Arc<FoundPlace>>,
}

/// Which part of a log is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Conversation,
    /// What a turn changed in files.
    Changes(u32),
}

/// How much of tool calls and thinking is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    Brief,
    Full,
    Words,
}

impl Detail {
    pub(super) fn next(self) -> Detail {
        match self {
            Detail::Brief => Detail::Full,
            Detail::Full => Detail::Words,
            Detail::Words => Detail::Brief,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Detail::Brief => "tool calls in brief",
            Detail::Full => "tool calls and thinking in full",
            Detail::Words => "words only",
        }
    }
}

/// Which lines are kept of a long log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    All,
    Start,
    End,
}

#[derive(Debug, Clone)]
pub(super) struct SearchRequest {
    pub(super) ticket: u64,
    pub(super) words: String,
}

/// A place where the words of a search are.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    /// The session, as [`Entry::id`] names it.
    pub(super) session: String,
    /// The subagent of the session, where the words are in its log.
    pub(super) agent: Option<Arc<LogFile>>,
    /// The line of the log, from 1.
    pub(super) line: u64,
    pub(super) turn: Option<u32>,
    /// When the line was written.
    pub(super) time: Option<Timestamp>,
    /// The words with what stands around them.
    pub(super) snippet: String,
    pub(super) shown: Shown,
    pub(super) place: Arc<FoundPlace>,
}

impl Hit {
    /// The form of the transcript to read the hit in.
    pub(super) fn detail(&self) -> Detail {
        match self.shown {
            Shown::InBrief | Shown::Apart => Detail::Brief,
            Shown::InFull => Detail::Full,
        }
    }
}

/// Which form of a transcript shows a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    InBrief,
    InFull,
    /// None does for sure; its text is put where it would be.
    Apart,
}

/// A text that must be seen in a transcript, whatever its form leaves out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundPlace {
    pub(super) hit: index::Hit,
    /// What was found in it, as it stands there but in lower case.
    pub(super) words: Vec<String>,
}

/// Work that takes a while and is not reading.
#[derive(Debug, Clone)]
pub(super) enum Errand {
    Tools {
        ticket: u64,
        entry: Arc<Entry>,
        width: usize,
    },
    Agents {
        ticket: u64,
        entry: Arc<Entry>,
        width: usize,
    },
    Export {
        entry: Arc<Entry>,
        format: ExportFormat,
    },
    Restore {
        entry: Arc<Entry>,
    },
    /// What can be copied of a turn.
    Clips {
        ticket: u64,
        entry: Arc<Entry>,
        turn: u32,
    },
    Rename {
        entry: Arc<Entry>,
        title: String,
    },
    Fork {
        entry: Arc<Entry>,
        turn: u32,
    },
    Remove {
        entries: Vec<Arc<Entry>>,
    },
    /// What an undo would undo.
    LastOperation,
    Undo {
        operation: u64,
    },
}

/// A text of a transcript that can be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clip {
    pub(super) letter: char,
    /// What it is; it has been made safe.
    pub(super) name: String,
    /// As the model wrote it.
    pub(super) text: String,
}

/// A session to go on with in the real client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resume {
    pub(super) id: String,
    pub(super) directory: PathBuf,
}

/// What the workers found.
#[derive(Debug)]
pub(super) enum Report {
    Listing(Listing),
    /// The log was cut: what was read of it is gone.
    Begun {
        ticket: u64,
    },
    Lines {
        ticket: u64,
        lines: Vec<PageLine>,
    },
    Read {
        ticket: u64,
        is_cut: bool,
    },
    Rows {
        ticket: u64,
        rows: Vec<TableRow>,
    },
    Hits {
        ticket: u64,
        hits: Vec<Hit>,
    },
    Searched {
        ticket: u64,
        state: SearchState,
    },
    /// What a search did not see, and what else is to be said of it.
    Unsearched {
        ticket: u64,
        told: Vec<String>,
    },
    Exported {
        path: String,
        bytes: u64,
    },
    /// A session came back from the archive, with so many files.
    Restored {
        files: u64,
    },
    Clips {
        ticket: u64,
        clips: Vec<Clip>,
    },
    /// The home was changed; what to say of it, and the sessions that are gone.
    Changed {
        text: String,
        removed: Vec<String>,
    },
    /// The last operation that is in force, with the command that it was.
    LastOperation(Option<(u64, String)>),
    Remark(String),
    /// Something could not be done; with a ticket, what was asked with it.
    Failed {
        ticket: Option<u64>,
        message: String,
    },
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Newest first.
    pub(super) entries: Vec<Arc<Entry>>,
    /// Whether all sessions are there; the newest come first.
    pub(super) is_whole: bool,
    /// What could not be looked at, and why.
    pub(super) skipped: Vec<String>,
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchState {
    Running,
    /// Logs are read first, so many bytes of all that must be.
    Reading {
        done: u64,
        all: u64,
        seconds_left: Option<u64>,
    },
    Whole,
    /// There are more hits than are shown.
    Cut,
    /// The index is being built; older logs were not searched yet.
    Partial,
    /// It could not be made; what is wrong is told beside.
    Failed,
}

impl SearchState {
    pub(super) fn is_under_way(self) -> bool {
        match self {
            SearchState::Running | SearchState::Reading { .. } => true,
            SearchState::Whole | SearchState::Cut | SearchState::Partial | SearchState::Failed => {
                false
            }
        }
    }
}

/// A line of a table, and where it leads.
#[derive(Debug, Clone)]
pub(super) struct TableRow {
    pub(super) spans: Vec<Span>,
    pub(super) leads_to: LeadsTo,
}

#[derive(Debug, Clone)]
pub(super) enum LeadsTo {
    /// A line of the same log.
    Line(u64),
    Log(Arc<Entry>),
}
