//! The part of `recto check` that looks at whole sessions: what a resume would
//! bring back.

use std::collections::HashMap;
use std::collections::HashSet;

use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::Severity;
use recto_log::decode;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::Parent;
use recto_session::Session;
use recto_session::health::Health;
use recto_session::health::HealthProblem;
use recto_session::health::ProblemClass;
use recto_session::health::ReachSummary;
use recto_session::health::health;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_store::AgentFile;
use recto_store::StoreError;
use recto_store::open_file;

use crate::text::count;
use crate::text::plural;

/// The generations that the reach is said for.
pub(crate) const GENERATIONS: [Generation; 3] =
    [Generation::V2_0_0, Generation::V2_1_0, Generation::V2_1_300];

/// What to call a generation in a table.
pub(crate) fn short_name(generation: Generation) -> &'static str {
    if generation == Generation::latest() { "latest" } else { generation.observed() }
}

/// Looks at a session. Missing parents are looked for in the logs that `agents`
/// gives; it is asked only if there are any.
pub(crate) fn look_at(
    session: &Session,
    agents: impl FnOnce() -> Vec<AgentFile>,
) -> Option<Health> {
    let missing: HashSet<&EntryUuid> = session
        .nodes()
        .iter()
        .filter_map(|node| match node.parent {
            Parent::Missing(missing) => session.missing_uuid(missing),
            Parent::Node(_) | Parent::Root => None,
        })
        .collect();
    let mut found = HashMap::new();
    if !missing.is_empty() {
        for agent in agents() {
            // A log that cannot be read has its own report.
            let _ = search(&agent, &missing, &mut found);
        }
    }
    let health = health(session, &GENERATIONS, &|uuid| found.get(uuid).cloned());
    (health.all.lines > 0).then_some(health)
}

fn search(
    agent: &AgentFile,
    wanted: &HashSet<&EntryUuid>,
    found: &mut HashMap<EntryUuid, String>,
) -> Result<(), StoreError> {
    let mut lines = LineReader::new(open_file(&agent.path)?);
    while let Some(line) = lines.next_line()? {
        if let Some(uuid) = decode(line).0.uuid()
            && wanted.contains(&uuid)
        {
            // Old clients put the logs of subagents beside those of sessions.
            let is_inside = agent.path.parent().is_some_and(|folder| folder.ends_with("subagents"));
            let folder = if is_inside { "subagents/" } else { "" };
            found.entry(uuid).or_insert_with(|| format!("{folder}agent-{}.jsonl", agent.id));
        }
    }
    Ok(())
}

/// The reach by the newest clients.
pub(crate) fn latest(health: &Health) -> Option<&ReachSummary> {
    health.reaches.iter().find(|reach| reach.generation == Generation::latest())
}

/// How many lines the newest clients would lose.
pub(crate) fn lost(health: &Health) -> u64 {
    latest(health).map_or(0, |reach| reach.lost.lines)
}

/// Whether something is lost, or the API would refuse it.
pub(crate) fn is_bad(health: &Health) -> bool {
    lost(health) > 0 || shown(health, Severity::Damage).next().is_some()
}

/// The problems of a severity, without those that the line itself tells.
pub(crate) fn shown(
    health: &Health,
    severity: Severity,
) -> impl Iterator<Item = &HealthProblem> + use<'_> {
    health.problems.iter().filter(move |problem| {
        problem.severity == severity && problem.class != ProblemClass::DamagedLine
    })
}

/// How much of what it should a client brings back, or why nothing.
pub(crate) fn reach_text(reach: &ReachSummary) -> String {
    match reach.outcome {
        Outcome::Resumed => percent(reach.percent_kept().0),
        Outcome::Refused { .. } => "refused".into(),
        Outcome::Hangs { .. } => "hangs".into(),
    }
}

/// Never says 100 % of what is not whole.
fn percent(percent: f64) -> String {
    if percent >= 100.0 {
        "100 %".into()
    } else {
        format!("{:.1} %", (percent * 10.0).floor() / 10.0)
    }
}

/// The reach of a session in a line of text.
pub(crate) fn summary(health: &Health) -> String {
    let reaches: Vec<String> = health
        .reaches
        .iter()
        .map(|reach| format!("{} {}", short_name(reach.generation), reach_text(reach)))
        .collect();
    let mut text = format!("resume brings back: {}", reaches.join(", "));
    let Some(latest) = latest(health) else { return text };
    text += &format!(
        "; {} of {} sent, about {} of {} tokens",
        count(latest.sent.lines),
        plural(health.all.lines, "message"),
        count(latest.sent.tokens),
        count(health.all.tokens)
    );
    let left_out = [
        (latest.compacted.lines, "compacted"),
        (latest.branches.lines, "on branches"),
        (latest.other_beginnings.lines, "below other beginnings"),
        (latest.unsendable.lines, "not sendable"),
    ];
    let left_out: Vec<String> = left_out
        .iter()
        .filter(|(lines, _)| *lines > 0)
        .map(|(lines, what)| format!("{} {what}", count(*lines)))
        .collect();
    if !left_out.is_empty() {
        text += &format!("; left out on purpose: {}", left_out.join(", "));
    }
    text
}

/// The reach of a session for machines.
pub(crate) fn reach_json(health: &Health) -> Vec<u8> {
    let row = |array: ArrayWriter, reach: &ReachSummary| {
        let tenth = |percent: f64| format!("{:.1}", (percent * 10.0).floor() / 10.0).into_bytes();
        let (lines, tokens) = reach.percent(health.all);
        let row = ObjectWriter::new()
            .string("as", reach.generation.observed())
            .string("generation", reach.generation.name())
            .string("outcome", reach.outcome.name())
            .json("percent_of_lines", &tenth(lines))
            .json("percent_of_tokens", &tenth(tokens))
            .json("percent_kept", &tenth(reach.percent_kept().0))
            .number("sent", reach.sent.lines)
            .number("lost", reach.lost.lines)
            .number("compacted", reach.compacted.lines)
            .number("branches", reach.branches.lines)
            .number("other_beginnings", reach.other_beginnings.lines)
            .number("unsendable", reach.unsendable.lines);
        array.json(&row.finish())
    };
    health.reaches.iter().fold(ArrayWriter::new(), row).finish()
}
