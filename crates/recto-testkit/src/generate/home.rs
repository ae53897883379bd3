//! The home as a whole: projects, sessions, forks, and the files beside the logs.
//!
//! Owns: what is written where and with which modification time. Does not own: the course of a
//! session (`turn`).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

use super::Generator;
use super::OutputFile;
use super::Truth;
use super::clock::DAY;
use super::clock::timestamp;
use super::era;
use super::era::Era;
use super::json::Json;
use super::ledger::Copy;
use super::message::Stop;
use super::text::Style;
use super::text::phrase;
use super::text::word;
use super::transcript::Line;
use super::transcript::NewState;
use super::transcript::Transcript;
use super::truth::AppendLine;
use super::truth::LargestSession;
use super::truth::SessionRow;
use super::truth::Usage;

/// 2025-10-01 and 2026-08-01: when the sessions of the old and of the new client start.
const OLD_START: i64 = 1_759_276_800_000;
const NEW_START: i64 = 1_785_542_400_000;
const SPAN: i64 = 100 * DAY;
/// Size of the one very large session.
const LARGEST: u64 = 13_200_000;

/// A project folder.
struct Project {
    key: String,
    cwd: String,
    /// Entries of `sessions-index.json`, as JSON; not every project has that file.
    index: Option<Vec<Vec<u8>>>,
}

