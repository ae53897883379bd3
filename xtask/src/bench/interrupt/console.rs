//! `cargo xtask bench interrupt --console`: Esc in the console, on a pseudo terminal.
//!
//! A round types a prompt and presses Esc at a random moment after the first request: while the
//! answer arrives, while calls start, while they run, in a subagent. It measures the time until
//! the screen shows that the turn was interrupted and is over, and until the last process in the project's
//! directory is gone. Nothing is killed from outside, and one console takes many rounds.

use std::fmt::Write as _;
use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use recto_testkit::fuzz::Random;
use rustix::pty;
use rustix::termios;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use super::LONGEST_DEATH;
use super::LONGEST_END;
use super::Sample;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;

/// How late after the first request Esc comes at most.
const LATEST: u64 = 600_000;
/// Rounds of one console.
const ROUNDS_EACH: usize = 50;
/// What the console prints when a turn was interrupted.
const SIGN: &str = "interrupted";
/// The permission mode in the status line, which comes back when the turn is over.
const READY: &str = "asks nothing";
/// After this a round is lost.
const PATIENCE: Duration = Duration::from_secs(30);

const COMMAND: &str = r"(trap '' TERM; exec sleep 6000) &
setsid bash -c 'exec sleep 6000' &
wait";

/// Prompts, and what they lead to.
const KINDS: [(&str, &str); 4] = [
    ("say much", "a long answer"),
    ("run it", "a command with children, one of which ignores SIGTERM"),
    ("run three", "three commands side by side"),
    ("delegate", "a command of a subagent"),
];

pub(super) fn run(recto: &Path, rounds: usize, write: bool) -> anyhow::Result<ExitCode> {
    heading("interrupt, in the console");
    let mut random = Random::new(1);
    let mut measured: Vec<Vec<Sample>> = KINDS.iter().map(|_| Vec::new()).collect();
    let mut done = 0;
    while done < rounds {
        let mut desk = Desk::new(recto)?;
        for _ in 0..ROUNDS_EACH.min(rounds - done) {
            let kind = done % KINDS.len();
            measured[kind].push(desk.round(KINDS[kind].0, &mut random)?);
            done += 1;
        }
        desk.leave()?;
    }
    let (page, is_met) = page(&measured);
    say(&page);
    if write {
        fs::write(root().join("bench/INTERRUPT-CONSOLE.md"), page)?;
    }
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A prompt behind what was left of those that were interrupted.
fn ending(prompt: &str) -> String {
    format!(r"(?s){prompt}\s*$")
}

fn rules() -> Vec<Value> {
    let bash = json!({"type": "tool_use", "name": "Bash", "input": {"command": COMMAND}});
    let agent = json!({"type": "tool_use", "name": "Agent", "input": {
        "description": "work", "prompt": "sub work", "run_in_background": false,
    }});
    vec![
        json!({"contains": "sub work", "blocks": [bash]}),
        json!({"matches": ending("say much"), "text": "word ".repeat(8000), "event_delay_ms": 10}),
        json!({"matches": ending("run it"), "event_delay_ms": 10, "blocks": [bash]}),
        json!({"matches": ending("run three"), "event_delay_ms": 10, "blocks": [bash, bash, bash]}),
        json!({"matches": ending("delegate"), "blocks": [agent]}),
        json!({"text": "fine"}),
    ]
}

/// A console on a terminal.
struct Desk {
    api: Mock,
    folder: TempDir,
    child: Child,
    keys: File,
    terminal: File,
    before: String,
    got: Arc<Mutex<Vec<u8>>>,
}

impl Desk {
    fn new(recto: &Path) -> anyhow::Result<Desk> {
        let script: String = rules().iter().map(|rule| format!("{rule}\n")).collect();
        let script = Some(Script::parse(&script)?);
        let api = Mock::start(MockOptions { script, keep: 10_000, ..MockOptions::default() })?;
        let folder = TempDir::with_prefix("recto-bench-")?;
        let app = folder.path().join("app");
        fs::create_dir_all(&app)?;
        fs::create_dir_all(folder.path().join(".claude"))?;
        let ours = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY)?;
        rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
        pty::grantpt(&ours)?;
        pty::unlockpt(&ours)?;
        let name = pty::ptsname(&ours, Vec::new())?;
        let terminal = File::options().read(true).write(true).open(name.to_str()?)?;
        let size = termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        termios::tcsetwinsize(&terminal, size)?;
        let before = format!("{:?}", termios::tcgetattr(&terminal)?);
        let child = Command::new(recto)
            .args(["run", "--dangerously-skip-permissions"])
            .current_dir(&app)
            .env_clear()
            .env("HOME", folder.path())
            .env("TERM", "xterm-256color")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("ANTHROPIC_BASE_URL", api.base_url())
            .env("ANTHROPIC_API_KEY", "sk-ant-api03-recto-bench-this-is-not-a-key-AAAAAAAAAAAAAAAA")
            .stdin(terminal.try_clone()?)
            .stdout(terminal.try_clone()?)
            .stderr(terminal.try_clone()?)
            .spawn()
            .context("cannot start recto")?;
        let ours = File::from(ours);
        let (keys, mut screen) = (ours.try_clone()?, ours);
        let got = Arc::new(Mutex::new(Vec::new()));
        let gotten = got.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 65_536];
            while let Ok(read @ 1..) = screen.read(&mut piece) {
                let mut all = gotten.lock().unwrap_or_else(PoisonError::into_inner);
                all.extend_from_slice(&piece[..read]);
            }
        });
        let desk = Desk { api, folder, child, keys, terminal, before, got };
        desk.wait("it starts", || desk.count("/help") > 0)?;
        Ok(desk)
    }

    /// How often a text was written since the last time the screen was forgotten.
    fn count(&self, text: &str) -> usize {
        let got = self.got.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&got).matches(text).count()
    }

    fn forget(&self) {
        self.got.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !is_so() {
            if begun.elapsed() > PATIENCE {
                let got = self.got.lock().unwrap_or_else(PoisonError::into_inner);
                bail!("no end of waiting until {what}: {:?}", String::from_utf8_lossy(&got));
            }
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(())
    }

    /// Whether a process works in the project's directory, apart from the console.
    fn is_alone(&self) -> bool {
        let app = self.folder.path().join("app");
        let console = self.child.id().to_string();
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_there = |entry: &fs::DirEntry| {
            entry.file_name().to_string_lossy() != console
                && fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&app))
                && super::is_alive(&entry.path())
        };
        !all.into_iter().any(|entry| is_there(&entry))
    }

    fn round(&mut self, prompt: &str, random: &mut Random) -> anyhow::Result<Sample> {
        let asked = self.api.asked().len();
        self.keys.write_all(format!("{prompt}\r").as_bytes())?;
        self.wait("it asks", || self.api.asked().len() > asked)?;
        std::thread::sleep(Duration::from_micros(random.below(LATEST as usize) as u64));
        self.forget();
        let begun = Instant::now();
        self.keys.write_all(b"\x1b")?;
        self.wait("turn ended", || self.count(SIGN) > 0 && self.count(READY) > 0)?;
        let end = begun.elapsed();
        self.wait("all processes are gone", || self.is_alone())?;
        let death = begun.elapsed();
        Ok(Sample { end, death })
    }

    /// Leaves, and sees that the terminal is as it was before.
    fn leave(mut self) -> anyhow::Result<()> {
        self.keys.write_all(b"\x04")?;
        let status = self.child.wait()?;
        let after = format!("{:?}", termios::tcgetattr(&self.terminal)?);
        if !status.success() || after != self.before {
            bail!(
                "the console ended with {status}; the terminal is as it was: {}",
                after == self.before
            );
        }
        Ok(())
    }
}

