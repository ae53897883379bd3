//! What one log adds to the statistics of many.

use recto_session::statistics::LogRole;
use recto_session::statistics::LogStatistics;
use recto_session::turns;

use crate::Loaded;
use crate::LogFile;
use crate::StoreError;

/// What a log is, for the statistics.
pub(crate) fn role_of(log: &LogFile) -> LogRole {
    if log.is_agent() { LogRole::Agent } else { LogRole::Session }
}

/// Reads a log to its end.
pub(crate) fn log_statistics(log: &LogFile) -> Result<LogStatistics, StoreError> {
    let loaded = Loaded::read(&log.path)?;
    Ok(LogStatistics::of(&loaded.session, &turns(&loaded.session), role_of(log)))
}
