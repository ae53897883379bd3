//! Keys in, screens out: what is searched for and looked for.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::trial::OLD;
use super::trial::Trial;
use super::trial::ago;

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
