//! `cargo xtask pictures`: the pictures in `docs/pictures`, made by the program itself.
//!
//! Recto runs on sample data, in tmux and in a browser; its screens become SVG and PNG.

mod pages;
pub(crate) mod screen;
mod svg;

use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::time::Duration;
use std::time::SystemTime;

use anyhow::Context as _;
use anyhow::Result;
use anyhow::bail;
use jiff::Timestamp;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use tempfile::TempDir;

use self::screen::Picture;
use self::screen::Screen;
use self::svg::Frame;
use self::svg::svg;
use crate::browser;
use crate::programs;
use crate::repository;
use crate::repository::say;

/// The time of all pictures.
const NOW: &str = "2026-11-14T11:20:00Z";
/// The sample of `recto demo`: project, session, file, hours ago.
const SAMPLE: [(&str, &str, &str, u64); 3] = [
    ("-home-dev-tide", "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214", "tide-fix.jsonl", 2),
    ("-home-dev-tide", "b7d94e12-7f3a-4c58-8e21-0f9d2c6a5b43", "tide-readme.jsonl", 19),
    ("-home-dev-harbour-map", "0e63f9ab-51c7-4d02-b8f4-93ad17c2e680", "harbour.jsonl", 26 * 24),
];
/// A plan that a session left.
const PLAN: &str = "# Read zones before offsets\n\n1. Read the zone name of each station.\n\
    2. Convert the times with it.\n3. Test both changes of the clock.\n";
/// How large the terminal is.
const SIZE: (u16, u16) = (96, 26);

const USAGE: &str = "usage: cargo xtask pictures [--program PATH] [--pages]";

