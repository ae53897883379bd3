//! Repairs of logs with very many lines to mend: each takes a time in proportion to the lines.

use recto_session::edit::repair::Clients;
use recto_session::edit::repair::Fix;

use crate::edit::manuscript;
use crate::repair::plan;

/// A line of the chain, with a time or without.
fn chained(number: u32, parent: Option<u32>, message: &str) -> String {
    let uuid = |number: u32| format!("\"00000000-0000-4000-8000-{number:012x}\"");
    let parent = parent.map_or("null".to_owned(), uuid);
    format!(
        r#"{{"type":"user","uuid":{},"parentUuid":{parent},"timestamp":"2026-01-01T00:00:00Z"{message}}}"#,
        uuid(number)
    )
}

const SAID: &str = r#","message":{"role":"user","content":"x"}"#;

/// Half of the lines go, each below the other, and the other half follow the last of them.
/// With a walk for each, this would take minutes.
#[test]
fn many_lines_below_many_that_go_follow_what_those_followed() {
    const MANY: u32 = 100_000;
    let mut lines = vec![chained(0, None, SAID)];
    lines.extend((1..=MANY).map(|number| chained(number, Some(number - 1), "")));
    lines.extend((1..=MANY).map(|number| chained(MANY + number, Some(MANY), SAID)));
    let log = lines.join("\n") + "\n";
    let source = manuscript(log.as_bytes());
    let plan = plan(&source, log.as_bytes(), Clients::All).unwrap();
    let session = &plan.session;
    assert_eq!(plan.aside.len(), MANY as usize);
    assert_eq!(session.node_count(), MANY as usize + 1);
    let top = session.ids().next();
    assert!(session.ids().skip(1).all(|id| session.parent(id) == top));
}

/// Every line is two that were glued together, and all lack a time. What is saved of them stands
/// before the one line that is whole. With a search for that line for each, this would take
/// minutes.
#[test]
fn many_lines_that_are_saved_from_damaged_ones_are_mended() {
    const MANY: u32 = 100_000;
    let timeless = |number: u32| {
        chained(number, number.checked_sub(1), SAID)
            .replace(r#""timestamp":"2026-01-01T00:00:00Z","#, "")
    };
    let mut lines = vec![chained(0, None, SAID)];
    lines.extend((0..MANY / 2).map(|two| timeless(2 * two + 1) + &timeless(2 * two + 2)));
    lines.push(chained(MANY + 1, Some(MANY), SAID));
    let log = lines.join("\n") + "\n";
    let source = manuscript(log.as_bytes());
    let plan = plan(&source, log.as_bytes(), Clients::All).unwrap();
    assert_eq!(plan.session.node_count(), MANY as usize + 2);
    let timed = plan.fixes.iter().filter(|applied| applied.fix == Fix::MissingTime);
    assert!(timed.clone().all(|applied| applied.line == lines.len() as u64));
    assert_eq!(timed.count(), MANY as usize);
}
