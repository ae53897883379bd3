//! Keys in, screens out: what is searched for and looked for.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::document::Progress;
use super::state::Page;
use super::trial::DOCS;
use super::trial::OLD;
use super::trial::Trial;
use super::trial::ago;
use super::trial::home;

/// A home with one session.
fn home_of(log: SessionBuilder) -> FakeHome {
    let home = FakeHome::new();
    home.add(&log, ago(1));
    home
}

fn log() -> SessionBuilder {
    SessionBuilder::new(OLD, Client::V2_1_325).prompt("Go on").answer("Yes")
}

#[test]
fn a_hit_is_seen_where_it_is_opened_whatever_it_is() {
    let plan = r#"{"plan":"First this.\nThen the lettuce."}"#;
    let log = log()
        .meta_text("A caveat about turnips.")
        .attachment("memory", ("content", "Remember the parsnips."))
        .system("informational", "The leeks are gone.")
        .tool("ExitPlanMode", plan, "ok")
        .compaction("So far it was about celery.")
        .prompt("And then?")
        .answer("See [the page](https://example.org/radishes).")
        .model_title("An early fennel title")
        .custom_title("Go on");
    for word in ["turnips", "parsnips", "leeks", "lettuce", "celery", "radishes", "fennel"] {
        let mut trial = Trial::new(home_of(log.clone()), (80, 14));
        trial.keys(&format!("/{word}"));
        assert!(trial.shows("1 hit"), "{word}: {}", trial.screen());
        let seen = |screen: String| screen.lines().skip(3).any(|line| line.contains(word));
        let is_beside = |line: &str| line.split('│').next_back().unwrap().contains(word);
        assert!(trial.screen().lines().skip(3).any(is_beside), "{word}: {}", trial.screen());
        trial.keys("<enter>");
        assert!(seen(trial.screen()), "{word}: {}", trial.screen());
        assert_eq!(trial.marked(), [word]);
        // It stays where other parts are shown.
        trial.keys("xx");
        assert!(seen(trial.screen()), "{word}: {}", trial.screen());
    }
}

#[test]
fn a_phrase_is_found_where_the_screen_breaks_it() {
    let words: Vec<String> = (1..60).map(|number| format!("word{number}")).collect();
    let log = log().prompt(&words.join(" ")).answer(&format!("{} end", "x".repeat(200)));
    let mut trial = Trial::new(home_of(log), (80, 14));
    trial.keys("<enter>");
    let screen = trial.screen();
    let broken = screen.lines().find(|line| line.contains("word1 ")).unwrap();
    let last = broken.trim_end_matches(['┃', ' ']).rsplit_once("word").unwrap().1;
    let last: usize = last.parse().unwrap();
    trial.keys(&format!("/word{last} word{}<enter>", last + 1));
    assert!(!trial.shows("not found"), "{}", trial.screen());
    assert_eq!(trial.marked(), [format!("word{last}"), format!("word{}", last + 1)]);
    trial.keys(&format!("/{}<enter>", "x".repeat(150)));
    assert!(!trial.shows("not found"), "{}", trial.screen());
}

#[test]
fn what_is_not_found_may_be_in_what_is_not_shown() {
    let result = (1..20).map(|number| format!("row {number}\n")).collect::<String>();
    let log = log().tool("Bash", r#"{"command":"ls"}"#, &result);
    let mut trial = Trial::new(home_of(log), (80, 24));
    trial.keys("<enter>/row 19");
    assert!(trial.shows("not found in brief; x shows all"), "{}", trial.screen());
    trial.keys("<enter>");
    assert!(trial.shows("not found in brief; x shows all"), "{}", trial.screen());
    trial.keys("xn");
    assert!(trial.shows("match 1 of 1") && trial.shows("row 19"), "{}", trial.screen());
    trial.keys("/row 20<enter>");
    assert!(trial.shows(" not found  "), "{}", trial.screen());
    trial.keys("x/row 19<enter>");
    assert!(trial.shows("not found in text only; x shows more"), "{}", trial.screen());
}

#[test]
fn what_is_found_while_a_log_is_read_is_found_so_far() {
    let mut trial = Trial::new(home_of(log()), (80, 24));
    trial.keys("<enter>");
    let Some(Page::Reader(reader)) = trial.browser.pages.last_mut() else { panic!("no reader") };
    reader.document.progress = Progress::Reading;
    trial.keys("/Yes");
    assert!(trial.shows("1 line so far"), "{}", trial.screen());
    trial.keys("<c-u>No<enter>");
    assert!(trial.shows("not found so far"), "{}", trial.screen());
}

#[test]
fn a_slash_begins_a_search_and_is_a_letter_after_another() {
    let mut trial = Trial::new(home(), (80, 14));
    trial.keys("fix/pars");
    assert!(trial.shows("› fix/pars") && trial.shows("Repair the parser"), "{}", trial.screen());
    // What no title fits is searched for with one key.
    trial.keys("<c-u>needle");
    assert!(trial.shows("no match; Enter searches all text"), "{}", trial.screen());
    trial.keys("<enter>");
    assert!(trial.shows("/ needle") && trial.shows("1 hit"), "{}", trial.screen());
    trial.keys("<esc>");
    assert!(trial.shows("› needle"), "{}", trial.screen());
    trial.keys("<c-u>parser<c-f>");
    assert!(trial.shows("/ parser") && trial.shows("4 hits"), "{}", trial.screen());
}

#[test]
fn the_last_word_of_an_open_phrase_may_be_the_beginning_of_one() {
    let mut trial = Trial::new(home(), (80, 14));
    trial.keys("/\"");
    assert!(trial.shows("words in any order"), "{}", trial.screen());
    trial.keys("on emp");
    assert!(trial.shows("1 hit") && trial.shows("The parser fails on"), "{}", trial.screen());
    trial.keys("<c-u>\"emp on");
    assert!(trial.shows("not found"), "it is still a phrase: {}", trial.screen());
}

#[test]
fn what_fits_far_into_a_title_is_seen_and_so_is_the_directory() {
    let long = "A long title about many things of which only the last is a zebra";
    let home = home_of(log().custom_title(long));
    let other = SessionBuilder::new(DOCS, Client::V2_1_325).cwd("/home/dev/zoo").prompt("Zebra");
    home.add(&other, ago(2));
    let mut trial = Trial::new(home, (80, 12));
    trial.keys("zebra");
    assert!(trial.shows("…h only the last is a zebra   1h"), "{}", trial.screen());
    assert!(trial.shows("  Zebra                   zoo   2h"), "{}", trial.screen());
    trial.keys("<c-u>long");
    assert!(trial.shows("  A long title about"), "{}", trial.screen());
}

#[test]
fn a_hit_that_is_seen_is_not_shown_again() {
    let word = "x".repeat(90);
    let log = log().prompt(&format!("{word}needle")).answer("It is in **the** `parse` function.");
    for query in ["/\"in the parse\"", "/\"the parse function\"", &format!("/{word}needle")] {
        let mut trial = Trial::new(home_of(log.clone()), (80, 24));
        trial.keys(query);
        assert!(trial.shows("1 hit"), "{query}: {}", trial.screen());
        trial.keys("<enter>");
        assert!(!trial.shows("of the log ──"), "{query}: {}", trial.screen());
    }
}
