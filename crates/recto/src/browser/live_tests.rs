//! The browser with its threads, while files change: what is done to the home in, screens
//! out. What comes is waited for, however long it takes.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;
use std::time::Instant;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_store::Home;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;
use tempfile::TempDir;

use super::message::Effect;
use super::message::Input;
use super::search;
use super::search::Found;
use super::state::Browser;
use super::state::Facts;
use super::trial::key;
use super::trial::screen;
use super::worker::Place;
use super::worker::Workers;
use crate::environment::Environment;

const FIRST: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
const SECOND: &str = "c81d4e2e-bcf2-41e6-869b-7df92533d2db";
/// Only a browser that does not come to it is given up, after this long.
const PATIENCE: Duration = Duration::from_secs(60);

fn hours_ago(hours: i64) -> Timestamp {
    Timestamp::now() - SignedDuration::from_hours(hours)
}

fn log(id: &str, prompts: &[&str]) -> SessionBuilder {
    let log = SessionBuilder::new(id, Client::V2_1_325);
    prompts.iter().fold(log, |log, prompt| log.prompt(prompt))
}

fn place(home: &FakeHome, cache: &TempDir) -> Place {
    let environment =
        Environment { cache_dir: Some(cache.path().to_owned()), ..Environment::default() };
    Place {
        home: Arc::new(Home::open(home.path()).unwrap()),
        user_home: None,
        working_directory: None,
        environment: Arc::new(environment),
    }
}

struct Trial {
    home: FakeHome,
    _cache: TempDir,
    browser: Browser,
    workers: Workers,
}

impl Trial {
    fn new(home: FakeHome) -> Trial {
        Trial::with_cache(home, tempfile::tempdir().unwrap())
    }

    fn with_cache(home: FakeHome, cache: TempDir) -> Trial {
        let facts = Facts { client: "claude".into(), has_colour: true, ..Facts::default() };
        let browser = Browser::new(facts, (80, 24), Timestamp::now(), String::new());
        let workers = Workers::start(&place(&home, &cache)).unwrap();
        Trial { home, _cache: cache, browser, workers }
    }

    fn input(&mut self, input: Input) {
        for effect in self.browser.handle(input) {
            match effect {
                Effect::Read(request) => self.workers.read(*request),
                Effect::Search(request) => self.workers.search(request),
                Effect::Refresh => self.workers.look(),
                other => panic!("nobody asked for {other:?}"),
            }
        }
    }

    fn key(&mut self, name: &str) {
        self.input(Input::Key(key(name)));
    }

    /// Takes what the workers tell until the screen is as it should be.
    fn until(&mut self, is_so: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let shown = screen(&self.browser);
            if is_so(&shown) {
                return shown;
            }
            let left = PATIENCE.saturating_sub(begun.elapsed());
            match self.workers.reports.recv_timeout(left) {
                Ok(report) => self.input(Input::Report(report)),
                Err(error) => panic!("{error}: {shown}"),
            }
        }
    }

    fn until_shows(&mut self, text: &str) -> String {
        self.until(|shown| shown.contains(text))
    }

    /// Waits for something in the transcript, and gives it without the head, which has the
    /// title.
    fn until_reads(&mut self, text: &str) -> String {
        let page = |shown: &str| shown.lines().skip(3).collect::<Vec<_>>().join("\n");
        page(&self.until(|shown| page(shown).contains(text)))
    }
}

