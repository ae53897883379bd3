//! Sessions that a program speaks with over the control protocol.

use recto_agent::headless::StreamLines;
use recto_agent::headless::StreamOptions;
use recto_agent::mcp::ServerConfig;
use recto_agent::permission::CommandLine;
use recto_agent::turn::DeskFacts;
use recto_agent::turn::Prompt;
use recto_agent::turn::Setup;
use recto_agent::turn::With;
use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::ID;
use crate::bench::call;
use crate::bench::script;
use crate::support::wait;

/// What a host does with a line: requests and answers of its own, or the end.
enum Host {
    Send(Value),
    Prompt(&'static str),
    Close,
}

fn hosted(bench: &Bench, with: With) -> Setup {
    let with = With { is_hosted: true, ..with };
    Setup { with, permissions: CommandLine::default(), ..bench.setup() }
}

/// Runs a session with a host that begins with `first` and reacts to lines; all lines.
fn speak(setup: Setup, first: Vec<Host>, mut react: impl FnMut(&Value) -> Vec<Host>) -> Vec<Value> {
    wait(async {
        let (runner, _, mut events) = setup.start();
        let facts = DeskFacts { version: "2.1.325".into(), ..DeskFacts::default() };
        let mut desk = runner.desk(facts).unwrap();
        let link = desk.link();
        let mut running = tokio::spawn(runner.run());
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let taking = tokio::spawn(async move {
            while let Some(said) = heard.recv().await {
                match said {
                    Host::Send(line) => desk.request(&line).await,
                    Host::Prompt(text) => desk.prompt(Prompt::text(text)).await,
                    Host::Close => break,
                }
            }
            desk.close();
        });
        let mut stream = StreamLines::new(ID, StreamOptions::default());
        let mut lines = Vec::new();
        let say = |said: Host| match said {
            Host::Send(line) if line["type"] == "control_response" => link.take_answer(&line),
            said => drop(told.send(said)),
        };
        first.into_iter().for_each(say);
        loop {
            tokio::select! {
                biased;
                Some(event) = events.recv() => {
                    for line in stream.lines(&event) {
                        react(&line).into_iter().for_each(say);
                        lines.push(line);
                    }
                }
                end = &mut running => {
                    end.unwrap();
                    break;
                }
            }
        }
        taking.await.unwrap();
        lines
    })
}

fn request(id: &str, request: Value) -> Host {
    Host::Send(json!({"type": "control_request", "request_id": id, "request": request}))
}

fn answer(line: &Value, answer: Value) -> Host {
    let id = &line["request_id"];
    let response = json!({"subtype": "success", "request_id": id, "response": answer});
    Host::Send(json!({"type": "control_response", "response": response}))
}

fn asks(line: &Value, subtype: &str) -> bool {
    line["request"]["subtype"] == subtype
}

fn result(lines: &[Value]) -> &Value {
    lines.iter().rfind(|line| line["type"] == "result").unwrap()
}

/// Closes when the turn is over.
fn at_end(line: &Value) -> Vec<Host> {
    if line["type"] == "result" { vec![Host::Close] } else { Vec::new() }
}

fn writes(id: &str, path: &str) -> Value {
    call(id, "Write", json!({"file_path": path, "content": "x\n"}))
}

#[test]
fn the_host_is_asked_and_what_it_grants_counts_later() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [writes("toolu_a", "one.txt")]}),
        json!({"nth": 2, "blocks": [writes("toolu_b", "two.txt")]}),
        json!({"text": "done"}),
    ]));
    let with = With { permission_tool: Some("stdio".into()), ..With::default() };
    let mut asked = 0;
    let lines = speak(hosted(&bench, with), vec![Host::Prompt("go")], |line| {
        if asks(line, "can_use_tool") {
            asked += 1;
            let update =
                json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"});
            return vec![answer(
                line,
                json!({"behavior": "allow", "updatedPermissions": [update]}),
            )];
        }
        at_end(line)
    });
    assert_eq!(asked, 1);
    assert!(bench.app().join("one.txt").exists() && bench.app().join("two.txt").exists());
    assert_eq!(result(&lines)["result"], "done");
    bench.is_sound().unwrap();
}

