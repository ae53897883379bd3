//! Commands about one session: `stats`, `turns`, `tools`, `files`, `agents`,
//! `history`, `export`.

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A session with a subagent, an edit and a failure.
pub(crate) fn working() -> TestHome {
    let test = TestHome::empty();
    let task = r#"{"description":"Find callers","prompt":"Find all callers of parse().","subagent_type":"Explore"}"#;
    let started = r#"{"status":"completed","prompt":"Find all callers of parse().","agentId":"a1b2c3d4e5f60718","agentType":"Explore","content":[{"type":"text","text":"Two."}],"totalDurationMs":900,"totalTokens":40,"totalToolUseCount":1}"#;
    let edited = r#"{"filePath":"/home/dev/app/src/parse.rs","oldString":"a","newString":"b","originalFile":"a\n","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":2,"lines":["-a","+b","+c"]}],"userModified":false,"replaceAll":false}"#;
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Repair the parser")
        .tool_with_detail("Agent", task, "Two.", started)
        .tool_with_detail(
            "Edit",
            r#"{"file_path":"/home/dev/app/src/parse.rs","old_string":"a","new_string":"b"}"#,
            "updated",
            edited,
        )
        .failed_tool("Bash", r#"{"command":"cargo test"}"#, "1 failed")
        .answer("Repaired, but a test fails.")
        .prompt("Which one?")
        .answer("`empty_line`.")
        .custom_title("Parser");
    test.home.add(&log, hours_ago(2));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325)
        .prompt("Find all callers of parse().")
        .tool("Grep", r#"{"pattern":"parse\\("}"#, "a.rs:1")
        .answer("Two.");
    test.home.add(&agent, hours_ago(2));
    let command = r#"{"display":"/model","pastedContents":{},"timestamp":1794800000000,"project":"/home/dev/app"}"#;
    let prompt = format!(
        r#"{{"display":"Repair the parser","pastedContents":{{}},"timestamp":1794816000000,"project":"/home/dev/app","sessionId":"{FIX}"}}"#
    );
    test.home.write("history.jsonl", format!("{command}\n{prompt}\n"));
    test
}

#[test]
fn a_session_in_numbers() {
    let test = working();
    assert_snapshot!(test.run(&["stats", "latest"]).shown(), @"
    Parser
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718

    goal           Repair the parser
    last answer    `empty_line`.
    time           2026-11-16 08:00:00 to 2026-11-16 08:00:13
    working        8.0s
    turns          2 turns, 2 prompts
    tools          3 calls, 1 failed
    files          1 changed (+2 -1), 0 only read
    tokens         claude-opus-5-5: 5 messages, 40 in, 200 out, 45,000 cached, 600 written to cache
    cost           $0.02
    subagents      1
    lines          user 5, assistant 5, queue-operation 2, last-prompt 2, mode 2, custom-title 1
    blocks         tool_use 3, tool_result 3, text 2
    stop reasons   tool_use 3, end_turn 2
    versions       2.1.325 10
    prompts        1. Repair the parser
                   2. Which one?
    --- exit 0
    ");
    assert_snapshot!(test.run(&["stats", "latest", "--json"]).shown(), @r#"
    {"id":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","title":"Parser","goal":"Repair the parser","last_output":"`empty_line`.","project":"-home-dev-app","project_name":"app","cwd":"/home/dev/app","branch":"main","model":"claude-opus-5-5","version":"2.1.325","subagent":false,"started":"2026-11-16T08:00:00.000Z","ended":"2026-11-16T08:00:13.000Z","working_ms":8000,"lines":17,"damaged_lines":0,"turns":2,"prompts":2,"messages":5,"tool_calls":3,"failed_tool_calls":1,"open_tool_calls":0,"files_changed":1,"files_read":0,"lines_added":2,"lines_removed":1,"compactions":0,"agents":1,"interrupts":0,"api_errors":0,"pending":null,"tokens":{"input":40,"output":200,"cache_creation":600,"cache_creation_5m":0,"cache_creation_1h":0,"cache_read":45000},"models":[{"model":"claude-opus-5-5","messages":5,"input_tokens":40,"output_tokens":200,"cache_creation_input_tokens":600,"cache_read_input_tokens":45000,"cache_creation_5m_tokens":0,"cache_creation_1h_tokens":0,"cache_hit_percent":98.6}],"entries":[{"kind":"user","lines":5},{"kind":"assistant","lines":5},{"kind":"queue-operation","lines":2},{"kind":"last-prompt","lines":2},{"kind":"mode","lines":2},{"kind":"custom-title","lines":1}],"queue_lines":2,"snapshot_lines":0,"versions":[{"version":"2.1.325","lines":10}],"stop_reasons":[{"reason":"tool_use","lines":3},{"reason":"end_turn","lines":2}],"blocks":[{"kind":"tool_use","blocks":3},{"kind":"tool_result","blocks":3},{"kind":"text","blocks":2}],"first_prompts":["Repair the parser","Which one?"],"cost_usd":0.022624}
    --- exit 0
    "#);
}

#[test]
fn turns_are_listed() {
    let test = working();
    assert_snapshot!(test.run(&["turns"]).shown(), @"
    1	2026-11-16 08:00:01	7.0s	3 calls (1 failed)	160 out	Repair the parser
    2	2026-11-16 08:00:12	1.0s		40 out	Which one?
    --- exit 0
    ");
    assert_snapshot!(test.run(&["turns", "--json"]).shown(), @r#"
    {"turn":1,"kind":"prompt","prompt":"Repair the parser","uuid":"3f2a1b4c-0000-4000-8000-000000000001","line":2,"started":"2026-11-16T08:00:01.000Z","ended":"2026-11-16T08:00:08.000Z","duration_ms":7000,"messages":4,"tool_calls":3,"failed_tool_calls":1,"api_errors":0,"queued_prompts":0,"hooks":[],"interrupted":false,"input_tokens":32,"output_tokens":160,"cache_creation_input_tokens":480,"cache_read_input_tokens":36000,"current":true}
    {"turn":2,"kind":"prompt","prompt":"Which one?","uuid":"3f2a1b4c-0000-4000-8000-00000000000c","line":13,"started":"2026-11-16T08:00:12.000Z","ended":"2026-11-16T08:00:13.000Z","duration_ms":1000,"messages":1,"tool_calls":0,"failed_tool_calls":0,"api_errors":0,"queued_prompts":0,"hooks":[],"interrupted":false,"input_tokens":8,"output_tokens":40,"cache_creation_input_tokens":120,"cache_read_input_tokens":9000,"current":true}
    --- exit 0
    "#);
    assert_snapshot!(test.run(&["show", "--turn", "2"]).shown(), @"

    You  2  2026-11-16 08:00:12
      Which one?

    Claude
      `empty_line`.
    --- exit 0
    ");
    assert_snapshot!(test.run(&["show", "--turn", "2", "--json"]).shown(), @r#"
    {"item":"prompt","turn":2,"line":13,"uuid":"3f2a1b4c-0000-4000-8000-00000000000c","time":"2026-11-16T08:00:12.000Z","message":null,"sidechain":false,"text":"Which one?","bytes":10,"pictures":0,"kind":"prompt","queued":false}
    {"item":"answer","turn":2,"line":14,"uuid":"3f2a1b4c-0000-4000-8000-00000000000d","time":"2026-11-16T08:00:13.000Z","message":"msg_3f2a1b4c0004","sidechain":false,"text":"`empty_line`.","bytes":13}
    --- exit 0
    "#);
}

#[test]
fn tool_calls_are_listed_and_added_up() {
    let test = working();
    assert_snapshot!(test.run(&["tools"]).shown(), @"
    1	Agent	1.0s	ok	Find callers
    1	Edit	1.0s	ok	/home/dev/app/src/parse.rs
    1	Bash	1.0s	failed	cargo test
    --- exit 0
    ");
    assert_snapshot!(test.run(&["tools", "--by", "name"]).shown(), @"
    Agent	1	1.0s
    Bash	1	1.0s	1 failed
    Edit	1	1.0s
    --- exit 0
    ");
    assert_snapshot!(test.run(&["tools", "--failed", "--json"]).shown(), @r#"
    {"id":"toolu_3f2a1b4c0006","name":"Bash","state":"failed","turn":1,"call_uuid":"3f2a1b4c-0000-4000-8000-000000000006","result_uuid":"3f2a1b4c-0000-4000-8000-000000000007","called":"2026-11-16T08:00:06.000Z","ended":"2026-11-16T08:00:07.000Z","duration_ms":1000,"overflow":null,"about":"cargo test"}
    --- exit 0
    "#);
    assert_eq!(test.run(&["tools", "--name", "Edit"]).stdout.lines().count(), 1);
    assert_eq!(test.run(&["tools", "--name", "Nothing"]).code, 1);
}

#[test]
fn files_are_listed_with_their_changes() {
    let test = working();
    assert_snapshot!(test.run(&["files"]).shown(), @"
    changed	+2	-1	/home/dev/app/src/parse.rs	turn 1
    --- exit 0
    ");
    assert_snapshot!(test.run(&["files", "--changed", "--json"]).shown(), @r#"
    {"path":"/home/dev/app/src/parse.rs","action":"changed","reads":0,"edits":1,"lines_added":2,"lines_removed":1,"turns":[1]}
    --- exit 0
    "#);
}

#[test]
fn subagents_are_listed_and_inspected() {
    let test = working();
    assert_snapshot!(test.run(&["agents"]).shown(), @"
    a1b2c3d4e5f60718		1 call	80 out	3.0s	Find all callers of parse().
    --- exit 0
    ");
    assert_snapshot!(test.run(&["agents", "latest", "a1b2"]).shown(), @r"
    a1b2c3d4e5f60718
    1 call · 0 failed · 80 tokens out · 3.0s

    Task
      Find all callers of parse().

    Calls
      Grep parse\(

    Answer
      Two.
    --- exit 0
    ");
    assert_snapshot!(test.run(&["agents", "latest", "a1b2", "--json"]).shown(), @r#"
    {"id":"a1b2c3d4e5f60718","kind":"agent","source":"log","path":"[claude]/projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/subagents/agent-a1b2c3d4e5f60718.jsonl","type":null,"description":null,"call":"toolu_3f2a1b4c0002","link":"result","turn":1,"depth":0,"background":false,"bytes":2381,"tool_calls":1,"failed_tool_calls":0,"input_tokens":16,"output_tokens":80,"cache_creation_input_tokens":240,"cache_read_input_tokens":18000,"told_tokens":null,"started":"2026-11-16T08:00:00.000Z","ended":"2026-11-16T08:00:03.000Z","duration_ms":3000,"task":"Find all callers of parse().","answer":"Two."}
    --- exit 0
    "#);
}

#[test]
fn prompts_of_all_projects_are_listed() {
    let test = working();
    assert_snapshot!(test.run(&["history"]).shown(), @"
    2026-11-16 08:00:12	3f2a1b4c	/home/dev/app	Which one?
    2026-11-16 08:00:00	3f2a1b4c	/home/dev/app	Repair the parser
    2026-11-16 03:33:20		/home/dev/app	/model
    --- exit 0
    ");
    assert_snapshot!(test.run(&["history", "--text", "PARSER", "--json"]).shown(), @r#"
    {"time":"2026-11-16T08:00:00.000Z","project":"/home/dev/app","session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","text":"Repair the parser","pasted":0,"source":"both"}
    --- exit 0
    "#);
}

#[test]
fn a_session_is_written_in_every_format() {
    let test = working();
    assert_snapshot!(test.run(&["export"]).shown(), @"
    # Parser

    - session: `3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718`
    - directory: `/home/dev/app`
    - branch: `main`
    - model: `claude-opus-5-5`
    - client: `2.1.325`
    - started: `2026-11-16T08:00:00Z`
    - ended: `2026-11-16T08:00:13Z`

    ## 1. You

    > Repair the parser

    **Agent** `Find callers`

    <details><summary>result</summary>

    ```
    Two.
    ```

    </details>

    **Edit** `/home/dev/app/src/parse.rs`

    ```diff
    -a
    +b
    +c
    ```

    **Bash** `cargo test`

    <details><summary>failed</summary>

    ```
    1 failed
    ```

    </details>

    Repaired, but a test fails.

    ## 2. You

    > Which one?

    `empty_line`.
    --- exit 0
    ");
    assert_snapshot!(test.run(&["export", "--to", "txt"]).shown(), @"
    Parser
    session: 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718
    directory: /home/dev/app
    branch: main
    model: claude-opus-5-5
    client: 2.1.325
    started: 2026-11-16T08:00:00Z
    ended: 2026-11-16T08:00:13Z

    [1] You:
      Repair the parser

    > Agent Find callers
      Two.

    > Edit /home/dev/app/src/parse.rs
      updated

    > Bash cargo test
    (failed)
      1 failed

    Claude:
      Repaired, but a test fails.

    [2] You:
      Which one?

    Claude:
      `empty_line`.
    --- exit 0
    ");
    assert_snapshot!(test.run(&["export", "--to", "xml"]).shown(), @r#"
    <session id="3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718" title="Parser" directory="/home/dev/app" branch="main" model="claude-opus-5-5" client="2.1.325" started="2026-11-16T08:00:00Z" ended="2026-11-16T08:00:13Z">
    <turn n="1">
    <user>Repair the parser</user>
    <call tool="Agent">{&quot;description&quot;:&quot;Find callers&quot;,&quot;prompt&quot;:&quot;Find all callers of parse().&quot;,&quot;subagent_type&quot;:&quot;Explore&quot;}</call>
    <result>Two.</result>
    <call tool="Edit">{&quot;file_path&quot;:&quot;/home/dev/app/src/parse.rs&quot;,&quot;old_string&quot;:&quot;a&quot;,&quot;new_string&quot;:&quot;b&quot;}</call>
    <result>updated</result>
    <call tool="Bash">{&quot;command&quot;:&quot;cargo test&quot;}</call>
    <failed>1 failed</failed>
    <assistant>Repaired, but a test fails.</assistant>
    </turn>
    <turn n="2">
    <user>Which one?</user>
    <assistant>`empty_line`.</assistant>
    </turn>
    </session>
    --- exit 0
    "#);
    let html = test.run(&["export", "--to", "html"]).stdout;
    assert!(html.starts_with("<!doctype html>") && html.contains("Repaired, but"), "{html}");
    let json: serde_json::Value =
        serde_json::from_str(&test.run(&["export", "--to", "json"]).stdout).unwrap();
    let lines = test.run(&["show", "--json"]).json();
    assert_eq!(json["items"].as_array().unwrap(), &lines);
}

/// A secret is put together when the test runs, so that none stands in a file.
#[test]
fn secrets_are_in_no_exported_document() {
    let test = TestHome::empty();
    let secret = ["q7Zk2mVx9Lp4", "Rt8Wn3Ys6Bd1", "Hf5Jg0Cu"].concat();
    let log = SessionBuilder::new("aaaa1b4c-9d8e-4f70-a1b2-c3d4e5f60718", Client::V2_1_325)
        .prompt(&format!("Try API_KEY={secret}"))
        .thinking(&format!("The key is {secret}."))
        .tool("Bash", &format!(r#"{{"command":"login {secret}"}}"#), &format!("{secret} works"))
        .answer(&format!("`{secret}` works."))
        .custom_title(&format!("About {secret}"));
    test.home.add(&log, hours_ago(1));
    for format in ["md", "html", "xml", "json", "txt"] {
        let plain = test.run(&["export", "aaaa", "--to", format]).stdout;
        assert!(plain.contains(&secret), "{format}: {plain}");
        let run = test.run(&["export", "aaaa", "--to", format, "--redact"]);
        assert!(!run.stdout.contains(&secret), "{format}: {}", run.stdout);
        assert!(run.stdout.contains("REDACTED:generic-api-key:"), "{format}: {}", run.stdout);
        assert!(run.stderr.contains("replaced "), "{}", run.stderr);
    }
    let out = test.work.path().join("all");
    let out = out.to_str().unwrap();
    assert_eq!(test.run(&["export", "--all", "--redact", "--output", out]).code, 0);
    for file in std::fs::read_dir(out).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains(&secret), "{text}");
    }
}
