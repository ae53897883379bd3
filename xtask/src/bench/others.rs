//! Other tools for the same work: which ones there are, how they are installed,
//! and why some are not measured.
//!
//! Owns: packages and versions. Everything is installed below `target/bench`, a
//! folder for each package. Versions are pinned, so that figures can be repeated.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use super::measure::Case;
use crate::repository::cargo;
use crate::repository::say;

/// Where a package is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Registry {
    Npm,
    PyPi,
    Crates,
}

/// A version of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) registry: Registry,
    pub(super) name: &'static str,
    pub(super) version: &'static str,
}

const fn npm(name: &'static str, version: &'static str) -> Package {
    Package { registry: Registry::Npm, name, version }
}

const fn pypi(name: &'static str, version: &'static str) -> Package {
    Package { registry: Registry::PyPi, name, version }
}

const fn crates(name: &'static str, version: &'static str) -> Package {
    Package { registry: Registry::Crates, name, version }
}

/// A tool that counts usage.
struct Tool {
    package: Package,
    /// The name of its program.
    program: &'static str,
    /// What runs the program, where the machine's own does not do.
    runtime: Option<(Package, &'static str)>,
    /// Whether it looks for `.claude` in the user's home, whatever the environment says.
    is_bound_to_user: bool,
    /// Reports over the whole home, as words. `{projects}` is its folder of logs.
    reports: &'static [&'static [&'static str]],
    /// What a reader of the figures should know.
    remark: &'static str,
}

/// Those that run without a network and end by themselves.
const TOOLS: &[Tool] = &[
    Tool {
        // Of 20.0.26 the part for Linux on x64 is not in the registry.
        package: npm("ccusage", "20.0.24"),
        program: "ccusage",
        runtime: None,
        is_bound_to_user: false,
        reports: &[&["daily", "--json", "--offline"], &["monthly", "--json", "--offline"]],
        remark: "the newest with a native part for every platform",
    },
    Tool {
        package: npm("codeburn", "0.9.15"),
        program: "codeburn",
        runtime: Some((npm("node", "22.23.3"), "node")),
        is_bound_to_user: false,
        reports: &[&["report", "--from", "2020-01-01", "--format", "json"]],
        remark: "keeps a cache of what it read",
    },
    Tool {
        package: pypi("claude-cost", "0.2.0"),
        program: "claude-cost",
        runtime: None,
        is_bound_to_user: true,
        reports: &[&["summary"]],
        remark: "",
    },
    Tool {
        package: pypi("claude-code-cost", "1.3.1"),
        program: "ccc",
        runtime: None,
        is_bound_to_user: false,
        reports: &[&["--data-dir", "{projects}", "--max-days", "0"]],
        remark: "leaves a log at its first byte that is no UTF-8",
    },
    Tool {
        package: crates("claudelytics", "0.6.4"),
        program: "claudelytics",
        runtime: None,
        is_bound_to_user: true,
        reports: &[&["--json", "monthly"]],
        remark: "leaves out a log that is no UTF-8",
    },
    Tool {
        package: crates("vibe_coding_tracker", "2.2.2"),
        program: "vibe_coding_tracker",
        runtime: None,
        is_bound_to_user: true,
        reports: &[&["usage", "--json", "--all"]],
        remark: "says that it skips lines; costs are 0 without its price list from the network",
    },
];

/// Those that were tried and cannot be measured, each with the reason.
const LEFT_OUT: &[(Package, &str)] = &[
    (npm("ccusage", "20.0.26"), "its part for Linux on x64 is not in the registry"),
    (npm("tokscale", "1.4.3"), "stops without the price list that it asks the network for"),
    (
        pypi("agentsview", "0.46.1"),
        "its search is, in the tables above; usage it answers from a database that a server behind it fills",
    ),
    (
        pypi("claude-monitor", "4.0.0"),
        "its reports do not end; `--once` shows the open window only",
    ),
    (pypi("par-cc-usage", "0.17.0"), "lists open windows only"),
    (pypi("cc-statistics", "1.1.4"), "stops at a log that is no UTF-8"),
    (pypi("claude-code-log", "1.7.0"), "writes documents; it has no report of usage"),
    (pypi("claude-usage", "0.0.16"), "cannot be installed"),
    (pypi("claude-usage-tracker", "0.4.1"), "asks the service, not the logs"),
    (pypi("ccburn", "0.8.0"), "asks the service, not the logs"),
    (pypi("claude-meter", "0.2.0"), "asks the service, not the logs"),
    (crates("ccstat", "0.6.2"), "stops at a log that is no UTF-8"),
    (crates("claudex", "0.15.1"), "is a library; it has no program"),
    (pypi("sniffly", "0.1.5"), "is a server with a page; it has no report on the command line"),
];

/// A tool and how it is started, or why it is not.
pub(super) struct Other {
    tool: &'static Tool,
    start: Result<Vec<OsString>, String>,
}

/// Installs all tools into folders of `folder`, and tries whether they start.
pub(super) fn install_all(folder: &Path) -> Vec<Other> {
    let others = TOOLS.iter().map(|tool| {
        let start = start(folder, tool);
        let told = start.as_ref().map_or_else(String::as_str, |_| "is ready");
        say(&format!("{} {}: {told}", tool.package.name, tool.package.version));
        Other { tool, start }
    });
    others.collect()
}

fn start(folder: &Path, tool: &Tool) -> Result<Vec<OsString>, String> {
    let mut words = Vec::new();
    if let Some((package, program)) = tool.runtime {
        words.push(install(folder, package, program)?.into_os_string());
    }
    words.push(install(folder, tool.package, tool.program)?.into_os_string());
    // A package whose native part is missing installs, but does not start.
    let empty = folder.join("empty-home");
    fs::create_dir_all(&empty).map_err(|error| error.to_string())?;
    let mut help = Command::new(&words[0]);
    help.args(&words[1..]).arg("--help").env("HOME", &empty).env("CLAUDE_CONFIG_DIR", &empty);
    let status = help.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(words),
        Ok(_) | Err(_) => Err("does not start here".to_owned()),
    }
}

/// Installs a package into a folder of its own below `folder`, unless it is there,
/// and gives the path of a program of it.
pub(super) fn install(folder: &Path, package: Package, program: &str) -> Result<PathBuf, String> {
    let Package { registry, name, version } = package;
    let place = folder.join(format!("{name}@{version}"));
    let programs = match registry {
        Registry::Npm => place.join("node_modules/.bin"),
        Registry::PyPi | Registry::Crates => place.join("bin"),
    };
    let program = programs.join(program);
    if program.exists() {
        return Ok(program);
    }
    fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    for mut command in commands(registry, name, version, &place) {
        let status = command.current_dir(&place).stdin(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            let tool = Path::new(command.get_program()).file_name().unwrap_or_default();
            return Err(format!("{} cannot install {name}", tool.to_string_lossy()));
        }
    }
    if program.exists() { Ok(program) } else { Err(format!("{name} has no such program")) }
}

/// What installs a package into a folder.
fn commands(registry: Registry, name: &str, version: &str, place: &Path) -> Vec<Command> {
    match registry {
        Registry::Npm => {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]);
            npm.arg(place).arg(format!("{name}@{version}"));
            vec![npm]
        }
        Registry::PyPi => {
            let mut environment = Command::new("python3");
            environment.args(["-m", "venv"]).arg(place);
            let mut pip = Command::new(place.join("bin/pip"));
            pip.args(["install", "--quiet", "--disable-pip-version-check"]);
            pip.arg(format!("{name}=={version}"));
            vec![environment, pip]
        }
        Registry::Crates => {
            let mut install = Command::new(cargo());
            install.args(["install", "--quiet", "--locked", "--root"]).arg(place);
            install.arg(format!("{name}@{version}")).env_remove("CARGO_TARGET_DIR");
            vec![install]
        }
    }
}

