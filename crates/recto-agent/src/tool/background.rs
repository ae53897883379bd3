//! Tasks that go on after their call.
//!
//! Owns: their states, what their end adds to their output, and the notice that the model
//! gets of it, once.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::sync::DropGuard;

use super::agent::AgentRequest;
use super::host::Host;
use super::message::Mail;
use super::news;
use super::process::Running;

/// How long a subagent that was stopped has to end what it started.
const LAST_MOMENT: Duration = Duration::from_millis(900);

/// What a task is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It runs.
    Running,
    /// It ended as it should.
    Completed,
    /// It ended with an error.
    Failed,
}

impl Status {
    /// As notices spell it.
    #[must_use]
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Failed => "failed",
        }
    }
}

/// A task, as others see it.
#[derive(Debug, Clone)]
pub(super) struct Task {
    /// Its id.
    pub(super) id: String,
    /// The call that started it.
    pub(super) tool_use: String,
    /// The name of this run.
    pub(super) run: String,
    /// The command, or nothing for a subagent.
    pub(super) command: Option<String>,
    /// What the model said it is for.
    pub(super) description: String,
    /// What the model calls a subagent.
    pub(super) name: Option<String>,
    /// Where its output is.
    pub(super) output: PathBuf,
    /// What it is doing.
    pub(super) status: Status,
    /// The exit code of a command that ended by itself.
    pub(super) code: Option<i32>,
    running: Option<Running>,
    agent: Option<AgentEnd>,
}

/// How a subagent is ended, and how it says that it has.
#[derive(Debug, Clone)]
struct AgentEnd {
    kind: String,
    mail: Mail,
    cancel: CancellationToken,
    is_gone: CancellationToken,
}

#[derive(Debug, Default)]
struct Tasks {
    known: BTreeMap<String, Task>,
    notices: Vec<Notice>,
    /// Who has them now.
    heir: Option<Background>,
}

/// What the model shall know about the end of a task.
#[derive(Debug, Clone)]
pub struct Notice {
    /// The name of the run.
    pub run: String,
    /// The text.
    pub text: String,
    /// What the reader should know before it.
    pub before: Option<String>,
}

/// All tasks of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Background {
    tasks: Arc<Mutex<Tasks>>,
    changed: Arc<tokio::sync::Notify>,
}

impl Task {
    /// A command that is waited for.
    pub(super) fn waited_for(id: &str, tool_use: &str, description: &str, output: &Path) -> Task {
        Task {
            id: id.to_owned(),
            tool_use: tool_use.to_owned(),
            run: news::new_run(),
            command: None,
            description: description.to_owned(),
            name: None,
            output: output.to_owned(),
            status: Status::Running,
            code: None,
            running: None,
            agent: None,
        }
    }

    /// The kind of a subagent.
    pub(super) fn agent_kind(&self) -> Option<&str> {
        self.agent.as_ref().map(|agent| agent.kind.as_str())
    }

    /// Where messages for a subagent go.
    pub(super) fn mail(&self) -> Option<&Mail> {
        self.agent.as_ref().map(|agent| &agent.mail)
    }

    /// Whether a name means it.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.id == name || self.name.as_deref() == Some(name)
    }
}

/// A command that becomes a task.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) id: String,
    pub(super) tool_use: String,
    pub(super) command: String,
    pub(super) description: String,
    pub(super) output: PathBuf,
    pub(super) running: Running,
    /// When it is ended, if it does not end before.
    pub(super) limit: Option<Duration>,
    /// Who is told of its end.
    pub(super) host: Host,
}

impl Background {
    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a command on, and watches for its end.
    pub(super) async fn watch(&self, started: Started) {
        let Started { id, tool_use, command, description, output, .. } = started;
        let Started { mut running, limit, host, .. } = started;
        let task = Task {
            id: id.clone(),
            tool_use,
            run: news::new_run(),
            command: Some(command),
            description,
            name: None,
            output: output.clone(),
            status: Status::Running,
            code: None,
            running: Some(running.clone()),
            agent: None,
        };
        self.tasks().known.insert(id.clone(), task.clone());
        news::tell(&host, news::begun(&task, &self.running())).await;
        let background = self.clone();
        tokio::spawn(async move {
            let code = match limit {
                Some(limit) => tokio::time::timeout(limit, running.ended()).await.ok(),
                None => Some(running.ended().await),
            };
            match code {
                Some(code) => background.end(&id, code, &output, &host).await,
                None => {
                    running.kill().await;
                    background.expire(&id, &host).await;
                }
            }
        });
    }

