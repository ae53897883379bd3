//! `recto agents`: the subagents of a session.

use clap::Args;
use recto_session::call_about;
use recto_store::Agent;
use recto_store::AgentSource;
use recto_store::FileKind;
use recto_store::Home;
use recto_view::AgentRow;
use recto_view::agent_texts;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::safe;
use recto_session::with_call;

/// Show a session's subagents
///
/// Without AGENT, lists them as a tree with type, task, tokens and tool calls. With AGENT (an
/// id prefix), shows one subagent's task, calls and answer.
///
/// If a subagent's log no longer exists, recto lists what the session's log has about it:
/// progress lines with its messages, or only the result of its call.
///
/// Examples:
///   recto agents latest
///   recto agents latest a1b2c3
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AgentsArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// The subagent to show
    agent: Option<String>,
    /// List Claude Code's own helpers and warm-ups too
    #[arg(long, short)]
    all: bool,
}

pub(crate) fn cmd_agents(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &AgentsArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let Some(file) = reading.log.main() else {
        return Err(CommandError::user("no-session", "only a session of the home has subagents"));
    };
    let mut agents = home.agent_tree(&reading.inventory, &file, &reading.loaded);
    match &args.agent {
        Some(wanted) => {
            let agent = choose(&agents, wanted)?;
            if output.json {
                output.row(&AgentRow::of(&reading, agent))?;
            } else {
                inspect(agent, output)?;
            }
        }
        None => {
            agents.retain(|agent| args.all || agent.kind == FileKind::Agent);
            if agents.is_empty() {
                if !output.json {
                    output.remark("no subagents in this session");
                }
                return Ok(Outcome::Found);
            }
            list(&reading, &agents, output)?;
        }
    }
    Ok(Outcome::Done)
}

fn choose<'a>(agents: &'a [Agent], wanted: &str) -> Result<&'a Agent, CommandError> {
    let wanted = wanted.strip_prefix("agent-").unwrap_or(wanted);
    let fitting: Vec<&Agent> =
        agents.iter().filter(|agent| agent.id.as_str().starts_with(wanted)).collect();
    match fitting.as_slice() {
        [one] => Ok(one),
        [] => {
            let mut error = CommandError::user(
                "not-found",
                format!("no subagent matches `{}`", fit(wanted, 60)),
            );
            for agent in agents.iter().filter(|agent| agent.kind == FileKind::Agent).take(10) {
                error = error.with_hint(agent.id.to_string());
            }
            Err(error)
        }
        several => {
            let mut error = CommandError::user(
                "ambiguous",
                format!("`{}` matches more than one subagent", fit(wanted, 60)),
            );
            for agent in several {
                error = error.with_hint(agent.id.to_string());
            }
            Err(error)
        }
    }
}

/// The type and the task of a subagent, in a few words.
pub(crate) fn about(agent: &Agent) -> (String, String) {
    let kind = agent.agent_type().unwrap_or_default();
    let task = match agent.description() {
        Some(description) => description.to_owned(),
        None => agent_texts(agent).0,
    };
    (one_line(kind), one_line(&task))
}

/// What is to be said of a subagent whose log is gone.
pub(crate) fn without_log(agent: &Agent) -> Option<&'static str> {
    match &agent.source {
        AgentSource::Log(_) => None,
        AgentSource::Progress(_) => Some("log deleted, known from progress"),
        AgentSource::Result(_) => Some("log deleted, known from its result"),
    }
}

/// The tokens of its answers; of a subagent of which no message is left nothing is known.
fn tokens(agent: &Agent) -> String {
    match &agent.source {
        AgentSource::Result(_) => String::new(),
        AgentSource::Log(_) | AgentSource::Progress(_) => {
            format!("{} out", count(agent.tokens.output))
        }
    }
}

/// The task, with where it is known from if the log is gone.
fn task_cell(agent: &Agent, task: String) -> String {
    match without_log(agent) {
        Some(remark) => format!("({remark}) {task}").trim_end().to_owned(),
        None => task,
    }
}

fn list(reading: &Reading, agents: &[Agent], output: &mut Output) -> Result<(), CommandError> {
    if output.json {
        for agent in agents {
            output.row(&AgentRow::of(reading, agent))?;
        }
        return Ok(());
    }
    for cells in table(agents).layout(output.width) {
        output.line(cells.join(output.gap()).trim_end())?;
    }
    Ok(())
}

