//! Pages of `docs/reference` that are made from the program, and its help.
//!
//! `RECTO_BLESS=1 cargo test -p recto --test runner reference` writes them again.

use std::fs;

use crate::support::TestHome;
use crate::support::repository;

/// The commands, as the help lists them.
pub(crate) fn commands(test: &TestHome) -> Vec<String> {
    let listed = test.run(&["help", "--all"]).stdout;
    let names = listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

fn help(test: &TestHome, command: Option<&str>) -> String {
    let arguments: Vec<&str> = command.into_iter().chain(["--help"]).collect();
    let run = test.run(&arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
    let lines: Vec<&str> = run.stdout.lines().map(str::trim_end).collect();
    lines.join("\n").trim_end().to_owned()
}

/// Compares a page with what it should be, or writes it.
fn check_page(name: &str, expected: &str) {
    let path = repository().join("docs/reference").join(name);
    if std::env::var_os("RECTO_BLESS").is_some() {
        fs::write(&path, expected).unwrap();
        return;
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let first = found.lines().zip(expected.lines()).position(|(a, b)| a != b);
    let line = first.unwrap_or_else(|| found.lines().count().min(expected.lines().count())) + 1;
    assert!(
        found == expected,
        "docs/reference/{name} is not what the program says, from line {line} on\n\
         hint: RECTO_BLESS=1 cargo test -p recto --test runner reference"
    );
}

#[test]
fn the_reference_of_commands_is_their_help() {
    let test = TestHome::empty();
    let mut page = "# Commands\n\n\
        <!-- Written by the test `the_reference_of_commands_is_their_help`; see CONTRIBUTING.md. -->\n\n\
        This is what `recto --help` and `recto COMMAND --help` print.\n"
        .to_owned();
    let names = commands(&test);
    assert!(names.len() >= 8, "{names:?}");
    page.push_str(&format!("\n## recto\n\n```text\n{}\n```\n", help(&test, None)));
    for name in &names {
        page.push_str(&format!("\n## recto {name}\n\n```text\n{}\n```\n", help(&test, Some(name))));
    }
    check_page("cli.md", &page);
}

#[test]
fn every_command_has_an_example_and_its_options_in_its_help() {
    let test = TestHome::empty();
    for name in commands(&test) {
        let help = help(&test, Some(&name));
        assert!(help.contains(&format!("\n  recto {name}")), "{name} has no example:\n{help}");
        for option in ["--home", "--json", "--color"] {
            assert!(help.contains(option), "{name} does not name {option}");
        }
    }
}

#[test]
fn there_are_completions_for_all_shells() {
    let test = TestHome::empty();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let run = test.run(&["completions", shell]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{shell}");
        for name in commands(&test) {
            assert!(run.stdout.contains(&name), "{shell} does not complete {name}");
        }
    }
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let test = TestHome::empty();
    let page = test.run(&["man"]).stdout;
    assert!(page.contains(".TH recto 1"), "{page}");
    for name in commands(&test) {
        let run = test.run(&["man", &name]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{name}");
        assert!(run.stdout.contains(&format!("recto {name}")), "{name}:\n{}", run.stdout);
        assert!(page.contains(&format!("recto\\-{name}(1)")), "{name} is not in the main page");
    }
}