    /// A command had its time: it is gone, and the model is told why.
    async fn expire(&self, id: &str, host: &Host) {
        let owner = self.owner();
        let Some(task) = owner.tasks().known.remove(id) else { return };
        leave(&task.output, "[killed]");
        let summary = format!(
            "Background command \"{}\" was stopped after reaching its background time limit",
            task.description
        );
        news::tell(host, news::ended(&task, "killed", &summary, &owner.running())).await;
        let details = "<note>If you still need it, start it again with run_in_background and a \
                       longer timeout, unless it had the longest one. Report that it was \
                       stopped.</note>\n";
        let text = notice(&task, "killed", &summary, details);
        owner.tasks().notices.push(Notice { run: task.run, text, before: None });
        owner.changed.notify_one();
    }

    /// Who has the tasks of this one now.
    fn owner(&self) -> Background {
        let heir = self.tasks().heir.clone();
        heir.map_or_else(|| self.clone(), |heir| heir.owner())
    }

    async fn end(&self, id: &str, code: i32, output: &Path, host: &Host) {
        let task = self.owner().task(id);
        let Some(mut task) = task.filter(|task| task.status == Status::Running) else {
            return;
        };
        task.code = Some(code);
        task.status = if code == 0 { Status::Completed } else { Status::Failed };
        let summary = match code {
            0 => format!("Background command \"{}\" completed (exit code 0)", task.description),
            _ => {
                format!("Background command \"{}\" failed with exit code {code}", task.description)
            }
        };
        leave(output, &format!("[exited with code {code}]"));
        let others: Vec<Task> =
            self.owner().running().into_iter().filter(|one| one.id != id).collect();
        // The surface knows before the model does.
        news::tell(host, news::ended(&task, task.status.as_str(), &summary, &others)).await;
        let owner = self.owner();
        let mut tasks = owner.tasks();
        // Somebody may have stopped it meanwhile.
        let Some(known) = tasks.known.get_mut(id) else { return };
        known.code = task.code;
        known.status = task.status;
        let text = notice(&task, task.status.as_str(), &summary, "");
        tasks.notices.push(Notice { run: task.run, text, before: None });
        owner.changed.notify_one();
    }

    /// The tasks that run.
    pub(super) fn running(&self) -> Vec<Task> {
        let tasks = self.tasks();
        let is_running = |task: &&Task| task.status == Status::Running;
        tasks.known.values().filter(is_running).cloned().collect()
    }

    /// The subagents that were started here, whether they run or not.
    pub(super) fn agents(&self) -> Vec<Task> {
        let tasks = self.tasks();
        tasks.known.values().filter(|task| task.agent.is_some()).cloned().collect()
    }

    /// Takes a subagent on that the loop runs: it is cancelled by the token, and holds the
    /// guard as long as anything of it runs.
    pub(super) fn add_agent(
        &self,
        request: &AgentRequest,
        output: PathBuf,
    ) -> (CancellationToken, DropGuard) {
        let agent = AgentEnd {
            kind: request.kind.clone(),
            mail: request.mail.clone(),
            cancel: CancellationToken::new(),
            is_gone: CancellationToken::new(),
        };
        let handles = (agent.cancel.clone(), agent.is_gone.clone().drop_guard());
        let task = Task {
            id: request.id.clone(),
            tool_use: request.tool_use.clone(),
            run: news::new_run(),
            command: None,
            description: request.description.clone(),
            name: request.name.clone(),
            output,
            status: Status::Running,
            code: None,
            running: None,
            agent: Some(agent),
        };
        self.tasks().known.insert(request.id.clone(), task);
        handles
    }

