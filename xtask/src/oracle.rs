//! `cargo xtask oracle`: asks the real client, off the network.
//!
//! Owns: the command line. `docs/concepts/oracle.md` says what is proven.

mod answers;
mod cases;
mod check;
mod client;
mod drift;
mod edits;
mod report;
mod resume;
mod run;
mod steps;
mod workspace;

use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;

use anyhow::Context as _;
use anyhow::bail;

use crate::repository;
pub(crate) use client::finding;
pub(crate) use client::namespaces;
pub(crate) use resume::SANDBOX;
pub(crate) use resume::node_folder;
pub(crate) use workspace::Workspace;

/// The program of a client, which is installed if it is not there yet.
pub(crate) fn program_of(version: &str) -> anyhow::Result<PathBuf> {
    client::check_tools()?;
    Ok(client::program(&client::installed(version)?))
}

/// Fails if this user may not make the namespaces that sandboxes need.
pub(crate) fn check_namespaces() -> anyhow::Result<()> {
    client::check_namespaces()
}

const USAGE: &str = "usage:
  cargo xtask oracle resume --client VERSION --home DIR --session ID [--cwd PATH]
  cargo xtask oracle check [--client V,V...] [--filter NAME] [--corpus DIR]
                           [--recto PROGRAM] [--outside] [--again | --known] [--write]
  cargo xtask oracle run [--sessions N] [--turns N] [--seed N] [--client VERSION]
                         [--recto PROGRAM] [--write]
  cargo xtask oracle drift --client VERSION";

/// The clients that are asked when none is named: one each of what is old, what
/// is in the middle, and what is new.
const CLIENTS: [&str; 3] = ["2.0.50", "2.1.29", "2.1.325"];

/// Runs the command with the words after `oracle`.
pub(crate) fn run(args: &[String]) -> anyhow::Result<ExitCode> {
    match args.split_first().map(|(task, rest)| (task.as_str(), rest)) {
        Some(("resume", rest)) => resume_one(rest),
        Some(("check", rest)) => check_all(rest),
        Some(("run", rest)) => run::run(rest),
        Some(("step", [request])) => steps::inside(request).map(|()| ExitCode::SUCCESS),
        Some(("drift", [option, version])) if option == "--client" => drift::run(version),
        Some(("inside", [request])) => resume::inside(request).map(|()| ExitCode::SUCCESS),
        _ => bail!("{USAGE}"),
    }
}

fn resume_one(args: &[String]) -> anyhow::Result<ExitCode> {
    let (mut version, mut home, mut session, mut cwd) = (None, None, None, None);
    let mut words = args.iter();
    while let Some(option) = words.next() {
        let value = words.next().with_context(|| format!("{option} needs a value\n{USAGE}"))?;
        match option.as_str() {
            "--client" => version = Some(value.as_str()),
            "--home" => home = Some(PathBuf::from(value)),
            "--session" => session = Some(value.as_str()),
            "--cwd" => cwd = Some(value.as_str()),
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    client::check_tools()?;
    let home = home.with_context(|| format!("--home is missing\n{USAGE}"))?;
    let session = session.with_context(|| format!("--session is missing\n{USAGE}"))?;
    let cwd = match cwd {
        Some(cwd) => cwd.to_owned(),
        None => resume::working_directory(&home, session)?,
    };
    let workspace = Workspace::new()?;
    let outcome = resume::resume(&resume::Resume {
        version: version.with_context(|| format!("--client is missing\n{USAGE}"))?,
        home: &home,
        session,
        cwd: &cwd,
        limit: resume::LIMIT,
        environment: Vec::new(),
        workspace: workspace.path(),
    })?;
    repository::say(&format!("{:#}", outcome.json()));
    let is_taken = outcome.messages.is_some() && outcome.refused.is_none();
    Ok(if is_taken { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check_all(args: &[String]) -> anyhow::Result<ExitCode> {
    let mut clients: Vec<String> = CLIENTS.map(str::to_owned).to_vec();
    let (mut filter, mut recto, mut corpus) = (None, None, None);
    let (mut is_written, mut is_outside) = (false, false);
    let mut known = check::Known::Use;
    let mut words = args.iter();
    while let Some(option) = words.next() {
        match option.as_str() {
            "--write" => {
                is_written = true;
                continue;
            }
            "--outside" => {
                is_outside = true;
                continue;
            }
            "--known" => {
                known = check::Known::AskNothing;
                continue;
            }
            "--again" => {
                known = check::Known::AskAgain;
                continue;
            }
            _ => {}
        }
        let value = words.next().with_context(|| format!("{option} needs a value\n{USAGE}"))?;
        match option.as_str() {
            "--client" => clients = value.split(',').map(str::to_owned).collect(),
            "--filter" => filter = Some(value.as_str()),
            "--corpus" => corpus = Some(PathBuf::from(value)),
            "--recto" => recto = Some(PathBuf::from(value)),
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    if is_written && (filter.is_some() || corpus.is_some()) {
        bail!("--write is for the whole table of `fixtures/corpus`\n{USAGE}");
    }
    if is_outside {
        clients = vec![edits::OUTSIDE_CLIENT.to_owned()];
    }
    client::check_tools()?;
    for version in &clients {
        client::installed(version)?;
    }
    let fixtures = repository::root().join("fixtures");
    let corpus = corpus.unwrap_or_else(|| fixtures.join("corpus"));
    let cases = if is_outside {
        let outside = fixtures.join("outside/sessions");
        cases::outside_cases(&outside, filter.unwrap_or_default())
    } else {
        cases::cases(&corpus, edits::EDITS, filter.unwrap_or_default())?
    };
    if cases.is_empty() {
        bail!("no case is named like `{}`", filter.unwrap_or_default());
    }
    let recto = match recto {
        Some(recto) => recto,
        None if cases.iter().any(|case| case.words.is_some()) => build_recto()?,
        None => PathBuf::new(),
    };
    let workspace = Workspace::new()?;
    let means = check::Means { recto: &recto, workspace: workspace.path(), known };
    let rows = check::run(&cases, &clients, means, |row| repository::say(&report::line(row)));
    repository::say(&format!("\n{}", report::summary(&rows)));
    if is_written {
        let name = if is_outside { "bench/ORACLE-OUTSIDE.md" } else { "bench/ORACLE.md" };
        let page = repository::root().join(name);
        std::fs::write(&page, report::page(&rows, is_outside))
            .with_context(|| format!("cannot write {}", page.display()))?;
    }
    let is_good = |row: &check::Row| {
        use check::Verdict;
        matches!(row.verdict, Verdict::Equal | Verdict::Skipped(_) | Verdict::NotAsked)
    };
    Ok(if rows.iter().all(is_good) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build_recto() -> anyhow::Result<PathBuf> {
    let status = Command::new(repository::cargo())
        .args(["build", "--package", "recto"])
        .current_dir(repository::root())
        .status()
        .context("cannot run cargo")?;
    if !status.success() {
        bail!("recto could not be built");
    }
    Ok(repository::target().join("debug/recto"))
}
