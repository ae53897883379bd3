//! What a client that is built from a description of older logs must do, line by line: sessions,
//! messages, requests, tools, subagents, compaction, progress, resumption.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use serde_json::json;

use crate::run::Bench;
use crate::run::ID;
use crate::run::call;

const STYLE: [&str; 2] = ["--log-style", "2.1.29"];

/// A session with everything in it: a file, a command, a subagent, a hook.
fn worked() -> Bench {
    let file =
        |bench: &str| call("toolu_1", "Write", json!({"file_path": bench, "content": "one\n"}));
    let bench = Bench::new(&[
        json!({"contains": "look around", "text": "the subagent is done"}),
        json!({"contains": "write a summary", "text": "SUMMARY OF ALL"}),
        json!({"nth": 1, "blocks": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "I will"},
            file("new.txt"),
            call("toolu_2", "Bash", json!({"command": "echo tick; sleep 1.5; echo tock"})),
            call("toolu_3", "Agent", json!({"description": "look", "prompt": "look around", "run_in_background": false})),
        ]}),
        json!({"text": "done"}),
    ]);
    let hooks = r#"{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}"#;
    let mut words = vec!["run", "-p", "go", "--session-id", ID, "--settings", hooks];
    words.extend(["--dangerously-skip-permissions"]);
    words.extend(STYLE);
    let run = bench.run(&words);
    assert_eq!(run.code, 0, "{}", run.stderr);
    bench
}

fn log(bench: &Bench) -> PathBuf {
    bench.logs().into_iter().find(|log| log.ends_with(format!("{ID}.jsonl"))).unwrap()
}

fn lines(bench: &Bench) -> Vec<Value> {
    let text = fs::read_to_string(log(bench)).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn chain(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["uuid"].is_string()).collect()
}

