//! `recto show`: a session as text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::HashSet;
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use recto_log::Block;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::Feed;
use recto_session::NodeId;
use recto_session::Origin;
use recto_session::Shown;
use recto_session::items;
use recto_store::Agent;
use recto_store::Digest;
use recto_store::FileKind;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::Loaded;
use recto_store::LogFile;
use recto_store::open_file;

use crate::commands::agents;
use crate::commands::export;
use crate::commands::show_follow;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::overflow::MOST_SHOWN;
use crate::terminal::overflow::OverflowFiles;
use crate::terminal::overflow::Wanted;
use crate::terminal::text::bytes;
use crate::terminal::text::clock;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;
use crate::terminal::text::safe;
use crate::terminal::text::wrap_at;
use crate::terminal::transcript::Answers;
use crate::terminal::transcript::Options;
use crate::terminal::transcript::ToolDetail;
use crate::terminal::transcript::Transcript;

/// Read a session
///
/// Shows prompts, answers and tool calls in the order of the log. Skips thinking and the texts
/// Claude Code adds, unless you ask for them, and cuts long results.
///
/// With --json, prints one item per line: a prompt, an answer, thinking, a call, a result or a
/// note.
///
/// With --follow, shows new lines as they are written, until you stop it or the reader closes
/// the pipe.
///
/// `--raw` prints the bytes of the log unchanged; on a terminal, control characters are made
/// visible.
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
    /// Show subagents below the calls that started them
    #[arg(long)]
    agents: bool,
    /// Show the texts that Claude Code adds (reminders, attachments, system lines)
    #[arg(long)]
    meta: bool,
    /// Show only this turn (`recto turns` numbers them)
    #[arg(long, value_name = "N", conflicts_with = "raw")]
    turn: Option<u32>,
    /// Show new lines as they are written, until stopped
    #[arg(long, short, conflicts_with_all = ["raw", "turn", "agents"])]
    follow: bool,
    /// Wrap text at this width [default: the terminal's, at most 100]
    #[arg(long, value_name = "COLUMNS")]
    width: Option<usize>,
    /// Print the log byte for byte
    #[arg(long, conflicts_with_all = ["thinking", "tools", "agents", "meta"])]
    raw: bool,
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
    if let Some(turn) = args.turn {
        return show_turn(home, Reading::of(found, inventory)?, output, args, turn);
    }
    let asked = Asked { home, environment, args };
    if args.follow {
        return show_follow::follow(&found, asked, output);
    }
    if output.json {
        let files = OverflowFiles::new(home, &found.path);
        return export::write_items(&found, &files, wanted(args), output);
    }
    output.page();
    let agents =
        if args.agents { Agents::of(home, &inventory, &found)? } else { Agents::default() };
    show_log(&found, &agents, asked, output)?;
    Ok(Outcome::Done)
}

/// Shows the turn that a line of a log belongs to, with everything that can be
/// found in it. A line that is in no turn leads to the whole log.
pub(crate) fn show_place(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    log: &str,
    line: u64,
) -> Result<Outcome, CommandError> {
    let mut args = ShowArgs {
        session: log.to_owned(),
        thinking: true,
        tools: ToolDetail::Full,
        agents: false,
        meta: true,
        turn: None,
        follow: false,
        width: None,
        raw: false,
    };
    let reading = Reading::open(home, environment, log)?;
    let nodes = reading.session().nodes().zip(0..);
    let node = nodes.into_iter().find(|(node, _)| node.line == line);
    args.turn = node.map(|(_, number)| reading.turn_number(NodeId(number)));
    match args.turn {
        Some(turn) => show_turn(home, reading, output, &args, turn),
        None => cmd_show(home, environment, output, &args),
    }
}

/// What was asked for, and where.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) home: &'a Home,
    pub(super) environment: &'a Environment,
    pub(super) args: &'a ShowArgs,
}

