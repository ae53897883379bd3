//! Expressions in results that were too long for their logs.
//!
//! Their files are read once for all logs of a session, and before them: only a log
//! whose session has a file that matches must be decoded to see which result is in it.

use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;

use rayon::prelude::*;
use recto_log::DEFAULT_LINE_CAP;
use recto_session::Overflow;
use recto_session::search::Document;
use recto_session::search::Expression;
use recto_session::search::TextRole;

use crate::Home;
use crate::OverflowFile;
use crate::Skipped;
use crate::log::sidecar::session_folder;
use crate::text_beginning;

/// How much of a file is searched, in bytes: as much as of a line.
pub(crate) const MOST: u64 = DEFAULT_LINE_CAP as u64;

/// The files of one session that match, by their names.
#[derive(Debug, Default)]
pub(crate) struct OverflowMatches(HashMap<String, PathBuf>);

impl OverflowMatches {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The file that matches and has the whole of a text.
    pub(crate) fn of(&self, document: &Document<'_>) -> Option<&Path> {
        if self.is_empty() || document.role != TextRole::ToolResult {
            return None;
        }
        let mut overflow = None;
        document.texts(&mut |text| {
            overflow = Overflow::of_text(text, None);
            false
        });
        self.0.get(&overflow?.name).map(PathBuf::as_path)
    }
}

/// Those of all sessions.
#[derive(Debug, Default)]
pub(crate) struct AllOverflowMatches {
    sessions: HashMap<PathBuf, OverflowMatches>,
    none: OverflowMatches,
    pub(crate) skipped: Vec<Skipped>,
}

impl AllOverflowMatches {
    /// Searches files with the folders of their sessions. `tell` is called with the
    /// bytes of each.
    pub(crate) fn find(
        files: Vec<(PathBuf, OverflowFile)>,
        expression: &Expression,
        tell: &(dyn Fn(u64) + Sync),
    ) -> AllOverflowMatches {
        let searched: Vec<_> = files
            .into_par_iter()
            .map(|(folder, file)| {
                let text = text_beginning(&file.path, MOST);
                let is_match = text.map(|text| expression.regex().is_match(&text));
                tell(file.bytes);
                (folder, file, is_match)
            })
            .collect();
        let mut all = AllOverflowMatches::default();
        for (folder, OverflowFile { path, .. }, is_match) in searched {
            match is_match {
                Ok(false) => {}
                Ok(true) => {
                    if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
                        let name = name.to_owned();
                        all.sessions.entry(folder).or_default().0.insert(name, path);
                    }
                }
                Err(error) => all.skipped.extend(Skipped::unsearched(&path, &error)),
            }
        }
        all.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// Those of the session of a log.
    pub(crate) fn of_log(&self, log: &Path) -> &OverflowMatches {
        folder_of(log).and_then(|folder| self.sessions.get(&folder)).unwrap_or(&self.none)
    }
}

/// The files of the sessions of some logs, with the folders of these.
pub(crate) fn overflow_files<'l>(
    home: &Home,
    logs: impl Iterator<Item = &'l Path>,
) -> Vec<(PathBuf, OverflowFile)> {
    // Logs of subagents belong to the folder of their session.
    let folders: HashMap<PathBuf, &Path> =
        logs.filter_map(|log| Some((folder_of(log)?, log))).collect();
    let mut files = Vec::new();
    for (folder, log) in folders {
        let of_session = home.overflow_files(log).into_iter();
        files.extend(of_session.map(|file| (folder.clone(), file)));
    }
    files
}

fn folder_of(log: &Path) -> Option<PathBuf> {
    session_folder(log).map(|(project, name)| project.join(name))
}