/// Runs the generator over a directory.
pub(super) fn write(
    mut generator: Generator,
    directory: &Path,
    progress: &mut dyn FnMut(u64),
) -> io::Result<Truth> {
    let root = directory.join(".claude");
    if root.exists() {
        let problem = format!("{} exists already", root.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
    }
    fs::create_dir_all(root.join("projects"))?;
    let mut projects = generator.projects();
    let mut used = BTreeSet::new();
    let mut history = Vec::new();
    let mut append_to = None;
    let mut large_done = generator.total <= 40_000_000;
    let mut count = 0_u64;
    while generator.written < generator.total {
        count += 1;
        let number = generator.choose_project(projects.len());
        used.insert(number);
        let project = &mut projects[number];
        let mut session = generator.session(project);
        // A fixed share, so that small homes have it too: 38 of 100.
        if (count * 38 + 62) % 100 < 38 {
            generator.empty_session(&session);
            generator.flush(&root)?;
            continue;
        }
        let target = if large_done || count < 4 {
            let median = 200_000.min(generator.total / 15);
            let left = generator.total - generator.written;
            generator.random.long_tail(
                median,
                6,
                1_500,
                left.min(generator.total / 6).clamp(2_000, 9_000_000),
            )
        } else {
            large_done = true;
            LARGEST
        };
        generator.fill(&mut session, target, &root, progress)?;
        generator.close_session(&mut session, project, &mut history);
        generator.flush(&root)?;
        if generator.fork_due(&session) {
            let mut fork = generator.fork(&session, project);
            for _ in 0..1 + generator.random.below(3) {
                generator.turn(&mut fork);
            }
            generator.close_session(&mut fork, project, &mut history);
            generator.flush(&root)?;
        }
        progress(generator.written);
        if !session.torn_end && session.bytes.len() < 2_000_000 && session.leaf.is_some() {
            append_to = Some(session);
        }
    }
    if let Some(mut session) = append_to {
        generator.truth.append = generator.append_line(&mut session);
    }
    generator.truth.projects = used.len() as u64;
    generator.side_files(&projects, history);
    generator.flush(&root)?;
    generator.truth.bytes_jsonl = generator.written;
    fs::write(directory.join("truth.json"), generator.truth.to_json())?;
    Ok(generator.truth)
}

impl Generator {
    fn projects(&mut self) -> Vec<Project> {
        let count = (6 + self.truth.megabytes / 25).min(60);
        let mut projects: Vec<Project> = Vec::new();
        for number in 0..count {
            let suffix = if number % 5 == 0 { ".app" } else { "" };
            let cwd = format!("/home/dev/{}_{number}{suffix}", word(&mut self.random));
            let key: String =
                cwd.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            let index = if number % 3 == 2 { None } else { Some(Vec::new()) };
            projects.push(Project { key, cwd, index });
        }
        projects
    }

    /// The project of rank `n` gets a share like `1 / n`.
    fn choose_project(&mut self, count: usize) -> usize {
        let total: usize = (1..=count).map(|rank| 10_000 / rank).sum();
        let mut rest = self.random.below(total);
        for rank in 1..=count {
            if rest < 10_000 / rank {
                return rank - 1;
            }
            rest -= 10_000 / rank;
        }
        0
    }

    /// An empty transcript.
    pub(super) fn transcript(
        &mut self,
        era: &'static Era,
        session_id: &str,
        project: &str,
        cwd: &str,
    ) -> Transcript {
        let branches = ["main", "main", "develop", "feature/search-index", ""];
        Transcript {
            bytes: Vec::new(),
            lines: Vec::new(),
            chain: Vec::new(),
            leaf: None,
            messages: 0,
            session_id: session_id.to_string(),
            path: format!("{project}/{session_id}.jsonl"),
            project: project.to_string(),
            cwd: cwd.to_string(),
            branch: self.random.pick(&branches),
            era,
            slug: phrase(&mut self.random, 3).replace(' ', "-"),
            model: era::choose_model(&mut self.random, era),
            agent: None,
            interactive: self.random.chance(7_500),
            now: 0,
            started: 0,
            context: 14_000 + self.random.between(0, 9_000),
            turn_ends: Vec::new(),
            torn_end: false,
            fork: false,
            compacted: false,
            first_prompt: String::new(),
            prompts: Vec::new(),
            agents: 0,
            new: NewState { title: phrase(&mut self.random, 5), ..NewState::default() },
        }
    }

    fn session(&mut self, project: &Project) -> Transcript {
        let era = era::choose(&mut self.random, self.shape);
        let id = self.random.uuid();
        let mut session = self.transcript(era, &id, &project.key, &project.cwd);
        let start = if era.new { NEW_START } else { OLD_START };
        let share = self.written.min(self.total) * 10_000 / self.total.max(1);
        session.now = start + SPAN / 10_000 * share as i64;
        session.now += self.random.between(0, 7_200_000) as i64;
        session.started = session.now;
        session.interactive |= self.truth.files.main == self.truth.files.main_empty;
        session
    }

    fn empty_session(&mut self, session: &Transcript) {
        self.truth.files.main += 1;
        self.truth.files.main_empty += 1;
        self.truth.sessions.push(SessionRow {
            id: session.session_id.clone(),
            path: session.path.clone(),
            version: session.era.version.to_string(),
            ..SessionRow::default()
        });
        let path = format!("projects/{}", session.path);
        self.outbox.push(OutputFile { path, bytes: Vec::new(), time: session.now });
    }

    /// Writes turns until the log has its size.
    fn fill(
        &mut self,
        session: &mut Transcript,
        target: u64,
        root: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> io::Result<()> {
        self.warm_ups(session);
        if !session.era.new && self.random.chance(2_500) {
            for _ in 0..1 + self.random.below(5) {
                self.summary(session);
            }
        }
        // The first session is long enough for everything that needs a past.
        let turns = if self.truth.files.main == self.truth.files.main_empty { 6 } else { 1 };
        while (session.bytes.len() as u64) < target || session.turn_ends.len() < turns {
            self.turn(session);
            self.flush(root)?;
            progress(self.written);
        }
        if self.random.chance(400) {
            self.unanswered_call(session);
        }
        Ok(())
    }

    fn fork_due(&mut self, session: &Transcript) -> bool {
        let first = self.truth.files.main_fork == 0 && self.written > self.total / 5;
        let chosen = self.random.chance(600) || first;
        chosen && session.bytes.len() < 1_500_000 && session.turn_ends.len() > 1
    }

    /// A new session that starts with the lines of another up to the end of a turn.
    ///
    /// The old clients leave the old session id on the copied lines, the new one replaces it and
    /// copies the chain only. The count of tokens goes on from that of the source.
    fn fork(&mut self, source: &Transcript, project: &Project) -> Transcript {
        let id = self.random.uuid();
        let mut fork = self.transcript(source.era, &id, &project.key, &project.cwd);
        fork.now = source.now + 60_000;
        fork.started = fork.now;
        fork.branch = source.branch;
        fork.model = source.model;
        fork.slug = source.slug.clone();
        fork.interactive = source.interactive;
        fork.fork = true;
        fork.compacted = source.compacted;
        fork.first_prompt = source.first_prompt.clone();
        let end = source.turn_ends[self.random.below(source.turn_ends.len())].clone();
        fork.chain = source.chain[..end.links].to_vec();
        fork.leaf = Some(end.leaf);
        fork.messages = source.messages;
        fork.new.costs = end.costs;
        for line in &source.lines[..end.lines] {
            let wanted = if source.era.new {
                line.facts.link.is_some()
            } else {
                line.facts.damage.is_none() && !line.facts.kind.is_empty()
            };
            if !wanted {
                continue;
            }
            let bytes = &source.bytes[line.start..line.end];
            let start = fork.bytes.len();
            if source.era.new {
                replace_all(bytes, source.session_id.as_bytes(), id.as_bytes(), &mut fork.bytes);
            } else {
                fork.bytes.extend_from_slice(bytes);
            }
            let copied = Line { start, end: fork.bytes.len(), facts: line.facts.clone() };
            self.count(&fork, &copied, Copy::Fork);
            fork.lines.push(copied);
        }
        fork
    }

    fn close_session(
        &mut self,
        session: &mut Transcript,
        project: &mut Project,
        history: &mut Vec<u8>,
    ) {
        self.end_of_file(session);
        let row = session.row();
        self.truth.files.main += 1;
        self.truth.files.main_fork += u64::from(session.fork);
        if row.bytes > self.truth.largest_session.bytes {
            self.truth.largest_session = LargestSession {
                path: row.path.clone(),
                bytes: row.bytes,
                lines: row.lines,
                session_id: row.id.clone(),
            };
        }
        for (time, prompt) in &session.prompts {
            let mut json = Json::line();
            json.text("display", prompt).key("pastedContents").open().close();
            json.number("timestamp", (*time).max(0) as u64).text("project", &session.cwd);
            json.text("sessionId", &session.session_id);
            history.extend_from_slice(&json.finish());
            history.push(b'\n');
            self.truth.history_lines += 1;
        }
        if let (Some(index), "2.1.29") = (&mut project.index, session.era.version) {
            index.push(index_entry(session, &row));
        }
        let path = format!("projects/{}", session.path);
        self.outbox.push(OutputFile { path, bytes: session.bytes.clone(), time: session.now });
        self.truth.sessions.push(row);
    }

    /// A line that continues a session: same chain, a new message with round numbers.
    fn append_line(&mut self, session: &mut Transcript) -> AppendLine {
        let tokens = self.truth.clone();
        let written = self.written;
        let lines = session.lines.len();
        self.damage_interval = usize::MAX / 4;
        self.answer(session, "appended juniper beacon", Stop::EndTurn);
        // Only the text of the line is wanted, not its count.
        self.truth = tokens;
        self.written = written;
        let line = &session.lines[lines];
        let bytes = &session.bytes[line.start..line.end - 1];
        let usage = line.facts.usage.map_or_else(Usage::default, |usage| usage.1);
        AppendLine {
            path: session.path.clone(),
            line: String::from_utf8_lossy(bytes).into_owned(),
            model: session.model.name.to_string(),
            usage,
        }
    }

    fn side_files(&mut self, projects: &[Project], history: Vec<u8>) {
        let time = NEW_START + SPAN;
        for project in projects {
            let Some(entries) = project.index.as_ref().filter(|entries| !entries.is_empty()) else {
                continue;
            };
            let mut json = Json::line();
            json.number("version", 1).key("entries").open_list();
            for entry in entries {
                json.line_break().raw(entry);
            }
            json.close_list().text("originalPath", &project.cwd);
            let path = format!("projects/{}/sessions-index.json", project.key);
            self.outbox.push(OutputFile { path, bytes: json.finish(), time });
        }
        for _ in 0..5 {
            let name = phrase(&mut self.random, 3).replace(' ', "-");
            let plan = self.text.piece(&mut self.random, Style::Prose, 3_000);
            let bytes = format!("# Plan\n\n{plan}\n").into_bytes();
            self.outbox.push(OutputFile { path: format!("plans/{name}.md"), bytes, time });
        }
        let path = "history.jsonl".to_string();
        self.outbox.push(OutputFile { path, bytes: history, time });
        let bytes = b"{\"cleanupPeriodDays\":99999}\n".to_vec();
        self.outbox.push(OutputFile { path: "settings.json".to_string(), bytes, time });
    }

    /// Writes what is ready.
    fn flush(&mut self, root: &Path) -> io::Result<()> {
        for file in self.outbox.drain(..) {
            let path = root.join(&file.path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, &file.bytes)?;
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(file.time.max(0) as u64);
            fs::File::options().write(true).open(&path)?.set_modified(time)?;
        }
        Ok(())
    }
}

fn index_entry(session: &Transcript, row: &SessionRow) -> Vec<u8> {
    let first: String = session.first_prompt.replace('\n', " ").chars().take(200).collect();
    let kinds = ["user", "assistant"];
    let messages = session.lines.iter().filter(|line| kinds.contains(&line.facts.kind)).count();
    let mut json = Json::line();
    json.text("sessionId", &row.id);
    json.text("fullPath", &format!("/home/dev/.claude/projects/{}", row.path));
    json.number("fileMtime", session.now.max(0) as u64).text("firstPrompt", &first);
    json.number("messageCount", messages as u64).text("created", &timestamp(session.started));
    json.text("modified", &timestamp(session.now)).text("gitBranch", session.branch);
    json.text("projectPath", &session.cwd).flag("isSidechain", false);
    json.finish()
}

fn replace_all(bytes: &[u8], from: &[u8], to: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    while let Some(place) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..place]);
        out.extend_from_slice(to);
        rest = &rest[place + from.len()..];
    }
    out.extend_from_slice(rest);
}
