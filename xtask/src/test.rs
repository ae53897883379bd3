//! `cargo xtask test`: everything that must hold before a change is kept.
//!
//! Owns: the steps, and the folder they run in. Every step runs with a home
//! that is empty and thrown away, so that no test can read or touch the logs of
//! the person who runs it; `RECTO_TEST_HOME_GUARD` tells the tests so. Rust
//! itself is still found where it is installed.
//!
//! Tests in a browser run where there is one or one can be installed; `$CHROME`
//! names another. Tests of crashes run where `strace` works.
//!
//! All steps run, even if one fails. The last line is always
//! `N passed, M failed, K skipped`; a step that fails for another reason than
//! its tests counts as one failure.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;

use anyhow::Context as _;
use anyhow::bail;
use tempfile::TempDir;

use crate::browser;
use crate::programs;
use crate::repository::cargo;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;

/// How many tests passed, failed and were ignored.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Runs all steps.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut home = EmptyHome::new()?;
    let mut tally = Tally::default();
    home.browser = browser::find();
    if home.browser.is_none() {
        tally.skipped += BROWSER_TESTS;
    }
    home.strace = programs::find_strace();
    if home.strace.is_none() {
        tally.skipped += CRASH_TESTS;
    }
    for step in STEPS {
        heading(step.title);
        let outcome = step.run(&home).with_context(|| format!("step `{}`", step.title))?;
        tally.passed += outcome.passed;
        tally.failed += outcome.failed;
        tally.skipped += outcome.skipped;
    }
    say("");
    say(&format!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped));
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Step {
    title: &'static str,
    /// What cargo is called with.
    words: &'static [&'static str],
    /// The rustup component that the step needs.
    component: Option<&'static str>,
    /// Whether the step prints results of tests.
    has_tests: bool,
}

const STEPS: [Step; 4] = [
    Step {
        title: "format",
        words: &["fmt", "--all", "--check"],
        component: Some("rustfmt"),
        has_tests: false,
    },
    Step {
        title: "lints",
        words: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
        component: Some("clippy"),
        has_tests: false,
    },
    Step {
        title: "tests",
        words: &["test", "--workspace", "--no-fail-fast"],
        component: None,
        has_tests: true,
    },
    Step {
        title: "documentation",
        words: &["doc", "--workspace", "--no-deps"],
        component: None,
        has_tests: false,
    },
];

impl Step {
    fn run(&self, home: &EmptyHome) -> anyhow::Result<Tally> {
        if let Some(component) = self.component {
            install(component, self.words[0], home)?;
        }
        let mut command = home.command(cargo());
        command.args(self.words).env("RUSTDOCFLAGS", "-Dwarnings");
        let (mut tally, succeeded) = if self.has_tests {
            run_tests(&mut command)?
        } else {
            (Tally::default(), command.status().context("cannot start cargo")?.success())
        };
        if !succeeded && tally.failed == 0 {
            say(&format!("step `{}` failed", self.title));
            tally.failed = 1;
        }
        Ok(tally)
    }
}

/// Runs tests, shows what they print and adds up their results.
fn run_tests(command: &mut Command) -> anyhow::Result<(Tally, bool)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut tally = Tally::default();
    let output = child.stdout.take().context("cargo has no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("cannot read what the tests print")?;
        let line = String::from_utf8_lossy(&line);
        say(&line);
        tally.add_result(&line);
    }
    Ok((tally, child.wait()?.success()))
}

