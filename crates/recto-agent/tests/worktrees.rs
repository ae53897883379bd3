//! Other checkouts of the repository: for a session, and for subagents.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use serde_json::json;

use crate::bench::Bench;
use crate::bench::call;
use crate::bench::script;

fn git(directory: &Path, words: &[&str]) -> String {
    let identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"];
    let mut command = Command::new("git");
    let output = command.args(identity).args(words).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn repository(bench: &Bench) {
    git(&bench.app(), &["init", "--quiet", "-b", "main"]);
    git(&bench.app(), &["add", "."]);
    git(&bench.app(), &["commit", "--quiet", "--allow-empty", "-m", "one"]);
}

/// What the calls of a session got, in order.
fn results(bench: &Bench) -> Vec<String> {
    let lines = bench.lines();
    let blocks = lines.iter().filter_map(|line| line["message"]["content"].as_array());
    let blocks = blocks.flatten().filter(|block| block["type"] == "tool_result");
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        other => other[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    blocks.map(|block| text(&block["content"])).collect()
}

fn one_after_the_other(calls: &[Value]) -> String {
    let mut rules: Vec<Value> = Vec::new();
    for (nth, call) in (1..).zip(calls) {
        rules.push(json!({"nth": nth, "blocks": [call]}));
    }
    rules.push(json!({"text": "done"}));
    script(&rules)
}

#[test]
fn a_session_moves_into_a_worktree_and_back() {
    let bench = Bench::new(&one_after_the_other(&[
        call("toolu_1", "EnterWorktree", json!({"name": "a/b"})),
        call("toolu_2", "EnterWorktree", json!({"name": "c"})),
        call("toolu_3", "Bash", json!({"command": "pwd; echo x > new.txt"})),
        call("toolu_4", "ExitWorktree", json!({"action": "remove"})),
        call("toolu_5", "ExitWorktree", json!({"action": "remove", "discard_changes": true})),
        call("toolu_6", "Bash", json!({"command": "pwd"})),
        call("toolu_7", "EnterWorktree", json!({"name": "../x"})),
        call("toolu_8", "EnterWorktree", json!({"path": "/"})),
        call("toolu_9", "EnterWorktree", json!({"name": "kept"})),
        call("toolu_10", "ExitWorktree", json!({"action": "keep"})),
        call("toolu_11", "EnterWorktree", json!({"path": ".claude/worktrees/kept"})),
        call("toolu_12", "ExitWorktree", json!({"action": "remove"})),
    ]));
    repository(&bench);
    let app = bench.app().canonicalize().unwrap();
    bench.run(bench.setup(), &["go"]);
    bench.is_sound().unwrap();
    let results = results(&bench);
    let place = app.join(".claude/worktrees/a+b").display().to_string();
    assert!(
        results[0].starts_with(&format!("Created worktree at “{place}” on branch “worktree-a+b”.")),
        "{}",
        results[0]
    );
    assert!(results[1].contains("Already in a worktree session."));
    assert_eq!(results[2], place);
    assert!(results[3].contains("Worktree has 1 uncommitted file. Removing will discard"));
    assert!(results[4].contains("Discarded 1 uncommitted file."), "{}", results[4]);
    assert_eq!(results[5], app.display().to_string());
    assert!(results[6].contains("Invalid worktree name"));
    assert!(results[7].starts_with("Cannot enter worktree: / is not under"), "{}", results[7]);
    assert!(results[9].starts_with("Exited worktree. Your work is preserved at"));
    assert!(results[10].starts_with("Entered worktree at"), "{}", results[10]);
    assert!(results[11].contains("This session is not the owner of the worktree"));
    assert!(!Path::new(&place).exists());
    assert_eq!(git(&app, &["branch", "--list", "worktree-*"]).trim(), "+ worktree-kept");
}

#[test]
fn without_a_repository_there_is_no_worktree_and_the_tool_is_not_offered() {
    let bench = Bench::new(&one_after_the_other(&[
        call("toolu_1", "EnterWorktree", json!({})),
        call("toolu_2", "ExitWorktree", json!({"action": "keep"})),
    ]));
    bench.run(bench.setup(), &["go"]);
    let results = results(&bench);
    assert!(results[0].starts_with("Cannot create a worktree: not in a git repository"));
    assert!(results[1].contains("No-op: there is no active EnterWorktree session to exit."));
    let tools = bench.mock.asked()[0].body["tools"].to_string();
    assert!(!tools.contains("EnterWorktree"));
}

#[test]
fn a_subagent_has_a_checkout_of_its_own_which_stays_if_it_changed_something() {
    let agent = |id: &str, prompt: &str| {
        call(
            id,
            "Agent",
            json!({
                "description": "d", "prompt": prompt, "run_in_background": false, "isolation": "worktree",
            }),
        )
    };
    let bench = Bench::new(&script(&[
        json!({"contains": "only look", "blocks": [call("toolu_a", "Bash", json!({"command": "pwd"}))], "times": 1}),
        json!({"contains": "make a file", "blocks": [call("toolu_b", "Bash", json!({"command": "echo x > made.txt"}))], "times": 1}),
        json!({"last": "go", "times": 1, "blocks": [agent("toolu_1", "only look")]}),
        json!({"contains": "go on", "times": 1, "blocks": [agent("toolu_2", "make a file")]}),
        json!({"text": "done"}),
    ]));
    repository(&bench);
    bench.run(bench.setup(), &["go", "go on"]);
    let results = results(&bench);
    assert!(!results[0].contains("worktreePath"), "{}", results[0]);
    let kept = results[1].lines().find_map(|line| line.strip_prefix("worktreePath: ")).unwrap();
    assert!(Path::new(kept).join("made.txt").exists());
    assert!(!bench.app().join("made.txt").exists());
    assert_eq!(git(&bench.app(), &["worktree", "list"]).lines().count(), 2);
}
