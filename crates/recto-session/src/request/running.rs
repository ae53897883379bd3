//! What a client that is running sends of lines that it has just written.

use recto_log::Lines;
use recto_log::decode;

use super::Generation;
use super::Sent;
use super::lines;
use super::messages;
use super::model::AskedModel;
use super::render;
use super::view::View;
use crate::NodeId;
use crate::Session;

/// The messages of lines that follow each other, all of which are sent: an answer, what came
/// after it, and so on. The lines end with line ends. A result belongs to a call before it, so
/// the lines must begin with a prompt or an answer.
///
/// For one part of a conversation after the other this gives what [`super::request`] gives for
/// all of it, but for the effort.
pub fn messages_of(lines: &[u8], model: &str) -> Vec<u8> {
    let latest = Generation::latest();
    let mut session = Session::new();
    for line in Lines::new(lines) {
        session.push(&decode(line).0);
    }
    let view = View::new(&session, latest);
    let all: Vec<NodeId> = session.ids().collect();
    let sent: Vec<Sent> = lines::pass_running(&view, &all);
    let rules = render::Rules::new(&session, latest, &sent, Some(model));
    let rendered = render::render(&session, &rules, &sent, &lines);
    let messages = messages::messages(rendered.items, &rules, None);
    messages::to_json(messages, latest)
}

/// Whether the newest clients tell a model in messages of the system, and not inside those of
/// the user.
pub fn has_system_turns(model: &str) -> bool {
    AskedModel::new(&Session::new(), Generation::latest(), &[], Some(model)).has_system_turns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_its_results_and_a_note_are_three_messages() {
        let lines = concat!(
            r#"{"parentUuid":null,"type":"assistant","uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-16T08:00:00Z","message":{"id":"m","role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]}}"#,
            "\n",
            r#"{"parentUuid":"00000000-0000-4000-8000-000000000001","type":"user","uuid":"00000000-0000-4000-8000-000000000002","timestamp":"2026-11-16T08:00:00Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#,
            "\n",
            r#"{"parentUuid":"00000000-0000-4000-8000-000000000002","type":"attachment","uuid":"00000000-0000-4000-8000-000000000003","timestamp":"2026-11-16T08:00:00Z","attachment":{"type":"date"},"rendered":[{"content":"<system-reminder>\nnote\n</system-reminder>"}],"renderedRole":"system"}"#,
            "\n",
        );
        let messages = String::from_utf8(messages_of(lines.as_bytes(), "claude-opus-5-5")).unwrap();
        assert_eq!(
            messages,
            r#"[{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},{"role":"system","content":"note"}]"#
        );
        assert!(has_system_turns("claude-opus-5-5") && !has_system_turns("claude-haiku-4-5"));
    }
}
