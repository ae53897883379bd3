//! The health of a session, with the logs of its subagents at hand.

use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::Session;
use recto_session::health::Health;
use recto_session::health::health;
use recto_session::request::Generation;
use recto_store::LogFile;
use recto_store::StoreError;
use recto_store::open_file;
use recto_store::session_folder_above;

/// The generations that the reach of many sessions is said for; that of one is said for
/// all.
pub const HEALTH_GENERATIONS: [Generation; 3] = recto_session::health::CHECKED;

/// Looks at a session with the eyes of some generations. Missing parents are looked for in
/// the logs that `agents` gives; it is asked only if there are any.
pub fn session_health(
    session: &Session,
    generations: &[Generation],
    agents: impl FnOnce() -> Vec<LogFile>,
) -> Option<Health> {
    let missing: HashSet<&EntryUuid> = session.missing_parents().collect();
    let mut found = HashMap::new();
    if !missing.is_empty() {
        for agent in agents() {
            // A log that cannot be read has its own report.
            let _ = search(&agent, &missing, &mut found);
        }
    }
    let health = health(session, generations, &|uuid| found.get(uuid).cloned());
    (health.all.lines > 0).then_some(health)
}

fn search(
    agent: &LogFile,
    wanted: &HashSet<&EntryUuid>,
    found: &mut HashMap<EntryUuid, String>,
) -> Result<(), StoreError> {
    let mut lines = LineReader::new(open_file(&agent.path)?);
    while let Some(line) = lines.next_line()? {
        if let Some(uuid) = decode(line).0.uuid()
            && wanted.contains(&uuid)
        {
            // Old clients put the logs of subagents beside those of sessions.
            let above = session_folder_above(&agent.path).or(agent.path.parent());
            let inside = above.and_then(|above| agent.path.strip_prefix(above).ok());
            let inside = inside.unwrap_or(&agent.path).display();
            found.entry(uuid).or_insert_with(|| inside.to_string());
        }
    }
    Ok(())
}
