//! The part of `recto check` that looks at whole sessions: what a resume would
//! bring back.

use recto_log::Severity;
use recto_session::health::Health;
use recto_session::health::HealthProblem;
use recto_session::health::ProblemClass;
use recto_session::health::ReachSummary;
use recto_session::request::Generation;
use recto_session::request::Outcome;
pub(crate) use recto_view::HEALTH_GENERATIONS as GENERATIONS;
use recto_view::client_name;
pub(crate) use recto_view::session_health as look_at;

use crate::terminal::text::count;
use crate::terminal::text::plural;

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
        .map(|reach| format!("{} {}", client_name(reach.generation), reach_text(reach)))
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
