//! Sessions that go on: broken ones, large ones, old ones, from an earlier point, elsewhere.

use std::fs;

use recto_agent::api::Client;
use recto_agent::turn::Cut;
use recto_agent::turn::Resumed;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use recto_testkit::SessionBuilder;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::ID;
use crate::bench::Ran;
use crate::bench::call;
use crate::bench::script;
use crate::support::endpoint_of;

/// What the user is told.
fn told(ran: &Ran) -> Vec<&str> {
    let told = ran.events.iter().filter_map(|event| match event {
        TurnEvent::Told(text) => Some(text.as_str()),
        _ => None,
    });
    told.collect()
}

impl Bench {
    /// The last request.
    fn last(&self) -> String {
        json!(self.messages().last().unwrap()).to_string()
    }

    fn write_log(&self, bytes: &[u8]) {
        fs::create_dir_all(self.log().parent().unwrap()).unwrap();
        fs::write(self.log(), bytes).unwrap();
    }
}

fn has_text(line: &str, text: &str) -> bool {
    line.contains(r#""type":"assistant""#) && line.contains(text)
}

#[test]
fn a_broken_log_goes_on_with_what_a_repair_brings_back_and_keeps_its_lines() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "text": "first answer"}),
        json!({"nth": 2, "text": "second answer"}),
        json!({"text": "gone on"}),
    ]));
    bench.run(bench.setup(), &["first prompt", "second prompt"]);
    // Two answers have one uuid, so clients see the later one alone; and a line is torn.
    let text = fs::read_to_string(bench.log()).unwrap();
    let uuid_of = |words: &str| {
        let line = text.lines().find(|line| has_text(line, words)).unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        line["uuid"].as_str().unwrap().to_owned()
    };
    let (first, second) = (uuid_of("first answer"), uuid_of("second answer"));
    let twice = |line: &str| match has_text(line, "first answer") {
        true => line.replace(&first, &second),
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.lines().map(twice).collect();
    let broken = format!("{}\n{{\"type\":\"user\",\"uuid\":\n", lines.join("\n"));
    bench.write_log(broken.as_bytes());

    let ran = bench.run(bench.resumed(), &["third prompt"]);
    let [words] = told(&ran)[..] else { panic!("{:?}", told(&ran)) };
    assert!(words.starts_with("repaired for this run: "), "{words}");
    assert!(words.contains("1 repeated-uuid") && words.contains("1 damaged-line"), "{words}");
    let sent = bench.last();
    for word in ["first prompt", "first answer", "second prompt", "second answer", "third prompt"] {
        assert!(sent.contains(word), "{word}: {sent}");
    }
    assert!(fs::read_to_string(bench.log()).unwrap().starts_with(&broken));

    bench.run(bench.resumed(), &["fourth prompt"]);
    let sent = bench.last();
    assert!(sent.contains("first answer") && sent.contains("third prompt"), "{sent}");
    bench.is_sound().unwrap();
}

#[test]
fn a_large_session_is_made_to_fit_and_its_log_keeps_everything() {
    let shout = |id: &str, letter: char| {
        let command = format!("head -c 8000 /dev/zero | tr '\\0' {letter}");
        json!([call(id, "Bash", json!({"command": command}))])
    };
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": shout("toolu_a", 'a')}),
        json!({"nth": 2, "text": "first answer"}),
        json!({"nth": 3, "blocks": shout("toolu_b", 'b')}),
        json!({"nth": 4, "text": "second answer"}),
        json!({"text": "gone on"}),
    ]));
    bench.run(bench.setup(), &["first prompt", "second prompt"]);
    let before = fs::read(bench.log()).unwrap();
    let fitted = |tokens: u64| {
        let mut resumed = Resumed::read(&bench.log(), None, None).unwrap();
        assert_eq!(resumed.fit(tokens), tokens < 4000);
        let setup = Setup { resumed: Some(resumed), log: Some(bench.log()), ..bench.setup() };
        let ran = bench.run(setup, &["third prompt"]);
        let told = told(&ran).join("\n");
        (bench.last(), told)
    };
    let (sent, words) = fitted(1_000_000);
    assert!(sent.contains("aaaa") && sent.contains("bbbb") && words.is_empty(), "{words}");
    // The results of the last turn stay as long as something else can go.
    let (sent, words) = fitted(3500);
    assert!(!sent.contains("aaaa") && sent.contains("bbbb"), "{words}");
    assert!(sent.contains("A result of 80") && sent.contains("first prompt"), "{sent}");
    assert!(
        words.contains("results replaced with notes: 1, oldest messages omitted: 0;"),
        "{words}"
    );
    let (sent, words) = fitted(20);
    assert!(!sent.contains("first prompt") && sent.contains("third prompt"), "{sent}");
    assert!(words.contains("the log still has everything"), "{words}");
    assert!(fs::read(bench.log()).unwrap().starts_with(&before));
    bench.is_sound().unwrap();
}

