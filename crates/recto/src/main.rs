//! The `recto` command: arguments, commands, printing and exit codes.
//!
//! Logic that another program could use belongs to a library; what is here
//! reads what the user typed, calls the libraries, and shows the result.

// Comments of arguments are help for a terminal, where addresses stand as they are typed.
#![allow(rustdoc::bare_urls)]

mod browser;
mod cli;
mod commands;
mod config;
mod console;
mod edit;
mod environment;
mod error;
mod global;
mod misuse;
mod reading;
mod running;
mod search;
mod select;
mod terminal;
mod watching;

use std::process::ExitCode;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

fn main() -> ExitCode {
    if let Some(code) = confined() {
        return code;
    }
    let mut environment = Environment::from_process();
    let mut cli = match cli::parse(&environment) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    let settings = config::apply(&mut cli.global, &mut environment);
    let mut output = Output::new(&cli.global, &environment);
    let result = settings.and_then(|settings| {
        let outcome = commands::run(&cli, &environment, &settings, &mut output)?;
        output.finish()?;
        Ok(outcome)
    });
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Found) => ExitCode::from(1),
        Ok(Outcome::Code(code)) => ExitCode::from(code),
        // The reader of our output has gone: that is its right.
        Err(CommandError::BrokenPipe) => ExitCode::SUCCESS,
        Err(error) => {
            output.report(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// A command that runs confined, if this process was started for one: before there is a second
/// thread, and before anything is read.
fn confined() -> Option<ExitCode> {
    let (policy, command) = Environment::confined_command()?;
    Some(match recto_agent::sandbox::enter(&policy, &command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            crate::terminal::output::complain(&format!(
                "recto: cannot confine the command: {error}\n"
            ));
            ExitCode::from(126)
        }
    })
}
