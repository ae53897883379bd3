//! What can be done with sessions: keys in, screens and files out.

use std::path::PathBuf;

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::scope::Here;
use super::state::Facts;
use super::trial::DOCS;
use super::trial::FIX;
use super::trial::OLD;
use super::trial::Trial;
use super::trial::ago;
use super::trial::home;
use super::trial::trial;
use crate::terminal::keymap::Keymap;

fn facts() -> Facts {
    let here = Here { directory: "/home/dev/docs".into(), project: "/home/dev".into() };
    Facts { home: "~/.claude".into(), client: "claude".into(), here, ..Facts::default() }
}

fn log_of(trial: &Trial, project: &str, id: &str) -> PathBuf {
    trial.home.path().join(format!("projects/{project}/{id}.jsonl"))
}

/// The rows of the list, without the transcript beside it.
fn rows(trial: &Trial) -> Vec<String> {
    let screen = trial.screen();
    let rows = screen.lines().skip(2).map(|line| line.split('│').next().unwrap_or_default());
    let rows = rows.map(|row| row.trim_matches(['|', ' ']).to_owned());
    rows.take_while(|row| !row.is_empty()).collect()
}

#[test]
fn the_current_directory_comes_first() {
    let trial = Trial::with(home(), (80, 12), facts());
    let rows = rows(&trial);
    assert!(rows[0].starts_with("/home/dev/docs"), "{rows:?}");
    assert!(rows[1].starts_with("Parser docs"), "{rows:?}");
    assert!(rows[2].starts_with("/home/dev/app"), "{rows:?}");
}

#[test]
fn the_scope_goes_from_all_to_here_to_the_project() {
    let home = home();
    let elsewhere = SessionBuilder::new("7f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", Client::V2_1_325)
        .cwd("/srv/other")
        .prompt("The parser elsewhere")
        .answer("It is.");
    home.add(&elsewhere, ago(5));
    let mut trial = Trial::with(home, (80, 14), facts());
    assert!(trial.shows("^s all sessions   ^o by project"), "{}", trial.screen());
    assert!(trial.shows("4 sessions"), "{}", trial.screen());
    trial.keys("<c-s>");
    assert!(
        trial.shows("^s this directory") && trial.shows("1 of 4 sessions"),
        "{}",
        trial.screen()
    );
    assert_eq!(rows(&trial).len(), 2, "{}", trial.screen());
    trial.keys("<c-s>");
    assert!(trial.shows("^s this project") && trial.shows("3 of 4 sessions"), "{}", trial.screen());
    // Hits are those of the scope, too.
    trial.keys("/parser");
    assert!(!trial.shows("elsewhere") && trial.shows("4 hits"), "{}", trial.screen());
    trial.keys("<a-s>");
    assert!(trial.shows("elsewhere"), "{}", trial.screen());
    trial.keys("<esc><c-s>");
    trial.browser.list.entries.retain(|entry| entry.id() != DOCS);
    trial.keys("<c-s><c-s><c-s>");
    assert!(trial.shows("no sessions in this directory; ^s"), "{}", trial.screen());
}

#[test]
fn the_order_is_by_project_by_age_by_size_or_by_title() {
    let mut trial = Trial::with(home(), (100, 12), facts());
    let first_words = |trial: &Trial| -> Vec<String> {
        let word = |row: &String| row.split(' ').next().unwrap_or_default().to_owned();
        rows(trial).iter().map(word).collect()
    };
    trial.keys("<c-o>");
    assert!(trial.shows("^o newest first"), "{}", trial.screen());
    assert_eq!(first_words(&trial), ["Repair", "Parser", "What"]);
    assert!(rows(&trial)[0].contains(" app "), "{}", trial.screen());
    trial.keys("<c-o>");
    assert_eq!(first_words(&trial), ["Repair", "What", "Parser"], "{}", trial.screen());
    trial.keys("<c-o>");
    assert_eq!(first_words(&trial), ["Parser", "Repair", "What"], "{}", trial.screen());
    // Letters apart are in the title of the second, and letters together in both.
    trial.keys("parser");
    assert_eq!(first_words(&trial), ["Parser", "Repair"], "the order stays");
    trial.keys("<c-o>");
    assert!(trial.shows("^o by project"), "{}", trial.screen());
}

