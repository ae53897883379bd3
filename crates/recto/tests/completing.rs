//! Shells complete sessions: what the program offers, and what the script of bash makes of it.

use std::process::Command;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;

fn offered(test: &TestHome, shell: &str, words: &[&str]) -> Vec<String> {
    let run = test.run(&[&["complete", shell, "--"][..], words].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", run.shown());
    run.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn ids_come_newest_first_with_titles_where_the_shell_shows_them() {
    let test = TestHome::with_sessions();
    assert_eq!(
        offered(&test, "zsh", &["recto", "show", ""]),
        [
            "3f2a1b4c:Repair the parser",
            "3f2b77aa:Parser docs",
            "c81d4e2e:What does this project do?"
        ]
    );
    assert_eq!(offered(&test, "fish", &["recto", "rm", OLD, "3f2b"]), ["3f2b77aa\tParser docs"]);
    assert_eq!(offered(&test, "bash", &["recto", "cat", "3F2"]), ["3f2a1b4c", "3f2b77aa"]);
    assert_eq!(offered(&test, "bash", &["recto", "show", "la"]), ["latest"]);
    // More than the first characters were typed.
    assert_eq!(offered(&test, "bash", &["recto", "show", "3f2a1b4c-9"]), [FIX]);
}

#[test]
fn titles_are_completed_by_their_first_words() {
    let test = TestHome::with_sessions();
    assert_eq!(offered(&test, "zsh", &["recto", "show", "rep"]), ["Repair the parser:3f2a1b4c"]);
    assert_eq!(offered(&test, "bash", &["recto", "show", "Parser\\ d"]), ["Parser\\ docs"]);
    assert_eq!(offered(&test, "bash", &["recto", "show", "docs"]), [""; 0], "not by others");
}

#[test]
fn ids_are_completed_without_opening_a_log() {
    let test = TestHome::with_sessions();
    // What cannot be read as a log is offered by its name all the same.
    let path = test.home.path().join(format!("projects/-home-dev-docs/{DOCS}.jsonl"));
    std::fs::write(path, "no JSON at all").unwrap();
    assert_eq!(offered(&test, "bash", &["recto", "show", "3f2b"]), ["3f2b77aa"]);
}

#[test]
fn nothing_is_offered_where_no_session_is_named() {
    let test = TestHome::with_sessions();
    for words in [&["recto", ""][..], &["recto", "ls", ""], &["recto", "show", "--tools", ""]] {
        assert_eq!(offered(&test, "bash", words), [""; 0], "{words:?}");
    }
    let elsewhere = test.work.path().join("nothing");
    std::fs::create_dir(&elsewhere).unwrap();
    let words = ["recto", "--home", elsewhere.to_str().unwrap(), "show", ""];
    assert_eq!(offered(&test, "bash", &words), [""; 0]);
}

#[test]
fn the_script_of_bash_completes_sessions_and_options() {
    let test = TestHome::with_sessions();
    let script = test.run(&["completions", "bash"]).stdout;
    let path = test.work.path().join("recto.bash");
    std::fs::write(&path, script).unwrap();
    let complete = |words: &[&str]| {
        // What bash calls when the tabulator is pressed.
        let typed = "source ./recto.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); \
            _recto_sessions recto \"${!#}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
            printf '%s\\n' \"${COMPREPLY[@]}\"";
        let mut command = Command::new("bash");
        command.args(["--norc", "--noprofile", "-c", typed, "bash"]).args(words);
        test.set_environment(&mut command);
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_recto")).parent().unwrap();
        let path = format!("{}:/usr/bin:/bin", program.display());
        let run = test.finish(command.env("PATH", path));
        assert_eq!(run.stderr, "", "{}", run.shown());
        run.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["recto", "show", "3f2"]), ["3f2a1b4c", "3f2b77aa"]);
    assert_eq!(complete(&["recto", "show", "Parser"]), ["Parser\\ docs"]);
    let options = complete(&["recto", "show", "--fo"]);
    assert!(options.contains(&"--follow".to_owned()), "{options:?}");
    assert_eq!(complete(&["recto", "sho"]), ["show"]);
}
