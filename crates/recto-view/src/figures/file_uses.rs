//! What happened to one file, across sessions.

use std::collections::HashMap;
use std::collections::HashSet;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_session::FileAction;
use recto_session::spoken_text;
use recto_session::turn_places;
use recto_session::turns;
use recto_store::Loaded;
use recto_store::LogFile;

use super::survey::call_of;
use super::wanted_file::WantedFile;
use crate::cut;
use crate::library::Library;

/// How much of a prompt is told, in bytes.
const MOST_PROMPT: usize = 240;

/// One use of a file.
#[derive(Debug, Clone)]
pub struct FileUseRow {
    pub path: String,
    pub session: Option<String>,
    pub agent: Option<String>,
    pub title: Option<String>,
    pub turn: u32,
    pub line: u64,
    pub time: Option<Timestamp>,
    pub tool: Option<String>,
    pub action: FileAction,
    pub added: u64,
    pub removed: u64,
    /// What began the turn.
    pub prompt: String,
    call: Option<String>,
}

/// What happened to a file, newest first.
#[derive(Debug, Default)]
pub struct FileHistory {
    pub uses: Vec<FileUseRow>,
    /// Logs that could not be read.
    pub skipped: usize,
}

impl FileHistory {
    /// The paths that fit: several, if the end of a path was asked for.
    pub fn paths(&self) -> Vec<(&str, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for one in &self.uses {
            *counts.entry(&one.path).or_default() += 1;
        }
        let mut paths: Vec<(&str, usize)> = counts.into_iter().collect();
        paths.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        paths
    }
}

impl Library {
    /// Looks for a file in all logs. Its name is compared with what logs say, and
    /// never opened. None if the text names no file.
    pub fn file_history(&self, text: &str) -> Option<FileHistory> {
        let wanted = WantedFile::of(text)?;
        let inventory = self.inventory();
        let logs = self.home().logs_with(&inventory, wanted.word());
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
                session.parse().ok().and_then(|id| self.title_of(&inventory, id))
            });
            one.title.clone_from(title);
        }
        Some(FileHistory { uses, skipped })
    }
}

/// None if the log cannot be read.
fn uses_in(log: &LogFile, wanted: &WantedFile) -> Option<Vec<FileUseRow>> {
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
