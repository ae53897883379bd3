//! Sessions that were split are joined again: every client sends both parts.

use recto_session::Session;
use recto_session::edit::EditError;
use recto_session::edit::Loss;
use recto_session::edit::Manuscript;
use recto_session::edit::Rewrite;
use recto_session::edit::compare;
use recto_session::edit::merge;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::request::Sent;
use recto_session::request::reach;
use recto_session::turns;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::cases;
use crate::edit::manuscript;
use crate::edit::written;

const NEW: &str = "22222222-2222-4222-8222-222222222222";
const FIRST: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
const SECOND: &str = "c81d4e2e-bcf2-41e6-869b-7df92533d2db";

/// Joins two logs that share no line; gives the new log and what it loses.
fn joined(first: &[u8], second: &[u8]) -> Result<(Manuscript, Vec<Loss>), EditError> {
    let log = [first, second].concat();
    let both = manuscript(&log);
    let (first, second) = (cases::session(first), cases::session(second));
    let merged = merge(&both, &first, &second)?;
    let mut draft = merged.draft;
    draft.settle_leaf(merged.leaf, NEW.parse().ok(), "prompt");
    let result = manuscript(&written(&draft, &Rewrite::none(), &log));
    let parts = [(&first, &merged.unsent_of_first), (&second, &merged.unsent_of_second)];
    let mut losses = Vec::new();
    for (part, but_for) in parts {
        losses.extend(compare(part, &result.session, but_for, &Rewrite::none()).losses);
    }
    Ok((result, losses))
}

fn sent(session: &Session, generation: Generation) -> Vec<String> {
    let reach = reach(session, generation);
    assert_eq!(reach.outcome, Outcome::Resumed, "{generation}");
    let lines = reach.sent.iter().filter_map(|sent| match sent {
        Sent::Line(line) => Some(session.node(line.node)),
        Sent::Added(_) => None,
    });
    lines.filter(|node| node.is_spoken()).map(|node| node.uuid().to_string()).collect()
}

#[test]
fn a_recorded_session_that_was_cut_anywhere_is_whole_again() {
    let mut cuts = 0;
    for case in cases::corpora().iter().flat_map(|corpus| cases::cases(corpus)) {
        let log = &case.log;
        let whole = cases::session(log);
        for turn in turns(&whole).iter(&whole).skip(1) {
            let Some(start) = turn.nodes.iter().map(|id| whole.node(*id).offset).min() else {
                continue;
            };
            let (first, second) = log.split_at(usize::try_from(start).unwrap());
            let is_good = |log: &[u8]| {
                let session = cases::session(log);
                Generation::ALL
                    .iter()
                    .all(|generation| reach(&session, *generation).outcome == Outcome::Resumed)
            };
            if !is_good(first) || !is_good(second) || !is_good(log) {
                continue;
            }
            let what = format!("{} {} turn {}", case.name, case.version, turn.number);
            match joined(first, second) {
                Ok((_, losses)) => assert_eq!(losses, [], "{what}"),
                Err(error) => panic!("{what}: {error}"),
            }
            cuts += 1;
        }
    }
    assert!(cuts > 20, "{cuts}");
}

fn builder(id: &str, time: &str) -> SessionBuilder {
    SessionBuilder::new(id, Client::V2_1_325).at(time.parse().unwrap())
}

#[test]
fn a_second_session_goes_on_where_the_first_one_ends() {
    let first = builder(FIRST, "2026-11-16T10:00:00Z").prompt("One").answer("1");
    let second = builder(SECOND, "2026-11-16T11:00:00Z").prompt("Two").answer("2");
    let (result, losses) = joined(first.bytes(), second.bytes()).unwrap();
    assert_eq!(losses, []);
    let parts = [cases::session(first.bytes()), cases::session(second.bytes())];
    for generation in Generation::ALL {
        let expected: Vec<String> = parts.iter().flat_map(|part| sent(part, generation)).collect();
        assert_eq!(sent(&result.session, generation), expected, "{generation}");
    }
}

#[test]
fn what_a_compaction_stands_for_is_not_sent_again() {
    let first = builder(FIRST, "2026-11-16T10:00:00Z").prompt("One").answer("1");
    let second = builder(SECOND, "2026-11-16T11:00:00Z").prompt("Two").answer("2");
    let second = second.compaction("One and two.").prompt("Three").answer("3");
    let (result, losses) = joined(first.bytes(), second.bytes()).unwrap();
    assert_eq!(losses, []);
    let latest = Generation::latest();
    assert_eq!(sent(&result.session, latest), sent(&cases::session(second.bytes()), latest));
}

#[test]
fn the_order_of_time_is_known() {
    let early = builder(FIRST, "2026-11-16T10:00:00Z").prompt("One").answer("1");
    let late = builder(SECOND, "2026-11-16T11:00:00Z").prompt("Two").answer("2");
    for (first, second, expected) in [(&early, &late, false), (&late, &early, true)] {
        let log = [first.bytes(), second.bytes()].concat();
        let both = manuscript(&log);
        let (first, second) = (cases::session(first.bytes()), cases::session(second.bytes()));
        assert_eq!(merge(&both, &first, &second).unwrap().is_out_of_order(), expected);
    }
}

#[test]
fn there_must_be_something_to_join() {
    let log = builder(FIRST, "2026-11-16T10:00:00Z").prompt("One").answer("1");
    let both = manuscript(log.bytes());
    let first = cases::session(log.bytes());
    assert_eq!(merge(&both, &first, &first).unwrap_err(), EditError::NothingToDo);
    let empty = Session::new();
    assert_eq!(merge(&both, &first, &empty).unwrap_err(), EditError::NoConversation);
}
