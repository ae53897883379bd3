//! `recto resume`: continue a session, in Claude Code or in recto.

use std::io;
use std::io::IsTerminal;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use recto_log::SessionId;
use recto_store::Digest;
use recto_store::Home;
use recto_view::resume_command;
use serde::Serialize;

use crate::commands::run::RunOptions;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::running;
use crate::select::file_path;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// Resume a session
///
/// Starts Claude Code in the session's directory, with its home; set RECTO_CLIENT if the
/// program is not named `claude`. With --print and no prompt, or without a terminal, prints
/// the command instead. With `resume_with = "recto"` in config.toml, opens recto's console.
///
/// With -p PROMPT, recto runs the session itself, like `recto run --resume SESSION`: any
/// session it can read, on any endpoint. It repairs a broken log for the run, answers open
/// calls first, and drops thinking that the endpoint cannot verify; --fit replaces old results
/// with notes and skips the oldest turns. recto reports what it did and changes no existing
/// line. It refuses a session that is running elsewhere; --fork-session continues in a copy.
///
/// Examples:
///   recto resume latest
///   recto resume 3f2a --print
///   recto resume latest -p 'Now fix it'
///   recto resume 3f2a -p 'Try another way' --fork-session
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ResumeArgs {
    /// The session
    session: String,
    #[command(flatten)]
    options: RunOptions,
}

/// What starts Claude Code, as `--json` tells it.
#[derive(Debug, Serialize)]
struct ResumeRow {
    session: String,
    directory: Option<String>,
    home: Option<String>,
    command: String,
}

pub(crate) fn cmd_resume(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ResumeArgs,
) -> Result<Outcome, CommandError> {
    let mut options = RunOptions { resume: Some(args.session.clone()), ..args.options.clone() };
    let has_terminal = io::stdin().is_terminal();
    if options.print && options.prompt.is_none() && options.input_format == "text" && !has_terminal
    {
        // A prompt may come on standard input, as with `claude -p`.
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        options.prompt = Some(text).filter(|text| !text.trim().is_empty());
    }
    if options.prompt.is_some() || options.input_format != "text" {
        return running::run(home, environment, output, &options);
    }
    let is_here = has_terminal && output.is_terminal && !options.print && !output.json;
    if environment.resumes_itself && is_here {
        return running::run(home, environment, output, &options);
    }
    let client = Client::of(home, environment, &args.session)?;
    if options.print || output.json || !has_terminal || !output.is_terminal {
        return client.print(output);
    }
    client.start()
}

/// Claude Code, and where it finds the session.
struct Client {
    program: String,
    session: SessionId,
    directory: Option<PathBuf>,
    /// The home, where it is not the one that Claude Code would use by itself.
    home: Option<PathBuf>,
}

impl Client {
    fn of(home: &Home, environment: &Environment, text: &str) -> Result<Client, CommandError> {
        let log = target::find(home, &home.inventory(), environment, text)?;
        let session = journal::session_of(&log)?;
        let directory = Digest::read(&session.path, false)?.cwd.map(PathBuf::from);
        Ok(Client {
            program: environment.client.clone().unwrap_or_else(|| "claude".to_owned()),
            session: session.id,
            directory,
            home: target::home_to_name(home, environment),
        })
    }

    fn print(&self, output: &mut Output) -> Result<Outcome, CommandError> {
        let id = self.session.to_string();
        let (home, directory) = (self.home.as_deref(), self.directory.as_deref());
        let command = resume_command(home, &self.program, &id, directory);
        let text = |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned());
        match output.json {
            true => output.row(&ResumeRow {
                session: id,
                directory: text(directory),
                home: text(home),
                command,
            })?,
            false => output.line(&one_line(&command))?,
        }
        Ok(Outcome::Done)
    }

    /// Starts Claude Code on this terminal, and waits for it.
    fn start(&self) -> Result<Outcome, CommandError> {
        let Some(directory) = &self.directory else {
            let message = "the log does not name the session's directory";
            return Err(CommandError::user("no-directory", message));
        };
        if !file_path::is_directory(directory) {
            let shown = one_line(&directory.to_string_lossy());
            let message = format!("the session's directory no longer exists: {shown}");
            return Err(CommandError::user("not-found", message)
                .with_hint("`recto move` moves the session to another directory"));
        }
        let mut command = Command::new(&self.program);
        command.args(["--resume", &self.session.to_string()]).current_dir(directory);
        command.envs(self.home.iter().map(|home| ("CLAUDE_CONFIG_DIR", home)));
        let status = command.status().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("cannot find `{}`", one_line(&self.program));
                CommandError::user("no-client", message)
                    .with_hint("set RECTO_CLIENT to the program, or use --print")
            }
            _ => error.into(),
        })?;
        let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        Ok(Outcome::Code(code))
    }
}
