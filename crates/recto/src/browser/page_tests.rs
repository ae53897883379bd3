//! Keys in, screens out: tables, menus and what goes wrong.

use super::message::Input;
use super::trial::FIX;
use super::trial::Trial;
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
    assert!(trial.shows("| cannot read the log: No such file"), "{}", trial.screen());
    assert!(!trial.shows("no tool was called"), "{}", trial.screen());
}

#[test]
fn what_was_read_stays_if_it_cannot_be_read_again() {
    let mut trial = Trial::new(home(), (100, 24));
    trial.keys("<enter>");
    remove_log(&trial);
    trial.keys("x");
    assert!(trial.shows("The parser fails on empty lines."), "{}", trial.screen());
    assert!(trial.shows("cannot read the log: No such file"), "{}", trial.screen());
    trial.input(Input::Resize(90, 24));
    assert!(trial.shows("The parser fails on empty lines."), "{}", trial.screen());
}