#[test]
fn answers_of_a_wrong_shape_and_a_host_that_goes_away_are_refusals() {
    for closes in [false, true] {
        let bench = Bench::new(&script(&[
            json!({"nth": 1, "blocks": [writes("toolu_a", "one.txt")]}),
            json!({"text": "done"}),
        ]));
        let with = With { permission_tool: Some("stdio".into()), ..With::default() };
        let lines = speak(hosted(&bench, with), vec![Host::Prompt("go")], |line| {
            if asks(line, "can_use_tool") {
                return match closes {
                    true => vec![Host::Close],
                    false => vec![answer(line, json!({"hello": 1}))],
                };
            }
            at_end(line)
        });
        assert!(!bench.app().join("one.txt").exists());
        let result = result(&lines);
        assert_eq!((&result["subtype"], &result["result"]), (&json!("success"), &json!("done")));
        assert_eq!(result["permission_denials"][0]["tool_use_id"], "toolu_a");
    }
}

#[test]
fn an_interrupt_takes_an_open_question_back_first() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [writes("toolu_a", "one.txt")]}),
        json!({"text": "after"}),
    ]));
    let with = With { permission_tool: Some("stdio".into()), ..With::default() };
    let mut results = 0;
    let lines = speak(hosted(&bench, with), vec![Host::Prompt("go")], |line| {
        if asks(line, "can_use_tool") {
            return vec![request("i", json!({"subtype": "interrupt"}))];
        }
        results += usize::from(line["type"] == "result");
        match (line["type"] == "result", results) {
            (true, 1) => vec![Host::Prompt("again")],
            (true, _) => vec![Host::Close],
            _ => Vec::new(),
        }
    });
    let at = |kind: &str| lines.iter().position(|line| line["type"] == kind).unwrap();
    assert!(at("control_cancel_request") < at("control_response"));
    let first = lines.iter().find(|line| line["type"] == "result").unwrap();
    assert_eq!(first["terminal_reason"], "aborted_tools");
    assert_eq!(result(&lines)["result"], "after");
    bench.is_sound().unwrap();
}

#[test]
fn hooks_of_the_host_forbid_calls_and_unknown_requests_are_refused() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "Bash", json!({"command": "echo hi"}))]}),
        json!({"text": "done"}),
    ]));
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h"]}]});
    let first = vec![
        request("a", json!({"subtype": "initialize", "hooks": hooks})),
        request("b", json!({"subtype": "no_such_request"})),
        request("c", json!({"subtype": "set_permission_mode", "mode": "bypassPermissions"})),
        Host::Prompt("go"),
    ];
    let lines = speak(hosted(&bench, With::default()), first, |line| {
        if asks(line, "hook_callback") {
            return vec![answer(line, json!({"decision": "block", "reason": "policy"}))];
        }
        at_end(line)
    });
    let response = |id: &str| {
        let is = |line: &&Value| line["response"]["request_id"] == id;
        lines.iter().find(is).unwrap()["response"].clone()
    };
    assert_eq!(response("a")["response"]["hooks_applied"], true);
    assert_eq!(response("b")["error_code"], "unsupported_request");
    assert_eq!(response("c")["error_code"], "bypass_not_launched");
    let text = json!(bench.messages()[1]).to_string();
    assert!(text.contains("PreToolUse:Bash hook error: policy"), "{text}");
}

#[test]
fn tools_of_the_host_are_called_over_the_link() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "mcp__calc__add", json!({"a": 2}))]}),
        json!({"text": "done"}),
    ]));
    let config = json!({"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}});
    let servers = ServerConfig::read_all(&config, "dynamic", &|_| None).unwrap();
    let mut setup = hosted(&bench, With { servers, ..With::default() });
    setup.permissions.allowed = vec!["mcp__calc__add".into()];
    let lines = speak(setup, vec![Host::Prompt("go")], |line| {
        if !asks(line, "mcp_message") {
            return at_end(line);
        }
        let message = &line["request"]["message"];
        let result = match message["method"].as_str().unwrap() {
            "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}),
            "tools/list" => json!({"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}),
            "tools/call" => json!({"content": [{"type": "text", "text": "sum: 5"}]}),
            _ => json!({}),
        };
        let response = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        vec![answer(line, json!({"mcp_response": response}))]
    });
    let init = lines.iter().find(|line| line["subtype"] == "init").unwrap();
    assert_eq!(init["mcp_servers"][0]["status"], "connected");
    assert!(json!(bench.messages()[1]).to_string().contains("sum: 5"));
}

/// A server in shell: it reads lines and answers by their method.
#[cfg(unix)]
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"hi","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hi from stdio"}]}' ;;
    *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

