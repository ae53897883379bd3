//! Conversations that outgrow the window.

use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_agent::turn::With;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::hook;
use crate::bench::script;

/// The window of these tests, in tokens.
const WINDOW: u64 = 12_000;

fn narrow(setup: Setup) -> Setup {
    Setup { with: With { own_window: Some(WINDOW), ..With::default() }, ..setup }
}

/// About the tokens of a request, as the mock counts them.
fn tokens(body: &Value) -> u64 {
    body.to_string().len() as u64 / 4
}

fn boundaries(lines: &[Value]) -> usize {
    lines.iter().filter(|line| line["subtype"] == "compact_boundary").count()
}

#[test]
fn three_hundred_turns_stay_below_the_window_and_resume() {
    let words = "lorem ipsum dolor sit amet ".repeat(60);
    let bench = Bench::new(&script(&[
        json!({"contains": "write a summary", "text": "SUMMARY of the work"}),
        json!({"contains": "look at", "blocks": [
            {"type": "tool_use", "name": "Bash", "input": {"command": "echo seen"}},
        ]}),
        json!({"text": words}),
    ]));
    let prompts: Vec<String> = (0..300)
        .map(|number| match number % 7 {
            0 => format!("look at number {number}"),
            _ => format!("prompt {number} {words}"),
        })
        .collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let ran = bench.run(narrow(bench.setup()), &prompts);
    assert_eq!(ran.ends().len(), prompts.len());
    assert!(ran.ends().iter().all(|ended| !ended.is_error()));
    bench.is_sound().unwrap();
    assert!(boundaries(&bench.lines()) > 15);
    let largest = bench.mock.asked().iter().map(|asked| tokens(&asked.body)).max().unwrap();
    assert!(largest < WINDOW, "{largest} tokens");
    let before = bench.mock.asked().len();
    bench.run(narrow(bench.resumed()), &["and now?"]);
    let first = &bench.mock.asked()[before].body;
    assert!(tokens(first) < WINDOW);
    assert!(first.to_string().contains("SUMMARY of the work"));
    bench.is_sound().unwrap();
}

#[test]
fn what_is_sent_after_a_compaction_is_what_the_log_says() {
    let bench = Bench::new(&script(&[
        json!({"contains": "write a summary", "text": "SUMMARY"}),
        json!({"text": "word ".repeat(9_000)}),
    ]));
    bench.run(narrow(bench.setup()), &["one", "two"]);
    assert_eq!(boundaries(&bench.lines()), 1);
    let sent = bench.messages().pop().unwrap();
    let text = json!(sent).to_string();
    assert!(text.contains("SUMMARY") && text.contains("two"));
    let before = bench.mock.asked().len();
    bench.run(narrow(bench.resumed()), &["three"]);
    let resumed = &bench.messages()[before];
    assert_eq!(&resumed[..sent.len().min(2)], &sent[..sent.len().min(2)]);
}

#[test]
fn without_a_summary_of_the_model_the_prompts_stay() {
    let bench = Bench::new(&script(&[
        json!({"contains": "write a summary", "fault": "400"}),
        json!({"contains": "remember", "text": "word ".repeat(9_000)}),
        json!({"text": "done"}),
    ]));
    let ran = bench.run(narrow(bench.setup()), &["remember the blue door", "go on"]);
    assert_eq!(ran.ends()[1].text, "done");
    let last = json!(bench.messages().pop().unwrap()).to_string();
    assert!(last.contains("remember the blue door") && last.contains("go on"));
    let told = ran
        .events
        .iter()
        .any(|event| matches!(event, TurnEvent::Told(text) if text.contains("no summary")));
    assert!(told);
}

#[test]
fn hooks_may_forbid_a_compaction_and_add_to_its_question() {
    let rules = script(&[
        json!({"contains": "write a summary", "text": "SUMMARY"}),
        json!({"text": "hello"}),
    ]);
    let bench = Bench::new(&rules);
    let refuses = json!({"PreCompact": hook("echo no >&2; exit 2")});
    let ran = bench.run(bench.with_hooks(&refuses), &["hi", "/compact"]);
    assert_eq!(boundaries(&bench.lines()), 0);
    assert!(
        matches!(&ran.ends()[1].end, recto_agent::turn::End::Local(Some(name)) if name == "compact")
    );
    let bench = Bench::new(&rules);
    let adds = json!({"PreCompact": hook("echo keep the names")});
    bench.run(bench.with_hooks(&adds), &["hi", "/compact the plan"]);
    assert_eq!(boundaries(&bench.lines()), 1);
    let asked = json!(bench.messages().pop().unwrap()).to_string();
    assert!(asked.contains("keep the names") && asked.contains("the plan"));
}
