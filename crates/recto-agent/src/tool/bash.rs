//! `Bash`: a command of the shell.
//!
//! Owns: how a command is run and what its result says. The working directory persists from
//! call to call, nothing else does. Output goes to a file; of that file the first part is read.

mod meaning;
mod words;

use std::fs;
use std::fs::File;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::background::Started;
use super::background::Task;
use super::context::Call;
use super::issue;
use super::issue::Issue;
use super::issue::Step;
use super::news;
use super::outcome::ToolOutcome;
use super::overflow;
use super::path;
use super::process::Running;
use super::process::Script;
use super::read;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::session::Seen;
use super::session::Session;
use super::text_file::TextFile;

pub(super) const ABOUT: &str = "Runs a command in the shell. The working directory persists \
between calls, variables do not. A command that exceeds its timeout continues in the \
background.";

/// A command that runs so long is told about.
const WORTH_TELLING: Duration = Duration::from_millis(2500);

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("command", Kind::String, "The command"),
    Field::optional("timeout", Kind::Number, "Milliseconds, 600000 at most"),
    Field::optional("description", Kind::String, "What it does, in a few words"),
    Field::optional("run_in_background", Kind::Boolean, "Do not wait for its end"),
    Field::optional("dangerouslyDisableSandbox", Kind::Boolean, "Run it outside the sandbox"),
])
.with_aliases(&[("timeout_ms", "timeout")]);

/// What a result holds of an output.
const MOST_OUTPUT: u64 = 30_000;

/// What an error holds of an output, and by how much it may be more.
const MOST_ERROR: usize = 10_000;
const TOLERANCE: usize = 1024;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

/// A command that was moved to the background by its timeout has so long.
const LONGEST_OVERTIME: Duration = Duration::from_secs(600);

/// A command on its way.
struct Command<'a> {
    call: &'a Call<'a>,
    text: &'a str,
    id: String,
    output: PathBuf,
    cwd_file: PathBuf,
    /// Files that the model knows, with the time of their last change before the command.
    known: Vec<(PathBuf, Option<SystemTime>)>,
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    let is_hidden = |c: char| c.is_control() && !['\t', '\n'].contains(&c);
    if call.text("command").contains(is_hidden) {
        // Nobody would see them who is asked whether the command may run.
        let message =
            "command contains control characters that would be hidden in the approval dialog";
        let issue = Issue::custom(&[Step::Name("command".to_owned())], message);
        return Err(issue::outcome("Bash", &[issue]));
    }
    Ok(())
}

pub(super) async fn run(call: &Call<'_>) -> ToolOutcome {
    let session = call.session;
    if let Some(outcome) = recover(session) {
        return outcome;
    }
    let id = session.ids.task();
    let tasks = session.places.tasks();
    let command = Command {
        call,
        text: call.text("command"),
        output: tasks.join(format!("{id}.output")),
        cwd_file: tasks.join(format!("{id}.cwd")),
        id,
        known: known_files(session),
    };
    session.state().outputs.insert(call.id.to_owned(), command.output.clone());
    let outcome = run_command(call, command).await;
    session.state().outputs.remove(call.id);
    outcome
}

async fn run_command(call: &Call<'_>, command: Command<'_>) -> ToolOutcome {
    let mut running = match command.start() {
        Ok(running) => running,
        Err(error) => return ToolOutcome::failed(format!("The shell cannot be started: {error}")),
    };
    if call.is("run_in_background") {
        return command.in_background(running).await;
    }
    let limit = timeout(call).unwrap_or(DEFAULT_TIMEOUT);
    let mut told = None;
    let late = tokio::time::sleep(limit);
    tokio::pin!(late);
    let ended = loop {
        tokio::select! {
            code = running.ended() => break Ended::With(code),
            () = &mut late => break Ended::Late,
            () = call.cancel.cancelled() => break Ended::Cancelled,
            () = tokio::time::sleep(WORTH_TELLING), if told.is_none() => {
                let task = command.task();
                news::tell(&call.session.host, vec![news::started(&task, false)]).await;
                told = Some(task);
            }
        }
    };
    if let Some(task) = &told {
        let status = match ended {
            Ended::With(0) => "completed",
            Ended::With(_) => "failed",
            Ended::Late | Ended::Cancelled => "stopped",
        };
        let line = news::notification(task, status, "", &task.description);
        news::tell(&call.session.host, vec![line]).await;
    }
    match ended {
        Ended::With(code) => command.ended(code),
        Ended::Late if starts_with_sleep(command.text) => {
            running.kill().await;
            let text = command.output().map(|output| output.text).unwrap_or_default();
            command.remove();
            let late = format!("Command timed out after {}", duration(limit));
            ToolOutcome::failed(joined(&["Exit code 143", &late, &text]))
        }
        Ended::Late => command.overtime(running, limit).await,
        Ended::Cancelled => {
            running.kill().await;
            let text = command.output().map(|output| output.text).unwrap_or_default();
            command.remove();
            let lines = [text.as_str(), "Command was interrupted before it completed."];
            ToolOutcome::failed(joined(&lines))
        }
    }
}

