//! What a person meets every day: waiting prompts, mistyped commands, own commands, lists without
//! a screen.

use crossterm::event::KeyCode;
use recto_agent::api::ApiError;
use recto_agent::api::Unreachable;
use recto_agent::turn::End;
use recto_agent::turn::State;
use recto_agent::turn::TurnEvent;
use serde_json::json;

use super::console_tests::Trial;
use super::picker::Choice;
use super::state::Effect;
use super::state::Input;

/// What the session answers to the question with this purpose.
fn answer(trial: &mut Trial, purpose: &str, answer: serde_json::Value) {
    let pending = &trial.console.pending;
    let id = pending.iter().find(|(_, wanted)| *wanted == purpose).unwrap().0.clone();
    let response = json!({"subtype": "success", "request_id": id, "response": answer});
    trial.event(TurnEvent::Control(json!({"response": response})));
}

fn offers_review(trial: &mut Trial) {
    let own = json!([
        {"name": "clear", "description": "Start over", "builtin": true},
        {"name": "review", "description": "Review a change"},
    ]);
    answer(trial, "session", json!({"commands": own}));
}

#[test]
fn a_waiting_prompt_is_printed_when_the_session_takes_it() {
    let mut trial = Trial::new((80, 24));
    trial.typed("one").key(KeyCode::Enter).event(TurnEvent::State(State::Running));
    trial.typed("two").key(KeyCode::Enter).typed("three").key(KeyCode::Enter);
    assert!(trial.scrollback().contains("❯ one") && !trial.scrollback().contains("❯ two"));
    trial.key(KeyCode::Up);
    let uuid = trial.console.live.queue[0].uuid.clone();
    let line = json!({"type": "command_lifecycle", "command_uuid": uuid, "state": "started"});
    trial.event(TurnEvent::System(line));
    assert!(trial.scrollback().ends_with("|❯ two"), "{}", trial.scrollback());
    assert!(!trial.scrollback().contains("three"), "it was taken back");
}

#[test]
fn a_mistyped_command_is_not_sent_to_the_model() {
    let mut trial = Trial::new((80, 24));
    offers_review(&mut trial);
    trial.typed("/modle opus").key(KeyCode::Enter);
    assert!(trial.screen().contains("unknown command /modle: did you mean /model?"));
    assert_eq!(trial.console.editor.text(), "/modle opus");
    assert!(!trial.effects.iter().any(|effect| matches!(effect, Effect::Prompt(..))));
    // Paths, and the user's own commands, are for the session.
    for text in ["/etc/hosts is wrong", "/review it", "/mcp__search__find x"] {
        let mut trial = Trial::new((80, 24));
        offers_review(&mut trial);
        trial.typed(text).key(KeyCode::Enter);
        assert!(matches!(trial.effects.last(), Some(Effect::Prompt(..))), "{text}");
    }
}

#[test]
fn own_commands_are_completed_and_listed_before_the_first_prompt() {
    let mut trial = Trial::new((80, 24));
    offers_review(&mut trial);
    trial.typed("/rev");
    assert!(trial.screen().contains("|  /review  Review a change"), "{}", trial.screen());
    trial.key(KeyCode::Esc);
    trial.console.editor.set("");
    trial.typed("/help").key(KeyCode::Enter);
    assert!(trial.scrollback().contains("/review       Review a change"), "{}", trial.scrollback());
    assert_eq!(trial.scrollback().matches("/clear").count(), 1);
}

#[test]
fn the_output_of_an_own_command_is_shown_without_its_name() {
    let mut trial = Trial::new((80, 24));
    trial.typed("!seq 6; false").key(KeyCode::Enter);
    trial.take(Input::Shell("seq 6; false".into(), "1\n2\n3\n4\n5\n6\n".into(), 1));
    let shown = "|❯ !seq 6; false\n|  ⎿ 1\n|    2\n|    3\n|    4\n|    5\n|    6\n|  exit code 1";
    assert!(trial.scrollback().trim_end_matches("\n|").ends_with(shown), "{}", trial.scrollback());
}

