//! What one log adds to the statistics of many.

use recto_session::Turns;
use recto_session::statistics::LogRole;
use recto_session::statistics::LogStatistics;
use recto_session::told_agents;
use recto_session::turns;

use crate::Loaded;
use crate::LogFile;
use crate::StoreError;

/// What a log is, for the statistics.
pub(crate) fn role_of(log: &LogFile) -> LogRole {
    if log.is_agent() { LogRole::Agent } else { LogRole::Session }
}

/// What a log that was read adds: its own facts, and what its progress lines tell of
/// subagents.
pub fn statistics_of(loaded: &Loaded, turns: &Turns, log: &LogFile) -> LogStatistics {
    let statistics = LogStatistics::of(&loaded.session, turns, role_of(log));
    match &log.agent {
        Some(agent) => statistics.of_agent(agent),
        None => statistics.with_told(&told_agents(&loaded.session, loaded, &|_| true)),
    }
}

/// Reads a log to its end.
pub(crate) fn log_statistics(log: &LogFile) -> Result<LogStatistics, StoreError> {
    let loaded = Loaded::read(&log.path)?;
    Ok(statistics_of(&loaded, &turns(&loaded.session), log))
}
