//! The trees that lines form, while links are mended.

use std::collections::HashSet;

use crate::NodeId;
use crate::Parent;
use crate::Session;
use crate::fold::hash::IdMap;

/// Which tree each line is in.
pub(super) struct Trees {
    /// A line above each line, or itself at a top; ways get shorter with use.
    above: Vec<NodeId>,
}

impl Trees {
    /// The trees of a session; a line of `cuts` is a top.
    pub(super) fn new(session: &Session, cuts: &[NodeId]) -> Trees {
        let mut above: Vec<NodeId> =
            session.ids().map(|id| session.parent(id).unwrap_or(id)).collect();
        for cut in cuts {
            above[cut.index()] = *cut;
        }
        Trees { above }
    }

    /// The top of the tree that a line is in.
    pub(super) fn top(&mut self, id: NodeId) -> NodeId {
        let mut at = id;
        loop {
            let next = self.above[at.index()];
            if next == at {
                return at;
            }
            let further = self.above[next.index()];
            self.above[at.index()] = further;
            at = further;
        }
    }

    /// Hangs a top on a line of another tree.
    pub(super) fn hang(&mut self, top: NodeId, line: NodeId) {
        self.above[top.index()] = self.top(line);
    }
}

/// The first line of each circle of parents.
pub(super) fn cycles(session: &Session) -> Vec<NodeId> {
    // 0: not looked at; else the walk that passed the line.
    let mut passed = vec![0u32; session.node_count()];
    let mut cuts = Vec::new();
    for (walk, start) in (1u32..).zip(session.ids()) {
        let mut at = Some(start);
        while let Some(id) = at {
            match std::mem::replace(&mut passed[id.index()], walk) {
                0 => at = session.parent(id),
                other if other == walk => {
                    cuts.push(first_of_cycle(session, id));
                    break;
                }
                other => {
                    passed[id.index()] = other;
                    break;
                }
            }
        }
    }
    cuts
}

fn first_of_cycle(session: &Session, inside: NodeId) -> NodeId {
    let mut first = inside;
    let mut at = session.parent(inside);
    while let Some(id) = at.filter(|id| *id != inside) {
        if session.node(id).line < session.node(first).line {
            first = id;
        }
        at = session.parent(id);
    }
    first
}

/// What stands above a line that goes and above those over it that go too. What was found is
/// remembered: many lines may follow one that goes, below many others.
pub(super) fn first_kept(
    session: &Session,
    gone: &HashSet<NodeId>,
    start: NodeId,
    known: &mut IdMap<NodeId, Parent>,
) -> Parent {
    let mut way = Vec::new();
    let mut at = start;
    let found = loop {
        if let Some(found) = known.get(&at) {
            break *found;
        }
        // Until more is known a line stands for itself, so that a circle ends where it closes.
        known.insert(at, Parent::Node(at));
        way.push(at);
        match session.link(at) {
            Parent::Node(next) if gone.contains(&next) => at = next,
            above => break above,
        }
    };
    known.extend(way.into_iter().map(|id| (id, found)));
    found
}

#[cfg(test)]
mod tests {
    use recto_log::Lines;
    use recto_log::decode;

    use super::*;

    fn session(links: &[(&str, &str)]) -> Session {
        let line = |(uuid, parent): &(&str, &str)| {
            format!("{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"parentUuid\":\"{parent}\"}}\n")
        };
        let log: String = links.iter().map(line).collect();
        let mut session = Session::new();
        for line in Lines::new(log.as_bytes()) {
            session.push(&decode(line).0);
        }
        session
    }

    #[test]
    fn each_circle_is_cut_at_its_first_line() {
        let session = session(&[
            ("t", "b"),
            ("b", "c"),
            ("a", "b"),
            ("c", "a"),
            ("s", "s"),
            ("r", ""),
            ("x", "r"),
        ]);
        let cuts: Vec<u64> = cycles(&session).iter().map(|id| session.node(*id).line).collect();
        assert_eq!(cuts, [2, 5]);
    }

    #[test]
    fn a_line_that_is_hung_is_in_the_other_tree() {
        let session = session(&[("a", ""), ("b", "a"), ("c", "gone"), ("d", "c")]);
        let mut trees = Trees::new(&session, &[]);
        assert_eq!(trees.top(NodeId(3)), NodeId(2));
        trees.hang(NodeId(2), NodeId(1));
        assert_eq!(trees.top(NodeId(3)), NodeId(0));
    }
}
