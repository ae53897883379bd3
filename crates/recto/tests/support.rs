//! Runs the program in an environment of the test's own.

use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Output;
use std::process::Stdio;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;
use recto_testkit::SnapshotFilter;
use tempfile::TempDir;

/// The time of every run.
pub(crate) const NOW: &str = "2026-11-16T12:00:00Z";

pub(crate) const FIX: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
pub(crate) const DOCS: &str = "3f2b77aa-51c7-4d02-b8f4-93ad17c2e680";
pub(crate) const OLD: &str = "c81d4e2e-bcf2-41e6-869b-7df92533d2db";

/// A time before [`NOW`].
pub(crate) fn hours_ago(hours: i64) -> Timestamp {
    NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_hours(hours)
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A home, an empty directory for the user and one to run in.
pub(crate) struct TestHome {
    pub(crate) home: FakeHome,
    pub(crate) user: TempDir,
    pub(crate) work: TempDir,
}

impl TestHome {
    pub(crate) fn empty() -> TestHome {
        TestHome {
            home: FakeHome::new(),
            user: tempfile::tempdir().unwrap(),
            work: tempfile::tempdir().unwrap(),
        }
    }

    /// Three sessions of three clients, a subagent, and files without a
    /// conversation.
    pub(crate) fn with_sessions() -> TestHome {
        let test = TestHome::empty();
        let fix = SessionBuilder::new(FIX, Client::V2_1_325)
            .branch("fix/parser")
            .prompt("The parser fails on empty lines.\nPlease repair it.")
            .attachment("date", ("date", "2026-11-16"))
            .thinking("An empty line is no JSON.")
            .tool(
                "Bash",
                r#"{"command":"cargo test","description":"Run the tests"}"#,
                "line 1\nline 2\nline 3\nline 4\nline 5\nline 6",
            )
            .failed_tool("Read", r#"{"file_path":"/home/dev/app/gone.rs"}"#, "File does not exist.")
            .answer("Repaired: empty lines are skipped now.")
            .user_text("<command-name>/cost</command-name><command-args>today</command-args>")
            .user_text("<local-command-stdout>Total: $0.12</local-command-stdout>")
            .meta_text("<system-reminder>Be brief.</system-reminder>")
            .user_text("[Request interrupted by user]")
            .compaction("We repaired the parser.")
            .prompt("Thanks!")
            .answer("You are welcome.")
            .model_title("Repair the parser");
        test.home.add(&fix, hours_ago(2));
        let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325)
            .prompt("Find all callers of parse().")
            .answer("There are two callers.");
        test.home.add(&agent, hours_ago(3));
        let docs = SessionBuilder::new(DOCS, Client::V2_1_29)
            .cwd("/home/dev/docs")
            .prompt("Write the parser docs")
            .answer("Written.")
            .custom_title("Parser docs");
        test.home.add(&docs, hours_ago(26));
        let old = SessionBuilder::new(OLD, Client::V2_0_50)
            .branch("")
            .prompt("What does this project do?")
            .answer("It reads logs.");
        test.home.add(&old, hours_ago(27 * 24));
        let warmup = SessionBuilder::agent(OLD, "1f2e3d4c", Client::V2_0_50)
            .prompt("Warmup")
            .answer("Ready.");
        test.home.add(&warmup, hours_ago(27 * 24));
        let empty = SessionBuilder::new("eeeeeeee-0000-4000-8000-000000000000", Client::V2_0_50);
        test.home.add(&empty, hours_ago(1));
        let stub = SessionBuilder::new("dddddddd-0000-4000-8000-000000000000", Client::V2_0_50)
            .model_title("A title of another session");
        test.home.add(&stub, hours_ago(1));
        test
    }

    /// The program, ready to run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_recto"));
        command.args(arguments);
        self.set_environment(&mut command);
        command
    }

    pub(crate) fn set_environment(&self, command: &mut Command) {
        command
            .env_clear()
            .env("HOME", self.user.path())
            .env("USERPROFILE", self.user.path())
            .env("XDG_DATA_HOME", self.user.path().join(".local/share"))
            .env("XDG_CACHE_HOME", self.user.path().join(".cache"))
            .env("CLAUDE_CONFIG_DIR", self.home.path())
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .env("RECTO_NOW", NOW)
            .env("RECTO_TEST_HOME_GUARD", "1")
            .current_dir(self.work.path())
            .stdin(Stdio::null());
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.finish(&mut self.command(arguments))
    }

    /// Runs the program as nobody where the tests run as root, to whom permissions
    /// mean nothing.
    #[cfg(unix)]
    pub(crate) fn run_as_nobody(&self, arguments: &[&str]) -> Run {
        use std::os::unix::fs::MetadataExt as _;
        use std::os::unix::process::CommandExt as _;

        const NOBODY: u32 = 65_534;
        let program = self.work.path().join("recto");
        if !program.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_recto"), &program).unwrap();
        }
        for path in [self.home.path(), self.work.path(), self.user.path(), &program] {
            set_mode(path, 0o755);
        }
        let mut command = Command::new(&program);
        command.args(arguments);
        self.set_environment(&mut command);
        if std::fs::metadata(self.home.path()).unwrap().uid() == 0 {
            command.uid(NOBODY);
        }
        self.finish(&mut command)
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Run::new(child.wait_with_output().unwrap(), &self.filter())
    }

    pub(crate) fn finish(&self, command: &mut Command) -> Run {
        Run::new(command.output().unwrap(), &self.filter())
    }

    pub(crate) fn finish_child(&self, child: std::process::Child) -> Run {
        Run::new(child.wait_with_output().unwrap(), &self.filter())
    }

    fn filter(&self) -> SnapshotFilter {
        SnapshotFilter::default()
            .path(self.home.path(), "[claude]")
            .path(self.user.path(), "[user]")
            .path(self.work.path(), "[work]")
    }
}

/// What a run gave.
pub(crate) struct Run {
    pub(crate) code: i32,
    /// With the paths of this run replaced.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) raw: Output,
}

impl Run {
    fn new(raw: Output, filter: &SnapshotFilter) -> Run {
        Run {
            code: raw.status.code().unwrap_or(-1),
            stdout: filter.apply(&String::from_utf8_lossy(&raw.stdout)),
            stderr: filter.apply(&String::from_utf8_lossy(&raw.stderr)),
            raw,
        }
    }

    /// Everything of the run, for a snapshot.
    pub(crate) fn shown(&self) -> String {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&self.stderr);
        }
        text.push_str(&format!("--- exit {}\n", self.code));
        text
    }

    /// The lines of standard output as JSON.
    pub(crate) fn json(&self) -> Vec<serde_json::Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

#[cfg(unix)]
pub(crate) fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
