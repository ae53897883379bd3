//! What happened to one file, across sessions.

use std::collections::HashMap;
use std::collections::HashSet;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_session::FileAction;
use recto_session::spoken_text;
use recto_session::turn_places;
use recto_session::turns;
use recto_store::HomeLog;
use recto_store::Loaded;

use super::survey::call_of;
use super::wanted_file::WantedFile;
use crate::context::Context;
use crate::data::cut;
use crate::data::figures::title_of;

/// How much of a prompt is told, in bytes.
const MOST_PROMPT: usize = 240;

/// One use of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileUseRow {
    pub(crate) path: String,
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) turn: u32,
    pub(crate) line: u64,
    pub(crate) time: Option<Timestamp>,
    pub(crate) tool: Option<String>,
    pub(crate) action: FileAction,
    pub(crate) added: u64,
    pub(crate) removed: u64,
    /// What began the turn.
    pub(crate) prompt: String,
    call: Option<String>,
}

/// What happened to a file, newest first.
#[derive(Debug, Default)]
pub(crate) struct FileHistory {
    pub(crate) uses: Vec<FileUseRow>,
    /// Logs that could not be read.
    pub(crate) skipped: usize,
}

impl FileHistory {
    /// The paths that fit: several, if the end of a path was asked for.
    pub(crate) fn paths(&self) -> Vec<(&str, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for one in &self.uses {
            *counts.entry(&one.path).or_default() += 1;
        }
        let mut paths: Vec<(&str, usize)> = counts.into_iter().collect();
        paths.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        paths
    }
}

/// Looks for a file in all logs. Its name is compared with what logs say, and
/// never opened. None if the text names no file.
pub(crate) fn file_history(context: &Context, text: &str) -> Option<FileHistory> {
    let wanted = WantedFile::of(text)?;
    let inventory = context.inventory();
    let logs = context.home.logs_with(&inventory, wanted.word());
    let found: Vec<Option<Vec<FileUseRow>>> =
        logs.par_iter().map(|log| uses_in(log, &wanted)).collect();
    let skipped = found.iter().filter(|one| one.is_none()).count();
    let mut uses: Vec<FileUseRow> = found.into_iter().flatten().flatten().collect();
    // A session that goes on from another one begins with a copy of its lines.
    uses.sort_by(|a, b| {
        a.time.cmp(&b.time).then(a.session.cmp(&b.session)).then(a.line.cmp(&b.line))
    });
    let mut seen = HashSet::new();
    uses.retain(|one| {
        let Some(call) = &one.call else { return true };
        seen.insert((call.clone(), one.time, one.path.clone()))
    });
    uses.reverse();
    let mut titles: HashMap<String, Option<String>> = HashMap::new();
    for one in &mut uses {
        let Some(session) = &one.session else { continue };
        let title = titles.entry(session.clone()).or_insert_with(|| {
            session.parse().ok().and_then(|id| title_of(context, &inventory, id))
        });
        one.title.clone_from(title);
    }
    Some(FileHistory { uses, skipped })
}

/// None if the log cannot be read.
fn uses_in(log: &HomeLog, wanted: &WantedFile) -> Option<Vec<FileUseRow>> {
    let loaded = Loaded::read(&log.path).ok()?;
    let session = &loaded.session;
    let touches = session.facts().files.iter();
    let touches: Vec<_> = touches.filter(|touch| wanted.fits(session.name(touch.path))).collect();
    if touches.is_empty() {
        return Some(Vec::new());
    }
    let turns = turns(session);
    let places = turn_places(session, &turns);
    let tools: HashMap<&str, &str> = session
        .facts()
        .calls
        .iter()
        .filter_map(|call| Some((session.name(call.id), session.name(call.name?))))
        .collect();
    let row = |touch: &&recto_session::FileTouch| {
        let node = session.node(touch.node);
        let turn = turns.get(places[touch.node.index()]);
        let prompt = turn.and_then(|turn| turn.prompt);
        let prompt = prompt.and_then(|id| loaded.with_entry(id, spoken_text)).unwrap_or_default();
        let call = call_of(session, touch.node);
        FileUseRow {
            path: session.name(touch.path).to_owned(),
            session: log.session.map(|session| session.to_string()),
            agent: log.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            title: None,
            turn: turn.map_or(0, |turn| turn.number),
            line: node.line,
            time: node.time(),
            tool: call.and_then(|call| tools.get(call)).map(|tool| (*tool).to_owned()),
            action: touch.action,
            added: touch.added,
            removed: touch.removed,
            prompt: cut(&prompt, MOST_PROMPT).0,
            call: call.map(str::to_owned),
        }
    };
    Some(touches.iter().map(row).collect())
}