impl<'a> Asked<'a> {
    pub(super) fn transcript(self, found: &'a LogFile, output: &Output) -> Transcript<'a> {
        let files = OverflowFiles::new(self.home, &found.path);
        Transcript::new(options(self.args, output), self.args.width.or(output.width), files)
    }
}

/// How much of long results goes into JSON.
pub(super) fn wanted(args: &ShowArgs) -> Wanted {
    match args.tools {
        ToolDetail::Full => Wanted::Bytes(MOST_SHOWN),
        ToolDetail::Brief | ToolDetail::None => Wanted::Nothing,
    }
}

/// A subagent that is shown below its call.
enum Below {
    /// By its log.
    Log(LogFile),
    /// By what the log of its parent tells, because its own is gone.
    Told(Box<Agent>),
}

/// The subagents, by the call that started them.
#[derive(Default)]
struct Agents {
    by_call: HashMap<String, Vec<Below>>,
    /// Those whose call is not known; they come at the end.
    others: Vec<Below>,
    /// Those that were shown. Logs that name each other must not go on for ever.
    shown: RefCell<HashSet<PathBuf>>,
}

impl Agents {
    fn of(home: &Home, inventory: &Inventory, found: &LogFile) -> Result<Agents, CommandError> {
        let mut agents = Agents::default();
        let Some(session) = found.main() else { return Ok(agents) };
        let loaded = Loaded::read(&found.path)?;
        for agent in home.agent_tree(inventory, &session, &loaded) {
            if agent.kind != FileKind::Agent {
                continue;
            }
            let call = agent.call.clone();
            let below = match agent.file() {
                Some(file) => Below::Log(file.clone()),
                None => Below::Told(Box::new(agent)),
            };
            match call {
                Some(call) => agents.by_call.entry(call).or_default().push(below),
                None => agents.others.push(below),
            }
        }
        Ok(agents)
    }
}

fn show_log(
    found: &LogFile,
    agents: &Agents,
    asked: Asked<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let digest = Digest::read(&found.path, found.is_agent())?;
    write_head(found, &digest, asked.environment, output)?;
    let mut transcript = asked.transcript(found, output);
    let mut lines = LineReader::new(open_file(&found.path)?);
    while let Some(line) = lines.next_line()? {
        let (entry, _) = decode(line);
        transcript.entry(&entry, &mut |line| output.spans(&line))?;
        if agents.by_call.is_empty() {
            continue;
        }
        // A subagent stands below the result of its call.
        let blocks = entry.message().into_iter().flat_map(|message| message.content().blocks());
        for block in blocks.filter(|block| matches!(block, Block::ToolResult { .. })) {
            let call = block.id();
            let below = call.and_then(|call| agents.by_call.get(&*call));
            for agent in below.into_iter().flatten() {
                set_in(agent, agents, asked, output)?;
            }
        }
    }
    transcript.end(&mut |line| output.spans(&line))?;
    if transcript.is_empty() {
        output.line("")?;
        output.line(&output.paint(Look::Faint, "(no conversation in this log)"))?;
    }
    if !found.is_agent() {
        for agent in &agents.others {
            set_in(agent, agents, asked, output)?;
        }
    }
    Ok(())
}

/// Shows a subagent, set in.
fn set_in(
    below: &Below,
    agents: &Agents,
    asked: Asked<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    match below {
        Below::Log(agent) => {
            if !agents.shown.borrow_mut().insert(agent.path.clone()) {
                return Ok(());
            }
            output.line("")?;
            output.set_in("  │ ", |output| show_log(agent, agents, asked, output))
        }
        Below::Told(agent) => {
            output.line("")?;
            output.set_in("  │ ", |output| show_told(agent, asked, output))
        }
    }
}

/// Shows what is left of a subagent whose log is gone.
fn show_told(agent: &Agent, asked: Asked<'_>, output: &mut Output) -> Result<(), CommandError> {
    const MOST_TITLE: usize = 80;
    let (_, task) = agents::about(agent);
    let task = if task.is_empty() { "(no title)".to_owned() } else { fit(&task, MOST_TITLE) };
    output.line(&output.paint(Look::Strong, &task))?;
    let remark = agents::without_log(agent).unwrap_or_default();
    output.line(&output.paint(Look::Faint, &format!("agent-{} · {remark}", agent.id)))?;
    let files = OverflowFiles::new(asked.home, agent.loaded.path());
    let width = asked.args.width.or(output.width);
    let mut transcript = Transcript::new(options(asked.args, output), width, files);
    for id in agent.loaded.session.ids() {
        let shown = agent.loaded.with_entry(id, |entry| Feed::default().told(entry));
        for shown in shown.into_iter().flatten() {
            transcript.show(&shown, &mut |line| output.spans(&line))?;
        }
    }
    Ok(())
}

/// One turn, wherever its lines are in the log.
fn show_turn(
    home: &Home,
    reading: Reading,
    output: &mut Output,
    args: &ShowArgs,
    number: u32,
) -> Result<Outcome, CommandError> {
    let Some(turn) = reading.turns.numbered(reading.session(), number) else {
        let message = format!("there is no turn {number}");
        let hint = format!("the session has {}", plural(reading.turns.len() as u64, "turn"));
        return Err(CommandError::user("not-found", message).with_hint(hint));
    };
    if !output.json {
        output.page();
    }
    let files = OverflowFiles::new(home, &reading.log.path);
    let width = args.width.or(output.width);
    let mut transcript =
        Transcript::new(options(args, output), width, files.clone()).of_turn(number);
    let mut write = |shown: Shown, output: &mut Output| match output.json {
        true => export::write_item(shown, &files, wanted(args), output),
        false => transcript.show(&shown, &mut |line| output.spans(&line)),
    };
    // What the queue tells stands after the line after which the model got it.
    let queued = |after: Option<NodeId>| {
        let lines = turn.queued_lines.iter().filter(move |line| line.after == after);
        lines.filter_map(|line| reading.queued(line))
    };
    for id in turn.nodes {
        let items = reading.loaded.with_entry(*id, |entry| (Origin::of(entry), items(entry)));
        let Some((origin, items)) = items else { continue };
        for item in items {
            write(Shown { turn: number, origin: origin.clone(), item }, output)?;
        }
        for prompt in queued(Some(*id)) {
            write(Shown::queued(prompt, number), output)?;
        }
    }
    Ok(Outcome::Done)
}

fn options(args: &ShowArgs, output: &Output) -> Options {
    let answers = if output.has_colour() { Answers::Rendered } else { Answers::Written };
    Options { thinking: args.thinking, tools: args.tools, meta: args.meta, answers }
}

pub(super) fn write_head(
    found: &LogFile,
    digest: &Digest,
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    let title = digest.title.as_ref().map_or("(no title)", |(title, _)| title);
    output.line(&output.paint(Look::Strong, &one_line(title)))?;
    let mut facts = vec![one_line(&found.name())];
    if let Some(cwd) = &digest.cwd {
        facts.push(one_line(&path_from_home(cwd, environment.user_home.as_deref())));
    }
    facts.extend(digest.branch.as_deref().filter(|branch| *branch != "HEAD").map(one_line));
    facts.extend(digest.started.map(clock));
    facts.extend(digest.model.as_deref().map(one_line));
    facts.extend(digest.version.as_deref().map(|version| format!("client {}", one_line(version))));
    facts.extend(found.main().map(|session| bytes(session.bytes())));
    for line in wrap_at(&facts, " · ", output.width) {
        output.line(&output.paint(Look::Faint, &line))?;
    }
    Ok(())
}

fn show_raw(found: &LogFile, output: &mut Output) -> Result<Outcome, CommandError> {
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
