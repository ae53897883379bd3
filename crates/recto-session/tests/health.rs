//! Recorded sessions are healthy where nothing was done to them.

use recto_session::health::Health;
use recto_session::health::health;
use recto_session::request::Generation;

use crate::cases::cases;
use crate::cases::corpora;
use crate::cases::session;

fn health_of(log: &[u8], generation: Generation) -> Health {
    health(&session(log), &[generation], &|_| None)
}

/// What newer clients wrote, newer clients bring back.
#[test]
fn recorded_sessions_lose_nothing() {
    for corpus in corpora() {
        let mut losses = Vec::new();
        for case in cases(&corpus) {
            if case.name.starts_with("edit/") {
                continue;
            }
            let health = health_of(&case.log, Generation::latest());
            let reach = &health.reaches[0];
            if !reach.is_whole() {
                losses.push(format!(
                    "{}: {} of {} lines",
                    case.name, reach.lost.lines, health.all.lines
                ));
                let lost = health.problems.iter().map(|found| &found.consequence);
                losses.extend(lost.map(|consequence| format!("    {consequence}")));
            }
        }
        eprintln!("{}", losses.join("\n"));
        // 2.1.29 in a terminal puts lines into logs of helpers: its parents are
        // really missing.
        let is_known = |loss: &String| loss.starts_with("2.1.29/I") || loss.starts_with("    ");
        assert!(losses.iter().all(is_known), "{}", losses.join("\n"));
    }
}

/// Each way to damage a session has its name.
#[test]
fn edited_sessions_say_what_is_wrong() {
    let expected = [
        ("cycle", "cycle"),
        ("prompt_bad_parent_late", "missing-parent"),
        ("assistant_bad_parent_late", "missing-parent"),
        ("unknown_in_chain", "unknown-in-chain"),
        ("prompt_null_parent", "several-roots"),
        ("no_parent_field", "no-parent"),
        ("garbage_lines", "damaged-line"),
        ("not_object_lines", "null-line"),
        ("duplicated_lines", "repeated-uuid"),
        ("no_tool_results", "call-without-result"),
        ("thinking_unsigned", "unsigned-thinking"),
        ("minimal_no_timestamp", "not-resumed"),
    ];
    let cases = cases(&corpora()[0]);
    for (variant, class) in expected {
        let edits: Vec<_> = cases
            .iter()
            .filter(|case| {
                case.name
                    .strip_prefix("edit/")
                    .is_some_and(|name| name.ends_with(&format!("/{variant}")))
            })
            .collect();
        assert!(!edits.is_empty(), "{variant} is not there");
        for case in edits {
            let health = health_of(&case.log, Generation::latest());
            let classes: Vec<&str> =
                health.problems.iter().map(|found| found.class.name()).collect();
            assert!(classes.contains(&class), "{}: {classes:?}", case.name);
        }
    }
}
