//! `recto ls`: the sessions, newest first.

use std::collections::HashMap;

use clap::Args;
use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::SessionId;
use recto_store::CacheDirectory;
use recto_store::Digest;
use recto_store::Digests;
use recto_store::FileKind;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::LiveSession;
use recto_store::LogFile;
use recto_store::SessionFile;
use recto_view::ListedRow;
use recto_view::listed_kind;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::Filter;
use crate::select::filter::FilterArgs;
use crate::select::target::tell_skipped;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::age;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;
use crate::terminal::text::short_model;

/// List the sessions, newest first
///
/// Reads only the head and the tail of each log, and nothing of those that the
/// index has as they are. Files that hold no conversation (empty files, stubs,
/// warm-ups) are left out; `--all` shows them. A session of a running client is
/// marked with ●.
///
/// With --json each line is an object with at least id, project, path, cwd,
/// title, started, updated, bytes, version, branch and kind.
///
/// Examples:
///   recto ls --since 7d --project app
///   recto ls --json | jq -r 'select(.bytes > 1e6) | .id'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LsArgs {
    /// List the logs of subagents too
    #[arg(long)]
    agents: bool,
    /// Only sessions of running clients
    #[arg(long)]
    live: bool,
    /// List files without a conversation too
    #[arg(long, short)]
    all: bool,
    /// List at most this many
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    // The last, because its heading holds for all that follow.
    #[command(flatten)]
    filter: FilterArgs,
}

/// One log of a listing.
pub(crate) struct Row {
    pub(crate) session: SessionFile,
    pub(crate) agent: Option<LogFile>,
    pub(crate) digest: Digest,
    pub(crate) live: Option<LiveSession>,
    /// Whether the log is there but could not be read.
    is_unreadable: bool,
}

impl Row {
    /// The row of a session whose log may or may not be readable.
    pub(crate) fn of_session(
        session: SessionFile,
        digest: Option<Digest>,
        live: Option<LiveSession>,
    ) -> Row {
        let is_unreadable = digest.is_none();
        Row { session, agent: None, digest: digest.unwrap_or_default(), live, is_unreadable }
    }

    fn of_agent(session: SessionFile, agent: LogFile, digest: Digest) -> Row {
        Row { session, agent: Some(agent), digest, live: None, is_unreadable: false }
    }

    fn log(&self) -> &LogFile {
        self.agent.as_ref().unwrap_or(&self.session)
    }

    fn listed(&self) -> ListedRow {
        ListedRow::of(self.session.id, self.log(), &self.digest, self.live.as_ref())
    }

    fn kind(&self) -> FileKind {
        listed_kind(self.log(), &self.digest)
    }

    pub(crate) fn is_shown(&self, all: bool) -> bool {
        all || matches!(self.kind(), FileKind::Session | FileKind::Agent)
    }

    /// The title, or what stands in for it.
    pub(crate) fn title(&self) -> String {
        match &self.digest.title {
            Some((title, _)) => one_line(title),
            None if self.is_unreadable => "(unreadable)".to_owned(),
            None => format!("({})", self.kind().name()),
        }
    }

    /// The short form of the id, which `recto show` takes.
    pub(crate) fn short_id(&self) -> String {
        match &self.agent {
            Some(agent) => agent.name(),
            None => self.session.id.to_string().chars().take(8).collect(),
        }
    }

    /// What marks the row of a running client.
    pub(crate) fn mark(&self) -> (&'static str, Look) {
        match self.live.as_ref().map(|live| live.status.as_deref()) {
            None => ("", Look::Plain),
            Some(Some("waiting")) => ("● waiting", Look::Warning),
            Some(Some("busy")) => ("● busy", Look::Good),
            Some(Some("idle")) => ("● idle", Look::Faint),
            Some(Some("shell")) => ("● shell", Look::Good),
            Some(_) => ("● live", Look::Good),
        }
    }
}

/// What to list.
#[derive(Default)]
pub(crate) struct Listing {
    pub(crate) filter: Filter,
    pub(crate) agents: bool,
    pub(crate) only_live: bool,
    pub(crate) all: bool,
    pub(crate) limit: Option<usize>,
}

