//! `recto usage` and `recto prices`.

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// One object, whose rows add up to its total.
fn report(test: &TestHome, arguments: &[&str]) -> Value {
    let run = test.run(&[&["usage", "--json"], arguments].concat());
    let [report] = run.json().try_into().unwrap();
    let report: Value = report;
    for name in ["messages", "input_tokens", "output_tokens", "cache_read_input_tokens"] {
        let rows = report["rows"].as_array().unwrap();
        let sum: u64 = rows.iter().map(|row| row[name].as_u64().unwrap()).sum();
        assert_eq!(report["total"][name], sum, "{name}");
    }
    report
}

#[test]
fn rows_of_every_grouping_add_up_to_the_total() {
    let test = TestHome::with_sessions();
    let all = report(&test, &[]);
    assert!(all["total"]["messages"].as_u64().unwrap() > 5);
    assert!(all["total"]["cost_usd"].as_f64().unwrap() > 0.0);
    for by in [
        "day",
        "week",
        "month",
        "hour",
        "block",
        "session",
        "project",
        "model",
        "branch",
        "tool",
        "agent",
        "day,model",
        "project,branch",
    ] {
        let found = report(&test, &["--by", by]);
        assert_eq!(found["total"], all["total"], "{by}");
        for name in by.split(',') {
            assert!(found["rows"][0][name].is_string(), "{by}");
        }
    }
}

