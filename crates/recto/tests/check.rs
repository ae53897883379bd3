//! `recto check`.

use std::fs;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

/// Three damaged logs and one that is whole.
fn damaged() -> TestHome {
    let test = TestHome::with_sessions();
    let fix = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Hello")
        .raw("{\"type\":\"user\",\"uuid\"\n")
        .raw("[1,2]\n\0\0\0\0\n\"text\"\n")
        .unknown("hologram", ("depth", "3"))
        .raw("{\"type\":\"mode\",\"mode\":\"a\",\"mode\":\"b\"}\n{\"a\":1}\n")
        .raw(b"{\"type\":\"mode\",\"mode\":\"\xff\"}\n")
        .raw("{\"type\":\"assistant\",\"uuid\":\"x\"}\n")
        .answer("Hello to you.")
        .raw("{\"type\":\"assistant\",\"mess");
    test.home.add(&fix, hours_ago(2));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325)
        .prompt("Find")
        .raw("garbage\n");
    test.home.add(&agent, hours_ago(3));
    test
}

#[test]
fn damage_is_told_by_line_and_byte() {
    let test = damaged();
    assert_snapshot!(test.run(&["check", "3f2a"]).shown(), @r#"
    [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl
      line 3, byte 523: not-json: the line is not JSON: a write was torn or two were mixed (expected ':' at byte 21)
      line 4, byte 545: not-object: the line is JSON but not an object: clients 2.1.29 and 2.1.200 stumble over it
      line 5, byte 551: nul-bytes: the line contains NUL bytes, as a crash leaves them (expected '{' at byte 0)
      line 6, byte 556: not-object: the line is JSON but not an object: clients 2.1.29 and 2.1.200 stumble over it
      line 10, byte 692: invalid-utf8: a string contains bytes that are not UTF-8 (at byte 23)
      line 11, byte 719: no-message: a line of the conversation has no message
      line 15, byte 1,646: torn-line: the last line is not finished (expected '"' at byte 25)
      line 11: no-parent: a resume would lose 1 message from line 11 on: an answer that follows nothing
      line 11: no-content: the line has no message: clients before 2.1.300 refuse the session
      resume brings back: 2.0.50 66.6 %, 2.0.76 66.6 %, 2.1.29 66.6 %, 2.1.100 66.6 %, 2.1.200 66.6 %, latest 66.6 %; 2 of 3 messages would be sent, about 11 of 11 tokens
      lost by turn: 1 of turn 1 (line 2)
      branches: line 11 sends 1, broken at line 11, line 12 sends 2, the current one
    [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/subagents/agent-a1b2c3d4e5f60718.jsonl
      line 2, byte 344: not-json: the line is not JSON: a write was torn or two were mixed (expected '{' at byte 0)
    17 lines in 2 logs: 8 damaged, 1 session with problems (1 message lost on resume), 3 notes
    --- exit 1
    "#);
}

#[test]
fn notes_are_shown_when_asked_for() {
    let test = damaged();
    assert_snapshot!(test.run(&["check", "3f2a", "--notes"]).shown(), @r#"
    [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl
      line 3, byte 523: not-json: the line is not JSON: a write was torn or two were mixed (expected ':' at byte 21)
      line 4, byte 545: not-object: the line is JSON but not an object: clients 2.1.29 and 2.1.200 stumble over it
      line 5, byte 551: nul-bytes: the line contains NUL bytes, as a crash leaves them (expected '{' at byte 0)
      line 6, byte 556: not-object: the line is JSON but not an object: clients 2.1.29 and 2.1.200 stumble over it
      line 7, byte 563: unknown-type: recto does not know this type of line (hologram)
      line 8, byte 646: duplicate-key: a key occurs twice; the last one counts (mode)
      line 9, byte 684: no-type: the object has no type
      line 10, byte 692: invalid-utf8: a string contains bytes that are not UTF-8 (at byte 23)
      line 11, byte 719: no-message: a line of the conversation has no message
      line 15, byte 1,646: torn-line: the last line is not finished (expected '"' at byte 25)
      line 11: no-parent: a resume would lose 1 message from line 11 on: an answer that follows nothing
      line 11: no-content: the line has no message: clients before 2.1.300 refuse the session
      resume brings back: 2.0.50 66.6 %, 2.0.76 66.6 %, 2.1.29 66.6 %, 2.1.100 66.6 %, 2.1.200 66.6 %, latest 66.6 %; 2 of 3 messages would be sent, about 11 of 11 tokens
      lost by turn: 1 of turn 1 (line 2)
      branches: line 11 sends 1, broken at line 11, line 12 sends 2, the current one
    [claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/subagents/agent-a1b2c3d4e5f60718.jsonl
      line 2, byte 344: not-json: the line is not JSON: a write was torn or two were mixed (expected '{' at byte 0)
    17 lines in 2 logs: 8 damaged, 1 session with problems (1 message lost on resume), 3 notes
    --- exit 1
    "#);
}

#[test]
fn all_logs_are_summed_up() {
    let test = damaged();
    assert_snapshot!(test.run(&["check", "--all"]).shown(), @"
    	damaged	2.0.50	2.1.29	latest
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718	7 of 15 lines	66.6 %	66.6 %	66.6 %	1 not-json, 1 torn-line, 2 not-object, 1 nul-bytes, 1 invalid-utf8, 1 no-message, 1 no-content, 1 no-parent
    agent-a1b2c3d4e5f60718	1 of 2 lines				1 not-json
    26 lines in 6 logs: 8 damaged, 1 session with problems (1 message lost on resume), 3 notes
    --- exit 1
    ");
}

#[test]
fn problems_as_json() {
    let test = damaged();
    assert_snapshot!(test.run(&["check", "agent-a1b2c3d4e5f60718", "--json"]).shown(), @r#"
    {"log":"agent-a1b2c3d4e5f60718","path":"[claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/subagents/agent-a1b2c3d4e5f60718.jsonl","line":2,"offset":344,"kind":"not-json","severity":"damage","detail":"expected '{' at byte 0"}
    --- exit 1
    "#);
    let all = test.run(&["check", "--all", "--json", "--notes"]).json();
    let of_lines = all.iter().filter(|problem| problem["offset"].is_u64());
    let damage = of_lines.clone().filter(|problem| problem["severity"] == "damage").count();
    assert_eq!((of_lines.count(), damage), (11, 8));
    let reaches = all.iter().filter(|problem| problem["kind"] == "reach");
    let kept: Vec<f64> =
        reaches.map(|row| row["reach"][2]["percent_kept"].as_f64().unwrap()).collect();
    assert_eq!(kept, [66.6, 100.0, 100.0]);
}

#[test]
fn whole_logs_are_exit_code_0() {
    let test = TestHome::with_sessions();
    for session in [FIX, DOCS, OLD] {
        let run = test.run(&["check", session]);
        assert_eq!(run.code, 0, "{}", run.shown());
    }
    let run = test.run(&["check", "--all", "--json"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
}

/// What the names of the recorded variants promise.
#[test]
fn damage_made_by_hand_is_found_in_recorded_logs() {
    let test = TestHome::empty();
    let edited = repository().join("fixtures/corpus/edit");
    let mut found = Vec::new();
    for version in ["2.0.50", "2.1.29", "2.1.325"] {
        let mut variants: Vec<_> = fs::read_dir(edited.join(version))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        variants.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        variants.sort();
        for path in variants {
            let run = test.run(&["check", "--json", path.to_str().unwrap()]);
            let rows = run.json();
            // A broken link that costs nothing is told, and is a note.
            let damage = rows.iter().filter(|one| one["severity"] == "damage");
            let mut kinds: Vec<String> =
                damage.map(|one| one["kind"].as_str().unwrap().to_owned()).collect();
            kinds.dedup();
            assert_eq!(run.code, i32::from(!kinds.is_empty()), "{}", path.display());
            if !kinds.is_empty() {
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                found.push(format!("{version} {name}: {}", kinds.join(", ")));
            }
        }
    }
    assert_snapshot!(found.join("\n"), @"
    2.0.50 assistant_bad_parent_late: missing-parent, reach
    2.0.50 cycle: cycle, reach
    2.0.50 garbage_lines: not-json
    2.0.50 no_parent_field: no-parent, reach
    2.0.50 no_prompt_unchained: missing-parent, reach
    2.0.50 no_tool_result_unchained: missing-parent, reach
    2.0.50 not_object_lines: not-object, null-line, reach
    2.0.50 nul_bytes: nul-bytes
    2.0.50 progress_in_chain: reach
    2.0.50 prompt_bad_parent: missing-parent, reach
    2.0.50 prompt_bad_parent_late: missing-parent, reach
    2.0.50 thinking_unsigned: unsigned-thinking
    2.0.50 unknown_in_chain: unknown-in-chain, reach
    2.1.29 assistant_bad_parent_late: missing-parent, reach
    2.1.29 cycle: cycle, reach
    2.1.29 garbage_lines: not-json
    2.1.29 no_parent_field: no-parent, reach
    2.1.29 not_object_lines: not-object, null-line, reach
    2.1.29 prompt_bad_parent: missing-parent, reach
    2.1.29 prompt_bad_parent_late: missing-parent, reach
    2.1.29 thinking_unsigned: unsigned-thinking
    2.1.29 unknown_in_chain: unknown-in-chain, reach
    2.1.325 cycle: cycle
    2.1.325 garbage_lines: not-json
    2.1.325 minimal_no_timestamp: not-resumed, reach
    2.1.325 no_parent_field: no-parent, reach
    2.1.325 not_object_lines: not-object, null-line
    2.1.325 prompt_bad_parent_late: missing-parent, reach
    ");
}