    /// The end of a subagent, with what it reported as further elements of the notice.
    pub(super) fn end_agent(
        &self,
        id: &str,
        status: Status,
        details: &str,
        before: Option<String>,
    ) {
        let owner = self.owner();
        let mut tasks = owner.tasks();
        let Some(task) = tasks.known.get_mut(id) else { return };
        task.status = status;
        let how = if status == Status::Completed { "finished" } else { status.as_str() };
        let summary = format!("Agent \"{}\" {how}", task.description);
        let text = notice(task, status.as_str(), &summary, details);
        let run = task.run.clone();
        tasks.notices.push(Notice { run, text, before });
        owner.changed.notify_one();
    }

    /// Gives what still runs to another one, who is told of its end; whether anything does.
    pub(super) fn hand_over(&self, heir: &Background) -> bool {
        let mut tasks = self.tasks();
        let known = std::mem::take(&mut tasks.known);
        tasks.notices.clear();
        tasks.heir = Some(heir.clone());
        drop(tasks);
        let is_running = |(_, task): &(String, Task)| task.status == Status::Running;
        let running: Vec<(String, Task)> = known.into_iter().filter(is_running).collect();
        let has_some = !running.is_empty();
        heir.owner().tasks().known.extend(running);
        has_some
    }

    /// A task by its id.
    pub(super) fn task(&self, id: &str) -> Option<Task> {
        self.tasks().known.get(id).cloned()
    }

    /// Waits until a task no longer runs.
    pub(super) async fn ended(&self, id: &str) {
        while self.task(id).is_some_and(|task| task.status == Status::Running) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Stops a task, forgets it, and returns when its processes are gone.
    pub(super) async fn stop(&self, id: &str) {
        let task = self.tasks().known.remove(id);
        let Some(mut task) = task else { return };
        if let Some(running) = &mut task.running {
            running.kill().await;
            leave(&task.output, "[killed]");
        }
        if let Some(agent) = &task.agent {
            agent.cancel.cancel();
            tokio::time::timeout(LAST_MOMENT, agent.is_gone.cancelled()).await.ok();
        }
        self.changed.notify_one();
    }

    pub(super) async fn stop_all(&self) {
        let is_running = |task: &&Task| task.status == Status::Running;
        let ids: Vec<String> =
            self.tasks().known.values().filter(is_running).map(|task| task.id.clone()).collect();
        let mut stopping = JoinSet::new();
        for id in ids {
            let background = self.clone();
            stopping.spawn(async move { background.stop(&id).await });
        }
        while stopping.join_next().await.is_some() {}
    }

    /// Whether a task runs, or has ended without the model knowing.
    pub(super) fn is_busy(&self) -> bool {
        let tasks = self.tasks();
        !tasks.notices.is_empty() || tasks.known.values().any(|task| task.status == Status::Running)
    }

    /// Whether a subagent works, or has ended without the model knowing.
    pub(super) fn has_agents(&self) -> bool {
        let tasks = self.tasks();
        let is_live = |task: &Task| task.status == Status::Running && task.command.is_none();
        let is_agent = |notice: &Notice| {
            tasks.known.values().any(|task| task.run == notice.run && task.command.is_none())
        };
        tasks.known.values().any(is_live) || tasks.notices.iter().any(is_agent)
    }

    /// Waits until a task ends.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Notices that were not given yet.
    pub(super) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.tasks().notices)
    }
}

/// The last line of an output; where a command went that nobody waits for does not count.
fn leave(output: &Path, how: &str) {
    let file = std::fs::OpenOptions::new().append(true).open(output);
    // The file may be gone with its directory; the notice tells the end as well.
    file.and_then(|mut file| file.write_all(format!("\n{how}\n").as_bytes())).ok();
    std::fs::remove_file(output.with_extension("cwd")).ok();
}

/// What the model is told about the end of a task.
pub(super) fn notice(task: &Task, status: &str, summary: &str, details: &str) -> String {
    format!(
        "[Automated notice of a background task. The user did not write it: it answers no \
         question and approves nothing.]\n\n\
         <task-notification>\n<task-id>{}</task-id>\n<tool-use-id>{}</tool-use-id>\n\
         <output-file>{}</output-file>\n<status>{status}</status>\n<summary>{summary}</summary>\n\
         {details}</task-notification>",
        task.id,
        task.tool_use,
        task.output.display(),
    )
}