#[test]
fn a_result_is_shown_without_what_is_for_the_model() {
    let no = "The user doesn't want to proceed with this tool use.";
    for (content, shown) in [
        (format!("{no} The tool use was rejected (eg. if it was a file edit, …"), "⎿ rejected"),
        (format!("{no} They said: use make"), "⎿ rejected: use make"),
        ("<tool_use_error>File does not exist.</tool_use_error>".into(), "⎿ File does not exist."),
    ] {
        let mut trial = Trial::new((80, 24));
        trial.says(json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {}}));
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": true});
        trial.result(result, None);
        assert!(trial.scrollback().ends_with(shown), "{}", trial.scrollback());
    }
}

#[test]
fn lists_are_answered_with_a_number_where_nothing_can_be_drawn() {
    let mut trial = Trial::new((80, 24));
    trial.console.facts.is_plain = true;
    trial.take(Input::Line("/model".into()));
    assert!(
        trial.scrollback().contains("|  3. sonnet, for everyday tasks"),
        "{}",
        trial.scrollback()
    );
    trial.take(Input::Line("3".into()));
    let asked = trial.effects.iter().rev().find_map(|effect| match effect {
        Effect::Request(_, body) => Some(body["model"].clone()),
        _ => None,
    });
    assert_eq!(asked, Some(json!("sonnet")));
    // A question says how a line answers it, and a terminal shows what is typed by itself.
    trial.console.facts.shows_typing = true;
    trial.take(Input::Line("/vi".into()));
    assert!(!trial.scrollback().contains("/vi"), "{}", trial.scrollback());
    trial.asks("Bash", json!({"command": "make"}), Vec::new());
    assert!(trial.scrollback().contains("type a number, y or n"), "{}", trial.scrollback());
    trial.take(Input::Line("n".into()));
    trial.take(Input::Sessions(vec![Choice::new("3f2b", "Write the docs", "2 h")]));
    trial.take(Input::Line(String::new()));
    assert!(trial.console.overlay.is_none());
}

#[test]
fn commands_about_the_session_are_tables() {
    let mut trial = Trial::new((80, 24));
    trial.typed("/context").key(KeyCode::Enter);
    let categories = json!([
        {"name": "System prompt", "tokens": 306},
        {"name": "Free space", "tokens": 963_891},
    ]);
    let usage = json!({"categories": categories, "totalTokens": 3109, "maxTokens": 1_000_000});
    answer(&mut trial, "context-show", usage);
    trial.typed("/cost").key(KeyCode::Enter);
    let text = "Total cost: $0.0266\nTotal duration (API): 4s\nUsage by model:\n    m: 1 input";
    answer(&mut trial, "cost", json!({"text": text}));
    insta::assert_snapshot!(trial.scrollback(), @r"
    |
    |❯ /context
    |  System prompt        306    0.0%
    |  Free space       963,891   96.4%
    |
    |❯ /cost
    |  Total cost            $0.00
    |  Total duration (API)  4s
    ");
    assert!(trial.screen().contains("opus-5-5 · 0% of 1M · $0.00"), "{}", trial.screen());
}

#[test]
fn giving_up_on_an_endpoint_that_does_not_answer_says_what_to_check() {
    let mut trial = Trial::new((80, 24));
    trial.typed("one").key(KeyCode::Enter).event(TurnEvent::State(State::Running));
    trial.event(TurnEvent::Retry {
        attempt: 4,
        most: 10,
        wait: std::time::Duration::from_secs(3),
        error: ApiError::Unreachable { host: "127.0.0.1:1".into(), why: Unreachable::Refused },
    });
    trial.ends(End::InterruptedText);
    assert!(trial.scrollback().contains("check the network and ANTHROPIC_BASE_URL"));
}

#[test]
fn files_of_the_project_are_named_from_the_project() {
    let mut trial = Trial::new((80, 24));
    for (id, path) in [("a", "/home/dev/app/src/main.rs"), ("b", "/home/dev/apple/x.rs")] {
        trial.says(
            json!({"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}),
        );
    }
    let screen = trial.screen();
    assert!(
        screen.contains("Read src/main.rs") && screen.contains("Read /home/dev/apple/x.rs"),
        "{screen}"
    );
}