impl Tally {
    /// Adds a line such as `test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured`.
    fn add_result(&mut self, line: &str) {
        let Some((_, counts)) =
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            match count.split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                Some((number, "ignored")) => self.skipped += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

/// Makes sure that a cargo command is there.
fn install(component: &str, word: &str, home: &EmptyHome) -> anyhow::Result<()> {
    let mut probe = home.command(cargo());
    probe.args([word, "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if probe.status().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    say(&format!("cargo {word} is missing: rustup component add {component}"));
    let added = home.command("rustup".into()).args(["component", "add", component]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => bail!(
            "`cargo {word}` is missing and rustup could not add it\n\
             hint: install the component `{component}` of your Rust toolchain"
        ),
    }
}

/// How many tests are left out where there is no browser.
const BROWSER_TESTS: u64 = 26;

/// How many tests are left out where there is no strace.
const CRASH_TESTS: u64 = 2;

/// A home with nothing in it, gone when this is dropped.
struct EmptyHome {
    folder: TempDir,
    /// The browser for tests of pages.
    browser: Option<PathBuf>,
    /// The program for tests of crashes.
    strace: Option<PathBuf>,
    /// Where Rust was found before the home was replaced.
    kept: Vec<(&'static str, PathBuf)>,
}

impl EmptyHome {
    fn new() -> anyhow::Result<EmptyHome> {
        let folder = TempDir::with_prefix("recto-test-").context("cannot make a folder")?;
        for (_, name) in FOLDERS {
            fs::create_dir(folder.path().join(name))?;
        }
        // Git refuses a checkout of another owner unless the user's settings,
        // which are out of reach here, allow it.
        fs::write(folder.path().join(GIT_SETTINGS), "[safe]\n\tdirectory = *\n")?;
        // For the folders of the toolchain alone: without them all would be fetched again.
        let real = env::home_dir();
        let kept = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
        let kept = kept.into_iter().filter_map(|(name, usual)| {
            let set = env::var_os(name).map(PathBuf::from);
            Some((name, set.or_else(|| Some(real.as_deref()?.join(usual)))?))
        });
        Ok(EmptyHome { kept: kept.collect(), browser: None, strace: None, folder })
    }

    /// A command that runs at the root of the repository and sees only this home.
    fn command(&self, program: OsString) -> Command {
        let mut command = Command::new(program);
        command.current_dir(root()).envs(self.kept.iter().map(|(name, path)| (name, path)));
        for (name, folder) in FOLDERS {
            command.env(name, self.folder.path().join(folder));
        }
        command.env("GIT_CONFIG_GLOBAL", self.folder.path().join(GIT_SETTINGS));
        command.env("RECTO_TEST_HOME_GUARD", "1");
        // A snapshot that differs fails; it leaves no file behind.
        command.env("INSTA_UPDATE", "no");
        if let Some(browser) = &self.browser {
            command.env("RECTO_TEST_BROWSER", browser);
        }
        if let Some(strace) = &self.strace {
            command.env("RECTO_TEST_STRACE", strace);
        }
        command
    }
}

/// Variables that lead to a person's files, and the folders that stand in for these.
const FOLDERS: [(&str, &str); 6] = [
    ("HOME", "home"),
    ("CLAUDE_CONFIG_DIR", "claude"),
    ("XDG_CACHE_HOME", "cache"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_DATA_HOME", "data"),
    ("XDG_STATE_HOME", "state"),
];

const GIT_SETTINGS: &str = "gitconfig";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test result: ok. 48 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.07s",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0s",
            "note: test result: ok. 9 passed; 9 failed; 9 ignored",
        ] {
            tally.add_result(line);
        }
        assert_eq!(tally, Tally { passed: 51, failed: 1, skipped: 2 });
    }

    #[test]
    fn a_step_sees_the_empty_home_and_nothing_of_the_real_one() {
        let home = EmptyHome::new().unwrap();
        let command = home.command("true".into());
        let value = |name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name);
            PathBuf::from(found.unwrap().1.unwrap())
        };
        for (name, _) in FOLDERS {
            assert!(value(name).starts_with(home.folder.path()), "{name}");
            assert_eq!(fs::read_dir(value(name)).unwrap().count(), 0, "{name}");
        }
        assert!(!value("CARGO_HOME").starts_with(home.folder.path()));
        assert!(!value("RUSTUP_HOME").starts_with(home.folder.path()));
    }
}