enum Ended {
    With(i32),
    Late,
    Cancelled,
}

fn known_files(session: &Session) -> Vec<(PathBuf, Option<SystemTime>)> {
    let paths: Vec<PathBuf> = session.state().seen.keys().cloned().collect();
    paths.into_iter().map(|path| (path.clone(), changed_at(&path))).collect()
}

fn changed_at(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// A working directory that is gone is left; the command does not run, since it may have
/// meant files that are gone as well.
fn recover(session: &Session) -> Option<ToolOutcome> {
    let cwd = session.cwd();
    if cwd.is_dir() {
        return None;
    }
    let project = &session.places.project;
    session.state().cwd = project.clone();
    Some(ToolOutcome::failed(format!(
        "Working directory \"{}\" no longer exists, so this command was not run. Shell cwd \
         recovered to \"{}\": re-issue the command if it still makes sense there.",
        cwd.display(),
        project.display()
    )))
}

fn starts_with_sleep(command: &str) -> bool {
    words::simple_commands(command).first().is_some_and(|one| one.program() == "sleep")
}

/// The timeout that a call asks for.
fn timeout(call: &Call<'_>) -> Option<Duration> {
    let given = call.number("timeout").filter(|milliseconds| *milliseconds > 0.0)?;
    Some(Duration::from_millis(given as u64).min(LONGEST_TIMEOUT))
}

/// `1s`, `2m 5s`.
fn duration(of: Duration) -> String {
    let seconds = of.as_secs();
    if seconds < 60 {
        format!("{seconds}s")
    } else {
        format!("{}m {}s", seconds / 60, seconds % 60)
    }
}

/// What a file of output begins with.
struct Output {
    text: String,
    size: u64,
}

impl Command<'_> {
    fn start(&self) -> io::Result<Running> {
        let session = self.call.session;
        create_private(&session.places.temporary)?;
        fs::create_dir_all(session.places.tasks())?;
        let output = fs::OpenOptions::new().append(true).create_new(true).open(&self.output)?;
        // One line before the command, so that the shell counts lines as the model does.
        let text = format!(
            "shopt -u extglob 2>/dev/null; shopt -s expand_aliases 2>/dev/null; eval {} && pwd -P \
             >| {}",
            quoted(self.text),
            quoted(&self.cwd_file.to_string_lossy())
        );
        let mut environment = session.environment.clone();
        let mut set = |name: &str, value: &str| {
            environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        };
        set("CLAUDECODE", "1");
        set("CLAUDE_CODE_SESSION_ID", &session.places.session.get());
        set("GIT_EDITOR", "true");
        set("SHELL", &session.places.shell.to_string_lossy());
        let sandbox = session.sandbox_of(self.call.id);
        Running::start(&Script {
            id: &self.id,
            sandbox: sandbox.as_deref(),
            shell: &session.places.shell,
            text: &text,
            cwd: &session.cwd(),
            environment: &environment,
            output: &output,
        })
    }

    fn watched(&self, running: Running, limit: Option<Duration>) -> Started {
        let description = self.call.optional("description").unwrap_or(self.text);
        Started {
            id: self.id.clone(),
            tool_use: self.call.id.to_owned(),
            command: self.text.to_owned(),
            description: description.to_owned(),
            output: self.output.clone(),
            running,
            limit,
            host: self.call.session.host.clone(),
        }
    }

    /// The command as a task that is waited for.
    fn task(&self) -> Task {
        let description = self.call.optional("description").unwrap_or(self.text);
        Task::waited_for(&self.id, self.call.id, description, &self.output)
    }

    async fn in_background(&self, running: Running) -> ToolOutcome {
        self.call.session.background.watch(self.watched(running, timeout(self.call))).await;
        let mut structured = self.structured("", false);
        structured.insert("noOutputExpected".into(), json!(false));
        structured.insert("backgroundTaskId".into(), json!(self.id));
        let hint = self.directory_hint(&mut structured);
        let text = format!(
            "Command running in background with ID: {}. Output is being written to: {}. You will \
             be notified when it completes. To check interim output, use Read on that file \
             path.{hint}",
            self.id,
            self.output.display()
        );
        ToolOutcome::text(text, Value::Object(structured))
    }

    async fn overtime(&self, running: Running, limit: Duration) -> ToolOutcome {
        self.call.session.background.watch(self.watched(running, Some(LONGEST_OVERTIME))).await;
        let output = self.output().map(|output| output.text).unwrap_or_default();
        let silence = if output.is_empty() {
            " No output had been read from it when it was moved. A program that buffers its \
             output, or a pipe into one such as tail, can keep the output file empty until the \
             command finishes."
        } else {
            ""
        };
        let mut structured = self.structured(&output, false);
        structured.insert("noOutputExpected".into(), json!(false));
        structured.insert("backgroundTaskId".into(), json!(self.id));
        let hint = self.directory_hint(&mut structured);
        structured.insert("timedOutAfterMs".into(), json!(limit.as_millis() as u64));
        let text = format!(
            "Command did not complete within its {}s timeout and was moved to the background \
             (ID: {}). Output is being written to: {}. You will be notified when it completes. If \
             it is still running after 10m in the background, it will be stopped and you will be \
             notified. It is running now: do not start a second copy while it runs. If it is no \
             longer needed, stop it with TaskStop.{silence} To check interim output, use Read on \
             that file path.{hint}",
            limit.as_millis().div_ceil(1000),
            self.id,
            self.output.display()
        );
        ToolOutcome::text(joined(&[&output, &text]), Value::Object(structured))
    }

    /// What the model is told that may think that it went somewhere.
    fn directory_hint(&self, structured: &mut Map<String, Value>) -> String {
        if !meaning::changes_directory(self.text) {
            return String::new();
        }
        let hint = format!(
            "Session cwd remains {}; directory changes made by the backgrounded command do not \
             apply to subsequent commands.",
            self.call.session.cwd().display()
        );
        structured.insert("backgroundCwdHint".into(), json!(hint));
        format!("\n{hint}")
    }

    fn ended(&self, code: i32) -> ToolOutcome {
        let output = match self.output() {
            Ok(output) => output,
            Err(error) => return ToolOutcome::failed(path::worded(&error, "open", &self.output)),
        };
        let meaning = meaning::of_exit(self.text, code);
        if code != 0 && meaning.is_none() {
            self.remove();
            let text = joined(&[&format!("Exit code {code}"), &output.text]);
            return ToolOutcome::failed(cut_middle(&text));
        }
        let output = Output { text: without_blank_lines(&output.text).to_owned(), ..output };
        let reset = self.follow();
        if let Some(image) = self.image(&output) {
            self.remove();
            return image;
        }
        self.result(&output, meaning, reset)
    }

    fn result(&self, output: &Output, meaning: Option<&str>, reset: String) -> ToolOutcome {
        let session = self.call.session;
        let mut fields = self.structured(&output.text, false);
        fields.insert("stderr".into(), json!(reset));
        if let Some(meaning) = meaning {
            fields.insert("returnCodeInterpretation".into(), json!(meaning));
        }
        fields.insert("noOutputExpected".into(), json!(meaning::is_silent(self.text)));
        let mut shown = output.text.clone();
        if output.size > MOST_OUTPUT {
            let name = session.ids.output();
            if let Ok(kept) = overflow::keep_file(session, &self.output, &name) {
                shown = overflow::preview(&output.text, output.size, &kept);
                fields.insert("persistedOutputPath".into(), json!(kept.display().to_string()));
                fields.insert("persistedOutputSize".into(), json!(output.size));
            }
        } else {
            self.note_shown_files();
        }
        self.remove();
        let hint = self.stale_files();
        self.follow_files();
        if let Some(hint) = &hint {
            fields.insert("staleReadFileStateHint".into(), json!(hint));
        }
        let text = joined(&[&shown, reset.trim(), hint.as_deref().unwrap_or_default()]);
        ToolOutcome::text(text, Value::Object(fields))
    }

    fn structured(&self, stdout: &str, is_image: bool) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("stdout".into(), json!(stdout));
        fields.insert("stderr".into(), json!(""));
        fields.insert("interrupted".into(), json!(false));
        fields.insert("isImage".into(), json!(is_image));
        const UNSAFE: &str = "dangerouslyDisableSandbox";
        if let Some(is_unsafe) = self.call.input.get(UNSAFE) {
            fields.insert(UNSAFE.into(), is_unsafe.clone());
        }
        fields
    }

    /// Output that is an image in text is that image.
    fn image(&self, output: &Output) -> Option<ToolOutcome> {
        if output.size > MOST_OUTPUT {
            return None;
        }
        let (head, data) = output.text.split_once(";base64,")?;
        head.strip_prefix("data:").filter(|kind| kind.starts_with("image/"))?;
        if data.is_empty() || data.contains(char::is_whitespace) {
            return None;
        }
        // What it is counts, and not what it is called.
        let bytes = BASE64_STANDARD.decode(data).unwrap_or_default();
        let Some(media_type) = read::image::sized_type(&bytes) else {
            return Some(ToolOutcome::failed(read::image::NO_SIZE));
        };
        let mut fields = self.structured(&format!("data:{media_type};base64,{data}"), true);
        fields.insert("noOutputExpected".into(), json!(meaning::is_silent(self.text)));
        let block = json!({
            "type": "image",
            "source": {"type": "base64", "media_type": media_type, "data": data},
        });
        Some(ToolOutcome::blocks(vec![block], Value::Object(fields)))
    }

    /// The output so far, without blanks at its end.
    fn output(&self) -> io::Result<Output> {
        let mut file = File::open(&self.output)?;
        let size = file.metadata()?.len();
        let mut bytes = Vec::new();
        file.by_ref().take(MOST_OUTPUT).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        Ok(Output { text, size })
    }

    /// Goes where the command went, if that is inside the working directories.
    fn follow(&self) -> String {
        let session = self.call.session;
        let Ok(cwd) = fs::read_to_string(&self.cwd_file) else { return String::new() };
        let cwd = PathBuf::from(cwd.strip_suffix('\n').unwrap_or(&cwd));
        let is_inside = session.directories().iter().any(|directory| {
            let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.clone());
            cwd.starts_with(directory)
        });
        let mut state = session.state();
        if is_inside {
            state.cwd = cwd;
            return String::new();
        }
        state.cwd = session.places.project.clone();
        format!("\nShell cwd was reset to {}", state.cwd.display())
    }

    fn note_shown_files(&self) {
        let session = self.call.session;
        for shown in meaning::shown_files(self.text) {
            let target = match shown.directory {
                Some(directory) if !shown.name.starts_with('~') => {
                    path::normal(&Path::new(&directory).join(&shown.name))
                }
                _ => path::expand(&shown.name, session),
            };
            let Ok(bytes) = fs::read(&target) else { continue };
            let file = TextFile::decode(&bytes);
            let all = file.unix_text().split('\n').count();
            let is_whole = shown.lines.is_none_or(|lines| lines > all);
            let seen = Seen { hash: file.hash, is_whole, is_read: false };
            // What is known by other means stays as it is known.
            session.state().seen.entry(target).or_insert(seen);
        }
    }

    /// The files that the model knows and that changed while the command ran.
    fn changed_files(&self) -> impl Iterator<Item = &PathBuf> {
        let is_changed = |(path, before): &&(PathBuf, Option<SystemTime>)| {
            let now = changed_at(path);
            now.is_some() && now != *before
        };
        self.known.iter().filter(is_changed).map(|(path, _)| path)
    }

    /// What is said of files that the model read and that this command changed.
    fn stale_files(&self) -> Option<String> {
        const NAMED: usize = 5;
        if !meaning::is_in_place(self.text) {
            return None;
        }
        let cwd = self.call.session.cwd();
        let mut names: Vec<String> =
            self.changed_files().map(|path| path::relative(path, &cwd)).collect();
        names.sort_unstable();
        let count = names.len();
        let noun = if count == 1 { "file" } else { "files" };
        names.truncate(NAMED);
        let more = match count.checked_sub(NAMED) {
            None | Some(0) => String::new(),
            Some(more) => format!(" and {more} more"),
        };
        (count > 0).then(|| {
            format!(
                "[This command modified {count} {noun} you've previously read: {}{more}. Call \
                 Read before editing.]",
                names.join(", ")
            )
        })
    }

    /// Takes what this command made of files for known, unless the model has read them before.
    fn follow_files(&self) {
        let session = self.call.session;
        for path in self.changed_files() {
            let Ok(bytes) = fs::read(path) else { continue };
            let hash = TextFile::decode(&bytes).hash;
            if let Some(seen) = session.state().seen.get_mut(path).filter(|seen| !seen.is_read) {
                *seen = Seen { hash, is_whole: true, is_read: false };
            }
        }
    }

    fn remove(&self) {
        fs::remove_file(&self.output).ok();
        fs::remove_file(&self.cwd_file).ok();
    }
}

/// Texts that are not empty, on lines of their own.
fn joined(texts: &[&str]) -> String {
    texts.iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join("\n")
}

/// The text without blank lines before it. Errors keep them.
fn without_blank_lines(text: &str) -> &str {
    let mut text = text;
    while let Some((_, rest)) = text.split_once('\n').filter(|(line, _)| line.trim().is_empty()) {
        text = rest;
    }
    text
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A directory for this user alone.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// The beginning and the end of an error that is too long.
pub(super) fn cut_middle(text: &str) -> String {
    let units: Vec<u16> = text.encode_utf16().collect();
    if units.len() <= MOST_ERROR + TOLERANCE {
        return text.to_owned();
    }
    let half = MOST_ERROR / 2;
    let (head, rest) = units.split_at(half);
    let (middle, tail) = rest.split_at(rest.len() - half);
    format!(
        "{}\n\n... [{} characters truncated] ...\n\n{}",
        String::from_utf16_lossy(head),
        middle.len(),
        String::from_utf16_lossy(tail)
    )
}