#[test]
fn marked_sessions_are_copied_exported_and_removed_together() {
    let mut trial = trial();
    trial.keys("<c-space><insert>");
    assert!(trial.shows("2 marked") && trial.shows("✓ Repair the parser"), "{}", trial.screen());
    trial.keys("<c-y>c");
    assert_eq!(trial.copied, [format!("{FIX}\n{OLD}")]);
    assert!(trial.shows("copied ids, 2 lines"), "{}", trial.screen());
    trial.keys("<c-e>m");
    assert!(trial.work.path().join("3f2a1b4c.md").exists());
    assert!(trial.work.path().join("c81d4e2e.md").exists());
    trial.keys("<del>");
    assert!(trial.shows("y  remove 2 sessions"), "{}", trial.screen());
    trial.keys("n");
    assert!(log_of(&trial, "-home-dev-app", FIX).exists());
    trial.keys("<del>y");
    assert!(trial.shows("removed 2 sessions ("), "{}", trial.screen());
    assert!(!log_of(&trial, "-home-dev-app", FIX).exists());
    assert!(!log_of(&trial, "-home-dev-app", OLD).exists());
    trial.look();
    assert!(trial.shows("1 session") && !trial.shows("marked"), "{}", trial.screen());
    trial.keys("<a-U>");
    assert!(trial.shows("Undo operation 1") && trial.shows("recto rm"), "{}", trial.screen());
    trial.keys("y");
    assert!(trial.shows("undid operation 1: rm"), "{}", trial.screen());
    trial.look();
    assert!(trial.shows("3 sessions") && trial.shows("Repair the parser"), "{}", trial.screen());
    trial.keys("<a-U>");
    assert!(trial.shows("there is nothing to undo"), "{}", trial.screen());
}

#[test]
fn escape_unmarks_before_it_quits() {
    let mut trial = trial();
    trial.keys("<c-space>");
    assert!(trial.shows("1 marked") && trial.shows("esc unmark all"), "{}", trial.screen());
    trial.keys("<esc>");
    assert!(!trial.has_quit && !trial.shows("marked"), "{}", trial.screen());
    trial.keys("<esc>");
    assert!(trial.has_quit);
}

#[test]
fn a_session_is_renamed_where_it_is_read() {
    let mut trial = trial();
    trial.keys("<enter>R");
    assert!(
        trial.shows("Rename 3f2a1b4c") && trial.shows("Repair the parser▏"),
        "{}",
        trial.screen()
    );
    trial.keys("<c-u>Mend it!<back><enter>");
    assert!(trial.shows("renamed to `Mend it`; U undoes it"), "{}", trial.screen());
    trial.look();
    assert!(trial.screen().starts_with("| Mend it\n"), "{}", trial.screen());
    trial.keys("Uy");
    trial.look();
    assert!(trial.screen().starts_with("| Repair the parser\n"), "{}", trial.screen());
    // What is not confirmed, or the same, changes nothing.
    trial.keys("R<enter>Rx<esc>");
    trial.look();
    assert!(trial.screen().starts_with("| Repair the parser\n"), "{}", trial.screen());
    trial.keys("U");
    assert!(trial.shows("there is nothing to undo"), "{}", trial.screen());
}

#[test]
fn a_fork_ends_with_the_turn_on_the_screen() {
    let mut trial = Trial::new(home(), (80, 14));
    trial.keys("<enter>]F");
    assert!(trial.shows("Make a new session with turns 1 to 2 of 3f2a1b4c"), "{}", trial.screen());
    trial.keys("y");
    assert!(trial.shows("ends with turn 2; U undoes it"), "{}", trial.screen());
    trial.look();
    trial.keys("q<home>");
    assert!(
        trial.shows("4 sessions") && trial.shows("Repair the parser (fork)"),
        "{}",
        trial.screen()
    );
    trial.keys("(fork)<enter>G");
    assert!(trial.shows("turn 2/2") && !trial.shows("You are welcome."), "{}", trial.screen());
}

