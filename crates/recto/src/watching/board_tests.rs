//! Keys in, screens out; changes in, events out. A clock that the test moves.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use insta::assert_snapshot;
use jiff::SignedDuration;
use jiff::Timestamp;
use recto_session::status::StatusKind;
use recto_store::Home;
use recto_store::SessionStatus;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::board::Board;
use super::board::Effect;
use super::board::Facts;
use super::board::Input;
use super::board_view;
use super::source::Sight;
use super::transition::Event;
use super::transition::Lasting;
use super::transition::Transitions;
use crate::environment::Environment;
use crate::terminal::drawn::drawn;

const ONE: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
const TWO: &str = "3f2b77aa-51c7-4d02-b8f4-93ad17c2e680";
const THREE: &str = "c81d4e2e-bcf2-41e6-869b-7df92533d2db";

fn at(seconds: i64) -> Timestamp {
    let noon: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    noon.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

/// A session whose last turn is over, and one in the middle of a call.
fn home() -> FakeHome {
    let home = FakeHome::new();
    let call = r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make all"}}"#;
    let parser = SessionBuilder::new(ONE, Client::V2_1_29)
        .branch("fix/parser")
        .at(at(-60))
        .prompt("Repair the parser")
        .at(at(-14))
        .model_block(call)
        .custom_title("Parser");
    home.add(&parser, at(-14));
    let docs = SessionBuilder::new(TWO, Client::V2_1_29)
        .cwd("/home/dev/docs")
        .at(at(-100))
        .prompt("Write the docs")
        .at(at(-75))
        .answer("Written: all of them.");
    home.add(&docs, at(-75));
    let since = at(-700).as_millisecond();
    let gone = format!(
        r#"{{"pid":4000000000,"sessionId":"{THREE}","procStart":"5","status":"busy","cwd":"/home/dev/old","statusUpdatedAt":{since}}}"#
    );
    home.write("sessions/4000000000.json", gone);
    home
}

fn found(home: &FakeHome, now: Timestamp) -> Vec<SessionStatus> {
    Home::open(home.path()).unwrap().statuses(now)
}

fn board(size: (u16, u16)) -> Board {
    let environment = Environment { user_home: Some("/home/dev".into()), ..Environment::default() };
    let facts = Facts { home: "~/.claude".into(), environment, has_colour: true };
    Board::new(facts, size, at(0))
}

fn screen(board: &Board) -> String {
    drawn(board.size, |frame| board_view::draw(board, frame))
}

fn press(board: &mut Board, code: KeyCode) -> Option<Effect> {
    board.handle(Input::Key(KeyEvent::from(code)))
}

#[test]
fn who_waits_is_at_the_top_and_one_is_explained() {
    let home = home();
    let mut board = board((100, 20));
    assert!(screen(&board).contains("looking…"));
    board.handle(Input::Found(found(&home, at(0))));
    assert_snapshot!(screen(&board), @"
    | recto watch  ~/.claude                                                       2 waiting · 0 working
    | ○ needs approval    11s  Parser                      ~/app               Bash make all
    | ○ needs input    1m 05s  Write the docs              ~/docs
    |
    |
    |
    |
    |
    |
    |
    |────────────────────────────────────────────────────────────────────────────────────────────────────
    | why      Bash was called 14 s ago and has no result yet; in permission mode `default` it may have
    |          to be allowed
    | asked    Repair the parser
    | call     Bash make all
    | session  3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 · sonnet-4-5 · fix/parser · 40 tokens out
    |
    |
    |
    | ↑↓ choose   enter read   a show ended   ? help   q quit
    ");
    press(&mut board, KeyCode::Down);
    press(&mut board, KeyCode::Char('a'));
    board.handle(Input::Tick(at(5)));
    assert_snapshot!(screen(&board), @"
    | recto watch  ~/.claude                                                       2 waiting · 0 working
    | ○ needs approval    16s  Parser                      ~/app               Bash make all
    | ○ needs input    1m 10s  Write the docs              ~/docs
    | ○ ended         11m 45s  c81d4e2e                    ~/old
    |
    |
    |
    |
    |
    |
    |────────────────────────────────────────────────────────────────────────────────────────────────────
    | why      a text was written 75 s ago and nothing followed
    | asked    Write the docs
    | said     Written: all of them.
    | session  3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 · sonnet-4-5 · main · 40 tokens out
    |
    |
    |
    |
    | ↑↓ choose   enter read   a hide ended   ? help   q quit
    ");
}

#[test]
fn sessions_that_have_just_ended_are_hidden_and_counted() {
    let mut board = board((80, 10));
    board.handle(Input::Found(Vec::new()));
    assert!(screen(&board).contains("no session is running, and none was active"));
    let home = home();
    let mut sessions = found(&home, at(0));
    sessions.retain(|one| one.status.kind == StatusKind::Ended);
    board.handle(Input::Found(sessions));
    let shown = screen(&board);
    let told = "no session is running; 1 session ended within the last hour (press a to show)";
    assert!(shown.contains(told), "{shown}");
}

#[test]
fn the_choice_stays_with_its_session() {
    let home = home();
    let mut board = board((60, 20));
    board.handle(Input::Found(found(&home, at(0))));
    press(&mut board, KeyCode::End);
    assert_eq!(board.shown()[board.selected()].id.to_string(), TWO);
    // The other session needs nobody any more, and is below.
    home.announce(ONE, "busy");
    board.handle(Input::Found(found(&home, at(0))));
    assert_eq!((board.selected(), board.shown()[0].id.to_string().as_str()), (0, TWO));
    press(&mut board, KeyCode::Char('j'));
    assert_eq!(board.shown()[board.selected()].id.to_string(), ONE);
    press(&mut board, KeyCode::Char('j'));
    assert_eq!(board.selected(), 1);
    press(&mut board, KeyCode::Home);
    assert_eq!(board.selected(), 0);
}

#[test]
fn enter_reads_a_session_and_p_goes_to_its_pane() {
    let home = home();
    let pid = std::process::id();
    home.announce(ONE, "busy");
    let mut board = board((80, 20));
    assert_eq!(press(&mut board, KeyCode::Enter), None, "nothing is chosen");
    board.handle(Input::Found(found(&home, at(0))));
    press(&mut board, KeyCode::End);
    assert_eq!(press(&mut board, KeyCode::Enter), Some(Effect::Open(ONE.parse().unwrap())));
    assert_eq!(press(&mut board, KeyCode::Char('p')), None);
    assert!(screen(&board).contains("recto is not running in tmux"), "{}", screen(&board));
    board.facts.environment.in_tmux = true;
    assert_eq!(press(&mut board, KeyCode::Char('p')), Some(Effect::Pane(pid)));
    assert!(screen(&board).contains("p pane"), "{}", screen(&board));
    press(&mut board, KeyCode::Home);
    assert_eq!(press(&mut board, KeyCode::Char('p')), None);
    assert!(screen(&board).contains("the session is not running"), "{}", screen(&board));
    // One that ended without a log cannot be read.
    press(&mut board, KeyCode::Char('a'));
    press(&mut board, KeyCode::End);
    assert_eq!(press(&mut board, KeyCode::Enter), None);
    assert!(screen(&board).contains("the session has no log yet"), "{}", screen(&board));
}

#[test]
fn help_names_the_keys_and_any_key_puts_it_away() {
    let home = home();
    let mut board = board((80, 14));
    board.handle(Input::Found(found(&home, at(0))));
    press(&mut board, KeyCode::Char('?'));
    let shown = screen(&board);
    assert!(shown.contains("enter    read it; q comes back to the board"), "{shown}");
    assert!(shown.contains("redraw the screen") && !shown.contains("Parser"), "{shown}");
    assert_eq!(press(&mut board, KeyCode::Char('q')), None);
    assert!(screen(&board).contains("Parser"), "{}", screen(&board));
    assert_eq!(press(&mut board, KeyCode::Char('q')), Some(Effect::Quit));
}

/// A home with sessions that wait, the longest first.
fn many(number: i64) -> FakeHome {
    let home = FakeHome::new();
    for at_most in 0..number {
        let id = format!("{at_most:08x}-0000-4000-8000-000000000000");
        let time = at(at_most - 200);
        let log = SessionBuilder::new(&id, Client::V2_1_29).at(time).prompt("Go").answer("Gone.");
        home.add(&log.custom_title(&format!("Row {at_most}")), time);
    }
    home
}

#[test]
fn rows_move_only_if_they_have_to_and_what_is_hidden_is_counted() {
    let home = many(10);
    let mut board = board((80, 6));
    board.handle(Input::Found(found(&home, at(0))));
    // Four rows between the first line and the last.
    let rows = |board: &Board| (board.visible(), board.selected());
    assert_eq!(rows(&board), (0..4, 0));
    press(&mut board, KeyCode::PageDown);
    assert_eq!(rows(&board), (0..4, 3));
    press(&mut board, KeyCode::PageDown);
    assert_eq!(rows(&board), (3..7, 6));
    press(&mut board, KeyCode::Up);
    assert_eq!(rows(&board), (3..7, 5));
    let shown = screen(&board);
    assert!(shown.contains("Row 3") && !shown.contains("Row 2"), "{shown}");
    assert!(shown.lines().last().unwrap().ends_with("3 above, 3 below"), "{shown}");
    press(&mut board, KeyCode::PageUp);
    assert_eq!(rows(&board), (2..6, 2));
    press(&mut board, KeyCode::End);
    assert_eq!(rows(&board), (6..10, 9));
    assert!(screen(&board).lines().last().unwrap().ends_with("  6 above"));
    // On a higher screen there are no empty lines while rows are hidden.
    board.handle(Input::Resize(80, 10));
    assert_eq!(rows(&board), (2..10, 9));
    board.handle(Input::Resize(80, 15));
    assert_eq!(rows(&board), (0..10, 9));
    assert!(screen(&board).ends_with("q quit"));
}

#[test]
fn on_an_ordinary_terminal_a_row_has_its_project_and_its_call() {
    let home = home();
    let mut board = board((80, 20));
    board.handle(Input::Found(found(&home, at(0))));
    assert_snapshot!(screen(&board), @"
    | recto watch  ~/.claude                                   2 waiting · 0 working
    | ○ needs approval    11s  Parser                app            Bash make all
    | ○ needs input    1m 05s  Write the docs        docs
    |
    |
    |
    |
    |
    |
    |
    |────────────────────────────────────────────────────────────────────────────────
    | why      Bash was called 14 s ago and has no result yet; in permission mode
    |          `default` it may have to be allowed
    | asked    Repair the parser
    | call     Bash make all
    | session  3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718 · sonnet-4-5 · fix/parser · 40 …
    |
    |
    |
    | ↑↓ choose   enter read   a show ended   ? help   q quit
    ");
}

#[test]
fn a_failure_is_shown_until_a_key_is_pressed() {
    let mut board = board((60, 10));
    board.handle(Input::Failure("webhook failed".into()));
    let footer = |board: &Board| screen(board).lines().last().unwrap().to_owned();
    assert_eq!(footer(&board), "| webhook failed");
    board.handle(Input::Tick(at(1)));
    assert_eq!(footer(&board), "| webhook failed");
    press(&mut board, KeyCode::Down);
    assert_eq!(footer(&board), "| ↑↓ choose   enter read   a show ended   ? help   q quit");
}

#[test]
fn keys_that_leave_or_stop_are_effects() {
    let mut board = board((60, 10));
    let with_control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert_eq!(press(&mut board, KeyCode::Char('q')), Some(Effect::Quit));
    assert_eq!(press(&mut board, KeyCode::Esc), Some(Effect::Quit));
    for (key, effect) in [('c', Effect::Quit), ('l', Effect::Redraw), ('z', Effect::Suspend)] {
        assert_eq!(board.handle(Input::Key(with_control(key))), Some(effect));
    }
    assert_eq!(press(&mut board, KeyCode::Char('x')), None);
}

#[test]
fn every_size_can_be_drawn() {
    let home = home();
    let statuses = found(&home, at(0));
    for (width, height) in [(0, 0), (1, 1), (3, 2), (20, 5), (40, 18), (89, 19), (300, 100)] {
        let mut board = board((width, height));
        board.handle(Input::Failure("webhook failed".into()));
        screen(&board);
        board.handle(Input::Found(statuses.clone()));
        board.handle(Input::Resize(width, height));
        press(&mut board, KeyCode::End);
        screen(&board);
    }
}

#[test]
fn hostile_text_does_not_reach_the_screen() {
    let texts = include_str!("../../../../fixtures/hostile/terminal.txt");
    for (number, line) in texts.lines().enumerate() {
        let home = FakeHome::new();
        let value = recto_log::json::Value::parse(line.as_bytes()).unwrap();
        let text = value.as_str().unwrap();
        let field = |word: &str| serde_json::to_string(&format!("{word}{text}")).unwrap();
        let call = format!(
            r#"{{"type":"tool_use","id":"t","name":{},"input":{{"command":{}}}}}"#,
            field("w-tool"),
            field("w-input")
        );
        let log = SessionBuilder::new(ONE, Client::V2_1_29)
            .cwd(&format!("/w-cwd{text}"))
            .branch(&format!("w-branch{text}"))
            .model(&format!("w-model{text}"))
            .at(at(-60))
            .prompt(&format!("w-prompt{text}"))
            .answer(&format!("w-answer{text}"))
            .model_block(&call);
        home.add(&log, at(-60));
        let mut board = board((200, 20));
        board.handle(Input::Found(found(&home, at(0))));
        board.handle(Input::Failure(format!("w-failure{text}")));
        let shown = screen(&board);
        for word in ["w-cwd", "w-prompt", "w-tool", "w-answer", "w-failure"] {
            assert!(shown.contains(word), "{number} {word}: {shown}");
        }
        // A picture of several characters is joined, and is no harm.
        let shown = shown.replace("👨\u{200d}👩\u{200d}👧", "");
        let is_hostile = |c: char| {
            (c.is_control() && c != '\n')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        };
        assert!(!shown.contains(is_hostile), "{number}: {shown:?}");
    }
}

fn told(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| {
        let id = event.session.id.to_string();
        let from = event.from.map_or("nothing", |from| from.name());
        format!("{} {}: {from} -> {}", event.sequence, &id[..4], event.to().name())
    };
    events.iter().map(one).collect()
}

#[test]
fn changes_are_events_with_numbers() {
    let home = home();
    let mut transitions = Transitions::default();
    let mut see = |now: Timestamp| {
        told(&transitions.see(&Sight { found: found(&home, now), gone: Vec::new() }, now))
    };
    assert_eq!(
        see(at(0)),
        [
            "1 3f2a: nothing -> waiting_for_approval",
            "2 3f2b: nothing -> waiting_for_input",
            "3 c81d: nothing -> ended"
        ]
    );
    assert_eq!(see(at(1)), [] as [&str; 0]);
    let pid_file = home.announce(ONE, "busy");
    assert_eq!(see(at(2)), ["4 3f2a: waiting_for_approval -> working"]);
    fs_err::remove_file(pid_file).unwrap();
    assert_eq!(see(at(3)), ["5 3f2a: working -> waiting_for_approval"]);
    // A timer runs out.
    assert_eq!(see(at(300)), ["6 3f2b: waiting_for_input -> idle"]);
    // After an hour, those without a client are not found any more, and have not changed.
    assert_eq!(see(at(4000)), [] as [&str; 0]);
    let gone = [ONE, TWO, THREE].map(|id| id.parse().unwrap()).to_vec();
    let sight = Sight { found: Vec::new(), gone };
    let events = transitions.see(&sight, at(4001));
    assert_eq!(told(&events), ["7 3f2a: waiting_for_approval -> ended", "8 3f2b: idle -> ended"]);
    assert_eq!(
        events[0].session.status.why,
        ["its log no longer exists, and no client is running"]
    );
    assert_eq!(told(&transitions.see(&sight, at(4002))), [] as [&str; 0]);
}

#[test]
fn a_session_with_two_logs_has_one_status() {
    let home = home();
    let log = SessionBuilder::new(ONE, Client::V2_1_29).at(at(-60)).prompt("Go").answer("Gone.");
    let copy = home.path().join(format!("projects/-copy/{ONE}.jsonl"));
    fs_err::create_dir(copy.parent().unwrap()).unwrap();
    fs_err::write(&copy, log.bytes()).unwrap();
    fs_err::File::options().write(true).open(&copy).unwrap().set_modified(at(-60).into()).unwrap();
    let sight = Sight { found: found(&home, at(0)), gone: Vec::new() };
    assert_eq!(sight.found.iter().filter(|one| one.id.to_string() == ONE).count(), 2);
    let mut transitions = Transitions::default();
    let first = told(&transitions.see(&sight, at(0)));
    assert!(first.contains(&"1 3f2a: nothing -> waiting_for_approval".to_owned()), "{first:?}");
    assert_eq!(first.len(), 3);
    assert_eq!(told(&transitions.see(&sight, at(1))), [] as [&str; 0]);
}

#[test]
fn who_comes_later_and_waits_is_news() {
    let home = home();
    let all = |now: i64| Sight { found: found(&home, at(now)), gone: Vec::new() };
    let mut transitions = Transitions::default();
    let mut lasting = Lasting::new(StatusKind::ALL.to_vec());
    let mut step = |sight: &Sight, now: i64| {
        lasting.take(&transitions.see(sight, at(now)), at(now));
        told(&lasting.due(at(now)))
    };
    let nothing = [] as [&str; 0];
    // At the start, there is nothing at all.
    assert_eq!(step(&Sight::default(), 0), nothing);
    assert_eq!(step(&all(1), 1), nothing);
    // One that had ended when it was first seen needs nobody.
    let news = ["1 3f2a: nothing -> waiting_for_approval", "2 3f2b: nothing -> waiting_for_input"];
    assert_eq!(step(&all(3), 3), news);
    assert_eq!(step(&all(9), 9), nothing);
}

#[test]
fn only_what_lasts_is_told_and_only_once() {
    let home = home();
    let sessions = found(&home, at(0));
    let one = |kind: StatusKind| {
        let mut one = sessions[0].clone();
        one.status.kind = kind;
        vec![one]
    };
    let (working, waiting) = (one(StatusKind::Working), one(StatusKind::WaitingForInput));
    let mut transitions = Transitions::default();
    let mut lasting = Lasting::new(vec![StatusKind::WaitingForInput, StatusKind::Ended]);
    let mut step = |found: &[SessionStatus], now: i64| {
        let gone = if found.is_empty() { vec![sessions[0].id] } else { Vec::new() };
        let sight = Sight { found: found.to_vec(), gone };
        let events = transitions.see(&sight, at(now));
        lasting.take(&events, at(now));
        told(&lasting.due(at(now)))
    };
    let nothing = [] as [&str; 0];
    // How it was at the start is no news.
    assert_eq!(step(&waiting, 0), nothing);
    assert_eq!(step(&waiting, 9), nothing);
    // It works for a second only, and waits as before.
    assert_eq!(step(&working, 10), nothing);
    assert_eq!(step(&waiting, 11), nothing);
    assert_eq!(step(&waiting, 20), nothing);
    // It works for long, and waits again: once it has waited for two seconds.
    assert_eq!(step(&working, 30), nothing);
    assert_eq!(step(&working, 40), nothing);
    assert_eq!(step(&waiting, 50), nothing);
    assert_eq!(step(&waiting, 51), nothing);
    assert_eq!(step(&waiting, 52), ["5 3f2a: working -> waiting_for_input"]);
    assert_eq!(step(&waiting, 60), nothing);
    // Nobody wants to know about work, and everybody that it ended.
    assert_eq!(step(&working, 70), nothing);
    assert_eq!(step(&working, 80), nothing);
    assert_eq!(step(&[], 90), nothing);
    assert_eq!(step(&[], 92), ["7 3f2a: working -> ended"]);
}
