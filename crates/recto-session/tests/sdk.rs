//! The public Agent SDK, a second reader of the same logs, shows the same
//! conversation.
//!
//! What it showed of each recorded session is in `sdk.json`, as the uuids of the
//! lines. The rules are in `docs/concepts/sdk.md`.

use std::fs;
use std::path::Path;

use recto_log::Kind;
use recto_session::Node;
use recto_session::Parent;
use recto_session::Session;
use recto_session::request::Generation;
use recto_session::request::reach;
use serde_json::Value;

use crate::cases::corpora;
use crate::cases::file_name;
use crate::cases::folders;
use crate::cases::session;

/// A session as the SDK showed it.
struct Shown {
    name: String,
    session: Session,
    messages: Vec<String>,
}

fn shown(corpus: &Path) -> Vec<Shown> {
    let mut all = Vec::new();
    for scenario in folders(corpus).iter().flat_map(|version| folders(version)) {
        let Ok(listed) = fs::read(scenario.join("sdk.json")) else { continue };
        let listed: Vec<Value> = serde_json::from_slice(&listed).unwrap();
        for one in listed {
            let id = one["session_id"].as_str().unwrap();
            let projects = folders(&scenario.join("home/.claude/projects")).into_iter();
            let mut logs = projects.map(|project| project.join(format!("{id}.jsonl")));
            let log = logs.find(|log| log.exists()).unwrap();
            let messages = one["messages"].as_array().unwrap().iter();
            let version = file_name(scenario.parent().unwrap());
            all.push(Shown {
                name: format!("{version}/{}/{id}", file_name(&scenario)),
                session: session(&fs::read(log).unwrap()),
                messages: messages.map(|uuid| uuid.as_str().unwrap().to_owned()).collect(),
            });
        }
    }
    all
}

/// The lines that the newest client reaches, parallel calls and their results
/// included, as far as the SDK goes back.
///
/// Rule "gap": where a parent is missing, the client hangs the line on the one
/// before in time; the SDK begins there.
///
/// Rule "preserved": the client sends older lines that a compaction preserved
/// after the summary; the SDK does not show them. They are not in the chain.
fn reached(session: &Session) -> Vec<Node<'_>> {
    let chain = reach(session, Generation::latest()).chain;
    let nodes: Vec<Node<'_>> = chain.iter().map(|id| session.node(*id)).collect();
    let start = nodes.iter().rposition(|node| is_gap(session, *node)).unwrap_or(0);
    nodes[start..].to_vec()
}

/// Whether a parent is missing, of the line or of the progress above it.
fn is_gap(session: &Session, node: Node<'_>) -> bool {
    let mut parent = node.parent;
    while let Parent::Node(above) = parent {
        let above = session.node(above);
        if above.kind != Kind::Progress {
            return false;
        }
        parent = above.parent;
    }
    matches!(parent, Parent::Missing(_))
}

/// Whether the SDK shows a line: a prompt, an answer, a call, a result or the
/// summary of a compaction, but nothing that the client wrote for the model only.
fn is_shown(node: Node<'_>) -> bool {
    node.is_spoken() && !node.flags.is_meta
}

#[test]
fn the_sdk_shows_the_same_conversation() {
    for corpus in corpora() {
        let all = shown(&corpus);
        assert!(all.len() > 150, "the corpus is not there: {} sessions", all.len());
        let mut misses = Vec::new();
        for Shown { name, session, messages } in &all {
            let nodes = reached(session).into_iter().filter(|node| is_shown(*node));
            let ours: Vec<String> = nodes.map(|node| node.uuid().to_string()).collect();
            if ours != *messages {
                misses.push(format!("{name}: {messages:?}, not {ours:?}"));
            }
        }
        eprintln!("all {}/{}", all.len() - misses.len(), all.len());
        assert!(misses.is_empty(), "{}", misses.join("\n"));
    }
}
