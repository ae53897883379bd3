use recto_log::Lines;
use recto_log::decode;

use super::*;

pub(crate) fn session(log: &str) -> Session {
    let mut session = Session::new();
    for line in Lines::new(log.as_bytes()) {
        session.push(&decode(line).0);
    }
    session
}

fn line(uuid: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{uuid}\",\"parentUuid\":{parent},\"message\":{{\"content\":\"{uuid}\"}}}}\n"
    )
}

fn children(session: &Session, parent: NodeId) -> Vec<NodeId> {
    session.ids().filter(|id| session.parent(*id) == Some(parent)).collect()
}

#[test]
fn parents_may_come_later_or_never() {
    let session =
        session(&[line("b", "a"), line("c", "a"), line("a", ""), line("d", "gone")].concat());
    let node = |uuid: &str| session.find(&EntryUuid::new(uuid)).unwrap();
    assert_eq!(session.parent(node("b")), Some(node("a")));
    assert_eq!(session.parent(node("c")), Some(node("a")));
    assert_eq!(session.node(node("a")).parent, Parent::Root);
    let Parent::Missing(missing) = session.node(node("d")).parent else { panic!() };
    assert_eq!(session.missing_uuid(missing).unwrap().to_string(), "gone");
    assert_eq!(children(&session, node("a")), [node("b"), node("c")]);
}

#[test]
fn a_line_may_be_its_own_parent() {
    let session = session(&line("a", "a"));
    let a = session.find(&EntryUuid::new("a")).unwrap();
    assert_eq!(session.parent(a), Some(a));
}

#[test]
fn the_last_line_with_a_uuid_counts() {
    let session =
        session(&[line("a", ""), line("b", "a"), line("b", "later"), line("later", "a")].concat());
    let b = session.find(&EntryUuid::new("b")).unwrap();
    assert_eq!(session.node(b).line, 3);
    assert_eq!(session.parent(b), session.find(&EntryUuid::new("later")));
    assert_eq!(session.repeated, [2]);
}

#[test]
fn a_long_chain_and_a_wide_parent_take_linear_time() {
    let mut log = line("n0", "");
    for at in 1..200_000 {
        log += &line(&format!("n{at}"), &format!("n{}", at - 1));
    }
    for at in 0..100_000 {
        log += &line(&format!("w{at}"), "late");
    }
    log += &line("late", "n199999");
    let session = session(&log);
    assert_eq!(session.node_count(), 300_001);
    let late = session.find(&EntryUuid::new("late")).unwrap();
    assert_eq!(children(&session, late).len(), 100_000);
}

#[test]
fn lines_beside_the_chain_are_kept_last_wins() {
    let session = session(concat!(
        "{\"type\":\"last-prompt\",\"lastPrompt\":\"a\",\"leafUuid\":\"x\"}\n",
        "{\"type\":\"last-prompt\",\"lastPrompt\":\"b\"}\n",
        "{\"type\":\"ai-title\",\"aiTitle\":\"t\"}\n",
        "null\n[]\nbroken\n",
        "{\"type\":\"user\",\"message\":{}}\n",
    ));
    assert_eq!(session.meta.leaf, Some(EntryUuid::new("x")));
    assert_eq!(session.meta.last_prompt.as_deref(), Some("b"));
    assert_eq!(session.meta.ai_title.as_deref(), Some("t"));
    assert_eq!(session.damaged, [4, 5, 6]);
    assert_eq!(session.first_null_line, Some(4));
    assert_eq!(session.without_uuid, [7]);
}