fn append(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// A home with a session that runs, and one that does not.
fn home() -> (FakeHome, PathBuf) {
    let home = FakeHome::new();
    let path = home.add(&log(FIRST, &["first words"]), hours_ago(1));
    home.announce(FIRST, "busy");
    home.add(&log(SECOND, &["other words"]), hours_ago(2));
    (home, path)
}

#[test]
fn the_list_shows_what_comes_and_goes() {
    let (home, _) = home();
    let mut trial = Trial::new(home);
    trial.until_shows("2 sessions");
    let third = "aaaaaaaa-0000-4000-8000-000000000001";
    let path = trial.home.add(&log(third, &["a session comes"]), hours_ago(3));
    trial.until(|shown| shown.contains("3 sessions") && shown.contains("a session comes"));
    let announced = trial.home.announce(third, "waiting");
    // There is one client, which has gone on with another session.
    trial.until_shows("● a session c");
    fs::remove_file(announced).unwrap();
    trial.until(|shown| !shown.contains("running"));
    // Another project, the same log.
    let project = trial.home.path().join("projects/-home-dev-elsewhere");
    fs::create_dir(&project).unwrap();
    let moved = project.join(path.file_name().unwrap());
    fs::rename(&path, &moved).unwrap();
    append(&moved, log(third, &["x"]).custom_title("it has a title").bytes());
    trial.until_shows("it has a title");
    fs::remove_file(&moved).unwrap();
    trial.until_shows("2 sessions");
}

#[test]
fn an_open_log_is_followed_whatever_happens_to_it() {
    let (home, path) = home();
    let mut trial = Trial::new(home);
    trial.until_shows("2 sessions");
    trial.key("enter");
    trial.until_reads("turn 1/1");
    let longer = log(FIRST, &["first words", "a line in two pieces", "and one more"]);
    let at = log(FIRST, &["first words"]).bytes().len();
    let torn = at + 40;
    append(&path, &longer.bytes()[at..torn]);
    append(&path, &longer.bytes()[torn..]);
    let shown = trial.until_reads("and one more");
    assert_eq!(shown.matches("a line in two pieces").count(), 1, "{shown}");
    assert!(shown.contains("/3 "), "{shown}");
    // It is cut, and written anew.
    fs::write(&path, log(FIRST, &["begun anew"]).bytes()).unwrap();
    let shown = trial.until_reads("begun anew");
    assert!(!shown.contains("in two pieces"), "{shown}");
    // Another file of the same length takes its place.
    let beside = trial.home.path().join("beside");
    fs::write(&beside, log(FIRST, &["other text"]).bytes()).unwrap();
    fs::rename(&beside, &path).unwrap();
    let shown = trial.until_reads("other text");
    assert!(!shown.contains("begun anew"), "{shown}");
    // It goes, and comes again.
    fs::remove_file(&path).unwrap();
    let shown = trial.until_reads("the log no longer exists");
    assert!(shown.contains("other text"), "what was read stays: {shown}");
    trial.home.add(&log(FIRST, &["here again"]), hours_ago(0));
    let shown = trial.until_reads("here again");
    assert!(!shown.contains("other text"), "{shown}");
}

#[test]
fn a_log_that_moves_is_followed_where_it_is() {
    let (home, path) = home();
    let mut trial = Trial::new(home);
    trial.until_shows("2 sessions");
    trial.key("enter");
    trial.until_reads("turn 1/1");
    let project = trial.home.path().join("projects/-home-dev-elsewhere");
    fs::create_dir(&project).unwrap();
    let moved = project.join(path.file_name().unwrap());
    fs::rename(&path, &moved).unwrap();
    let longer = log(FIRST, &["first words", "written elsewhere"]);
    append(&moved, &longer.bytes()[log(FIRST, &["first words"]).bytes().len()..]);
    trial.until_reads("written elsewhere");
}

/// The worker that follows waits for ever, so that a switch it is not told of would never
/// be seen.
#[test]
fn another_log_is_read_while_one_is_followed() {
    let (home, path) = home();
    let mut trial = Trial::new(home);
    for _ in 0..20 {
        trial.until(|shown| shown.contains("│ first words") && shown.contains("You  1"));
        trial.key("down");
        trial.until(|shown| shown.contains("│ other words") && shown.contains("You  1"));
        trial.key("up");
    }
    trial.until(|shown| shown.contains("│ first words") && shown.contains("You  1"));
    let longer = log(FIRST, &["first words", "it still grows"]);
    append(&path, &longer.bytes()[log(FIRST, &["first words"]).bytes().len()..]);
    trial.until_shows("it still grows");
}

#[test]
fn a_search_that_nobody_waits_for_tells_nothing_and_leaves_its_index_to_the_next() {
    let (fake, _) = home();
    let cache_folder = tempfile::tempdir().unwrap();
    let Place { home, environment, .. } = place(&fake, &cache_folder);
    let told = Mutex::new(0);
    let note = |_: Found| *told.lock().unwrap() += 1;
    search::search(&home, &environment, "words", &|| true, &note).unwrap();
    let cache = environment.cache_directory().unwrap();
    let status = home.index_status(&home.inventory(), &cache).unwrap();
    assert_eq!((status.logs, status.stale), (2, 0), "{status:?}");
    assert_eq!(*told.lock().unwrap(), 0, "nothing is told");
    let mut trial = Trial::with_cache(fake, cache_folder);
    trial.until_shows("2 sessions");
    for key in ["/", "w", "o", "r", "d", "s"] {
        trial.key(key);
    }
    trial.until_shows("2 hits");
}
