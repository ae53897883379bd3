//! `recto home`.

use insta::assert_snapshot;

use crate::support::TestHome;

#[test]
fn the_home_says_what_the_client_will_delete() {
    let test = TestHome::with_sessions();
    test.home.write("history.jsonl", "{}\n");
    assert_snapshot!(test.run(&["home"]).shown(), @r#"
    [claude]  14 kB

      projects       14 kB  7 files  session logs, subagents, long results
      history.jsonl    3 B   1 file  prompts you typed

    Claude Code deletes logs not modified in 30 days (the default).
    1 session will be deleted within 7 days:
      c81d4e2e  in 3d  1.2 kB  not archived  What does this project do?
    To archive them, run `recto collect`.
    To keep them, run `recto home --keep 365`.
    --- exit 0
    "#);
}

#[test]
fn the_home_as_json() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["home", "--json"]).shown(), @r#"
    {"home":"[claude]","areas":[{"name":"projects","files":7,"bytes":13962}],"cleanup":{"days":30,"scope":"default","path":null},"due":[{"id":"c81d4e2e-bcf2-41e6-869b-7df92533d2db","path":"[claude]/projects/-home-dev-app/c81d4e2e-bcf2-41e6-869b-7df92533d2db.jsonl","title":"What does this project do?","deleted_after":"2026-11-19T12:00:00.000Z","bytes":1185,"archived":false}]}
    --- exit 0
    "#);
}

#[test]
fn the_narrowest_setting_counts() {
    let test = TestHome::with_sessions();
    let setting = || {
        let home = test.run(&["home", "--json"]).json().remove(0);
        let cleanup = &home["cleanup"];
        let due = home["due"].as_array().unwrap().len();
        format!("{} by {}, {due} due", cleanup["days"], cleanup["scope"].as_str().unwrap())
    };
    let here = test.work.path().join(".claude");
    std::fs::create_dir(&here).unwrap();
    assert_eq!(setting(), "30 by default, 1 due");
    test.home.write("settings.json", r#"{"cleanupPeriodDays":365}"#);
    assert_eq!(setting(), "365 by user, 0 due");
    std::fs::write(here.join("settings.json"), r#"{"cleanupPeriodDays":20}"#).unwrap();
    assert_eq!(setting(), "20 by project, 1 due");
    std::fs::write(here.join("settings.local.json"), r#"{"cleanupPeriodDays":5}"#).unwrap();
    assert_eq!(setting(), "5 by local, 3 due");
    let shown = test.run(&["home"]).stdout;
    assert!(shown.contains("365 in [work]/.claude/settings.local.json."), "{shown}");
    std::fs::write(here.join("settings.local.json"), r#"{"cleanupPeriodDays":0}"#).unwrap();
    assert_eq!(setting(), "20 by project, 1 due");
}

#[test]
fn nothing_is_due_with_a_long_period() {
    let test = TestHome::with_sessions();
    test.home.write("settings.json", r#"{"cleanupPeriodDays":365}"#);
    assert_snapshot!(test.run(&["home", "--within", "30"]).shown(), @"
    [claude]  14 kB

      projects       14 kB  7 files  session logs, subagents, long results
      settings.json   25 B   1 file  user settings

    Claude Code deletes logs not modified in 365 days (user settings, [claude]/settings.json).
    No session is due within 30 days.
    --- exit 0
    ");
}
