//! The branch that is told for a client is the one that it goes on from.

use recto_session::NodeId;
use recto_session::Session;
use recto_session::TOLD;
use recto_session::branches;
use recto_session::request::Outcome;
use recto_session::request::reach;

use crate::cases::cases;
use crate::cases::corpora;
use crate::cases::session;

#[test]
fn the_branch_of_a_client_ends_at_its_leaf() {
    let mut compared = 0;
    for corpus in corpora() {
        for case in cases(&corpus) {
            let session = session(&case.log);
            let branches = branches(&session);
            for generation in TOLD {
                let reach = reach(&session, generation);
                let Some(leaf) = reach.leaf.filter(|_| reach.outcome == Outcome::Resumed) else {
                    continue;
                };
                let told: Vec<_> =
                    branches.iter().filter(|one| one.generations.contains(&generation)).collect();
                let name = &case.name;
                assert_eq!(told.len(), 1, "{name} as {generation}: {} branches", told.len());
                // Of lines with the same time, old clients go on from the first.
                let mut way = std::iter::successors(Some(told[0].tip), |id| session.parent(*id));
                let spoken = spoken_above(&session, leaf);
                assert!(
                    spoken.is_none_or(|spoken| way.any(|id| is_same_step(&session, spoken, id))),
                    "{name} as {generation}: leaf {leaf:?}, branch to {:?}",
                    told[0].tip
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 300, "{compared}");
}

/// The last user or assistant line up to a line.
fn spoken_above(session: &Session, line: NodeId) -> Option<NodeId> {
    let mut above = std::iter::successors(Some(line), |id| session.parent(*id));
    above.find(|id| session.node(*id).is_spoken())
}

/// Lines of one message, and the results of its calls, are one step.
fn is_same_step(session: &Session, one: NodeId, other: NodeId) -> bool {
    let message = |id: NodeId| {
        let node = session.node(id);
        let asked = node.has_result().then(|| session.parent(id)).flatten();
        session.node(asked.unwrap_or(id)).message
    };
    one == other || (message(one).is_some() && message(one) == message(other))
}