pub(crate) fn run(words: &[String]) -> Result<ExitCode> {
    let only_pages = words.iter().any(|word| word == "--pages");
    let words: Vec<&String> = words.iter().filter(|word| *word != "--pages").collect();
    let program = match words[..] {
        [] => built()?,
        [option, path] if option == "--program" => PathBuf::from(path).canonicalize()?,
        _ => bail!("{USAGE}"),
    };
    let tmux = programs::find(&["tmux"], "tmux").context("tmux is needed, and is not there")?;
    let stage = Stage::new(program, tmux)?;
    let folder = repository::root().join("docs/pictures");
    std::fs::create_dir_all(&folder)?;
    let write = |name: &str, title: &str, frames: &[Frame]| -> Result<()> {
        let text = svg(title, frames);
        say(&format!("{name}  {} kB", text.len() / 1000));
        Ok(std::fs::write(folder.join(name), text)?)
    };
    if only_pages {
        let browser = browser::find().context("chromium is needed, and is not there")?;
        stage.pages(&browser, &folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    write("recording.svg", "recto: browse, read, search, resume", &stage.recording()?)?;
    write("browser.svg", "the browser of recto", &[(stage.browser()?, 1.0)])?;
    write("search.svg", "search in the browser of recto", &[(stage.search()?, 1.0)])?;
    write("board.svg", "the board of recto watch", &[(stage.board()?, 1.0)])?;
    match browser::find() {
        Some(browser) => stage.pages(&browser, &folder)?,
        None => say("images of pages stay as they are: chromium is missing"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The program, built for this.
fn built() -> Result<PathBuf> {
    let status =
        Command::new(repository::cargo()).args(["build", "--quiet", "-p", "recto"]).status()?;
    if !status.success() {
        bail!("recto could not be built");
    }
    Ok(repository::target().join("debug/recto"))
}

/// Sample data, and what the program needs to run on it.
struct Stage {
    program: PathBuf,
    tmux: PathBuf,
    folder: TempDir,
}

impl Stage {
    fn new(program: PathBuf, tmux: PathBuf) -> Result<Stage> {
        let stage = Stage { program, tmux, folder: tempfile::tempdir()? };
        let now: SystemTime = NOW.parse::<Timestamp>()?.into();
        let sample = repository::root().join("crates/recto/sample");
        for (project, session, file, hours) in SAMPLE {
            let text = std::fs::read(sample.join(file)).with_context(|| file.to_owned())?;
            let modified = now - Duration::from_secs(hours * 3600);
            stage.add("user/.claude", project, session, &text, modified)?;
        }
        let plans = stage.folder.path().join("user/.claude/plans");
        std::fs::create_dir_all(&plans)?;
        std::fs::write(plans.join("zones-first.md"), PLAN)?;
        let plan = std::fs::File::options().write(true).open(plans.join("zones-first.md"))?;
        plan.set_modified(now - Duration::from_secs(3 * 3600))?;
        std::fs::create_dir_all(stage.folder.path().join("bin"))?;
        std::os::unix::fs::symlink(&stage.program, stage.folder.path().join("bin/recto"))?;
        Ok(stage)
    }

    fn add(
        &self,
        home: &str,
        project: &str,
        session: &str,
        log: &[u8],
        modified: SystemTime,
    ) -> Result<()> {
        let directory = self.folder.path().join(home).join("projects").join(project);
        std::fs::create_dir_all(&directory)?;
        let path = directory.join(format!("{session}.jsonl"));
        std::fs::write(&path, log)?;
        Ok(std::fs::File::options().write(true).open(&path)?.set_modified(modified)?)
    }

    /// What the program sees of the machine: nothing of its user.
    fn variables(&self) -> Vec<String> {
        let user = self.folder.path().join("user");
        let path = std::env::var("PATH").unwrap_or_default();
        let bin = self.folder.path().join("bin");
        [
            format!("HOME={}", user.display()),
            format!("PATH={}:{path}", bin.display()),
            format!("RECTO_NOW={NOW}"),
            "TERM=tmux-256color".to_owned(),
            "LANG=C.UTF-8".to_owned(),
            "TZ=UTC".to_owned(),
            "PAGER=cat".to_owned(),
            "RECTO_CLIENT=true".to_owned(),
            "PS1=$ ".to_owned(),
        ]
        .to_vec()
    }

    fn start(&self, words: &[&str]) -> Result<Screen> {
        let variables = self.variables();
        let mut program = vec!["env", "-i"];
        program.extend(variables.iter().map(String::as_str));
        program.extend(words);
        Screen::start(&self.tmux, SIZE, self.folder.path(), &program)
    }

    /// A quarter of a minute: what people see first.
    fn recording(&self) -> Result<Vec<Frame>> {
        let screen = self.start(&["bash", "--norc", "--noprofile"])?;
        let mut frames = vec![(screen.wait_for("$")?, 0.6)];
        let typed = |text: &str, shows: &str, frames: &mut Vec<Frame>| -> Result<()> {
            for letter in text.chars() {
                screen.type_text(&letter.to_string())?;
                frames.push((screen.wait_for("")?, 0.12));
            }
            frames.push((screen.wait_for(shows)?, 0.4));
            Ok(())
        };
        let pressed = |key: &str, shows: &str, seconds: f32, frames: &mut Vec<Frame>| {
            screen.press(&[key])?;
            frames.push((screen.wait_for(shows)?, seconds));
            anyhow::Ok(())
        };
        typed("recto", "$ recto", &mut frames)?;
        pressed("Enter", "3 sessions", 1.6, &mut frames)?;
        typed("clock", "› clock", &mut frames)?;
        pressed("Enter", "turn 1/2", 1.6, &mut frames)?;
        pressed("]", "turn 2/2", 1.2, &mut frames)?;
        pressed("c", "Copy", 1.4, &mut frames)?;
        pressed("Escape", "turn 2/2", 0.3, &mut frames)?;
        pressed("q", "› clock", 0.4, &mut frames)?;
        pressed("Escape", "type to filter", 0.4, &mut frames)?;
        typed("/zone", "hits", &mut frames)?;
        pressed("Down", "2/", 0.8, &mut frames)?;
        pressed("Escape", "type to filter", 0.3, &mut frames)?;
        pressed("Escape", "$", 0.4, &mut frames)?;
        typed("recto usage --by model", "$ recto usage --by model", &mut frames)?;
        pressed("Enter", "opus", 2.6, &mut frames)?;
        Ok(frames)
    }

    fn browser(&self) -> Result<Picture> {
        let screen = self.start(&["recto"])?;
        screen.wait_for("3 sessions")
    }

    fn search(&self) -> Result<Picture> {
        let screen = self.start(&["recto"])?;
        screen.wait_for("3 sessions")?;
        screen.type_text("/zone")?;
        screen.wait_for("hits")
    }

    /// Four sessions, three of which run.
    fn board(&self) -> Result<Picture> {
        let now: Timestamp = NOW.parse()?;
        let at = |seconds: i64| now - jiff::SignedDuration::from_secs(seconds);
        let call = |tool: &str, input: &str| {
            format!(r#"{{"type":"tool_use","id":"t1","name":"{tool}","input":{input}}}"#)
        };
        let id = |number: u8| format!("{number}c1e8a70-2b9d-4e6f-9a31-7d40c8e1f522");
        let begun = |number: u8, cwd: &str, prompt: &str, seconds: i64| {
            let log = SessionBuilder::new(&id(number), Client::V2_1_325).cwd(cwd).branch("main");
            log.at(at(seconds)).prompt(prompt)
        };
        let deploy = begun(1, "/home/dev/harbour-map", "Deploy the map to staging", 400)
            .at(at(95))
            .model_block(&call("Bash", r#"{"command":"make deploy STAGE=staging"}"#))
            .custom_title("Deploy the map");
        let review = begun(2, "/home/dev/tide", "Review the station parser", 900)
            .at(at(240))
            .answer("Two stations have no zone. Shall I use Europe/Berlin for both?")
            .custom_title("Review the station parser");
        let tests = begun(3, "/home/dev/tide", "Fix the tide table across clock changes", 70)
            .at(at(4))
            .model_block(&call("Bash", r#"{"command":"cargo test --workspace"}"#))
            .custom_title("Fix tide table across clock changes");
        let docs = begun(4, "/home/dev/docs", "Write the release notes", 2400)
            .at(at(1800))
            .answer("The notes are in CHANGELOG.md.")
            .custom_title("Release notes");
        let mut clients = Vec::new();
        let all = [(deploy, 95), (review, 240), (tests, 4), (docs, 1800)];
        for (number, (log, age)) in (1..).zip(all) {
            let project =
                ["-home-dev-harbour-map", "-home-dev-tide", "-home-dev-tide", "-home-dev-docs"]
                    [usize::from(number - 1_u8)];
            let modified = SystemTime::from(at(age));
            self.add("board/.claude", project, &id(number), log.bytes(), modified)?;
            let status = ["waiting", "idle", "busy", ""][usize::from(number - 1)];
            if !status.is_empty() {
                clients.push(self.announce(&id(number), status, at(age))?);
            }
        }
        let user = format!("HOME={}", self.folder.path().join("board").display());
        let screen = self.start(&["env", &user, "recto", "watch"])?;
        // The first screen comes before anything is known.
        let picture = screen.wait_for("asked");
        drop(clients);
        picture
    }

    /// A process that stands for a client, and the file by which that announces itself.
    fn announce(&self, session: &str, status: &str, since: Timestamp) -> Result<Running> {
        let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn()?;
        let running = Running(child);
        let pid = running.0.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let start = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(19));
        let json = serde_json::json!({
            "pid": pid,
            "sessionId": session,
            "procStart": start.context("a process has a start")?,
            "version": "2.1.325",
            "kind": "interactive",
            "status": status,
            "statusUpdatedAt": since.as_millisecond(),
        });
        let folder = self.folder.path().join("board/.claude/sessions");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("{pid}.json")), json.to_string())?;
        Ok(running)
    }

    /// The web pages, as a browser shows them.
    fn pages(&self, browser: &Path, folder: &Path) -> Result<()> {
        use std::io::BufRead as _;
        let mut command = Command::new(&self.program);
        command.args(["serve", "--json", "--port", "0"]).env_clear().stdin(Stdio::null());
        for variable in self.variables() {
            if let Some((name, value)) = variable.split_once('=') {
                command.env(name, value);
            }
        }
        let mut server = Running(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?);
        let output = server.0.stdout.take().context("the server has an output")?;
        let mut line = String::new();
        std::io::BufReader::new(output).read_line(&mut line)?;
        let told: serde_json::Value = serde_json::from_str(&line)?;
        pages::draw(browser, told["url"].as_str().context("the server tells its address")?, folder)
    }
}

/// A process that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
