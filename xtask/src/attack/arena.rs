//! Where an attack happens: the program, a folder of its own, the time that is left, and
//! random choices that can be repeated.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use tempfile::TempDir;

pub(super) use recto_testkit::fuzz::Random;

/// A command that is still running after this time hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// What a driver works with.
pub(super) struct Arena {
    /// The program that is attacked.
    pub(super) recto: PathBuf,
    pub(super) random: Random,
    pub(super) seed: u64,
    deadline: Instant,
    /// Whether all is tried that is worth a page, however long it takes.
    is_full: bool,
    folder: TempDir,
}

impl Arena {
    pub(super) fn new(
        recto: PathBuf,
        seed: u64,
        share: Duration,
        is_full: bool,
    ) -> anyhow::Result<Arena> {
        let folder = TempDir::with_prefix("recto-attack-").context("cannot make a folder")?;
        for name in ["user", "claude"] {
            fs::create_dir(folder.path().join(name))?;
        }
        let deadline = Instant::now() + share;
        Ok(Arena { recto, random: Random::new(seed), seed, deadline, is_full, folder })
    }

    /// Whether another round may begin.
    pub(super) fn has_time(&self) -> bool {
        Instant::now() < self.deadline
    }

    /// The same for a driver that has made so many rounds, and makes more if all is asked for.
    pub(super) fn goes_on(&self, rounds: u64, full: u64) -> bool {
        self.has_time() || (self.is_full && rounds < full)
    }

    /// Whether there is time for what takes minutes.
    pub(super) fn has_minutes(&self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.is_full || left >= Duration::from_secs(180)
    }

    /// A folder that nothing but this driver uses.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The home that commands read unless told otherwise.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("claude")
    }

    /// The user's directory, with recto's data and index in it.
    pub(super) fn user(&self) -> PathBuf {
        self.folder.path().join("user")
    }

    /// An empty home and an empty user's directory.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        for folder in [self.home(), self.user()] {
            fs::remove_dir_all(&folder)?;
            fs::create_dir(&folder)?;
        }
        Ok(())
    }

    /// Runs a command and kills it at a random time, if it does not end before.
    pub(super) fn kill_somewhere(&mut self, command: &mut Command) -> Result<(), String> {
        let wait = Duration::from_micros(self.random.below(60_000) as u64);
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        std::thread::sleep(wait);
        // It may have ended; then there is nothing to kill.
        let _ = child.kill();
        child.wait().map(|_| ()).map_err(|error| error.to_string())
    }

    /// The program with an environment of its own, ready to run.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.recto);
        command.args(words);
        self.set_environment(&mut command);
        command
    }

    /// Nothing of the caller's environment, and this arena's folders.
    pub(super) fn set_environment(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.user())
            .env("XDG_DATA_HOME", self.user().join("data"))
            .env("XDG_CACHE_HOME", self.user().join("cache"))
            .env("CLAUDE_CONFIG_DIR", self.home())
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .env("RECTO_TEST_HOME_GUARD", "1")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
    }

    /// Runs the program and takes what it prints.
    pub(super) fn run(&self, words: &[&str]) -> anyhow::Result<Run> {
        self.finish(&mut self.command(words))
    }

    /// Runs a command to its end, or ends it if it hangs.
    pub(super) fn finish(&self, command: &mut Command) -> anyhow::Result<Run> {
        self.finish_within(command, LONGEST)
    }

    /// The same with as much time as it may take. Also says how much memory it took.
    pub(super) fn finish_within(
        &self,
        command: &mut Command,
        longest: Duration,
    ) -> anyhow::Result<Run> {
        let (out, err) = (self.folder.path().join("stdout"), self.folder.path().join("stderr"));
        command.stdout(File::create(&out)?).stderr(File::create(&err)?);
        let mut child = command.spawn().context("cannot start the program")?;
        let start = Instant::now();
        let mut resident = 0;
        let status = loop {
            resident = peak_of(child.id()).unwrap_or(resident);
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if start.elapsed() > longest {
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let took = start.elapsed();
        Ok(Run { status, stdout: fs::read(&out)?, stderr: fs::read(&err)?, resident, took })
    }
}

/// The most memory that a process had so far, in bytes; nothing where the system does not say.
fn peak_of(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// How a command ended and what it printed.
pub(super) struct Run {
    /// Nothing if it hung.
    status: Option<ExitStatus>,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// The most memory that it had, in bytes, as far as it was seen.
    pub(super) resident: u64,
    pub(super) took: Duration,
}

impl Run {
    pub(super) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// What it said on standard error, on one line.
    pub(super) fn said(&self) -> String {
        String::from_utf8_lossy(&self.stderr)
            .chars()
            .take(300)
            .collect::<String>()
            .replace('\n', " ")
    }

    /// What not even a kill or an error of the system may cause.
    pub(super) fn unbroken(&self) -> Result<(), String> {
        match (self.status, self.said().contains("panicked at")) {
            (None, _) => Err("it hangs".to_owned()),
            (_, true) => Err(self.said()),
            (Some(_), false) => Ok(()),
        }
    }

    /// What no input may cause: a panic, a signal, an exit code that is none of ours, no end.
    pub(super) fn sound(&self) -> Result<(), String> {
        let said = String::from_utf8_lossy(&self.stderr);
        let Some(status) = self.status else { return Err("it hangs".to_owned()) };
        if let Some(at) = said.find("panicked at") {
            let place: String = said[at..].chars().take(200).collect();
            return Err(place.replace('\n', " "));
        }
        match status.code() {
            Some(0..=2) => Ok(()),
            _ => Err(format!("it ended with {status}")),
        }
    }
}