fn goes_on(bench: &Bench, prompt: &str) {
    let mut words = vec!["run", "-p", prompt, "--resume", ID];
    words.extend(STYLE);
    let run = bench.run(&words);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn sessions_and_messages_are_written_as_older_clients_do() {
    let bench = worked();
    let log = log(&bench);
    // A file of the project's folder, named by a UUID.
    let folder = log.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let work = bench.test.work.path().canonicalize().unwrap();
    assert_eq!(folder, work.to_string_lossy().replace(['/', '.', '_'], "-"));
    let lines = lines(&bench);
    let chain = chain(&lines);
    let slug = chain[0]["slug"].as_str().unwrap();
    assert_eq!(slug.split('-').count(), 3, "{slug}");
    let mut known: Vec<&Value> = Vec::new();
    for line in &chain {
        for field in ["cwd", "gitBranch", "version", "sessionId", "userType"] {
            assert!(line[field].is_string(), "{field}: {line}");
        }
        assert_eq!(line["slug"], slug, "one name for the session");
        line["timestamp"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let parent = &line["parentUuid"];
        assert!(known.contains(&parent) || (parent.is_null() && known.is_empty()), "{line}");
        assert!(!known.contains(&&line["uuid"]));
        known.push(&line["uuid"]);
    }
    // Snapshots: one with the prompt, one when a file is about to change.
    let snapshots: Vec<&Value> =
        lines.iter().filter(|line| line["type"] == "file-history-snapshot").collect();
    let prompt = chain[0];
    assert_eq!(snapshots[0]["messageId"], prompt["uuid"]);
    assert_eq!(snapshots[0]["isSnapshotUpdate"], false);
    assert_eq!(snapshots[1]["isSnapshotUpdate"], true);
    assert_eq!(snapshots[1]["snapshot"]["messageId"], prompt["uuid"]);
    assert!(snapshots[1]["snapshot"]["trackedFileBackups"]["new.txt"].is_object());
    // The name stays when the session goes on.
    goes_on(&bench, "again");
    let lines = self::lines(&bench);
    assert_eq!(self::chain(&lines).last().unwrap()["slug"], slug);
}

#[test]
fn answers_tools_and_subagents_are_written_as_older_clients_do() {
    let bench = worked();
    let asked = bench.mock.asked();
    let first = &asked[0].body;
    assert!(first["tools"].as_array().unwrap().len() > 5);
    let roles = |message: &Value| message["role"] == "user" || message["role"] == "assistant";
    let messages = asked.iter().flat_map(|asked| asked.body["messages"].as_array().unwrap());
    assert!(messages.filter(|message| message["role"] != "system").all(roles));
    let lines = lines(&bench);
    let answers: Vec<&Value> =
        lines.iter().filter(|line| line["type"] == "assistant").take(5).collect();
    for answer in &answers {
        assert_eq!(answer["message"]["content"].as_array().unwrap().len(), 1, "a line a block");
        assert_eq!(answer["requestId"], answers[0]["requestId"]);
        assert_eq!(answer["message"]["id"], answers[0]["message"]["id"]);
        assert!(answer["message"]["usage"]["output_tokens"].is_u64());
    }
    let results: Vec<&Value> =
        lines.iter().filter(|line| !line["toolUseResult"].is_null()).collect();
    assert_eq!(results.len(), 3, "three calls at once, three results");
    for result in &results {
        assert_eq!(result["message"]["content"][0]["type"], "tool_result");
    }
    assert_eq!(fs::read_to_string(bench.test.work.path().join("new.txt")).unwrap(), "one\n");
    // The subagent has a log of its own, and its totals come back.
    let folder = log(&bench).with_extension("").join("subagents");
    let agents: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let agent = agents.iter().find(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let agent = agent.unwrap();
    let id = agent.file_stem().unwrap().to_string_lossy().replace("agent-", "");
    for line in fs::read_to_string(agent).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&line["isSidechain"], &line["agentId"]), (&json!(true), &json!(id)));
    }
    let report = results.iter().find(|result| result["toolUseResult"]["agentId"] == id).unwrap();
    for total in ["totalDurationMs", "totalTokens", "totalToolUseCount"] {
        assert!(report["toolUseResult"][total].is_u64(), "{total}: {report}");
    }
    // Progress of all three kinds, and how long the turn took.
    for kind in ["bash_progress", "agent_progress", "hook_progress"] {
        let of_kind = |line: &Value| line["type"] == "progress" && line["data"]["type"] == kind;
        assert!(lines.iter().any(of_kind), "{kind}");
    }
    assert!(lines.iter().any(|line| line["subtype"] == "turn_duration"));
}

#[test]
fn a_compacted_session_begins_anew_and_goes_on_in_the_older_way() {
    let bench = worked();
    goes_on(&bench, "/compact");
    let lines = lines(&bench);
    let at = |is: fn(&Value) -> bool| lines.iter().position(is).unwrap();
    let summary = at(|line| line["type"] == "summary");
    let boundary = at(|line| line["subtype"] == "compact_boundary");
    assert!(summary < boundary);
    assert_eq!(lines[summary]["summary"], "SUMMARY OF ALL");
    assert_eq!(lines[summary]["leafUuid"], lines[boundary]["logicalParentUuid"]);
    assert!(lines[boundary]["parentUuid"].is_null());
    assert_eq!(lines[boundary + 1]["parentUuid"], lines[boundary]["uuid"]);
    assert_eq!(lines[boundary + 1]["isCompactSummary"], true);
    goes_on(&bench, "what now?");
    let sent = bench.mock.asked().last().unwrap().body["messages"].to_string();
    assert!(sent.contains("SUMMARY OF ALL") && sent.contains("what now?"));
    assert!(!sent.contains("toolu_1"), "{sent}");
    // Blocks of one request are one message again.
    for version in ["2.1.29", "2.1.325"] {
        let request = bench.test.run(&["request", ID, "--as", version, "--json"]);
        assert!(request.stdout.contains("SUMMARY OF ALL"), "{version}");
    }
    assert_eq!(bench.refusals(), [""; 0]);
}