fn page(measured: &[Vec<Sample>]) -> (String, bool) {
    let rounds: usize = measured.iter().map(Vec::len).sum();
    let mut page = String::from("# Results of `cargo xtask bench interrupt --console`\n\n");
    let _ = writeln!(
        page,
        "Esc at {rounds} random moments, up to {} ms after the request, in consoles on a pseudo terminal \
         with the sandbox on. The end is the moment at which the screen says so and the console is ready for a prompt; \
         death is that of the last process in the project's directory. Each console took {ROUNDS_EACH} \
         rounds, then ended with exit code 0 and left the terminal as it was.\n",
        LATEST / 1000
    );
    page += "| during | rounds | end, median | end, p99 | end, longest | death, median | death, longest |\n\
             |---|---:|---:|---:|---:|---:|---:|\n";
    let mut is_met = true;
    for ((_, label), samples) in KINDS.iter().zip(measured) {
        let of = |time: fn(&Sample) -> Duration| {
            let mut times: Vec<Duration> = samples.iter().map(time).collect();
            times.sort_unstable();
            let at = |part: usize| {
                times.get((times.len() * part / 100).min(times.len().saturating_sub(1)))
            };
            [at(50), at(99), times.last()].map(|time| time.copied().unwrap_or_default())
        };
        let (end, death) = (of(|sample| sample.end), of(|sample| sample.death));
        is_met &= end[2] <= LONGEST_END && death[2] <= LONGEST_DEATH;
        let _ = writeln!(
            page,
            "| {label} | {} | {:.1?} | {:.1?} | {:.1?} | {:.1?} | {:.1?} |",
            samples.len(),
            end[0],
            end[1],
            end[2],
            death[0],
            death[2]
        );
    }
    let _ = writeln!(
        page,
        "\nBars: the end within {} ms, death within {} ms: {}.",
        LONGEST_END.as_millis(),
        LONGEST_DEATH.as_millis(),
        if is_met { "met" } else { "not met" }
    );
    (page, is_met)
}
