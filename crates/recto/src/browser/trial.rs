//! The browser without threads and without a terminal, for tests that type at it.
//!
//! What the state wants done is done at once, so that a screen depends on the keys
//! alone. Times of transcripts are those of the time zone, and are masked.

use std::path::PathBuf;
use std::sync::Mutex;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use crossterm::event::MouseButton;
use crossterm::event::MouseEvent;
use crossterm::event::MouseEventKind;
use jiff::SignedDuration;
use jiff::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;
use tempfile::TempDir;

use super::jobs;
use super::jobs::Flow;
use super::listing::Watch;
use super::message::Effect;
use super::message::Input;
use super::message::Report;
use super::message::Resume;
use super::search;
use super::search::Found;
use super::state::Browser;
use super::state::Facts;
use super::view;
use crate::environment::Environment;
use crate::terminal::drawn::drawn;

pub(super) const NOW: &str = "2026-11-16T12:00:00Z";
pub(super) const FIX: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
pub(super) const DOCS: &str = "3f2b77aa-51c7-4d02-b8f4-93ad17c2e680";
pub(super) const OLD: &str = "c81d4e2e-bcf2-41e6-869b-7df92533d2db";
pub(super) const EDITED: &str = r#"{"filePath":"/home/dev/app/src/parse.rs","oldString":"}","newString":"    skip();\n}","structuredPatch":[{"oldStart":7,"oldLines":2,"newStart":7,"newLines":3,"lines":[" fn parse() {","-    fail();","+    skip();"," }"]}]}"#;
pub(super) const CREATED: &str = r#"{"type":"create","filePath":"/home/dev/app/tests/empty.rs","content":"// empty\n","structuredPatch":[],"originalFile":null}"#;

pub(super) fn ago(hours: i64) -> Timestamp {
    NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_hours(hours)
}

