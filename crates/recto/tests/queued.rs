//! Prompts that were typed while the model worked, and hooks.

use insta::assert_snapshot;

use crate::support::TestHome;
use crate::support::repository;

fn run(version: &str, case: &str, arguments: &[&str]) -> crate::support::Run {
    let home = repository().join(format!("fixtures/corpus/{version}/{case}/home/.claude"));
    let mut all = vec!["--home", home.to_str().unwrap()];
    all.extend(arguments);
    TestHome::empty().run(&all)
}

#[test]
fn a_queued_prompt_is_told_once_by_every_client() {
    for version in ["2.1.29", "2.1.200", "2.1.325"] {
        let items = run(version, "I7", &["show", "--json"]).json();
        let told = |text: &str| -> Vec<bool> {
            let prompts = items.iter().filter(|item| item["text"] == text);
            prompts.map(|item| item["queued"].as_bool().unwrap()).collect()
        };
        assert_eq!(told("LAB:hello queued-one"), [true], "{version}");
        assert_eq!(told("LAB:bye queued-two"), [false], "{version}: it began a turn");
        assert_eq!(told("LAB:bye resumed"), [false], "{version}");
        let turns = run(version, "I7", &["turns", "--json"]).json();
        let queued: Vec<u64> =
            turns.iter().map(|turn| turn["queued_prompts"].as_u64().unwrap()).collect();
        assert_eq!(queued, [0, 0, 1, 0, 0, 0], "{version}");
    }
}

#[test]
fn a_queued_prompt_stands_where_the_model_got_it() {
    let shown = run("2.1.29", "I7", &["show", "--turn", "3"]);
    let whole = run("2.1.29", "I7", &["show"]);
    assert_snapshot!(shown.shown(), @r#"

    You  3  2026-11-16 00:23:26
      LAB:slowbash again

    Claude
      Running a slow command.
      ⏺ Bash for i in 1 2 3 4 5 6 7 8 9 10; do echo tick $i; sleep 1; done
      ⎿ tick 1
        tick 2
        tick 3
        tick 4
        … 6 more lines

    You  3  2026-11-16 00:23:32  queued
      LAB:hello queued-one

    Claude
      slow done
    --- exit 0
    "#);
    assert!(whole.stdout.contains(shown.stdout.trim_end()), "{}", whole.stdout);
    for (to, mark) in [("md", "## 3. You (queued)"), ("txt", "[3] You (queued):")] {
        let document = run("2.1.29", "I7", &["export", "--to", to]).stdout;
        assert!(document.contains(mark), "{document}");
    }
}

#[test]
fn hooks_are_told_alike_by_every_client() {
    for (version, session, hooks) in [
        ("2.0.36", "36dd58a6", "PreToolUse:Bash 1 0 1, Stop 1 0 1"),
        ("2.1.200", "7d8b6114", "PreToolUse:Bash 1 0 1, Stop 1 0 1"),
        ("2.1.325", "97eec50c", "PreToolUse:Bash 1 0 1, Stop 2 0 1"),
    ] {
        let turns = run(version, "S8", &["turns", session, "--json"]).json();
        assert_eq!(turns.len(), 1, "{version}: what a hook says begins no turn");
        let told = turns[0]["hooks"].as_array().unwrap().iter().map(|hook| {
            let name = hook["name"].as_str().unwrap();
            format!("{name} {} {} {}", hook["runs"], hook["failed"], hook["blocked"])
        });
        assert_eq!(told.collect::<Vec<_>>().join(", "), hooks, "{version}");
        let listed = run(version, "S8", &["turns", session]).stdout;
        assert!(listed.contains("[blocked by a hook]"), "{listed}");
    }
}

#[test]
fn a_hook_is_shown_if_it_blocked_or_if_all_is_asked_for() {
    let brief = run("2.1.325", "S8", &["show", "97eec50c"]).stdout;
    assert_eq!(brief.matches("hook Stop blocked: LAB:cont keep going").count(), 1, "{brief}");
    assert!(!brief.contains(" ran"), "{brief}");
    let all = run("2.1.29", "I8", &["show", "--meta"]).stdout;
    assert!(all.contains("hook PreToolUse:Bash ran: echo pre-out"), "{all}");
}
