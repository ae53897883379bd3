//! Results that were too long for the log.

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::hostile::assert_no_control;
use crate::hostile::texts;
use crate::hostile::too_long;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

/// A home with one session that has one long result, and its file.
fn with_result(name: &str, content: &str) -> TestHome {
    let test = TestHome::empty();
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("go")
        .tool("Bash", r#"{"command":"seq 9"}"#, &too_long(name))
        .answer("done");
    let path = test.home.add(&log, hours_ago(1));
    let project = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    test.home.write(&format!("projects/{project}/{FIX}/tool-results/b1.txt"), content);
    test.home.write("settings.txt", "secret of the home");
    test.home.write(&format!("projects/{project}/{FIX}/tool-results/x.key"), "secret key");
    test
}

#[test]
fn recorded_results_come_from_both_kinds_of_files() {
    let test = TestHome::empty();
    for (version, file, bytes) in
        [("2.1.29", "toolu_012b1fdf86f5dac885e4462d.txt", 4293), ("2.1.325", "bj2kizdq4.txt", 4294)]
    {
        let home = repository().join(format!("fixtures/corpus/{version}/S9/home/.claude"));
        let home = home.to_str().unwrap();
        let brief = test.run(&["--home", home, "show"]).stdout;
        assert!(
            brief.contains(&format!(
                "  ⎿ 1\n    2\n    3\n    4\n    … 4.3 kB in total, in {file}\n"
            )),
            "{brief}"
        );
        assert!(!brief.contains("persisted-output"), "{brief}");
        let full = test.run(&["--home", home, "show", "--tools", "full"]).stdout;
        assert!(
            full.contains("    105\n    106\n")
                && full.contains("    15000\n")
                && !full.contains("persisted-output"),
            "{full}"
        );
        let tools = test.run(&["--home", home, "tools", "--json"]).json();
        let overflow = &tools[0]["overflow"];
        assert_eq!((&overflow["name"], &overflow["bytes"]), (&file.into(), &bytes.into()));
        assert!(overflow["path"].as_str().unwrap().ends_with(file), "{overflow}");
        assert!(tools[2]["overflow"].is_null(), "{}", tools[2]);
    }
}

#[test]
fn a_result_is_whole_in_documents_and_in_json_when_asked_for() {
    let test = with_result("b1.txt", "first\nlast line\n");
    for to in ["md", "html", "txt", "json"] {
        let document = test.run(&["export", "--to", to]).stdout;
        assert!(document.contains("last line"), "{to}: {document}");
    }
    let document = test.run(&["export", "--to", "xml"]).stdout;
    assert!(!document.contains("last line") && document.contains("Output too large"), "{document}");
    let text = |arguments: &[&str]| {
        let items = test.run(arguments).json();
        let result = items.into_iter().find(|item| item["item"] == "result").unwrap();
        result["overflow"]["text"].clone()
    };
    assert!(text(&["show", "--json"]).is_null());
    assert_eq!(text(&["show", "--json", "--tools", "full"]), "first\nlast line\n");
    assert_eq!(text(&["show", "--json", "--tools", "full", "--turn", "1"]), "first\nlast line\n");
}

#[test]
fn a_large_result_is_cut_in_documents() {
    let large = "line of a large result\n".repeat(100_000);
    let test = with_result("b1.txt", &large);
    let document = test.run(&["export", "--to", "txt"]).stdout;
    assert!(document.contains("(shortened; the full output has 2,300,000 bytes)"));
    assert!(document.len() < 1_300_000, "{}", document.len());
    let full = test.run(&["show", "--tools", "full"]).stdout;
    assert_eq!(full.matches("line of a large result").count(), 100_000);
}

#[test]
fn files_that_are_gone_secret_or_elsewhere_are_not_opened() {
    for name in ["gone.txt", "../../../settings.txt", "..", "x.key", "/etc/passwd", ".", "b1.txt/x"]
    {
        let test = with_result(name, "text of the file");
        for arguments in [
            &["show"][..],
            &["show", "--tools", "full"],
            &["show", "--json", "--tools", "full"],
            &["export", "--to", "html"],
            &["tools", "--json"],
        ] {
            let run = test.run(arguments);
            assert_eq!(run.code, 0, "{name} {arguments:?}: {}", run.stderr);
            let is_refused = ["..", ".", "x.key"].contains(&name);
            let words = if is_refused { "was not read" } else { "no longer exists" };
            let is_told = run.stdout.contains(words) || run.stdout.contains("\"text\":null");
            assert!(is_told, "{name} {arguments:?}: {}", run.stdout);
            for secret in ["secret", "root:", "text of the file"] {
                assert!(!run.stdout.contains(secret), "{name} {arguments:?}: {}", run.stdout);
            }
        }
    }
}

#[test]
fn what_is_in_the_file_is_harmless() {
    let test = with_result("b1.txt", &texts().join("\nw-line "));
    for arguments in [
        &["show"][..],
        &["show", "--tools", "full"],
        &["show", "--json", "--tools", "full"],
        &["show", "--tools", "full", "--agents", "--turn", "1"],
    ] {
        let run = test.run(arguments);
        assert!(run.stdout.contains("w-line"), "{arguments:?}: {}", run.stdout);
        assert_no_control(&run.stdout, &format!("{arguments:?}"));
    }
}
