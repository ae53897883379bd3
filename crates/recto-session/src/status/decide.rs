//! The answer, from the fold, what the client announced, and the time.
//!
//! What the client says of itself comes first. Without it, the log decides, by
//! priority: a call that somebody has to allow, work, a turn that is over, silence.

use jiff::SignedDuration;
use jiff::Timestamp;

use super::Announced;
use super::Announcement;
use super::Confidence;
use super::Status;
use super::StatusFold;
use super::StatusKind;
use super::call::Asking;
use super::call::Audience;
use super::call::PendingCall;
use super::call::Reason;
use super::fold::End;
use super::fold::Phase;
use super::fold::Step;
use super::task::RunningTask;
use super::task::TaskKind;
use super::timer;
use super::words::ago;
use super::words::beginning;

/// The longest word of the client's that is repeated in a sentence.
const WORD_MOST: usize = 60;

/// What a session does now.
pub fn status(announcement: &Announcement, fold: &StatusFold, now: Timestamp) -> Status {
    let announced = match announcement {
        Announcement::Made(announced) => Some(announced),
        Announcement::Unknown | Announcement::Absent => None,
    };
    let running = fold.running(announced.and_then(|announced| announced.started));
    let question = Question { announcement, fold, now, running: &running };
    let mut decided = question.decide();
    if decided.is_timed {
        // The span since then is shorter than the one that the evidence speaks of.
        decided.why.push(format!("after {} min it counts as idle", timer::IDLE.as_mins()));
    }
    let has_ended = decided.kind == StatusKind::Ended;
    let pending = match decided.kind {
        kind @ (StatusKind::WaitingForApproval | StatusKind::WaitingForInput) => {
            question.asking_call().filter(|call| call.waiting() == kind).cloned()
        }
        _ => None,
    };
    let current = match decided.kind {
        StatusKind::Working => fold.calls.first().cloned(),
        _ => None,
    };
    Status {
        kind: decided.kind,
        since: decided.since,
        confidence: decided.confidence,
        why: decided.why,
        changes_at: decided.changes_at,
        pending,
        current,
        running: if has_ended { Vec::new() } else { running },
        last_output: fold.last_output.clone(),
        last_prompt: fold.last_prompt.clone(),
        title: fold.title().map(str::to_owned),
        model: fold.model.clone(),
        // Newer clients write this where there is no repository.
        branch: fold.branch.clone().filter(|branch| !branch.is_empty() && branch != "HEAD"),
        cwd: fold.cwd.clone(),
        version: fold.version.clone(),
        permission_mode: fold.mode.clone(),
        tokens: fold.tokens(),
        context_tokens: fold.context_tokens(),
        last_line: fold.last,
    }
}

/// An answer on its way.
struct Decided {
    kind: StatusKind,
    since: Option<Timestamp>,
    confidence: Confidence,
    why: Vec<String>,
    changes_at: Option<Timestamp>,
    /// Whether it is idle because a time has passed.
    is_timed: bool,
}

impl Decided {
    fn new(kind: StatusKind, since: Option<Timestamp>, confidence: Confidence) -> Decided {
        Decided { kind, since, confidence, why: Vec::new(), changes_at: None, is_timed: false }
    }

    fn because(mut self, why: impl Into<String>) -> Decided {
        self.why.push(why.into());
        self
    }

    fn until(mut self, time: Option<Timestamp>) -> Decided {
        self.changes_at = time;
        self
    }
}

/// Everything that an answer is made of.
struct Question<'a> {
    announcement: &'a Announcement,
    fold: &'a StatusFold,
    now: Timestamp,
    running: &'a [RunningTask],
}

