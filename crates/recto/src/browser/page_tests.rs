//! Keys in, screens out: tables, menus and what goes wrong.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::message::Input;
use super::message::Report;
use super::trial::FIX;
use super::trial::Trial;
use super::trial::ago;
use super::trial::fix;
use super::trial::home;
use super::trial::trial;

fn remove_log(trial: &Trial) {
    let project = trial.home.path().join("projects/-home-dev-app");
    std::fs::remove_file(project.join(format!("{FIX}.jsonl"))).unwrap();
}

#[test]
fn a_table_that_cannot_be_made_says_why() {
    let mut trial = trial();
    trial.keys("<enter>");
    remove_log(&trial);
    trial.keys("t");
    assert!(trial.shows("| cannot read the log: no such file"), "{}", trial.screen());
    assert!(!trial.shows("no tool was called"), "{}", trial.screen());
}

#[test]
fn what_was_read_stays_if_it_cannot_be_read_again() {
    let mut trial = Trial::new(home(), (100, 24));
    trial.keys("<enter>");
    remove_log(&trial);
    trial.keys("x");
    assert!(trial.shows("The parser fails on empty lines."), "{}", trial.screen());
    assert!(trial.shows("cannot read the log: no such file"), "{}", trial.screen());
    trial.input(Input::Resize(90, 24));
    assert!(trial.shows("The parser fails on empty lines."), "{}", trial.screen());
}

#[test]
fn a_table_is_come_back_to_at_the_row_that_was_left() {
    let mut trial = trial();
    trial.keys("<enter>xtjj");
    assert!(trial.shows(" 3/4"), "{}", trial.screen());
    trial.keys("<enter>");
    assert!(trial.shows("file_path: src/parse.rs"), "in full as before: {}", trial.screen());
    trial.keys("q");
    assert!(trial.shows("Tool calls") && trial.shows(" 3/4"), "{}", trial.screen());
    // The key of the table leads back as well, and no pages pile up.
    trial.keys("<enter>t");
    assert!(trial.shows("Tool calls") && trial.shows(" 3/4"), "{}", trial.screen());
    trial.keys("qq");
    assert!(trial.shows("type to filter"), "{}", trial.screen());
}

#[test]
fn menus_are_gone_through_with_arrows_and_keep_other_keys_to_themselves() {
    let mut trial = trial();
    trial.keys("<tab>c");
    assert!(trial.shows("↑↓ enter, esc cancels"), "{}", trial.screen());
    trial.keys("z<c-r>k<f1>");
    assert!(trial.shows("path of the log"), "an unknown key leaves it open: {}", trial.screen());
    trial.keys("<down><down><down><down><up><up><enter>");
    assert_eq!(trial.copied, [format!("cd /home/dev/app && claude --resume {FIX}")]);
    assert!(trial.browser.pages.is_empty(), "enter opens nothing below");
    trial.keys("e<down><enter>");
    assert!(trial.shows("wrote ~/3f2a1b4c.html"), "{}", trial.screen());
    trial.keys("eq");
    assert!(!trial.shows("Export") && !trial.has_quit, "{}", trial.screen());
}

#[test]
fn enter_does_not_resume_a_session_that_runs() {
    let home = home();
    home.announce(FIX, "idle");
    let mut trial = Trial::new(home, (80, 14));
    trial.keys("<tab>r<enter>");
    assert!(trial.shows("This session is already open"), "{}", trial.screen());
    assert!(trial.resumed.is_empty() && trial.browser.pages.is_empty());
    trial.keys("<esc>");
    assert!(!trial.shows("This session is already open"), "{}", trial.screen());
}

#[test]
fn of_subagents_the_task_is_seen_and_the_id_can_be_copied() {
    let home = FakeHome::new();
    home.add(&fix(), ago(2));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325)
        .prompt("Find all callers of parse() and say what each of them expects.")
        .tool("Bash", r#"{"command":"ls"}"#, "ok")
        .answer("There are two callers.");
    home.add(&agent, ago(3));
    let project = format!("projects/-home-dev-app/{FIX}/subagents");
    let meta = r#"{"agentType":"general-purpose"}"#;
    home.write(&format!("{project}/agent-a1b2c3d4e5f60718.meta.json"), meta);
    let mut trial = Trial::new(home, (80, 24));
    trial.keys("<enter>a");
    assert!(trial.shows("| a1b2c3d4  Find all callers of parse() and"), "{}", trial.screen());
    assert!(trial.shows("general-purpose  1 call"), "{}", trial.screen());
    trial.keys("cc");
    assert_eq!(trial.copied, ["agent-a1b2c3d4e5f60718"]);
    trial.input(Input::Resize(160, 24));
    assert!(trial.shows("| a1b2c3d4e5f60718  Find all callers"), "{}", trial.screen());
}

#[cfg(unix)]
#[test]
fn what_was_skipped_is_named_in_the_help() {
    let home = home();
    let link = home.path().join("projects/-elsewhere");
    std::os::unix::fs::symlink("/", link).unwrap();
    let mut trial = Trial::new(home, (100, 24));
    assert!(trial.shows("1 skipped (F1)"), "{}", trial.screen());
    trial.keys("/parser<f1>");
    assert!(trial.shows("Not listed, or not searched"), "{}", trial.screen());
    assert!(trial.shows("projects/-elsewhere"), "{}", trial.screen());
    // What a search could not read is told in the same place.
    let ticket = trial.browser.list.search_ticket;
    let told = vec!["skipped: /x.jsonl cannot be searched: no permission".to_owned()];
    trial.input(Input::Report(Report::Unsearched { ticket, told }));
    assert!(trial.shows("skipped: /x.jsonl cannot be searched"), "{}", trial.screen());
    trial.keys("<esc>");
    assert!(trial.shows("2 skipped (F1)"), "{}", trial.screen());
}

#[test]
fn another_scene_is_told_from_the_same_one() {
    let mut trial = Trial::new(home(), (80, 10));
    let first = trial.browser.scene();
    trial.keys("<tab>");
    assert_eq!(trial.browser.scene(), first);
    trial.keys("j");
    let scrolled = trial.browser.scene();
    assert_ne!(scrolled, first);
    trial.keys("<enter>");
    assert_ne!(trial.browser.scene(), scrolled);
}

#[test]
fn all_of_the_help_can_be_read_on_a_narrow_screen() {
    for width in [30, 44, 60, 80] {
        let mut trial = Trial::new(home(), (width, 12));
        trial.keys("?");
        let mut seen = String::new();
        for _ in 0..160 {
            seen.push_str(&trial.screen().replace(['│', '\n', '|'], " "));
            trial.keys("j");
        }
        let seen = seen.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in ["transcript, where", "(also with Alt)", "was started", "sessions)", "in most"]
        {
            assert!(seen.contains(word), "{width}: {word}: {}", trial.screen());
        }
        assert!(!trial.shows("…"), "{}", trial.screen());
    }
}