#[cfg(unix)]
#[test]
fn a_server_that_is_a_process_is_called_and_one_that_fails_is_told() {
    let bench = Bench::new(&script(&[
        json!({"nth": 1, "blocks": [call("toolu_a", "mcp__ext__hi", json!({}))]}),
        json!({"text": "done"}),
    ]));
    let config = json!({"mcpServers": {
        "ext": {"command": "/bin/sh", "args": ["-c", SERVER]},
        "bad": {"command": "/nonexistent"},
    }});
    let servers = ServerConfig::read_all(&config, "dynamic", &|_| None).unwrap();
    let with = With { servers, ..With::default() };
    let ran = bench.run(Setup { with, ..bench.setup() }, &["go"]);
    assert_eq!(ran.ends()[0].text, "done");
    assert!(json!(bench.messages()[1]).to_string().contains("hi from stdio"));
    let began = ran.events.iter().find_map(|event| match event {
        recto_agent::turn::TurnEvent::Began(began) => Some(began.clone()),
        _ => None,
    });
    let status: Vec<Value> =
        began.unwrap().servers.iter().map(|one| one["status"].clone()).collect();
    assert_eq!(status, ["connected", "failed"]);
}

#[test]
fn the_host_may_look_at_settings_rules_and_files() {
    let bench = Bench::new(&script(&[json!({"text": "done"})]));
    let mut setup = hosted(&bench, With::default());
    setup.permissions.allowed = vec!["Bash(ls:*)".into()];
    let ask = |id: &str, subtype: &str, path: &str| {
        request(id, json!({"subtype": subtype, "path": path, "query": "a.t"}))
    };
    let first = vec![
        ask("a", "get_settings", ""),
        ask("b", "list_permission_rules", ""),
        ask("c", "read_file", "a.txt"),
        ask("d", "read_file", "none.txt"),
        ask("e", "file_suggestions", ""),
        Host::Prompt("go"),
    ];
    let lines = speak(setup, first, at_end);
    let response = |id: &str| {
        let is = |line: &&Value| line["response"]["request_id"] == id;
        lines.iter().find(is).unwrap()["response"].clone()
    };
    assert_eq!(response("a")["response"]["applied"]["model"], "claude-opus-5-5");
    let rules = &response("b")["response"]["state"]["rules"];
    assert_eq!(rules[0]["rule"], "Bash(ls:*)");
    assert_eq!(response("c")["response"]["contents"], "alpha\nbeta\n");
    assert_eq!(response("d")["subtype"], "error");
    assert_eq!(response("e")["response"]["cwd"], json!(bench.app()));
}

#[test]
fn a_task_that_the_host_stops_is_in_the_log_and_the_model_hears_of_it_next() {
    let command = json!({"command": "sleep 60", "description": "Long", "run_in_background": true});
    let bench = Bench::new(&script(&[
        json!({"last": "go", "blocks": [call("toolu_a", "Bash", command)]}),
        json!({"text": "done"}),
    ]));
    let mut task = Value::Null;
    let mut results = 0;
    let lines = speak(hosted(&bench, With::default()), vec![Host::Prompt("go")], |line| {
        if line["subtype"] == "task_started" {
            task = line["task_id"].clone();
        }
        if line["response"]["request_id"] == "stop" {
            return vec![Host::Prompt("and now?")];
        }
        results += usize::from(line["type"] == "result");
        match (line["type"] == "result", results) {
            (true, 1) => vec![request("stop", json!({"subtype": "stop_task", "task_id": task}))],
            (true, _) => vec![Host::Close],
            _ => Vec::new(),
        }
    });
    let ended = lines.iter().find(|line| line["subtype"] == "task_notification").unwrap();
    assert_eq!(ended["status"], "stopped");
    let queued: Vec<Value> =
        bench.lines().into_iter().filter(|line| line["type"] == "queue-operation").collect();
    let steps: Vec<&str> = queued.iter().map(|line| line["operation"].as_str().unwrap()).collect();
    assert_eq!(steps, ["enqueue", "dequeue", "enqueue", "dequeue", "enqueue", "dequeue"]);
    let notice = queued[2]["content"].as_str().unwrap();
    assert!(notice.contains("<status>killed</status>"), "{notice}");
    let last = json!(bench.messages().pop().unwrap()).to_string();
    assert!(last.contains("was stopped by the user"), "{last}");
    bench.is_sound().unwrap();
}
