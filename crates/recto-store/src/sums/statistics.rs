//! Reads logs for the statistics of many, each to its end or not at all.

use rayon::prelude::*;
use recto_session::statistics::LogStatistics;

use crate::CacheDirectory;
use crate::Home;
use crate::LogFile;
use crate::StoreError;
use crate::each_alone;
use crate::log::file_state::FileState;
use crate::open_file;
use crate::read::log_statistics::log_statistics;
use crate::read::log_statistics::role_of;
use crate::search::index::Rollup;
use crate::search::index::RollupKind;
use crate::search::index::Rollups;

/// How many logs are held at a time.
const PIECE: usize = 64;

impl Home {
    /// Gives what each log adds to the statistics, in the order of the logs. With a
    /// cache, logs that have not changed are not read if its index has them. `tell`
    /// is called with the number of logs so far and that of all, from any thread.
    pub fn statistics(
        &self,
        logs: &[LogFile],
        cache: Option<&CacheDirectory>,
        tell: &(dyn Fn(u64, u64) + Sync),
        take: &mut dyn FnMut(Result<LogStatistics, StoreError>),
    ) {
        let mut rollups =
            cache.and_then(|cache| Rollups::open(self, cache, RollupKind::Statistics));
        let is_kept = rollups.is_some();
        let done = std::sync::atomic::AtomicU64::new(0);
        for piece in logs.chunks(PIECE) {
            let names: Vec<String> = piece.iter().map(|log| log.name_in_home()).collect();
            let known = match &mut rollups {
                Some(rollups) => {
                    let states = piece.iter().map(|log| log.state);
                    rollups.read(names.iter().map(String::as_str).zip(states))
                }
                None => vec![None; piece.len()],
            };
            let counted: Vec<_> = each_alone(piece)
                .zip(known)
                .zip(names)
                .map(|((log, known), name)| {
                    let role = role_of(log);
                    let known = known.and_then(|sums| LogStatistics::decode(&sums));
                    let counted = match known.filter(|known| known.role() == role) {
                        Some(known) => Ok((known, None)),
                        None => read_log(log, is_kept.then_some(name)),
                    };
                    let before = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    tell(before, logs.len() as u64);
                    counted
                })
                .collect();
            for one in counted {
                take(one.map(|(statistics, rollup)| {
                    if let (Some(rollups), Some(rollup)) = (&mut rollups, rollup) {
                        rollups.keep(rollup);
                    }
                    statistics
                }));
            }
        }
        if let Some(rollups) = rollups {
            rollups.finish();
        }
    }
}

/// Reads a log. With a name, what it adds is to be kept under that.
fn read_log(
    log: &LogFile,
    name: Option<String>,
) -> Result<(LogStatistics, Option<Rollup>), StoreError> {
    // Before anything is read: what is written meanwhile makes it another state.
    let state = match &name {
        Some(_) => FileState::now(&open_file(&log.path)?.metadata()?),
        None => FileState::default(),
    };
    let statistics = log_statistics(log)?;
    let rollup = name.map(|name| Rollup { name, state, sums: statistics.encode() });
    Ok((statistics, rollup))
}