#[test]
fn a_session_goes_on_from_an_earlier_message() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            {"type": "text", "text": "I look"},
            call("toolu_a", "Read", json!({"file_path": "a.txt"})),
            call("toolu_b", "Read", json!({"file_path": "none.txt"})),
        ]}),
        json!({"nth": 2, "text": "first answer"}),
        json!({"nth": 3, "text": "second answer"}),
        json!({"text": "gone on"}),
    ]));
    bench.run(bench.setup(), &["first prompt", "second prompt"]);
    let whole = fs::read(bench.log()).unwrap();
    let said: Vec<Value> = bench
        .lines()
        .into_iter()
        .filter(|line| matches!(line["type"].as_str(), Some("user" | "assistant")))
        .collect();
    for line in &said {
        bench.write_log(&whole);
        let uuid = line["uuid"].as_str().unwrap();
        let cut = Cut { at: uuid.to_owned(), drops: None };
        let resumed = Resumed::read(&bench.log(), None, Some(&cut)).unwrap();
        let setup = Setup { resumed: Some(resumed), log: Some(bench.log()), ..bench.setup() };
        bench.run(setup, &["third prompt"]);
        bench.is_sound().unwrap();
        let sent = bench.last();
        assert!(sent.contains("first prompt") && sent.contains("third prompt"), "{sent}");
        let is_late = sent.contains("second prompt");
        let is_meant = said.iter().rev().take(2).any(|last| last["uuid"] == line["uuid"]);
        assert_eq!(is_late, is_meant, "{sent}");
        // The next line hangs on the message, or on what was put behind it.
        let prompt = bench.lines().into_iter().rev().find(|line| line["type"] == "user").unwrap();
        let parent = prompt["parentUuid"].as_str().unwrap().to_owned();
        let between = bench.lines().into_iter().find(|line| line["uuid"] == parent).unwrap();
        assert!(parent == uuid || between["parentUuid"] == uuid, "{between}");
        // Whoever resumes it next goes on here.
        bench.run(bench.resumed(), &["fourth prompt"]);
        assert!(bench.last().contains("third prompt"));
        bench.is_sound().unwrap();
    }
    let none = Cut { at: ID.to_owned(), drops: None };
    let error = Resumed::read(&bench.log(), None, Some(&none)).unwrap_err();
    assert_eq!(error.to_string(), format!("No message found with message.uuid of: {ID}"));
}

#[test]
fn a_turn_is_left_out_only_if_it_is_the_one_that_was_meant() {
    let bench = Bench::new(&script(&[json!({"text": "an answer"})]));
    bench.run(bench.setup(), &["one", "two", "three"]);
    let lines = bench.lines();
    let uuids = |kind: &str| -> Vec<String> {
        let of_kind = lines.iter().filter(|line| line["type"] == kind);
        of_kind.map(|line| line["uuid"].as_str().unwrap().to_owned()).collect()
    };
    let (prompts, answers) = (uuids("user"), uuids("assistant"));
    let read = |at: &str, drops: &str| {
        let cut = Cut { at: at.to_owned(), drops: Some(drops.to_owned()) };
        Resumed::read(&bench.log(), None, Some(&cut)).map_err(|error| error.to_string())
    };
    assert!(read(&answers[1], &prompts[2]).is_ok());
    for (at, drops) in [
        (&answers[1], &prompts[1]),
        (&answers[0], &prompts[1]),
        (&answers[2], &prompts[2]),
        (&answers[1], &ID.to_owned()),
    ] {
        let why = read(at, drops).unwrap_err();
        assert!(why.starts_with("Resume rejected by --resume-drops-turn: "), "{why}");
    }
}