#[test]
fn what_cannot_be_edited_is_not_even_asked_for() {
    let fake = home();
    fake.announce(FIX, "idle");
    let mut trial = Trial::new(fake, (80, 14));
    for keys in ["<f2>", "<del>", "<tab>F", "R"] {
        trial.keys(keys);
        assert!(
            trial.shows("the session is open in another program"),
            "{keys}: {}",
            trial.screen()
        );
    }
    trial.keys("<tab><end><a-p>");
    assert!(trial.shows("the session is not running"), "{}", trial.screen());
    trial.keys("<home><a-p>");
    assert!(trial.shows("recto is not running in tmux"), "{}", trial.screen());
    trial.browser.facts.in_tmux = true;
    trial.keys("<a-p>");
    assert_eq!(trial.panes.len(), 1);
    trial.keys("<c-r>");
    assert!(trial.shows("p  go to its tmux pane"), "{}", trial.screen());
    trial.keys("p");
    assert_eq!(trial.panes.len(), 2);
    assert!(trial.resumed.is_empty());
}

#[test]
fn the_answer_and_code_blocks_of_a_turn_are_copied_as_they_were_written() {
    let fake = FakeHome::new();
    let answer =
        "Use **this**:\n\n```rust\nfn main() {}\n```\n\nor\n\n```\nmake\nmake all\n```\n\nDone.";
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("How?")
        .answer("I look.\n\n```sh\nls\n```")
        .tool("Bash", r#"{"command":"ls"}"#, "one")
        .answer(answer)
        .prompt("Thanks!")
        .answer("Bye.");
    fake.add(&log, ago(2));
    let mut trial = Trial::new(fake, (80, 40));
    trial.keys("<enter>c");
    assert!(trial.shows("a  answer of turn 1, 14 lines"), "{}", trial.screen());
    assert!(trial.shows("1  sh, 1 line") && trial.shows("3  code, 2 lines"), "{}", trial.screen());
    trial.keys("ac2c3]ca");
    let copied = [answer, "fn main() {}\n", "make\nmake all\n", "Bye."];
    assert_eq!(trial.copied, copied);
    // Beside the list it is the turn that is seen there.
    trial.keys("q<tab>ca");
    assert_eq!(trial.copied.pop().as_deref(), Some(answer));
}

#[test]
fn hits_tell_who_wrote_them_and_when() {
    let mut trial = trial();
    trial.keys("/parser");
    let rows = rows(&trial);
    assert!(rows[1].starts_with("1 you    The parser fails"), "{rows:?}");
    assert!(rows[2].starts_with("3 title  Repair the parser"), "{rows:?}");
    let day = rows[1].split(' ').next_back().unwrap_or_default();
    assert!(day.ends_with(['h', 'd', 'w', 'y', 'o']) && day.len() <= 4, "{rows:?}");
}

#[test]
fn keys_of_the_settings_work_are_shown_and_are_letters_where_one_types() {
    let pairs = [("resume", "v"), ("remove", "f8"), ("tools", "a"), ("agents", "t")];
    let pairs = pairs.map(|(name, key)| (name.to_owned(), key.to_owned()));
    let keymap = Keymap::read(&pairs).unwrap();
    let mut trial = Trial::with(home(), (80, 24), Facts { keymap, ..facts() });
    trial.keys("v");
    assert!(trial.shows("› v"), "{}", trial.screen());
    trial.keys("<esc>");
    assert!(trial.shows("^v resume"), "{}", trial.screen());
    trial.keys("<c-r>");
    assert!(trial.resumed.is_empty());
    trial.keys("<c-v>");
    assert_eq!(trial.resumed.len(), 1);
    trial.keys("<f8>");
    assert!(trial.shows("Remove"), "{}", trial.screen());
    trial.keys("<esc><enter>a");
    assert!(trial.shows("Tool calls"), "{}", trial.screen());
    trial.keys("q/t");
    assert!(trial.shows("find: t"), "{}", trial.screen());
    trial.keys("<esc>q?");
    assert!(trial.shows("^v ^y ^e ^a ^t"), "{}", trial.screen());
}

#[test]
fn opened_for_a_session_it_is_left_with_it() {
    let mut trial = Trial::with(home(), (80, 14), Facts { first: Some(DOCS.into()), ..facts() });
    assert!(trial.screen().starts_with("| Parser docs\n"), "{}", trial.screen());
    trial.keys("t");
    assert!(trial.shows("Tool calls"), "{}", trial.screen());
    trial.keys("q");
    assert!(!trial.has_quit && trial.shows("Written."), "{}", trial.screen());
    trial.keys("q");
    assert!(trial.has_quit);
    let missing = Facts { first: Some("nosuch".into()), ..facts() };
    let trial = Trial::with(home(), (80, 14), missing);
    assert!(trial.shows("the session has no log yet"), "{}", trial.screen());
}