impl Question<'_> {
    /// Who could be asked. What the client says of itself is newer than its last line.
    fn audience(&self) -> Audience {
        let announced = match self.announcement {
            Announcement::Made(announced) => announced.entrypoint.as_deref(),
            Announcement::Unknown | Announcement::Absent => None,
        };
        Audience::of_entrypoint(announced.or(self.fold.entrypoint.as_deref()))
    }

    /// Whether a call waits for somebody.
    fn asking(&self, call: &PendingCall) -> Asking {
        call.asking(self.fold.mode.as_deref(), self.audience())
    }

    fn decide(&self) -> Decided {
        match self.announcement {
            Announcement::Made(announced) if !announced.is_alive => self.gone(announced),
            Announcement::Made(announced) => {
                let process = format!("process {}", announced.pid);
                let Some(said) = &announced.status else {
                    let mut decided = self.by_log(Life::Lives);
                    decided.why.insert(0, format!("{process} runs and reports no status"));
                    return decided;
                };
                let said = beginning(said, WORD_MOST);
                let span = self.span(announced.since);
                let why = format!("{process} has reported `{said}`{span}");
                self.by_word(announced, why).unwrap_or_else(|why| {
                    let mut decided = self.by_log(Life::Lives);
                    decided.why.insert(0, format!("{why}, an unknown status"));
                    decided
                })
            }
            Announcement::Absent => self.not_announced(),
            Announcement::Unknown => self.by_log(Life::Unknown),
        }
    }

    /// The process is gone, and could not take its announcement with it.
    fn gone(&self, announced: &Announced) -> Decided {
        let since = announced.since.max(self.fold.last);
        let decided = Decided::new(StatusKind::Ended, since, Confidence::High)
            .because(format!("process {} exited without cleaning up", announced.pid));
        self.tell_cut_turn(decided)
    }

    /// The client says what it does. Gives the sentence back if that is not understood.
    fn by_word(&self, announced: &Announced, why: String) -> Result<Decided, String> {
        let since = announced.since.or(self.fold.last);
        let high = Confidence::High;
        let decided = match announced.status.as_deref() {
            Some("busy") => {
                let decided = Decided::new(StatusKind::Working, since, high).because(why);
                self.tell_work(decided)
            }
            Some("shell") => Decided::new(StatusKind::Working, since, high)
                .because(why)
                .because("a command that was typed with `!` runs"),
            Some("waiting") => {
                let call = self.asking_call();
                let kind = call.map_or(StatusKind::WaitingForApproval, PendingCall::waiting);
                let mut decided = Decided::new(kind, since, high).because(why);
                if let Some(what) = &announced.waiting_for {
                    let what = beginning(what, WORD_MOST);
                    decided = decided.because(format!("it waits for: {what}"));
                }
                match call {
                    Some(call) => decided.because(self.call_sentence(call)),
                    None => decided,
                }
            }
            Some("idle") => self.rest(since, high).because(why),
            _ => return Err(why),
        };
        Ok(match decided.kind {
            StatusKind::WaitingForInput | StatusKind::Idle => {
                self.tell_running(self.tell_end(decided))
            }
            _ => self.tell_running(decided),
        })
    }

    /// No client announces the session: one that would has ended.
    fn not_announced(&self) -> Decided {
        if !self.fold.announces_itself() {
            return self.unless_abandoned(self.by_log(Life::Unknown));
        }
        let left = after(self.fold.last, timer::LEAVING);
        match left {
            Some(left) if self.now < left => {
                let mut decided = self.by_log(Life::Unknown);
                decided.changes_at = decided.changes_at.map_or(Some(left), |at| Some(at.min(left)));
                decided.why.push("no process is announced".into());
                decided
            }
            _ => {
                let version = self.fold.version.as_deref().unwrap_or_default();
                let version = beginning(version, WORD_MOST);
                let decided = Decided::new(StatusKind::Ended, self.fold.last, Confidence::Medium)
                    .because(format!(
                        "no running {version} process is registered for this session"
                    ));
                self.tell_cut_turn(decided)
            }
        }
    }

    /// What the log says, where the client says nothing.
    fn by_log(&self, life: Life) -> Decided {
        let decided = match &self.fold.phase {
            Phase::Nothing if self.fold.is_empty() && life == Life::Unknown => {
                return Decided::new(StatusKind::Unknown, None, Confidence::Low)
                    .because("nothing is written and no process is announced");
            }
            Phase::Nothing if self.audience() == Audience::Nobody => {
                // Its prompt came with it, and is not written yet.
                let decided = Decided::new(StatusKind::Working, self.fold.last, Confidence::Low)
                    .because("it was started for one prompt (`claude -p`)");
                self.unless_silent(decided, timer::IDLE, life)
            }
            Phase::Nothing => {
                self.rest(self.fold.last, Confidence::Low).because("nothing was asked yet")
            }
            Phase::Working { since, step } => self.at_work(*since, step, life),
            Phase::Over { at, .. } => self.after_turn(*at, life),
        };
        self.tell_running(decided)
    }

    fn at_work(&self, since: Option<Timestamp>, step: &Step, life: Life) -> Decided {
        let call = self.asking_call();
        let asking = call.map(|call| (call, self.asking(call)));
        if let Some((call, Asking::Always)) = asking {
            let decided = Decided::new(call.waiting(), call.since, Confidence::Medium)
                .because(self.call_sentence(call))
                .because(format!("{} asks the user", call.tool));
            return self.unless_silent(decided, timer::ABANDONED, life);
        }
        if let Some((call, Asking::Perhaps)) = asking {
            // Of several calls, the next one is asked about when the one before is done.
            let asked = after(call.since.max(self.fold.last_result), timer::ASKING);
            if asked.is_none_or(|asked| self.now >= asked) {
                let mode = self.fold.mode.as_deref().unwrap_or("default");
                let mode = beginning(mode, WORD_MOST);
                let decided = Decided::new(StatusKind::WaitingForApproval, asked, Confidence::Low)
                    .because(self.call_sentence(call))
                    .because(format!("in permission mode `{mode}` it may have to be allowed"));
                return self.unless_silent(decided, timer::ABANDONED, life);
            }
            let decided = Decided::new(StatusKind::Working, since, Confidence::Low).until(asked);
            return self.tell_work(decided);
        }
        if let Step::Said { at } = step
            && self.fold.calls.is_empty()
        {
            return self.after_text(since, *at, life);
        }
        let confidence = match asking {
            Some((_, Asking::Hardly)) => Confidence::Low,
            _ => Confidence::Medium,
        };
        let decided = self.tell_work(Decided::new(StatusKind::Working, since, confidence));
        self.unless_silent(decided, timer::IDLE, life)
    }

    /// A text was written, and the log does not say whether that was all.
    fn after_text(&self, since: Option<Timestamp>, at: Option<Timestamp>, life: Life) -> Decided {
        let settled = after(at, timer::SETTLING);
        if settled.is_some_and(|settled| self.now < settled) {
            return Decided::new(StatusKind::Working, since, Confidence::Low)
                .because(format!("a text was written{}", self.age(at)))
                .until(settled);
        }
        let mut decided = self.rest_of_turn(at, Confidence::Low, life);
        if matches!(decided.kind, StatusKind::WaitingForInput | StatusKind::Ended) {
            decided.since = settled;
        }
        decided.because(format!("a text was written{} and nothing followed", self.age(at)))
    }

    fn after_turn(&self, at: Option<Timestamp>, life: Life) -> Decided {
        let agents = self.running.iter().filter(|task| task.kind == TaskKind::Agent);
        let started = agents.clone().filter_map(|task| task.since).max();
        let silent = after(started.max(self.fold.agents_written), timer::IDLE);
        if agents.count() > 0 && silent.is_some_and(|silent| self.now < silent) {
            let decided = Decided::new(StatusKind::Working, at, Confidence::Low)
                .until(silent)
                .because("the turn is over, but subagents are running; it continues when they end");
            return self.tell_end(decided);
        }
        self.tell_end(self.rest_of_turn(at, Confidence::Medium, life))
    }

    /// A turn is over, by the log. A client that was started for one prompt ends with it;
    /// one that lives on gets the next prompt from a program, if at all.
    fn rest_of_turn(&self, at: Option<Timestamp>, confidence: Confidence, life: Life) -> Decided {
        if self.audience() == Audience::Somebody {
            return self.rest(at, confidence);
        }
        let kind = if life == Life::Lives { StatusKind::Idle } else { StatusKind::Ended };
        Decided::new(kind, at, confidence).because("it was started for one prompt (`claude -p`)")
    }

    /// It is somebody's turn: to be waited for at first, to be left alone later.
    fn rest(&self, since: Option<Timestamp>, confidence: Confidence) -> Decided {
        let idle = after(since, timer::IDLE);
        if idle.is_some_and(|idle| self.now >= idle) {
            let decided = Decided::new(StatusKind::Idle, idle, confidence);
            return Decided { is_timed: true, ..decided };
        }
        Decided::new(StatusKind::WaitingForInput, since, confidence).until(idle)
    }

    /// Where no process is known, a log that is silent for long says that nobody works
    /// on it any more.
    fn unless_silent(&self, decided: Decided, most: SignedDuration, life: Life) -> Decided {
        let last = self.fold.last.max(self.fold.agents_written);
        let silent = after(last, most);
        if life == Life::Lives {
            return decided;
        }
        if silent.is_none_or(|silent| self.now < silent) {
            return decided.until(silent);
        }
        let mut idle = Decided::new(StatusKind::Idle, silent, Confidence::Low)
            .because(format!("nothing was written{} and no process is known", self.span(last)));
        idle.why.extend(decided.why);
        idle
    }

    /// A session that nobody has touched for a day, and that no process is known to run, is
    /// over: its client does not register itself, so that nothing else says so.
    fn unless_abandoned(&self, decided: Decided) -> Decided {
        if decided.kind != StatusKind::Idle {
            return decided;
        }
        let last = self.fold.last.max(self.fold.agents_written);
        let over = after(last, timer::ABANDONED);
        if over.is_none_or(|over| self.now < over) {
            return decided.until(over);
        }
        let mut ended = Decided::new(StatusKind::Ended, last, Confidence::Low)
            .because(format!("nothing was written{} and no process is known", self.span(last)));
        let told = |why: &String| !why.starts_with("nothing was written");
        ended.why.extend(decided.why.into_iter().filter(told));
        ended
    }

    /// The call that somebody is asked about first.
    fn asking_call(&self) -> Option<&PendingCall> {
        // Of those that are alike, the first.
        self.fold.calls.iter().min_by_key(|call| match self.asking(call) {
            Asking::Always => 0,
            Asking::Perhaps => 1,
            Asking::Hardly => 2,
            Asking::Never(_) => 3,
        })
    }

    fn tell_work(&self, decided: Decided) -> Decided {
        if let Some(call) = self.fold.calls.first() {
            let decided = decided.because(self.call_sentence(call));
            let mode = beginning(self.fold.mode.as_deref().unwrap_or("default"), WORD_MOST);
            return match self.asking(call) {
                Asking::Never(Reason::Mode) => {
                    decided.because(format!("it runs without approval in permission mode `{mode}`"))
                }
                Asking::Hardly => {
                    decided.because(format!("it rarely needs approval in permission mode `{mode}`"))
                }
                Asking::Never(Reason::Headless) => {
                    decided.because("it cannot ask: it was started by `claude -p`")
                }
                Asking::Always
                | Asking::Perhaps
                | Asking::Never(Reason::Runs | Reason::Harmless) => decided,
            };
        }
        let Phase::Working { step, .. } = &self.fold.phase else { return decided };
        let age = self.age(self.fold.last);
        decided.because(match step {
            Step::Asked => format!("the model has not answered; the last line came{age}"),
            Step::Answering | Step::Said { .. } => format!("the model answers; a line came{age}"),
            Step::Retrying { attempt, attempts, next } => {
                let count = match (attempt, attempts) {
                    (Some(attempt), Some(attempts)) => format!(" (try {attempt} of {attempts})"),
                    (Some(attempt), None) => format!(" (try {attempt})"),
                    _ => String::new(),
                };
                let wait = next.filter(|next| *next > self.now);
                let wait = wait.map_or_else(
                    || "is sent again".to_owned(),
                    |next| format!("will be retried in {}", ago(self.now, next)),
                );
                format!("a request failed{count} and {wait}")
            }
        })
    }

    fn tell_end(&self, decided: Decided) -> Decided {
        let Phase::Over { at, how } = &self.fold.phase else { return decided };
        let age = self.age(*at);
        decided.because(match how {
            End::Answered => format!("the turn ended{age}"),
            End::Interrupted => format!("the turn was interrupted{age}"),
            End::Failed => format!("the request failed and was given up{age}"),
            End::Command => format!("a command was done{age}"),
            End::Compacted => format!("the conversation was compacted{age}"),
        })
    }

    /// What was not done when the process ended.
    fn tell_cut_turn(&self, decided: Decided) -> Decided {
        if !matches!(self.fold.phase, Phase::Working { .. }) {
            return self.tell_end(decided);
        }
        match self.fold.calls.first() {
            Some(call) => decided.because(format!("{} has no result", call.tool)),
            None => decided.because("the last turn has no end"),
        }
    }

    fn tell_running(&self, decided: Decided) -> Decided {
        let count = |kind| self.running.iter().filter(|task| task.kind == kind).count();
        let plural = |number: usize, one: &str| match number {
            1 => format!("1 {one} runs"),
            _ => format!("{number} {one}s run"),
        };
        let mut decided = decided;
        for (kind, name) in
            [(TaskKind::Agent, "subagent"), (TaskKind::Command, "background command")]
        {
            if count(kind) > 0 {
                decided = decided.because(plural(count(kind), name));
            }
        }
        decided
    }

    fn call_sentence(&self, call: &PendingCall) -> String {
        format!("{} was called{} and has no result yet", call.tool, self.age(call.since))
    }

    /// ` 14 s ago`, if the time is known.
    fn age(&self, time: Option<Timestamp>) -> String {
        time.map_or_else(String::new, |time| format!(" {} ago", ago(time, self.now)))
    }

    /// ` for 14 s`, if the time is known.
    fn span(&self, time: Option<Timestamp>) -> String {
        time.map_or_else(String::new, |time| format!(" for {}", ago(time, self.now)))
    }
}

/// What is known of the process where it does not say what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Lives,
    Unknown,
}

fn after(time: Option<Timestamp>, wait: SignedDuration) -> Option<Timestamp> {
    time?.checked_add(wait).ok()
}