/// The subagents with type, calls, tokens, time and task.
pub(crate) fn table(agents: &[Agent]) -> Table {
    let mut table = Table::new(&[
        Column::Left,
        Column::Detail,
        Column::DetailRight,
        Column::DetailRight,
        Column::DetailRight,
        Column::Flexible,
    ]);
    for agent in agents {
        let (kind, task) = about(agent);
        let (calls, failed) = agent.calls();
        let failed = if failed > 0 { format!(" ({failed} failed)") } else { String::new() };
        table.row([
            format!("{}{}", "  ".repeat(agent.depth), agent.id),
            kind,
            format!("{}{failed}", plural(calls as u64, "call")),
            tokens(agent),
            agent.milliseconds().map(duration).unwrap_or_default(),
            task_cell(agent, task),
        ]);
    }
    table
}

/// The same for a screen of this width, where the task matters more than the rest.
pub(crate) fn table_by_task(agents: &[Agent], width: usize) -> Table {
    const WIDE: usize = 110;
    const SHORT_ID: usize = 8;
    let is_wide = width >= WIDE;
    let mut table = Table::new(&[
        Column::Left,
        Column::Flexible,
        Column::Left,
        Column::Right,
        Column::Right,
        Column::Right,
    ]);
    for agent in agents {
        let (kind, task) = about(agent);
        let (calls, failed) = agent.calls();
        let failed = if failed > 0 { format!(" ({failed} failed)") } else { String::new() };
        let tokens = tokens(agent);
        let id = agent.id.as_str();
        let id: String = id.chars().take(if is_wide { usize::MAX } else { SHORT_ID }).collect();
        table.row([
            format!("{}{id}", "  ".repeat(agent.depth)),
            task_cell(agent, task),
            kind,
            format!("{}{failed}", plural(calls as u64, "call")),
            if is_wide { tokens } else { String::new() },
            agent.milliseconds().map(duration).unwrap_or_default(),
        ]);
    }
    table
}

fn inspect(agent: &Agent, output: &mut Output) -> Result<(), CommandError> {
    output.page();
    let (kind, _) = about(agent);
    let (calls, failed) = agent.calls();
    let heading = format!("{} {kind}", agent.id);
    output.line(&output.paint(Look::Strong, heading.trim_end()))?;
    let mut facts = vec![plural(calls as u64, "call"), format!("{failed} failed")];
    match &agent.source {
        AgentSource::Log(_) | AgentSource::Progress(_) => {
            facts.push(format!("{} tokens out", count(agent.tokens.output)));
        }
        AgentSource::Result(told) => {
            facts.extend(told.tokens.map(|tokens| format!("{} tokens at the end", count(tokens))));
        }
    }
    facts.extend(agent.milliseconds().map(duration));
    facts.extend(without_log(agent).map(str::to_owned));
    output.line(&output.paint(Look::Faint, &facts.join(" · ")))?;
    let (task, answer) = agent_texts(agent);
    write_part("Task", &task, output)?;
    output.line("")?;
    output.line(&output.paint(Look::Strong, "Calls"))?;
    let session = &agent.loaded.session;
    for call in &session.facts().calls {
        let name = call.name.map_or("?", |name| session.name(name));
        let about = call
            .call
            .and_then(|id| {
                agent
                    .loaded
                    .with_entry(id, |entry| with_call(entry, session.name(call.id), call_about))
            })
            .flatten()
            .unwrap_or_default();
        let look = if call.is_error || call.result.is_none() { Look::Bad } else { Look::Plain };
        let width = output.width.unwrap_or(usize::MAX);
        let line = fit(&format!("  {} {}", one_line(name), one_line(&about)), width);
        output.line(&output.paint(look, line.trim_end()))?;
    }
    write_part("Answer", &answer, output)
}

fn write_part(heading: &str, text: &str, output: &mut Output) -> Result<(), CommandError> {
    output.line("")?;
    output.line(&output.paint(Look::Strong, heading))?;
    let text = if text.is_empty() { "(none in the log)".to_owned() } else { safe(text) };
    for line in text.lines() {
        output.line(format!("  {line}").trim_end())?;
    }
    Ok(())
}