pub(super) fn fix() -> SessionBuilder {
    SessionBuilder::new(FIX, Client::V2_1_325)
        .branch("fix/parser")
        .prompt("The parser fails on empty lines.\nPlease repair it.")
        .thinking("An empty line is no JSON.")
        .tool("Bash", r#"{"command":"cargo test"}"#, "one\ntwo\nthree\nfour\nfive\nneedle six")
        .failed_tool("Read", r#"{"file_path":"/home/dev/app/gone.rs"}"#, "File does not exist.")
        .answer("It is in `parse`.")
        .prompt("Then repair it.")
        .tool_with_detail("Edit", r#"{"file_path":"src/parse.rs"}"#, "ok", EDITED)
        .tool_with_detail("Write", r#"{"file_path":"tests/empty.rs"}"#, "ok", CREATED)
        .answer("Repaired: **empty** lines are skipped now.")
        .prompt("Thanks!")
        .answer("You are welcome.")
        .model_title("Repair the parser")
}

pub(super) fn home() -> FakeHome {
    let home = FakeHome::new();
    home.add(&fix(), ago(2));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325)
        .prompt("Find all callers of parse().")
        .answer("There are two callers.");
    home.add(&agent, ago(3));
    let docs = SessionBuilder::new(DOCS, Client::V2_1_29)
        .cwd("/home/dev/docs")
        .prompt("Write the parser docs")
        .answer("Written.")
        .custom_title("Parser docs");
    home.add(&docs, ago(26));
    let old = SessionBuilder::new(OLD, Client::V2_0_50)
        .prompt("What does this project do?")
        .answer("It reads logs.");
    home.add(&old, ago(27 * 24));
    home
}

/// The home with what only the archive has.
pub(super) fn opened(home: &FakeHome, environment: &Environment) -> Home {
    let data = environment.data_directory().unwrap();
    let cache = environment.cache_directory().unwrap();
    Home::open(home.path()).unwrap().with_archive(&data.root().join("archive"), &cache)
}

pub(super) struct Trial {
    pub(super) home: FakeHome,
    pub(super) work: TempDir,
    pub(super) environment: Environment,
    /// Where the index is.
    _cache: TempDir,
    pub(super) browser: Browser,
    pub(super) watch: Watch,
    pub(super) copied: Vec<String>,
    pub(super) resumed: Vec<Resume>,
    pub(super) panes: Vec<u32>,
    pub(super) has_quit: bool,
}

impl Trial {
    pub(super) fn new(home: FakeHome, size: (u16, u16)) -> Trial {
        let facts = Facts {
            home: "~/.claude".into(),
            client: "claude".into(),
            has_colour: true,
            ..Facts::default()
        };
        Trial::with(home, size, facts)
    }

    pub(super) fn with(home: FakeHome, size: (u16, u16), facts: Facts) -> Trial {
        let browser = Browser::new(facts, size, NOW.parse().unwrap(), String::new());
        let cache = tempfile::tempdir().unwrap();
        let environment = Environment {
            cache_dir: Some(cache.path().to_owned()),
            data_dir: Some(cache.path().join("data")),
            now: Some(NOW.into()),
            ..Environment::default()
        };
        let opened = opened(&home, &environment);
        let library = environment.library(&opened, PriceTable::default());
        let mut trial = Trial {
            home,
            environment,
            _cache: cache,
            work: tempfile::tempdir().unwrap(),
            browser,
            watch: Watch::new(library),
            copied: Vec::new(),
            resumed: Vec::new(),
            panes: Vec::new(),
            has_quit: false,
        };
        trial.look();
        trial
    }

    /// Looks at the home, as happens every second or two.
    pub(super) fn look(&mut self) {
        let home = opened(&self.home, &self.environment);
        let mut listings = Vec::new();
        let inventory = home.inventory();
        self.watch.look(&inventory, None, &mut |listing| listings.push(listing));
        for listing in listings {
            self.input(Input::Report(Report::Listing(listing)));
        }
    }

    /// Does what follows from something that happened.
    pub(super) fn input(&mut self, input: Input) {
        let home = opened(&self.home, &self.environment);
        let reports = std::cell::RefCell::new(Vec::new());
        for effect in self.browser.handle(input) {
            let tell = |report: Report| reports.borrow_mut().push(report);
            match effect {
                Effect::Read(request) => {
                    // What is followed is read as far as it goes.
                    let is_whole = std::cell::Cell::new(false);
                    let tell = |report: Report| {
                        is_whole.set(is_whole.get() || matches!(report, Report::Read { .. }));
                        tell(report);
                    };
                    let flow = Flow {
                        is_stopped: &|| is_whole.get(),
                        waits: &|waker| waker.stop(),
                        tell: &tell,
                    };
                    jobs::read(&home, &request, &flow);
                }
                Effect::Search(request) => {
                    let found = Mutex::new(Vec::new());
                    let note = |one: Found| found.lock().unwrap().push(one);
                    let (home, environment) = (&home, &self.environment);
                    let done = search::search(home, environment, &request.words, &|| false, &note);
                    for one in found.into_inner().unwrap() {
                        tell(one.report(request.ticket));
                    }
                    if let Err(error) = done {
                        tell(search::failed(request.ticket, &error));
                    }
                }
                Effect::Errand(errand) => {
                    let work = self.work.path().to_owned();
                    let directories: (Option<&PathBuf>, Option<&PathBuf>) =
                        (Some(&work), Some(&work));
                    tell(jobs::errand(&home, &self.environment, &errand, directories));
                }
                Effect::Copy(text) => self.copied.push(text),
                Effect::Resume(resume) => self.resumed.push(resume),
                Effect::Pane(pid) => self.panes.push(pid),
                Effect::Quit => self.has_quit = true,
                Effect::Refresh | Effect::Redraw | Effect::Suspend => {}
            }
        }
        for report in reports.into_inner() {
            self.input(Input::Report(report));
        }
    }

    /// Types. Keys without a letter have names: `<enter>`, `<c-r>`.
    pub(super) fn keys(&mut self, keys: &str) -> &mut Trial {
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let (key, after) = match named {
                Some((name, after)) => (key(name), after),
                None => (KeyEvent::from(KeyCode::Char(c)), &rest[c.len_utf8()..]),
            };
            self.input(Input::Key(key));
            rest = after;
        }
        self
    }

    pub(super) fn mouse(&mut self, kind: MouseEventKind, column: u16, row: u16) -> &mut Trial {
        let modifiers = KeyModifiers::NONE;
        self.input(Input::Mouse(MouseEvent { kind, column, row, modifiers }));
        self
    }

    pub(super) fn click(&mut self, column: u16, row: u16) -> &mut Trial {
        self.mouse(MouseEventKind::Down(MouseButton::Left), column, row)
    }

    pub(super) fn screen(&self) -> String {
        screen(&self.browser)
    }

    /// What is marked as found on the screen.
    pub(super) fn marked(&self) -> Vec<String> {
        let (width, height) = self.browser.size;
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| view::draw(&self.browser, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let mut marked = vec![String::new()];
        for y in 0..height {
            for x in 0..width {
                let cell = &buffer[(x, y)];
                match cell.modifier.contains(Modifier::REVERSED) {
                    true => marked.last_mut().unwrap().push_str(cell.symbol()),
                    false => marked.push(String::new()),
                }
            }
        }
        marked.retain(|text| !text.is_empty());
        marked
    }

    pub(super) fn shows(&self, text: &str) -> bool {
        self.screen().contains(text)
    }
}

/// What is on the screen.
pub(super) fn screen(browser: &Browser) -> String {
    mask_times(&drawn(browser.size, |frame| view::draw(browser, frame)))
}

pub(super) fn key(name: &str) -> KeyEvent {
    let (modifiers, name) = match name.split_once('-') {
        Some(("c", name)) => (KeyModifiers::CONTROL, name),
        Some(("a", name)) => (KeyModifiers::ALT, name),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "end" => KeyCode::End,
        "home" => KeyCode::Home,
        "back" => KeyCode::Backspace,
        "f1" => KeyCode::F(1),
        "f2" => KeyCode::F(2),
        "f8" => KeyCode::F(8),
        "del" => KeyCode::Delete,
        "insert" => KeyCode::Insert,
        "space" => KeyCode::Char(' '),
        one => KeyCode::Char(one.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

/// Makes `2026-11-16 08:00:00` the same in every time zone.
pub(super) fn mask_times(text: &str) -> String {
    let mut masked: Vec<char> = text.chars().collect();
    let form = "0000-00-00 00:00:00";
    for at in 0..masked.len().saturating_sub(form.len()) {
        let fits = form.chars().zip(&masked[at..]).all(|(form, c)| match form {
            '0' => c.is_ascii_digit(),
            _ => form == *c,
        });
        if fits {
            form.chars().zip(&mut masked[at..]).for_each(|(form, c)| *c = form);
        }
    }
    masked.into_iter().collect()
}

pub(super) fn trial() -> Trial {
    Trial::new(home(), (80, 24))
}