impl Listing {
    /// Reads heads and tails, newest first, and stops when there are enough. With a
    /// cache, logs that have not changed are not opened if its index has them.
    pub(crate) fn rows(
        &self,
        home: &Home,
        inventory: &Inventory,
        cache: Option<&CacheDirectory>,
    ) -> Vec<Row> {
        const PIECE: usize = 256;
        let live = live_by_session(home);
        let mut digests = Digests::new(home, cache);
        let mut rows = Vec::new();
        let wanted = self.limit.unwrap_or(usize::MAX);
        for piece in inventory.sessions.chunks(PIECE.max(wanted.min(4096))) {
            let is_possible = |session: &&SessionFile| self.is_possible(session, &live);
            let piece: Vec<&SessionFile> = piece.iter().filter(is_possible).collect();
            let agents: Vec<Vec<LogFile>> = match self.agents {
                true => piece.par_iter().map(|file| home.agents_of(inventory, file)).collect(),
                false => vec![Vec::new(); piece.len()],
            };
            let of_sessions = digests.read(piece.iter().copied());
            let mut of_agents = digests.read(agents.iter().flatten()).into_iter();
            let of_agents: Vec<Vec<Option<Digest>>> =
                agents.iter().map(|some| of_agents.by_ref().take(some.len()).collect()).collect();
            let found = piece.into_par_iter().zip(of_sessions).zip(agents).zip(of_agents);
            let found = found.flat_map_iter(|(((session, digest), agents), of_agents)| {
                // A log that may not be read is still a session that is there.
                let live = live.get(&session.id).cloned();
                let row = Row::of_session(session.clone(), digest, live);
                let agents = agents.into_iter().zip(of_agents);
                let agents = agents.filter_map(|(agent, digest)| {
                    Some(Row::of_agent(session.clone(), agent, digest?))
                });
                let key = session.project.key.as_str();
                let all = std::iter::once(row).chain(agents);
                all.filter(|row| self.filter.fits(key, &row.digest) && row.is_shown(self.all))
            });
            rows.par_extend(found);
            if rows.len() >= wanted {
                rows.truncate(wanted);
                break;
            }
        }
        digests.finish();
        rows
    }

    /// Whether a session can be listed, by what is known before its log is opened.
    fn is_possible(&self, session: &SessionFile, live: &HashMap<SessionId, LiveSession>) -> bool {
        let is_live = || live.contains_key(&session.id);
        (!self.only_live || is_live())
            && self.filter.fits_time(session.modified())
            && (session.bytes() > 0 || self.all)
    }
}

/// The clients that run now, by session.
pub(crate) fn live_by_session(home: &Home) -> HashMap<SessionId, LiveSession> {
    let live = home.live_sessions_now().into_iter().filter(|live| live.alive);
    live.map(|live| (live.session, live)).collect()
}

pub(crate) fn cmd_ls(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &LsArgs,
) -> Result<Outcome, CommandError> {
    let now = environment.now();
    let listing = Listing {
        filter: args.filter.read(now)?,
        agents: args.agents,
        only_live: args.live,
        all: args.all,
        limit: args.limit,
    };
    let inventory = home.inventory();
    // Who has no cache directory has no index either.
    let cache = environment.cache_directory().ok();
    let rows = listing.rows(home, &inventory, cache.as_ref());
    if output.json {
        let listed: Vec<ListedRow> = rows.par_iter().map(Row::listed).collect();
        output.rows(&listed)?;
    } else {
        if rows.len() > 30 {
            output.page();
        }
        table(&rows, environment, output, now)?;
    }
    tell_skipped(&inventory, output);
    if rows.is_empty() {
        if !output.json {
            let hidden = inventory.sessions.len() as u64;
            output.remark(&format!(
                "no session fits ({} in the home; `--all` shows those without a conversation)",
                plural(hidden, "log")
            ));
        }
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

/// Prints rows as a table.
pub(crate) fn table(
    rows: &[Row],
    environment: &Environment,
    output: &mut Output,
    now: Timestamp,
) -> Result<(), CommandError> {
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    let mut table = Table::new(&[Left, Right, Right, Flexible, Flexible, Left, Left, Left]);
    let cells = |row: &Row| {
        let digest = &row.digest;
        let cwd = digest.cwd.as_deref().unwrap_or("?");
        [
            row.short_id(),
            age(row.log().modified(), now),
            bytes(row.log().bytes()),
            row.title(),
            one_line(&path_from_home(cwd, environment.user_home.as_deref())),
            one_line(digest.branch.as_deref().filter(|branch| *branch != "HEAD").unwrap_or("")),
            one_line(digest.model.as_deref().map_or("", short_model)),
            row.mark().0.to_owned(),
        ]
    };
    for cells in rows.par_iter().map(cells).collect::<Vec<_>>() {
        table.row(cells);
    }
    let looks = |row: &Row, cell: usize, cells: usize| match cell {
        0 => Look::Strong,
        1 | 2 => Look::Faint,
        3 => Look::Plain,
        _ if cell + 1 == cells && row.live.is_some() => row.mark().1,
        _ => Look::Faint,
    };
    let mut line = String::new();
    for (row, cells) in rows.iter().zip(table.layout(output.width)) {
        line.clear();
        for (at, cell) in cells.iter().enumerate() {
            line.push_str(if at == 0 { "" } else { "  " });
            line.push_str(&output.paint(looks(row, at, cells.len()), cell));
        }
        output.line(line.trim_end())?;
    }
    Ok(())
}