#[test]
fn a_session_has_its_subagents_and_a_part_is_less_than_the_whole() {
    let test = TestHome::with_sessions();
    let all = report(&test, &[]);
    let fix = report(&test, &[FIX]);
    let by_session = report(&test, &["--by", "session"]);
    let rows = by_session["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["session"] == FIX).unwrap();
    assert_eq!(fix["total"]["messages"], row["messages"]);
    let agents = report(&test, &[FIX, "--by", "agent"]);
    assert_eq!(agents["rows"].as_array().unwrap().len(), 2);
    let recent = report(&test, &["--model", "opus"]);
    assert!(recent["total"]["messages"].as_u64() < all["total"]["messages"].as_u64());
    assert_eq!(report(&test, &["--project", "/home/dev/docs"])["total"]["messages"], 1);
    assert_eq!(test.run(&["usage", "--since", "1m"]).code, 1, "nothing is in it");
}

#[test]
fn the_amounts_of_an_explanation_add_up() {
    let test = TestHome::with_sessions();
    let total = report(&test, &[])["total"]["cost_usd"].as_f64().unwrap();
    let explained = test.run(&["usage", "--explain", "--json"]).json();
    let sum: f64 = explained.iter().map(|one| one["cost_usd"].as_f64().unwrap()).sum();
    assert!((sum - total).abs() < 1e-9, "{sum} and {total}");
    for one in &explained {
        let lines = one["lines"].as_array().unwrap();
        assert_eq!(lines.iter().filter(|line| line["counted"] == true).count(), 1);
    }
    let text = test.run(&["usage", "--explain", FIX]).stdout;
    for part in [
        ".jsonl:",
        "price: claude-opus-5-5",
        "cache read: 9,000 × $0.0000002 = $0.0018",
        "total of",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn what_a_log_says_wrongly_is_told_and_counts_as_far_as_it_can() {
    let test = TestHome::empty();
    let line = |time: &str, id: &str, usage: &str| {
        format!(
            r#"{{"type":"assistant","sessionId":"{DOCS}",{time}"message":{{{id}"model":"claude-opus-5-5","usage":{{{usage}}}}}}}"#
        )
    };
    let at = |time: &str| format!(r#""timestamp":"{time}","#);
    let (past, id) = (at("2026-11-03T10:00:00Z"), |id: &str| format!(r#""id":"{id}","#));
    let one = r#""input_tokens":1"#;
    let lines = [
        line(&past, &id("negative"), r#""input_tokens":-5,"output_tokens":3"#),
        line(&past, &id("absurd"), r#""input_tokens":1,"output_tokens":1e30"#),
        line(&format!(r#"{past}"uuid":"a","#), "", one),
        line(&format!(r#"{past}"uuid":"b","#), "", one),
        line(&at("2099-01-01T00:00:00Z"), &id("future"), one),
        line(&past, &id("back"), one),
        line("", &id("timeless"), one),
        line(&at("yesterday"), &id("no-time"), one),
        line(&past, &id("torn"), one).split_at(60).0.to_owned(),
    ];
    test.home.write(&format!("projects/-home-dev-docs/{DOCS}.jsonl"), lines.join("\n"));
    let all = report(&test, &["--by", "day"]);
    let notes = &all["notes"];
    for (name, number) in
        [("bad_counts", 2), ("no_id", 2), ("no_time", 2), ("in_the_future", 1), ("clock_jumps", 1)]
    {
        assert_eq!(notes[name], number, "{name}");
    }
    let total = &all["total"];
    let numbers = ["messages", "input_tokens", "output_tokens"].map(|name| total[name].as_u64());
    assert_eq!(numbers, [Some(8), Some(7), Some(3)]);
    let days: Vec<&str> =
        all["rows"].as_array().unwrap().iter().map(|row| row["day"].as_str().unwrap()).collect();
    assert_eq!(days, ["2026-11-03", "2099-01-01", "unknown"]);
    let told = test.run(&["usage", "--since", "2020-01-01"]).stderr;
    for note in [
        "2 messages have an impossible count, which recto skips",
        "2 messages have no id: recto counts every line",
        "2 messages have no time: outside every period",
        "1 message is in the future",
        "the clock went back by more than an hour 1 time",
    ] {
        assert!(told.contains(&format!("note: {note}\n")), "{note} in\n{told}");
    }
}

#[test]
fn an_unknown_model_has_no_cost_until_a_file_names_its_price() {
    let test = TestHome::empty();
    let log = SessionBuilder::new(DOCS, Client::V2_1_325).prompt("Hello").answer("Hello");
    let path = test.home.add(&log, hours_ago(1));
    let text = std::fs::read_to_string(&path).unwrap().replace("claude-opus-5-5", "my-model");
    std::fs::write(&path, text).unwrap();
    let run = test.run(&["usage", "--json"]);
    assert_eq!(run.json()[0]["total"]["cost_usd"], Value::Null);
    assert_eq!(run.json()[0]["notes"]["unknown_models"][0], "my-model");
    assert!(
        run.stderr.contains("no price for my-model: 1 message of unknown cost"),
        "{}",
        run.stderr
    );
    let row = "[[price]]\nmodel = \"my-model\"\ninput = 1\noutput = 1\ncache_read = 1\ncache_write_5m = 1\n";
    let file = test.home.write("mine.toml", row);
    let known = test.run(&["usage", "--json", "--prices", file.to_str().unwrap()]);
    assert_eq!(known.json()[0]["total"]["cost_usd"].as_f64(), Some(0.009168));
    let listed = test.run(&["prices", "--prices", file.to_str().unwrap()]).stdout;
    assert!(listed.contains("my-model") && listed.contains("litellm"), "{listed}");
}

#[test]
fn what_cannot_be_understood_is_told() {
    let test = TestHome::with_sessions();
    let file = test.home.write("broken.toml", "[[price]]\nmodel = \"m\"\ninptu = 3\n");
    for (arguments, message) in [
        (&["--by", "colour"][..], "invalid value `colour` for --by"),
        (&["--by", "day,day"], "--by accepts one or two different groupings"),
        (&["--tz", "Mars/Olympus"], "unknown time zone `Mars/Olympus` for --tz"),
        (&["--prices", file.to_str().unwrap()], "line 3: no price is called `inptu`"),
        (&["--since", "soon"], "invalid value `soon` for --since"),
    ] {
        let run = test.run(&[&["usage"], arguments].concat());
        assert!(run.code == 2 && run.stderr.contains(message), "{}", run.shown());
    }
}

#[test]
fn rows_can_be_read_by_a_spreadsheet() {
    let test = TestHome::with_sessions();
    let text = test.run(&["usage", "--csv", "--by", "model"]).stdout;
    let mut lines = text.lines();
    let head = "model,messages,input_tokens,output_tokens,cache_creation_input_tokens,cache_read_input_tokens,cost_usd";
    assert_eq!(lines.next(), Some(head));
    assert!(lines.clone().count() >= 2 && lines.all(|line| line.split(',').count() == 7), "{text}");
}
