//! What a session does now: it works, waits for somebody, rests, or has ended.
//!
//! | part | owns |
//! |---|---|
//! | `fold` | what the lines of a log say about now, line by line, from any line on |
//! | `call` | tool calls without a result, and whether they ask somebody |
//! | `task` | subagents, and commands in the background |
//! | `decide` | the answer, from the fold, what the client announced, and the time |
//! | `words` | spans of time and texts, shortened |
//!
//! The answer is a pure function of the evidence and the time. It changes with the
//! evidence, or when one of the timers in [`timer`] runs out; [`Status::changes_at`]
//! says when that is, so that nobody has to ask again and again. `since` is the time
//! of the evidence, never that of the question: whoever asks later gets the same one.
//!
//! Interface: [`status`] takes an [`Announcement`] and not an `Option`, because that
//! nothing is announced is evidence, and not to have looked is none.

mod call;
mod decide;
mod fold;
mod task;
mod words;

use jiff::Timestamp;

use crate::Tokens;

pub use call::PendingCall;
pub use decide::status;
pub use fold::StatusFold;
pub use task::RunningTask;
pub use task::TaskKind;
pub use words::beginning;

/// The documented timers. Nothing else makes an answer change with time.
pub mod timer {
    use jiff::SignedDuration;

    /// After so much silence a session that waits for a prompt is idle. So is one whose
    /// turn never ended, if no process is known to live.
    pub const IDLE: SignedDuration = SignedDuration::from_mins(5);
    /// A call that may need to be allowed is taken for running so long: most calls are
    /// allowed by a rule, and are done by then.
    pub const ASKING: SignedDuration = SignedDuration::from_secs(3);
    /// Clients up to 2.1.29 do not say how a message ended. A text that nothing follows
    /// for so long was the end of a turn.
    pub(crate) const SETTLING: SignedDuration = SignedDuration::from_secs(10);
    /// A client that announces itself, and is not announced, has ended if its log is
    /// older than this.
    pub(crate) const LEAVING: SignedDuration = SignedDuration::from_secs(10);
    /// A session without a known process, whose log was silent for so long, has ended; so is
    /// a call that seemed to wait for somebody given up.
    pub(crate) const ABANDONED: SignedDuration = SignedDuration::from_hours(24);
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StatusKind {
    /// Somebody has to approve a call or a plan before it continues.
    WaitingForApproval,
    /// Its turn is over, or it asked a question: somebody has to answer.
    WaitingForInput,
    /// The model or a tool works.
    Working,
    /// Its turn is over, and nothing has happened for a while.
    Idle,
    /// Its process is gone.
    Ended,
    /// There is nothing to tell from.
    Unknown,
}

impl StatusKind {
    /// All, in the order of how much they need somebody.
    pub const ALL: [StatusKind; 6] = [
        StatusKind::WaitingForApproval,
        StatusKind::WaitingForInput,
        StatusKind::Working,
        StatusKind::Idle,
        StatusKind::Ended,
        StatusKind::Unknown,
    ];

    /// The word for people, the same on every surface.
    pub fn label(self) -> &'static str {
        match self {
            StatusKind::WaitingForApproval => "needs approval",
            StatusKind::WaitingForInput => "needs input",
            StatusKind::Working => "working",
            StatusKind::Idle => "idle",
            StatusKind::Ended => "ended",
            StatusKind::Unknown => "unknown",
        }
    }

    /// The name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            StatusKind::WaitingForApproval => "waiting_for_approval",
            StatusKind::WaitingForInput => "waiting_for_input",
            StatusKind::Working => "working",
            StatusKind::Idle => "idle",
            StatusKind::Ended => "ended",
            StatusKind::Unknown => "unknown",
        }
    }

    /// The status of a name.
    pub fn from_name(name: &str) -> Option<StatusKind> {
        StatusKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How sure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// The log leaves it open; this is the likelier case.
    Low,
    /// The log says so.
    Medium,
    /// The client says so, or its process is gone.
    High,
}

impl Confidence {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// What a client says of itself in `sessions/<pid>.json`, and whether it lives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Announced {
    /// Its process.
    pub pid: u32,
    /// Whether that process lives, and is the one that wrote the file.
    pub is_alive: bool,
    /// `idle`, `busy`, `waiting` or `shell`; some clients do not say.
    pub status: Option<String>,
    /// What it waits for.
    pub waiting_for: Option<String>,
    /// When the status changed.
    pub since: Option<Timestamp>,
    /// When the process started.
    pub started: Option<Timestamp>,
    /// The version of the client.
    pub version: Option<String>,
    /// Such as `interactive`.
    pub kind: Option<String>,
    /// How it was started, as its lines say it too.
    pub entrypoint: Option<String>,
}

/// What is known of announcements for a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Announcement {
    /// Nobody has looked: there is the log, and nothing else.
    #[default]
    Unknown,
    /// No client announces this session.
    Absent,
    /// One does.
    Made(Announced),
}

/// What a session does now, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Status {
    /// What it does.
    pub kind: StatusKind,
    /// Since when: the time of the evidence.
    pub since: Option<Timestamp>,
    /// How sure that is.
    pub confidence: Confidence,
    /// The evidence, in sentences. They may hold text of the log.
    pub why: Vec<String>,
    /// When the answer changes if nothing happens.
    pub changes_at: Option<Timestamp>,
    /// The call that somebody has to allow or to answer.
    pub pending: Option<PendingCall>,
    /// The call that runs.
    pub current: Option<PendingCall>,
    /// Subagents that run, and commands in the background.
    pub running: Vec<RunningTask>,
    /// The last text of the model, cut.
    pub last_output: Option<String>,
    /// The last prompt, cut.
    pub last_prompt: Option<String>,
    /// The title, if the lines that were read have one.
    pub title: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The version of the client.
    pub version: Option<String>,
    /// The permission mode, such as `bypassPermissions`.
    pub permission_mode: Option<String>,
    /// The tokens of all messages that were read.
    pub tokens: Tokens,
    /// What the last answer was given for.
    pub context_tokens: Option<u64>,
    /// The time of the newest line.
    pub last_line: Option<Timestamp>,
}

#[cfg(test)]
mod status_tests;
