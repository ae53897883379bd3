//! `recto show`: a session as text.

use std::io::Read;

use clap::Args;
use clap::ValueEnum;
use recto_log::LineReader;
use recto_log::decode;
use recto_store::Digest;
use recto_store::Home;
use recto_store::open_file;

use crate::commands::export;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::output::Look;
use crate::output::Output;
use crate::reading::Reading;
use crate::target;
use crate::target::Target;
use crate::text::bytes;
use crate::text::clock;
use crate::text::one_line;
use crate::text::path_from_home;
use crate::text::plural;
use crate::text::safe;
use crate::transcript::Options;
use crate::transcript::Transcript;

/// Read a session
///
/// Shows prompts, answers and tool calls in the order of the log. Thinking and
/// the client's own texts are left out unless asked for, and long results are
/// cut.
///
/// With --json each line is one item: a prompt, an answer, thinking, a call, a
/// result or a note.
///
/// `--raw` gives the bytes of the log unchanged; on a terminal, control
/// characters in them are made visible.
///
/// Examples:
///   recto show latest
///   recto show 3f2a1b4c --thinking --tools full
///   recto show "fix the parser" --raw > copy.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ShowArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// Show the model's thinking
    #[arg(long)]
    thinking: bool,
    /// How much of tool calls to show
    #[arg(long, value_name = "HOW", default_value = "brief")]
    tools: ToolDetail,
    /// Show the logs of subagents after the session
    #[arg(long)]
    agents: bool,
    /// Show the texts that the client adds (reminders, attachments, system lines)
    #[arg(long)]
    meta: bool,
    /// Show only this turn (`recto turns` numbers them)
    #[arg(long, value_name = "N", conflicts_with = "raw")]
    turn: Option<u32>,
    /// Wrap text at this width [default: the terminal's, at most 100]
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// Give the bytes of the log, unchanged
    #[arg(long, conflicts_with_all = ["thinking", "tools", "agents", "meta"])]
    raw: bool,
}

/// How much of tool calls is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolDetail {
    /// Nothing
    None,
    /// A line for the call, a few for the result
    Brief,
    /// Everything
    Full,
}

pub(crate) fn cmd_show(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ShowArgs,
) -> Result<Outcome, CommandError> {
    let inventory = home.inventory();
    let found = target::find(home, &inventory, environment, &args.session)?;
    if args.raw {
        return show_raw(&found, output);
    }
    if output.json {
        return export::write_items(&found, output);
    }
    output.page();
    if let Some(turn) = args.turn {
        return show_turn(home, environment, output, args, turn);
    }
    show_log(&found, environment, output, args)?;
    if args.agents
        && let Some(session) = &found.session
    {
        for agent in home.agents_of(&inventory, session) {
            output.line("")?;
            let target = Target {
                path: agent.path,
                session: None,
                name: format!("agent-{}", agent.id),
                is_agent: true,
            };
            show_log(&target, environment, output, args)?;
        }
    }
    Ok(Outcome::Done)
}

fn show_log(
    found: &Target,
    environment: &Environment,
    output: &mut Output,
    args: &ShowArgs,
) -> Result<(), CommandError> {
    let digest = Digest::read(&found.path, found.is_agent)?;
    write_head(found, &digest, environment, output)?;
    let mut transcript = Transcript::new(options(args), args.width.or(output.width));
    let mut lines = LineReader::new(open_file(&found.path)?);
    while let Some(line) = lines.next_line()? {
        let (entry, _) = decode(line);
        transcript.entry(&entry, output)?;
    }
    if transcript.is_empty() {
        output.line("")?;
        output.line(&output.paint(Look::Faint, "(no conversation in this log)"))?;
    }
    Ok(())
}

/// One turn, wherever its lines are in the log.
fn show_turn(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ShowArgs,
    wanted: u32,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let Some(turn) = reading.turns.iter().find(|turn| turn.number == wanted) else {
        let message = format!("there is no turn {wanted}");
        let hint = format!("the session has {}", plural(reading.turns.len() as u64, "turn"));
        return Err(CommandError::user("not-found", message).with_hint(hint));
    };
    let mut transcript =
        Transcript::new(options(args), args.width.or(output.width)).of_turn(wanted);
    for id in &turn.nodes {
        let shown = reading.loaded.with_entry(*id, |entry| transcript.entry(entry, output));
        shown.unwrap_or(Ok(()))?;
    }
    Ok(Outcome::Done)
}

fn options(args: &ShowArgs) -> Options {
    Options { thinking: args.thinking, tools: args.tools, meta: args.meta }
}

fn write_head(
    found: &Target,
    digest: &Digest,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    let title = digest.title.as_ref().map_or("(no title)", |(title, _)| title);
    output.line(&output.paint(Look::Strong, &one_line(title)))?;
    let mut facts = vec![one_line(&found.name)];
    if let Some(cwd) = &digest.cwd {
        facts.push(one_line(&path_from_home(cwd, environment.user_home.as_deref())));
    }
    facts.extend(digest.branch.as_deref().filter(|branch| *branch != "HEAD").map(one_line));
    facts.extend(digest.started.map(clock));
    facts.extend(digest.model.as_deref().map(one_line));
    facts.extend(digest.version.as_deref().map(|version| format!("client {}", one_line(version))));
    facts.extend(found.session.as_ref().map(|session| bytes(session.bytes)));
    output.line(&output.paint(Look::Faint, &facts.join(" · ")))
}

fn show_raw(found: &Target, output: &mut Output) -> Result<Outcome, CommandError> {
    let mut file = open_file(&found.path)?;
    let mut buffer = vec![0; 256 * 1024];
    if output.is_terminal {
        output.page();
        let mut lines = LineReader::new(file);
        while let Some(line) = lines.next_line()? {
            let text = safe(&String::from_utf8_lossy(line.bytes));
            output.line(&text)?;
            if line.is_cut() {
                output
                    .line(&output.paint(Look::Warning, "(the line is too long for a terminal)"))?;
            }
        }
        return Ok(Outcome::Done);
    }
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(Outcome::Done);
        }
        output.bytes(&buffer[..read])?;
    }
}
