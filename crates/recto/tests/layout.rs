//! Every listing at three widths of a terminal. The screens are in `tests/layout`;
//! `RECTO_BLESS=1` writes them again.

use std::fs;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use unicode_width::UnicodeWidthStr;

use crate::session::working;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

const LISTINGS: [&[&str]; 22] = [
    &[],
    &["ls"],
    &["ls", "--cost"],
    &["ls", "--agents"],
    &["search", "parser"],
    &["status", "--all"],
    &["usage"],
    &["usage", "--by", "session"],
    &["usage", "--by", "project,model"],
    &["turns", FIX],
    &["tools", FIX],
    &["files", FIX],
    &["agents", FIX],
    &["branches", FIX],
    &["stats", FIX],
    &["context", FIX],
    &["history"],
    &["log"],
    &["home"],
    &["check", "--all"],
    &["prices"],
    &["help", "--all"],
];

/// Sessions with long titles and paths, a subagent, edits and operations.
fn home() -> TestHome {
    let test = working();
    let docs = SessionBuilder::new(DOCS, Client::V2_1_325)
        .cwd("/home/dev/companies/acme/documentation/parser")
        .branch("feature/a-branch-with-a-rather-long-name")
        .prompt("Write the documentation of the parser, with examples for every option there is")
        .answer("Written.");
    test.home.add(&docs, hours_ago(26));
    let old = SessionBuilder::new(OLD, Client::V2_1_29)
        .at(hours_ago(27 * 24))
        .prompt("日本語のタイトルも表示できますか、とても長いものでも？")
        .answer("はい。");
    test.home.add(&old, hours_ago(27 * 24));
    assert_eq!(test.run(&["rename", OLD, "What does this project do, and for whom?"]).code, 0);
    assert_eq!(test.run(&["rm", OLD, "--yes"]).code, 0);
    assert_eq!(test.run(&["undo"]).code, 0);
    test
}

/// What no line of a screen may lack: the title is what people look for.
fn check_titles(width: usize, screen: &str) {
    assert!(screen.contains("Parser"), "{screen}");
    if width >= 80 {
        assert!(screen.contains("Write the documentation"), "{screen}");
    }
}

#[test]
fn every_listing_is_readable_at_three_widths() {
    let test = home();
    for width in [80, 100, 200] {
        let (mut page, mut wider) = (String::new(), Vec::new());
        for arguments in LISTINGS {
            let mut command = test.command(arguments);
            command.env("RECTO_COLUMNS", width.to_string());
            let run = test.finish(&mut command);
            assert!(run.code <= 1, "{arguments:?}: {}", run.shown());
            // Numbers of processes and lengths of temporary paths differ.
            let screen: String =
                run.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
            let is_listing = !matches!(arguments.first(), Some(&"help" | &"prices" | &"home"));
            for line in screen.lines().filter(|_| is_listing) {
                let wide = line.width();
                if wide > width {
                    wider.push(format!("{arguments:?}: {wide} columns of {width}: {line}"));
                }
            }
            if matches!(arguments, [] | ["ls", ..]) {
                check_titles(width, &screen);
            }
            page.push_str(&format!("$ recto {}\n{screen}\n", arguments.join(" ")));
        }
        assert!(wider.is_empty(), "{}", wider.join("\n"));
        let path = repository().join(format!("crates/recto/tests/layout/{width}.txt"));
        if std::env::var_os("RECTO_BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &page).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        let at = found.lines().zip(page.lines()).position(|(a, b)| a != b);
        assert!(
            found == page,
            "{} differs from line {} on\nhint: RECTO_BLESS=1 cargo test -p recto --test runner layout",
            path.display(),
            at.map_or(0, |at| at + 1)
        );
    }
}

#[test]
fn tables_keep_to_a_terminal_of_forty_columns() {
    let test = home();
    let others = ["check", "help", "prices", "home", "search", "stats"];
    for arguments in LISTINGS {
        if arguments.is_empty() || others.contains(&arguments[0]) {
            continue;
        }
        let mut command = test.command(arguments);
        command.env("RECTO_COLUMNS", "40");
        let run = test.finish(&mut command);
        assert!(run.code <= 1, "{arguments:?}: {}", run.shown());
        for line in run.stdout.lines() {
            let wide = line.trim_end().width();
            assert!(wide <= 40, "{arguments:?}: {wide} columns: {line}");
        }
    }
}

#[test]
fn listings_in_a_pipe_have_tabs_and_are_not_padded() {
    let test = home();
    for arguments in [&["ls"][..], &["turns", FIX], &["tools", FIX], &["history"], &["log"]] {
        let run = test.run(arguments);
        let lines: Vec<&str> = run.stdout.lines().collect();
        assert!(!lines.is_empty(), "{arguments:?}");
        for line in lines {
            assert!(line.contains('\t') && !line.contains("  "), "{arguments:?}: {line:?}");
        }
    }
    assert_eq!(test.run(&["turns", FIX]).stdout.lines().count(), 2);
}
