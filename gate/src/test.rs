//! `cargo xtask test`: everything that must hold before a change is kept.
//!
//! Owns: the steps, and the folder they run in. Every step runs with a home
//! that is empty and thrown away, so that no test can read or touch the logs of
//! the person who runs it; `RECTO_TEST_HOME_GUARD` tells the tests so. Rust
//! itself is still found where it is installed.
//!
//! The official SDKs of the API judge the mock; they are installed into `target/sdks`.
//!
//! Tests that need another program are ignored by `cargo test`. Each such program that is
//! found, or can be installed, gets a step of its own for its tests; `$CHROME` names
//! another browser. What is ignored and gets no step counts as skipped. All steps name the
//! whole workspace: a package alone has other features, and everything would be built again.
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
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use tempfile::TempDir;

use gate::browser;
use gate::programs;
use gate::repository::cargo;
use gate::repository::heading;
use gate::repository::root;
use gate::repository::say;
use gate::repository::target;

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
    let mut times = Vec::new();
    for step in STEPS {
        if let Some(tool) = step.tool {
            let Some(program) = (tool.find)() else { continue };
            home.tools.push((tool.variable, program));
        }
        heading(step.title);
        let begun = Instant::now();
        let outcome = step.run(&home).with_context(|| format!("step `{}`", step.title))?;
        tally.add_step(outcome, step.tool);
        times.push(format!("{:>6} s  {}", begun.elapsed().as_secs(), step.title));
    }
    heading("time of each step");
    times.iter().for_each(|line| say(line));
    say("");
    say(&format!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped));
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A program that some tests need.
#[derive(Debug, Clone, Copy)]
struct Tool {
    find: fn() -> Option<PathBuf>,
    /// The variable that names it to tests.
    variable: &'static str,
}

const BROWSER: Tool = Tool { find: browser::find, variable: "RECTO_TEST_BROWSER" };
const SDKS: Tool = Tool { find: programs::find_sdks, variable: "RECTO_TEST_SDKS" };
const WEED: Tool = Tool { find: programs::find_weed, variable: "RECTO_TEST_WEED" };
const AZURITE: Tool = Tool { find: programs::find_azurite, variable: "RECTO_TEST_AZURITE" };
const TELEMETRY: Tool = Tool { find: programs::find_telemetry, variable: "RECTO_TEST_OTLP" };
const NAMESPACES: Tool = Tool { find: programs::find_namespaces, variable: "RECTO_TEST_IP" };
const WHEELS: Tool = Tool { find: programs::find_wheels, variable: "RECTO_TEST_WHEELS" };
const AXE: Tool = Tool { find: programs::find_axe, variable: "RECTO_TEST_AXE" };
const STRACE: Tool = Tool { find: programs::find_strace, variable: "RECTO_TEST_STRACE" };

struct Step {
    title: &'static str,
    runs: Runs,
    /// The rustup component that the step needs.
    component: Option<&'static str>,
    /// Whether the step prints results of tests.
    has_tests: bool,
    /// The program without which there is nothing to do. The step runs tests that another
    /// one has counted as ignored.
    tool: Option<Tool>,
}

/// What a step runs.
#[derive(Clone, Copy)]
enum Runs {
    /// Cargo, with these words.
    Cargo(&'static [&'static str]),
    /// Another task, with these words. Both `xtask` and recto are those that the tests have
    /// built: cargo would build a package alone with other features, so everything again.
    Task { words: &'static [&'static str], recto: &'static str },
}

/// A step that builds or looks at the code.
const fn code(
    title: &'static str,
    component: Option<&'static str>,
    words: &'static [&'static str],
) -> Step {
    Step { title, runs: Runs::Cargo(words), component, has_tests: false, tool: None }
}

/// A crate without its features, or with each alone; the program as it is by default.
const fn alone(words: &'static [&'static str]) -> Step {
    code("features", Some("clippy"), words)
}

const fn tests(title: &'static str, tool: Option<Tool>, words: &'static [&'static str]) -> Step {
    Step { title, runs: Runs::Cargo(words), component: None, has_tests: true, tool }
}

/// `recto` is the option that names the program to the task.
const fn task(
    title: &'static str,
    tool: Option<Tool>,
    recto: &'static str,
    words: &'static [&'static str],
) -> Step {
    Step { title, runs: Runs::Task { words, recto }, component: None, has_tests: false, tool }
}

/// Tables in stores are a feature that is off by default; all steps have it, so that everything
/// is built once.
const LAKE: &str = "--features=recto/lake";

