//! `cargo xtask minute`: a stranger's first minute with recto, on a large home that it has
//! never seen, from the archive of a release to a resumed session.

use std::fmt::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::Result;
use anyhow::bail;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::pictures::screen::Picture;
use crate::pictures::screen::Screen;
use crate::programs;
use crate::repository;
use crate::repository::say;

const USAGE: &str = "usage: cargo xtask minute [--mb 1000] [--program PATH] [--write]";
/// How large the terminal is.
const SIZE: (u16, u16) = (80, 24);
/// A minute is over.
const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn run(words: &[String]) -> Result<ExitCode> {
    let (mut megabytes, mut program, mut writes) = ("1000".to_owned(), None, false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--mb" => megabytes = rest.next().context(USAGE)?.clone(),
            "--program" => program = Some(PathBuf::from(rest.next().context(USAGE)?)),
            "--write" => writes = true,
            _ => bail!("{USAGE}"),
        }
    }
    let program = match program {
        Some(program) => program.canonicalize()?,
        None => released()?,
    };
    let tmux = programs::find(&["tmux"], "tmux").context("tmux is needed, and is not there")?;
    let folder = tempfile::tempdir()?;
    let made = ["--mb", &megabytes, "--seed", "1"].map(str::to_owned);
    let home = folder.path().join("user").to_str().context("a name that is text")?.to_owned();
    crate::r#gen::run(&[&made[..], &[home]].concat())?;
    let minute = Minute::new(folder.path(), &program)?;
    let steps = minute.play(&tmux)?;
    let report = report(&steps, &megabytes);
    say(&report);
    if writes {
        std::fs::write(repository::root().join("bench/FIRST-MINUTE.md"), &report)?;
    }
    let all: Duration = steps.iter().map(|step| step.took).sum();
    Ok(if all < MINUTE { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The program as people get it.
fn released() -> Result<PathBuf> {
    let words = ["build", "--quiet", "--release", "-p", "recto"];
    if !Command::new(repository::cargo()).args(words).status()?.success() {
        bail!("recto could not be built");
    }
    Ok(repository::target().join("release/recto"))
}

/// Something that a person does, what is seen then, and how long that took.
struct Step {
    does: String,
    took: Duration,
    screen: Picture,
}

/// A user who has Claude Code's sessions, and no recto.
struct Minute {
    folder: PathBuf,
}

impl Minute {
    fn new(folder: &Path, program: &Path) -> Result<Minute> {
        // An archive as a release has it, with what matters here.
        let packed = folder.join("download");
        std::fs::create_dir_all(packed.join("recto-release"))?;
        std::fs::copy(program, packed.join("recto-release/recto"))?;
        let mut command = Command::new("tar");
        command.args(["-czf", "recto.tar.gz", "recto-release"]).current_dir(&packed);
        if !command.status()?.success() {
            bail!("the archive could not be made");
        }
        std::fs::remove_dir_all(packed.join("recto-release"))?;
        std::fs::create_dir_all(folder.join("user/bin"))?;
        // Stands for Claude Code: it says what it was asked for.
        let client = folder.join("user/bin/claude");
        std::fs::write(&client, "#!/bin/sh\necho \"claude $* in $PWD\"\nread answer\n")?;
        let mode = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(&client, mode)?;
        add_session(folder, &packed)?;
        Ok(Minute { folder: folder.to_owned() })
    }

    fn play(&self, tmux: &Path) -> Result<Vec<Step>> {
        let user = self.folder.join("user");
        let path = std::env::var("PATH").unwrap_or_default();
        let variables = [
            format!("HOME={}", user.display()),
            format!("PATH={}/bin:{path}", user.display()),
            "TERM=tmux-256color".to_owned(),
            "LANG=C.UTF-8".to_owned(),
            "TZ=UTC".to_owned(),
            "PS1=$ ".to_owned(),
        ];
        let mut program = vec!["env", "-i"];
        program.extend(variables.iter().map(String::as_str));
        program.extend(["bash", "--norc", "--noprofile"]);
        let screen = Screen::start(tmux, SIZE, &self.folder.join("download"), &program)?;
        screen.wait_for("$")?;
        let mut steps = Vec::new();
        let mut step = |does: &str, keys: &[&str], shows: &str| -> Result<()> {
            let begun = Instant::now();
            for key in keys {
                match key.strip_prefix("type:") {
                    Some(text) => screen.type_text(text)?,
                    None => screen.press(&[key])?,
                }
            }
            let picture = screen.wait_for(shows).with_context(|| does.to_owned())?;
            steps.push(Step { does: does.to_owned(), took: begun.elapsed(), screen: picture });
            Ok(())
        };
        let install = "type:tar -xzf recto.tar.gz --strip-components=1 -C ~/bin && recto --version";
        step("unpack the archive", &[install, "Enter"], "prices from")?;
        step("type `recto`", &["type:clear; recto", "Enter"], "enter read")?;
        // The line of keys speaks of hits before there are any.
        step("search all text for `error`", &["type:/error"], " hits so far")?;
        step("read the first hit", &["Enter"], "turn ")?;
        step("copy something", &["c"], "Copy")?;
        step("back to the list", &["Escape", "q", "Escape"], "type to filter")?;
        step("resume the newest session", &["C-r"], "claude")?;
        Ok(steps)
    }
}

/// A session of the directory that the person is in, so that it can be resumed.
fn add_session(folder: &Path, directory: &Path) -> Result<()> {
    let directory = directory.to_str().context("a name that is text")?;
    let id = "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214";
    let log = SessionBuilder::new(id, Client::V2_1_325)
        .cwd(directory)
        .prompt("Why does the build fail on error 7?")
        .answer("The linker is missing.")
        .model_title("Repair the build");
    let name: String =
        directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let project = folder.join("user/.claude/projects").join(name);
    std::fs::create_dir_all(&project)?;
    Ok(std::fs::write(project.join(format!("{id}.jsonl")), log.bytes())?)
}

fn report(steps: &[Step], megabytes: &str) -> String {
    let mut text = format!(
        "# The first minute\n\n`cargo xtask minute --write`: a person who has never used recto, on a \
         home of {megabytes} MB without an index, on 80 columns. The time of each step is from the \
         key to a screen that stays.\n\n| step | seconds |\n|---|---:|\n"
    );
    for step in steps {
        let _ = writeln!(text, "| {} | {:.1} |", step.does, step.took.as_secs_f32());
    }
    let all: Duration = steps.iter().map(|step| step.took).sum();
    let _ = writeln!(text, "| all | {:.1} |", all.as_secs_f32());
    for step in steps {
        let _ = write!(text, "\n## {}\n\n```text\n", step.does);
        let lines = step.screen.iter().map(|line| line.iter().map(|(c, _)| c).collect::<String>());
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        let _ = writeln!(text, "{}\n```", lines.join("\n").trim_end());
    }
    text
}
