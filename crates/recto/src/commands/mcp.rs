//! `recto mcp`: past sessions for agents.

use clap::Args;
use recto_serve::McpOptions;
use recto_serve::run_mcp;
use recto_session::redact::Options;
use recto_session::redact::Redactor;
use recto_store::Home;

use super::prices::PricesOption;
use crate::edit::redaction::LevelArgs;
use crate::edit::redaction::refused;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;

/// Let agents consult past sessions
///
/// A Model Context Protocol server on standard input and output: search, list and read
/// sessions, usage, status, plans. Changes nothing. Answers have up to 64 KB, with secrets
/// replaced. To add it to Claude Code, run `claude mcp add recto -- recto mcp`.
///
/// Examples:
///   recto mcp
///   recto mcp --no-redact
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct McpArgs {
    /// Do not replace secrets
    #[arg(long, conflicts_with_all = ["strict", "plain"])]
    no_redact: bool,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    prices: PricesOption,
}

pub(crate) fn cmd_mcp(
    home: &Home,
    environment: &Environment,
    args: &McpArgs,
) -> Result<Outcome, CommandError> {
    let redactor = match args.no_redact {
        true => None,
        false => {
            let options = Options { level: args.level.level(), ..Options::default() };
            Some(Redactor::new(options).map_err(refused)?)
        }
    };
    run_mcp(McpOptions {
        library: environment.library(home, args.prices.read(environment)?),
        redactor,
    })?;
    Ok(Outcome::Done)
}
