//! What a listing says of many logs, from the index where it has them as they are.
//!
//! As with all that is kept there, none is waited for; and none is made for it, unless logs are
//! only in the archive.

use rayon::prelude::*;

use crate::CacheDirectory;
use crate::Digest;
use crate::Home;
use crate::LogFile;
use crate::search::index::Index;
use crate::search::index::Rollup;
use crate::search::index::RollupKind;
use crate::search::index::Rollups;

/// Reads the heads and tails of logs, those first that the index has.
pub struct Digests<'a> {
    home: &'a Home,
    cache: Option<&'a CacheDirectory>,
    /// None until it is worth to ask the index, or if there is none.
    rollups: Option<Rollups<'a>>,
    /// How many logs make it worth that.
    enough: usize,
}

impl<'a> Digests<'a> {
    /// Fewer logs are read faster than an index is opened.
    const WORTH_AN_INDEX: usize = 100;

    /// Without a cache, all logs are read.
    pub fn new(home: &'a Home, cache: Option<&'a CacheDirectory>) -> Digests<'a> {
        Digests { home, cache, rollups: None, enough: Self::WORTH_AN_INDEX }
    }

    /// Asks the index however few they are.
    #[cfg(test)]
    pub(crate) fn of_any_number(mut self) -> Digests<'a> {
        self.enough = 0;
        self
    }

    /// What a listing says of some logs, in their order; nothing of those that
    /// cannot be read.
    pub fn read<'l, L: AsRef<LogFile> + 'l>(
        &mut self,
        logs: impl IntoIterator<Item = &'l L>,
    ) -> Vec<Option<Digest>> {
        let logs: Vec<&LogFile> = logs.into_iter().map(AsRef::as_ref).collect();
        let has_archived = logs.iter().any(|log| log.is_archived());
        if (logs.len() >= self.enough || has_archived)
            && let Some(cache) = self.cache.take()
        {
            // An archived log is unpacked to read its ends: once is enough.
            if has_archived && !Index::is_there(self.home, cache) {
                let _ = Index::open(self.home, cache);
            }
            self.rollups = Rollups::open(self.home, cache, RollupKind::Digest);
        }
        let Some(rollups) = &mut self.rollups else {
            return logs.into_par_iter().map(|log| Digest::read_listed(log).ok()).collect();
        };
        let names: Vec<String> = logs.par_iter().map(|log| log.name_in_home()).collect();
        let states = logs.iter().map(|log| log.state);
        let known = rollups.read(names.iter().map(String::as_str).zip(states));
        let read: Vec<(Option<Digest>, Option<Rollup>)> = logs
            .into_par_iter()
            .zip(known)
            .zip(names)
            .map(|((log, known), name)| {
                let (digest, rollup) = match known.and_then(|known| Digest::decode(&known)) {
                    Some(known) => (Some(known), None),
                    None => read_log(log, name),
                };
                // What is kept is of the log alone: others come and go.
                (digest.map(|digest| digest.with_title_elsewhere(&log.path)), rollup)
            })
            .collect();
        let mut digests = Vec::with_capacity(read.len());
        for (digest, rollup) in read {
            digests.push(digest);
            if let Some(rollup) = rollup {
                rollups.keep(rollup);
            }
        }
        digests
    }

    /// Writes what was read anew into the index.
    pub fn finish(self) {
        if let Some(rollups) = self.rollups {
            rollups.finish();
        }
    }
}

fn read_log(log: &LogFile, name: String) -> (Option<Digest>, Option<Rollup>) {
    let state = log.state.before_reading();
    match Digest::read_alone(log) {
        Ok(digest) => {
            let rollup = Rollup { name, state, sums: digest.encode() };
            (Some(digest), Some(rollup))
        }
        Err(_) => (None, None),
    }
}