impl Other {
    /// Its reports over a home.
    pub(super) fn cases(&self, home: &Path) -> Vec<Case> {
        let Ok(start) = &self.start else { return Vec::new() };
        let reports = self.tool.reports.iter().map(|report| {
            let words = report.iter().map(|word| match *word {
                "{projects}" => home.join("projects").into_os_string(),
                word => word.into(),
            });
            let user = home.parent().filter(|_| self.tool.is_bound_to_user);
            let user = user.into_iter().flat_map(|user| {
                let mut variable = OsString::from("HOME=");
                variable.push(user);
                ["env".into(), variable]
            });
            let words = user.chain(start.iter().cloned()).chain(words).collect::<Vec<_>>();
            let first = report.first().filter(|word| !word.starts_with('-'));
            let label = [Some(&self.tool.package.name), first].into_iter().flatten();
            let case = Case::new(label.copied().collect::<Vec<_>>().join(" "), words);
            // The others take so long that one run must do.
            if self.tool.package.name == "ccusage" { case } else { case.only_once() }
        });
        reports.collect()
    }

    /// Whether it is the tool of this name, and can be measured.
    pub(super) fn is_ready(&self, name: &str) -> bool {
        self.tool.package.name == name && self.start.is_ok()
    }
}

/// All tools as Markdown, with versions, and why some have no row.
pub(super) fn render(others: &[Other]) -> String {
    let mut text =
        String::from("\n## Other tools\n\n| tool | version | from | remark |\n|---|---|---|---|\n");
    let mut row = |package: &Package, remark: &str| {
        let from = match package.registry {
            Registry::Npm => "npm",
            Registry::PyPi => "PyPI",
            Registry::Crates => "Cargo",
        };
        let _ = writeln!(text, "| {} | {} | {from} | {remark} |", package.name, package.version);
    };
    for other in others {
        match &other.start {
            Ok(_) => row(&other.tool.package, other.tool.remark),
            Err(reason) => row(&other.tool.package, &format!("not measured: {reason}")),
        }
        if let Some((package, _)) = &other.tool.runtime {
            row(package, &format!("runs {}", other.tool.package.name));
        }
    }
    for (package, reason) in LEFT_OUT {
        row(package, &format!("not measured: {reason}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_cannot_be_installed_is_told_and_has_no_case() {
        let missing = Other { tool: &TOOLS[0], start: Err("npm cannot install it".to_owned()) };
        let ready = Other { tool: &TOOLS[3], start: Ok(vec!["ccc".into()]) };
        assert!(missing.cases(Path::new("home")).is_empty() && !missing.is_ready("ccusage"));
        let cases = ready.cases(Path::new("home"));
        assert_eq!(cases[0].label, "claude-code-cost");
        assert_eq!(cases[0].words[2], "home/projects");
        let bound = Other { tool: &TOOLS[2], start: Ok(vec!["cost".into()]) };
        let words = &bound.cases(Path::new("made/.claude"))[0].words;
        assert_eq!(words[..], ["env", "HOME=made", "cost", "summary"]);
        let text = render(&[missing, ready]);
        assert!(text.contains("| ccusage | 20.0.24 | npm | not measured: npm cannot install it |"));
        assert!(text.contains("| claude-code-cost | 1.3.1 | PyPI | leaves a log"));
        assert!(text.contains("| agentsview | 0.46.1 | PyPI | not measured: its search is"));
    }

    #[test]
    fn what_is_there_is_not_installed_again() {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("some-tool@1.0.0/bin");
        fs::create_dir_all(&programs).unwrap();
        fs::write(programs.join("tool"), "").unwrap();
        let found = install(folder.path(), pypi("some-tool", "1.0.0"), "tool");
        assert_eq!(found, Ok(programs.join("tool")));
    }
}