const STEPS: &[Step] = &[
    code("format", Some("rustfmt"), &["fmt", "--all", "--check"]),
    code(
        "lints",
        Some("clippy"),
        &["clippy", "--workspace", "--all-targets", LAKE, "--", "-D", "warnings"],
    ),
    alone(&["clippy", "-precto-session", "--no-default-features", "--", "-Dwarnings"]),
    alone(&["clippy", "-precto", "--no-default-features", "--", "-Dwarnings"]),
    alone(&["clippy", "-precto-session", "--no-default-features", "-Fexport", "--", "-Dwarnings"]),
    alone(&["clippy", "-precto-session", "--no-default-features", "-Fredact", "--", "-Dwarnings"]),
    alone(&["clippy", "-precto-session", "--no-default-features", "-Fsearch", "--", "-Dwarnings"]),
    alone(&["clippy", "-precto", "--", "-Dwarnings"]),
    tests("tests", None, &["test", "--workspace", LAKE, "--no-fail-fast"]),
    tests(
        "tests that kill the program",
        Some(STRACE),
        &["test", "--workspace", LAKE, "--test", "runner", "--", "--ignored", "crash"],
    ),
    tests(
        "tests with the official SDKs",
        Some(SDKS),
        &["test", "--workspace", LAKE, "--test", "runner", "--", "--ignored", "sdks::"],
    ),
    tests(
        "tests with an object store",
        Some(WEED),
        &["test", "--workspace", LAKE, "--test", "runner", "--", "--ignored", "stores::"],
    ),
    tests(
        "tests with Azure's storage",
        Some(AZURITE),
        &["test", "--workspace", LAKE, "--test", "runner", "--", "--ignored", "azurite::"],
    ),
    tests(
        "tests with the definitions of OpenTelemetry",
        Some(TELEMETRY),
        &["test", "--workspace", LAKE, "--test", "runner", "--", "--ignored", "otlp::"],
    ),
    task(
        "a fleet, in short",
        None,
        "--program",
        &["fleet", "--plain", "--machines", "4", "--minutes", "0.1"],
    ),
    task(
        "a fleet in network namespaces, in short",
        Some(NAMESPACES),
        "--program",
        &["fleet", "--machines", "4", "--minutes", "0.3"],
    ),
    tests(
        "tests with other engines",
        Some(WHEELS),
        &["test", "--workspace", LAKE, "--test", "runner", "--", "--ignored", "engines::"],
    ),
    tests(
        "tests in a browser",
        Some(BROWSER),
        &[
            "test",
            "--workspace",
            LAKE,
            "--test",
            "runner",
            "--no-fail-fast",
            "--",
            "--ignored",
            "--skip",
            "crash",
            "--skip",
            "sdks::",
            "--skip",
            "stores::",
            "--skip",
            "azurite::",
            "--skip",
            "otlp::",
            "--skip",
            "engines::",
            "--skip",
            "axe_finds",
        ],
    ),
    // After the one above, which has found the browser.
    tests(
        "accessibility of pages",
        Some(AXE),
        &["test", "--workspace", LAKE, "--test", "runner", "--", "--ignored", "axe_finds"],
    ),
    task("attack, in short", None, "--recto", &["attack", "--seconds", "0"]),
    code("documentation", None, &["doc", "--workspace", LAKE, "--no-deps"]),
];

impl Step {
    fn run(&self, home: &EmptyHome) -> anyhow::Result<Tally> {
        let mut command = match self.runs {
            Runs::Cargo(words) => {
                if let Some(component) = self.component {
                    install(component, words[0], home)?;
                }
                let mut command = home.command(cargo());
                command.args(words);
                command
            }
            Runs::Task { words, recto } => {
                let mut command = home.command(built("xtask").into());
                command.args(words).arg(recto).arg(built("recto"));
                command
            }
        };
        command.env("RUSTDOCFLAGS", "-Dwarnings");
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

/// A program that the tests have built, because tests of its package run it.
fn built(name: &str) -> PathBuf {
    target().join("debug").join(format!("{name}{}", env::consts::EXE_SUFFIX))
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
    /// Adds the results of a step. Tests that need a tool were ignored before.
    fn add_step(&mut self, step: Tally, tool: Option<Tool>) {
        self.passed += step.passed;
        self.failed += step.failed;
        match tool {
            None => self.skipped += step.skipped,
            Some(_) => {
                let known = step.passed + step.failed;
                self.skipped = self.skipped.saturating_sub(known);
            }
        }
    }

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

/// A home with nothing in it, gone when this is dropped.
struct EmptyHome {
    folder: TempDir,
    /// Programs for tests, and the variables that name them.
    tools: Vec<(&'static str, PathBuf)>,
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
        Ok(EmptyHome { kept: kept.collect(), tools: Vec::new(), folder })
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
        command.envs(self.tools.iter().map(|(name, path)| (name, path)));
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
    fn a_test_that_needs_a_program_counts_once() {
        let mut tally = Tally::default();
        tally.add_step(Tally { passed: 50, failed: 0, skipped: 4 }, None);
        tally.add_step(Tally { passed: 2, failed: 1, skipped: 0 }, Some(STRACE));
        assert_eq!(tally, Tally { passed: 52, failed: 1, skipped: 1 });
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
