//! Subagents that only the log of their parent tells of.
//!
//! Their lines stand inside its `progress` lines. They name no parent, so each follows the
//! one before. Their texts are read from the log of the parent, by their place in it.

use recto_log::AgentId;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::decode;

use crate::LineSource;
use crate::NodeId;
use crate::Session;

/// Progress that tells nothing of subagents, and of which there is the most.
const ABOUT_ELSE: [&str; 3] = ["hook_progress", "bash_progress", "mcp_progress"];

/// A subagent, as the progress lines of its parent's log tell it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToldAgent {
    /// Its id.
    pub id: AgentId,
    /// The call that started it.
    pub call: Option<String>,
    /// Its lines. Their places are those in the log of the parent.
    pub session: Session,
}

/// The subagents that progress lines of a session tell of, in the order of their first
/// lines, as far as they are wanted.
pub fn told_agents(
    session: &Session,
    log: &dyn LineSource,
    is_wanted: &dyn Fn(&AgentId) -> bool,
) -> Vec<ToldAgent> {
    let mut agents: Vec<ToldAgent> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for id in session.ids().filter(|id| may_tell(session, *id)) {
        // A line that cannot be read any more tells nothing.
        let _ = session.with_entry(id, log, |entry| {
            let Some(told) = entry.agent_progress().filter(|told| is_wanted(&told.agent)) else {
                return;
            };
            let place = *places.entry(told.agent.clone()).or_insert_with(|| {
                let call = told.call.as_deref().map(str::to_owned);
                let (id, session) = (told.agent.clone(), Session::new());
                agents.push(ToldAgent { id, call, session });
                agents.len() - 1
            });
            agents[place].session.push_told(&decode(told.line).0);
        });
    }
    agents
}

/// Whether a line can be progress of a subagent.
fn may_tell(session: &Session, id: NodeId) -> bool {
    let node = session.node(id);
    let subtype = node.subtype.map_or("", |name| session.name(name));
    node.kind == Kind::Progress && !ABOUT_ELSE.contains(&subtype)
}

impl Session {
    /// Takes in a line of a subagent that another log tells: it follows the one before.
    fn push_told(&mut self, entry: &Entry<'_>) {
        let (before, count) = (self.last_node(), self.node_count());
        self.push(entry);
        if self.node_count() > count
            && let Some(id) = self.last_node()
        {
            // The line does not say whose it is.
            self.set_told(id, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use recto_log::Lines;

    use recto_log::UserText;

    use super::*;
    use crate::BlockFact;
    use crate::Parent;

    fn log() -> String {
        let told = |agent: &str, inner: &str| {
            format!(
                r#"{{"type":"progress","uuid":"g-{agent}-{}","parentUuid":null,"parentToolUseID":"t-{agent}","data":{{"type":"agent_progress","message":{inner},"agentId":"{agent}"}}}}"#,
                inner.len()
            )
        };
        let task = r#"{"type":"user","uuid":"u","message":{"content":"find it"}}"#;
        let answer = r#"{"type":"assistant","uuid":"a","message":{"id":"m","model":"x","usage":{"output_tokens":3},"content":[{"type":"text","text":"there it is"}]}}"#;
        let hook = r#"{"type":"progress","uuid":"h","parentUuid":null,"data":{"type":"hook_progress","hookEvent":"Stop"}}"#;
        [told("a1", task), hook.into(), told("a2", task), told("a1", answer)].join("\n") + "\n"
    }

    #[test]
    fn lines_inside_progress_are_a_session_of_their_own() {
        let log = log();
        let mut session = Session::new();
        Lines::new(log.as_bytes()).for_each(|line| session.push(&decode(line).0));
        let agents = told_agents(&session, &log.as_bytes(), &|_| true);
        let ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(ids, ["a1", "a2"]);
        let first = &agents[0];
        assert_eq!(first.call.as_deref(), Some("t-a1"));
        let nodes: Vec<crate::Node<'_>> = first.session.nodes().collect();
        assert_eq!((nodes[0].user, nodes[0].parent), (UserText::AgentTask, Parent::Root));
        assert_eq!((nodes[1].line, nodes[1].parent), (4, Parent::Node(NodeId(0))));
        assert!(matches!(&nodes[1].blocks[..], [BlockFact::Text { is_blank: false }]));
        assert_eq!(first.session.facts().messages[0].tokens.output, 3);
        let text = first.session.with_entry(NodeId(1), &log.as_bytes(), |entry| {
            entry.message().map(|message| message.content().text().into_owned())
        });
        assert_eq!(text.unwrap().as_deref(), Some("there it is"));
        let wanted = told_agents(&session, &log.as_bytes(), &|agent| agent.as_str() == "a2");
        assert_eq!(wanted.len(), 1);
    }
}
