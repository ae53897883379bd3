//! `recto demo`: the main job, on a sample home that comes with the program.

use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

use recto_store::Home;

use crate::cli::Cli;
use crate::commands;
use crate::commands::overview;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use clap::Parser;

/// The sample: project, session, age in hours, log.
const SAMPLE: [(&str, &str, u64, &str); 3] = [
    (
        "-home-dev-tide",
        "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214",
        2,
        include_str!("../../sample/tide-fix.jsonl"),
    ),
    (
        "-home-dev-tide",
        "b7d94e12-7f3a-4c58-8e21-0f9d2c6a5b43",
        19,
        include_str!("../../sample/tide-readme.jsonl"),
    ),
    (
        "-home-dev-harbour-map",
        "0e63f9ab-51c7-4d02-b8f4-93ad17c2e680",
        26 * 24,
        include_str!("../../sample/harbour.jsonl"),
    ),
];

pub(crate) fn cmd_demo(
    environment: &Environment,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let directory = tempfile::tempdir()?;
    write_sample(directory.path(), environment)?;
    // Checks that the sample can be read before anything is shown.
    Home::open(directory.path())?;
    for (command, about) in [
        (&["recto"][..], "an overview of the home; on a terminal, a browser"),
        (&["recto", "ls"], "all sessions, from any version of Claude Code"),
        (&["recto", "show", "5c1e8a70"], "one session as a conversation"),
        (&["recto", "home"], "upcoming deletions, and the setting to change"),
    ] {
        output.line(&format!(
            "{}  {}",
            output.paint(Look::Good, &format!("$ {}", command.join(" "))),
            output.paint(Look::Faint, &format!("# {about}"))
        ))?;
        run(command, directory.path(), environment, output)?;
        output.line("")?;
    }
    output.line(&output.paint(Look::Strong, "Now with your own sessions:"))?;
    for (command, about) in [
        ("recto", "browse them, on a terminal"),
        ("recto show latest", "the newest session"),
        ("recto check --all", "check all logs for damage"),
        ("recto --help", "everything else"),
    ] {
        output.line(&format!("  {command:<20}  {}", output.paint(Look::Faint, about)))?;
    }
    Ok(Outcome::Done)
}

/// Runs a command on the sample, as if it had been typed.
fn run(
    command: &[&str],
    home: &Path,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut cli = Cli::parse_from(command);
    cli.global.home = Some(home.to_owned());
    cli.global.no_pager = true;
    let was_json = std::mem::replace(&mut output.json, false);
    let result = output.without_pager(|output| match &cli.command {
        // On a terminal, it would open the browser.
        None => overview::cmd_overview(&Home::open(home)?, environment, output),
        Some(_) => commands::run(&cli, environment, &[], output),
    });
    output.json = was_json;
    result.map(drop)
}

fn write_sample(home: &Path, environment: &Environment) -> Result<(), CommandError> {
    let now = SystemTime::from(environment.now());
    for (project, session, hours, log) in SAMPLE {
        let directory = home.join("projects").join(project);
        std::fs::create_dir_all(&directory)?;
        let path = directory.join(format!("{session}.jsonl"));
        std::fs::write(&path, log)?;
        let time = now - Duration::from_secs(hours * 3600);
        std::fs::File::options().write(true).open(&path)?.set_modified(time)?;
    }
    Ok(())
}