#[test]
fn thinking_that_nobody_there_can_check_is_left_out_and_that_is_told() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [
            {"type": "thinking", "thinking": "a secret thought"},
            {"type": "text", "text": "first answer"},
        ]}),
        json!({"text": "gone on"}),
    ]));
    bench.run(bench.setup(), &["first prompt"]);
    let ran = bench.run(bench.resumed(), &["second prompt"]);
    assert!(told(&ran).is_empty() && bench.last().contains("a secret thought"));
    // Another endpoint.
    let mut endpoint = endpoint_of(&bench.mock.base_url());
    endpoint.capabilities.name = "other".into();
    let client = Client::new(endpoint).unwrap();
    let ran = bench.run(Setup { client, ..bench.resumed() }, &["third prompt"]);
    assert!(!bench.last().contains("a secret thought"));
    assert_eq!(told(&ran), ["omitted thinking: this endpoint cannot verify its signature"]);
    // Another model.
    let model = "claude-haiku-4-5";
    let resumed = Resumed::read(&bench.log(), Some(model), None).unwrap();
    let setup = Setup { resumed: Some(resumed), model: Some(model.into()), ..bench.resumed() };
    let ran = bench.run(setup, &["fourth prompt"]);
    assert!(!bench.last().contains("a secret thought"), "{}", bench.last());
    assert!(told(&ran)[0].starts_with("omitted thinking signed by another model"));
    bench.is_sound().unwrap();
}

#[test]
fn tools_of_older_clients_are_answered_where_a_session_knows_them() {
    let calls = json!([
        call("toolu_a", "LS", json!({"path": "."})),
        call(
            "toolu_b",
            "MultiEdit",
            json!({"file_path": "a.txt", "edits": [
                {"old_string": "alpha", "new_string": "ALPHA"},
            ]})
        ),
        call("toolu_c", "Grep", json!({"pattern": "beta"})),
        call(
            "toolu_d",
            "Task",
            json!({"description": "d", "prompt": "sub work", "run_in_background": false})
        ),
        call("toolu_e", "BashOutput", json!({"bash_id": "b1"})),
        call("toolu_f", "KillShell", json!({"shell_id": "b1"})),
    ]);
    let rules = script(&[
        json!({"last": "sub work", "text": "the subagent is done"}),
        json!({"nth": 1, "blocks": calls}),
        json!({"text": "gone on"}),
    ]);
    let answers = |bench: &Bench| -> Vec<(String, bool)> {
        let lines = bench.lines();
        let contents = lines.iter().filter_map(|line| line["message"]["content"].as_array());
        let results = contents.flatten().filter(|block| block["type"] == "tool_result");
        let is_ours = |block: &&Value| block["tool_use_id"].as_str().unwrap().starts_with("toolu_");
        let mut all: Vec<(String, bool)> = results
            .filter(is_ours)
            .filter(|block| block["tool_use_id"].as_str().unwrap().len() == "toolu_a".len())
            .map(|block| (block["tool_use_id"].to_string(), block["content"].to_string()))
            .map(|(id, text)| (id, text.contains("No such tool available")))
            .collect();
        all.sort();
        all
    };
    let old = Bench::new(&rules);
    let mut built = SessionBuilder::new(ID, recto_testkit::Client::V2_0_50).prompt("first prompt");
    for (name, input) in [
        ("LS", r#"{"path":"."}"#),
        ("MultiEdit", r#"{"file_path":"a.txt","edits":[]}"#),
        ("Grep", r#"{"pattern":"x"}"#),
        ("Task", r#"{"description":"d","prompt":"p"}"#),
        ("BashOutput", r#"{"bash_id":"b1"}"#),
        ("KillShell", r#"{"shell_id":"b1"}"#),
    ] {
        built = built.tool(name, input, "something");
    }
    old.write_log(built.answer("first answer").bytes());
    old.run(old.resumed(), &["second prompt"]);
    let known = answers(&old);
    assert_eq!(known.len(), 6);
    assert!(known.iter().all(|(_, is_unknown)| !is_unknown), "{known:?}");
    assert_eq!(fs::read_to_string(old.app().join("a.txt")).unwrap(), "ALPHA\nbeta\n");
    old.is_sound().unwrap();
    // A new session has the tools of today.
    let new = Bench::new(&rules);
    new.run(new.setup(), &["first prompt"]);
    let unknown: Vec<bool> = answers(&new).iter().map(|(_, is_unknown)| *is_unknown).collect();
    assert_eq!(unknown, [true, true, true, false, true, false]);
}

#[test]
fn a_log_that_lost_its_first_prompt_goes_on() {
    let bench = Bench::new(&script(&[json!({"text": "answered"})]));
    bench.run(bench.setup(), &["first prompt"]);
    let text = fs::read_to_string(bench.log()).unwrap();
    let is_kept = |line: &&str| line.contains(r#""type":"assistant""#);
    let rest: String = text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    bench.write_log(rest.as_bytes());
    bench.run(bench.resumed(), &["second prompt"]);
    let sent = bench.last();
    assert!(sent.contains("The beginning of this conversation is lost"), "{sent}");
    assert!(sent.contains("answered") && sent.contains("second prompt"), "{sent}");
    bench.is_sound().unwrap();
}
