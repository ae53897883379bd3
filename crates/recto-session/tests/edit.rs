//! Edits of every recorded session: every client takes the result as meant.

use std::collections::HashSet;
use std::convert::Infallible;

use recto_log::Lines;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::Session;
use recto_session::edit::Draft;
use recto_session::edit::ForkPoint;
use recto_session::edit::Manuscript;
use recto_session::edit::Rewrite;
use recto_session::edit::compare;
use recto_session::edit::fork;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::request::RequestOptions;
use recto_session::request::reach;
use recto_session::request::request;
use recto_session::turns;

use crate::cases;

const NEW: &str = "22222222-2222-4222-8222-222222222222";

pub(crate) fn manuscript(log: &[u8]) -> Manuscript {
    let mut manuscript = Manuscript::new();
    for line in Lines::new(log) {
        manuscript.push(&decode(line).0);
    }
    manuscript
}

pub(crate) fn written(draft: &Draft<'_>, rewrite: &Rewrite, log: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |piece: &[u8]| -> Result<(), Infallible> {
        bytes.extend_from_slice(piece);
        Ok(())
    };
    draft.write(rewrite, &log, &mut put).unwrap();
    bytes
}

/// Every log of the corpus, whole and damaged, once.
pub(crate) fn logs() -> Vec<(String, Vec<u8>)> {
    let mut seen = HashSet::new();
    let mut logs = Vec::new();
    for case in cases::corpora().iter().flat_map(|corpus| cases::cases(corpus)) {
        if seen.insert(case.log.clone()) {
            logs.push((case.name, case.log));
        }
    }
    logs
}

pub(crate) fn messages(session: &Session, log: &[u8], generation: Generation) -> Vec<u8> {
    let reach = reach(session, generation);
    request(session, &reach, &log, &RequestOptions::default()).messages
}

/// The session that most lines say they belong to.
fn own_id(manuscript: &Manuscript) -> Option<SessionId> {
    let sessions = &manuscript.session.records.sessions;
    sessions.iter().max_by_key(|(_, lines, _)| *lines)?.0.parse().ok()
}

#[test]
fn an_unchanged_draft_gives_back_the_log() {
    for (name, log) in logs() {
        let manuscript = manuscript(&log);
        let draft = Draft::new(&manuscript);
        assert!(written(&draft, &Rewrite::none(), &log) == log, "{name}");
    }
}

#[test]
fn a_clone_is_sent_as_its_source_is_and_shares_no_id_with_it() {
    for (name, log) in logs() {
        let source = manuscript(&log);
        let Some(old) = own_id(&source) else { continue };
        let rewrite = Rewrite::session(old, NEW.parse().unwrap())
            .with_other_sessions(&source)
            .with_new_uuids(&source);
        let copy = written(&Draft::new(&source), &rewrite, &log);
        let result = manuscript(&copy);
        for generation in Generation::ALL {
            let (before, after) =
                (reach(&source.session, generation), reach(&result.session, generation));
            assert_eq!(before.outcome.name(), after.outcome.name(), "{name} {generation}");
            assert_eq!(before.sent, after.sent, "{name} {generation}");
            if before.outcome == Outcome::Resumed {
                let before = String::from_utf8(messages(&source.session, &log, generation));
                let after = String::from_utf8(messages(&result.session, &copy, generation));
                // Paths of the session's folder follow it.
                let before = before.unwrap().replace(&old.to_string(), NEW);
                let after = after.unwrap().replace(&old.to_string(), NEW);
                assert!(before == after, "{name} {generation}");
            }
        }
        let known: HashSet<String> = source
            .session
            .nodes()
            .map(|node| node.uuid().to_string())
            .filter(|uuid| uuid.len() == 36)
            .collect();
        for node in result.session.nodes() {
            assert!(!known.contains(&node.uuid().to_string()), "{name}: {}", node.uuid());
        }
    }
}

#[test]
fn a_fork_ends_at_its_turn_in_every_client() {
    let mut forks = 0;
    for (name, log) in logs() {
        let source = manuscript(&log);
        for turn in turns(&source.session).iter(&source.session) {
            let Ok((mut draft, leaf)) = fork(&source, &ForkPoint::Turn(turn.number)) else {
                continue;
            };
            // Some damaged logs cannot be resumed at all.
            if source.session.node(leaf).time().is_none() {
                continue;
            }
            let uuid = source.session.node(leaf).uuid();
            draft.settle_leaf(leaf, NEW.parse().ok(), "prompt");
            let copy = written(&draft, &Rewrite::none(), &log);
            let result = manuscript(&copy);
            let id = result.session.find(&uuid).unwrap();
            for generation in Generation::ALL {
                let after = reach(&result.session, generation);
                let what = format!("{name} turn {} {generation}", turn.number);
                if matches!(after.outcome, Outcome::Refused { .. }) {
                    // Lines without content make a client refuse, in the source too.
                    continue;
                }
                assert_eq!(after.outcome, Outcome::Resumed, "{what}");
                assert_eq!(after.leaf, Some(id), "{what}");
                // All clients reach the same lines as the newest.
                let newest = reach(&result.session, Generation::latest());
                let spoken = |ids: &[recto_session::NodeId]| -> Vec<String> {
                    let nodes = ids.iter().map(|id| result.session.node(*id));
                    nodes
                        .filter(|node| node.is_spoken())
                        .map(|node| node.uuid().to_string())
                        .collect()
                };
                assert_eq!(spoken(&after.chain), spoken(&newest.chain), "{what}");
            }
            let comparison =
                compare(&source.session, &result.session, &draft.removed(), &Rewrite::none());
            assert_eq!(comparison.losses, [], "{name} turn {}", turn.number);
            forks += 1;
        }
    }
    assert!(forks > 500, "{forks}");
}
