//! `recto collect join`: a token of a hub for this machine.

use std::io::BufRead as _;

use clap::Args;
use recto_collect::HubToken;
use recto_store::Home;
use recto_store::keep::MachineId;
use serde::Serialize;

use crate::commands::collect_store::facts;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// Join a hub with a one-time code
///
/// The hub gives this machine a token that can write the machine's own segments and nothing
/// else. recto keeps the token in its data directory, in a file that only you can read. Without
/// CODE, reads the code from standard input.
///
/// Examples:
///   recto collect join https://hub.example.com 7K3M-9QTW-…
///   recto collect --to https://hub.example.com
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct JoinArgs {
    /// The hub
    #[arg(value_name = "URL")]
    url: String,
    /// The code of `recto hub invite`
    #[arg(value_name = "CODE")]
    code: Option<String>,
}

#[derive(Debug, Serialize)]
struct JoinRow<'a> {
    hub: &'a str,
    machine: &'a str,
    token: &'a str,
    expires: Option<String>,
}

pub(crate) fn cmd_join(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &JoinArgs,
) -> Result<Outcome, CommandError> {
    let code = match &args.code {
        Some(code) => code.clone(),
        None => {
            let mut line = String::new();
            std::io::stdin().lock().read_line(&mut line)?;
            line
        }
    };
    if code.trim().is_empty() {
        let error = CommandError::user("usage", "no code was given");
        return Err(error.with_hint("`recto hub invite` prints one"));
    }
    let data = environment.data_directory()?;
    let machine = MachineId::of(home);
    let token = HubToken::join(&data, &args.url, &code, machine, &facts(environment))?;
    let expires = token.expires().map(|time| time.to_string());
    if output.json {
        output.row(&JoinRow {
            hub: token.url(),
            machine: token.machine(),
            token: token.id(),
            expires,
        })?;
    } else {
        output.line(&format!(
            "joined {} as machine {machine} until {}",
            one_line(token.url()),
            expires.as_deref().and_then(|text| text.get(..10)).unwrap_or("further notice")
        ))?;
        output.remark(&format!("send with `recto collect --to {}`", one_line(token.url())));
    }
    Ok(Outcome::Done)
}
