//! Words for subagents that were started before.

use std::fs;

use recto_agent::turn::TurnEvent;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::call;
use crate::bench::script;

fn started(id: &str, prompt: &str) -> Value {
    let input = json!({
        "description": "some work",
        "prompt": prompt,
        "run_in_background": true,
        "name": "helper",
    });
    call(id, "Agent", input)
}

fn message(id: &str, to: &str, text: &str) -> Value {
    call(id, "SendMessage", json!({"to": to, "message": text, "summary": "more work"}))
}

#[test]
fn a_subagent_that_has_reported_goes_on_with_what_it_knows() {
    // It works until the turn is over that started it.
    let wait = |turn: usize| {
        let command =
            format!("while ! test -e go{turn}.txt; do sleep 0.02; done; echo over-{turn}");
        call(&format!("toolu_s{turn}"), "Bash", json!({"command": command}))
    };
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [started("toolu_a", "outer work")]}),
        json!({"last": "outer work", "blocks": [wait(1)]}),
        json!({"contains": "over-1", "text": "first report"}),
        json!({"contains": "launched", "text": "it works"}),
        json!({"contains": "first report", "blocks": [message("toolu_b", "helper", "more please")]}),
        json!({"last": "more please", "blocks": [wait(2)]}),
        json!({"contains": "over-2", "text": "second report"}),
        json!({"contains": "continues in the background", "text": "asked again"}),
        json!({"contains": "second report", "text": "all done"}),
    ]));
    let app = bench.app();
    let mut turn = 0;
    let ran = bench.steer(bench.setup(), &["go"], |event, _| {
        if let TurnEvent::Ended(_) = event {
            turn += 1;
            fs::write(app.join(format!("go{turn}.txt")), "").unwrap();
        }
    });
    let texts: Vec<&str> = ran.ends().iter().map(|ended| ended.text.as_str()).collect();
    assert_eq!(texts, ["it works", "asked again", "all done"]);
    let is_second = |messages: &&Vec<Value>| {
        json!(messages.last()).to_string().contains("more please")
            && !json!(messages).to_string().contains("toolu_b")
    };
    let messages = bench.messages();
    let second = json!(messages.iter().find(is_second).unwrap()).to_string();
    assert!(second.contains("outer work") && second.contains("first report"), "{second}");
    let statuses: Vec<Value> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::System(line) if line["subtype"] == "task_notification" => {
                Some(line["summary"].clone())
            }
            _ => None,
        })
        .collect();
    assert_eq!(statuses, ["first report", "second report"]);
    bench.is_sound().unwrap();
}

#[test]
fn a_message_to_nobody_says_so() {
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [
            message("toolu_a", "nosuch", "hi"),
            call("toolu_b", "ListAgents", json!({})),
        ]}),
        json!({"text": "done"}),
    ]));
    bench.run(bench.setup(), &["go"]);
    let sent = json!(bench.messages().pop().unwrap()).to_string();
    assert!(sent.contains("No agent named 'nosuch' is reachable."), "{sent}");
    assert!(sent.contains("No reachable agents"), "{sent}");
}

#[test]
fn a_subagent_that_works_reads_a_message_with_its_next_results() {
    // The subagent works until the turn is over in which the message was sent.
    let wait = "while ! test -e go.txt; do sleep 0.02; done; echo over";
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [started("toolu_a", "outer work")]}),
        json!({"last": "outer work", "blocks": [call("toolu_s", "Bash", json!({"command": wait}))]}),
        json!({"contains": "launched", "blocks": [message("toolu_b", "helper", "take the blue one")]}),
        json!({"contains": "with its next results", "text": "sent"}),
        json!({"contains": "take the blue one", "text": "the blue one it is"}),
        json!({"contains": "task-notification", "text": "all done"}),
    ]));
    let app = bench.app();
    let ran = bench.steer(bench.setup(), &["go"], |event, _| {
        if let TurnEvent::Ended(_) = event {
            fs::write(app.join("go.txt"), "").unwrap();
        }
    });
    let texts: Vec<&str> = ran.ends().iter().map(|ended| ended.text.as_str()).collect();
    assert_eq!(texts, ["sent", "all done"]);
    let sent = json!(bench.messages()).to_string();
    assert!(sent.contains("<result>the blue one it is</result>"), "{sent}");
    bench.is_sound().unwrap();
}
