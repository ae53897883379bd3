//! Keys in, screens out.

use std::sync::Arc;

use crossterm::event::MouseEventKind;
use insta::assert_snapshot;
use recto_store::keep::CollectOptions;
use recto_store::keep::Collector;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::message::Input;
use super::message::Report;
use super::message::Resume;
use super::trial::FIX;
use super::trial::OLD;
use super::trial::Trial;
use super::trial::ago;
use super::trial::home;
use super::trial::trial;

#[test]
fn the_first_screen_has_projects_sessions_and_a_transcript() {
    assert_snapshot!(trial().screen(), @"
    | recto  ~/.claude   ^s all sessions   ^o by project                  3 sessions
    | › type to filter, / to search      │ Repair the parser
    | /home/dev/app                    2 │ /home/dev/app · fix/parser · opus-5-5 · …
    |   Repair the parser             2h │
    |   What does this project do?    3w │ You  1  0000-00-00 00:00:00              ┃
    | /home/dev/docs                   1 │   The parser fails on empty lines.       ┃
    |   Parser docs                   1d │   Please repair it.                      ┃
    |                                    │                                          ┃
    |                                    │ Claude                                   ┃
    |                                    │   ⏺ Bash cargo test                      ┃
    |                                    │   ⎿ one                                  ┃
    |                                    │     two                                  ┃
    |                                    │     three                                ┃
    |                                    │     four                                 ┃
    |                                    │     … 2 more lines
    |                                    │   ⏺ Read /home/dev/app/gone.rs
    |                                    │   ⎿ File does not exist.
    |                                    │
    |                                    │   It is in parse.
    |                                    │
    |                                    │ You  2  0000-00-00 00:00:00
    |                                    │   Then repair it.
    |                                    │
    | enter read  tab transcript  / search text  ^r resume  ? help  esc quit     1/3
    ");
}

#[test]
fn running_sessions_come_first_and_show_their_end() {
    let home = home();
    home.announce(OLD, "busy");
    let mut trial = Trial::new(home, (80, 12));
    assert_snapshot!(trial.screen(), @"
    | recto  ~/.claude   ^s all sessions   ^o by project     ● 1 running  3 sessions
    | › type to filter, / to search      │ What does this project do?
    | Running now                      1 │ ● working  /home/dev/app · main · sonnet…
    | ● What does this pro… working   3w │ You  1  0000-00-00 00:00:00
    | /home/dev/app                    1 │   What does this project do?
    |   Repair the parser             2h │
    | /home/dev/docs                   1 │ Claude
    |   Parser docs                   1d │   It reads logs.
    |                                    │
    |                                    │
    |                                    │
    | enter read  tab transcript  / search text  ^r resume  ? help  esc quit     1/3
    ");
    // It goes on, and another one comes to life.
    let log = SessionBuilder::new(OLD, Client::V2_0_50)
        .prompt("What does this project do?")
        .answer("It reads logs.")
        .prompt("And what else?")
        .answer("Nothing else.");
    trial.home.add(&log, ago(0));
    trial.home.announce(OLD, "waiting");
    trial.look();
    trial.keys("<enter>");
    assert_snapshot!(trial.screen(), @"
    | What does this project do?
    | ● needs approval  /home/dev/app · main · sonnet-4-5 · now · 2.4 kB · c81d4e2e
    |────────────────────────────────────────────────────────────────────────────────
    | Claude
    |   It reads logs.
    |
    | You  2  0000-00-00 00:00:00                                                   ┃
    |   And what else?                                                              ┃
    |                                                                               ┃
    | Claude                                                                        ┃
    |   Nothing else.                                                               ┃
    | [ ] turns  / find  n next  x detail  t tools  ? help  q back   turn 2/2  100 %
    ");
}

#[test]
fn letters_narrow_the_list_and_escape_goes_back_step_by_step() {
    let mut trial = trial();
    trial.browser.handle(Input::Resize(80, 8));
    trial.keys("prsr");
    assert_snapshot!(trial.screen(), @"
    | recto  ~/.claude   ^s all sessions   ^o by project                  3 sessions
    | › prsr                             │ Repair the parser
    |   Repair the parser       app   2h │ /home/dev/app · fix/parser · opus-5-5 · …
    |   Parser docs            docs   1d │ You  1  0000-00-00 00:00:00              ┃
    |                                    │   The parser fails on empty lines.
    |                                    │   Please repair it.
    |                                    │
    | enter read  tab transcript  ^f search text  ? help  esc all sessions       1/2
    ");
    trial.keys("<back><back><back><back>reads");
    assert!(trial.shows("no match; Enter searches all text"), "{}", trial.screen());
    trial.keys("<esc>");
    assert!(trial.shows("type to filter"), "{}", trial.screen());
    assert!(!trial.has_quit);
    trial.keys("<esc>");
    assert!(trial.has_quit);
}

#[test]
fn commands_are_letters_in_the_filter_and_work_with_control() {
    let mut trial = trial();
    trial.keys("qtacre");
    assert!(trial.shows("› qtacre") && !trial.has_quit, "{}", trial.screen());
    trial.keys("<c-u><c-r>");
    assert_eq!(trial.resumed, [Resume { id: FIX.into(), directory: "/home/dev/app".into() }]);
    trial.keys("<c-t>");
    assert!(trial.shows("Tool calls  Repair the parser"), "{}", trial.screen());
    trial.keys("q<a-a>");
    assert!(trial.shows("Subagents  Repair the parser"), "{}", trial.screen());
    trial.keys("<esc><c-c>");
    assert!(trial.has_quit);
}

#[test]
fn the_reader_goes_by_turns_and_shows_more_or_less() {
    let mut trial = trial();
    trial.keys("<enter>");
    assert_snapshot!(trial.screen(), @"
    | Repair the parser
    | /home/dev/app · fix/parser · opus-5-5 · 2h ago · 11 kB · 3f2a1b4c
    |────────────────────────────────────────────────────────────────────────────────
    | You  1  0000-00-00 00:00:00                                                   ┃
    |   The parser fails on empty lines.                                            ┃
    |   Please repair it.                                                           ┃
    |                                                                               ┃
    | Claude                                                                        ┃
    |   ⏺ Bash cargo test                                                           ┃
    |   ⎿ one                                                                       ┃
    |     two                                                                       ┃
    |     three                                                                     ┃
    |     four                                                                      ┃
    |     … 2 more lines                                                            ┃
    |   ⏺ Read /home/dev/app/gone.rs
    |   ⎿ File does not exist.
    |
    |   It is in parse.
    |
    | You  2  0000-00-00 00:00:00
    |   Then repair it.
    |
    | Claude
    | [ ] turns  / find  n next  x detail  t tools  ? help  q back    turn 1/3  55 %
    ");
    trial.browser.handle(Input::Resize(80, 14));
    trial.keys("]");
    assert!(trial.screen().lines().nth(3).unwrap().starts_with("|▸You  2"), "{}", trial.screen());
    trial.keys("[x");
    assert!(trial.shows("An empty line is no JSON."), "{}", trial.screen());
    assert!(trial.shows("tool calls and thinking in full"), "{}", trial.screen());
    trial.keys("x");
    assert!(trial.shows("words only") && !trial.shows("cargo test"), "{}", trial.screen());
    trial.keys("G");
    assert!(
        trial.shows("You are welcome.") && trial.shows("turn 3/3  100 %"),
        "{}",
        trial.screen()
    );
    trial.keys("q");
    assert!(trial.shows("type to filter"), "{}", trial.screen());
}

#[test]
fn in_a_short_transcript_turns_are_marked() {
    let mut trial = Trial::new(home(), (80, 60));
    trial.keys("<enter>");
    assert!(trial.shows("turn 1/3") && !trial.shows("▸"), "{}", trial.screen());
    trial.keys("]");
    assert!(trial.shows("▸You  2") && trial.shows("turn 2/3"), "{}", trial.screen());
    trial.keys("]");
    assert!(trial.shows("▸You  3") && trial.shows("turn 3/3"), "{}", trial.screen());
    trial.keys("[d");
    assert!(trial.shows("Changes of turn 2"), "{}", trial.screen());
}

#[test]
fn finding_in_a_transcript_moves_to_the_matches() {
    let mut trial = trial();
    trial.browser.handle(Input::Resize(80, 10));
    trial.keys("<enter>/REPAIR");
    assert!(trial.shows("find: REPAIR") && trial.shows("3 lines"), "{}", trial.screen());
    trial.keys("<enter>n");
    assert!(trial.shows("match 2 of 3"), "{}", trial.screen());
    trial.keys("n");
    assert!(trial.shows("match 3 of 3") && trial.shows("Repaired: empty"), "{}", trial.screen());
    assert!(trial.shows("turn 2/3"), "the turn of the match: {}", trial.screen());
    trial.keys("n");
    assert!(trial.shows("match 1 of 3, from the other end"), "{}", trial.screen());
    trial.keys("N");
    assert!(trial.shows("match 3 of 3, from the other end"), "{}", trial.screen());
    trial.keys("/nothing of the kind<enter>");
    assert!(trial.shows("not found"), "{}", trial.screen());
}

#[test]
fn full_text_is_searched_as_one_types_and_read_at_the_hit() {
    let mut trial = trial();
    trial.browser.handle(Input::Resize(80, 14));
    trial.keys("/PARSER");
    assert_snapshot!(trial.screen(), @"
    | recto  ~/.claude   ^s all sessions   ^o by project                  3 sessions
    | / PARSER                            4 hits │ Repair the parser
    | Repair the parser                        2 │ /home/dev/app · fix/parser · opu…
    |   1 you    The parser fails on empty…   3h │ You  1  0000-00-00 00:00:00      ┃
    |   3 title  Repair the parser            3h │   The parser fails on empty      ┃
    | Parser docs                              2 │   lines.
    |   1 you    Write the parser docs        4h │   Please repair it.
    |   1 title  Parser docs                  3h │
    |                                            │ Claude
    |                                            │   ⏺ Bash cargo test
    |                                            │   ⎿ one
    |                                            │     two
    |                                            │     three
    | enter read  ↑↓ hits  tab transcript  ^u clear  F1 help  esc all sessions   1/4
    ");
    trial.keys("<c-u>needle");
    assert!(trial.shows("1 hit"), "{}", trial.screen());
    // The hit is in a line that the brief form leaves out.
    trial.keys("<enter>");
    assert!(trial.shows("needle six") && trial.shows("turn 1/3"), "{}", trial.screen());
    // What a subagent said is found in its own log.
    trial.keys("q<c-u>callers two");
    assert!(trial.shows("subagent of Repair the parser"), "{}", trial.screen());
    trial.keys("<enter>");
    assert!(trial.shows("There are two callers."), "{}", trial.screen());
    // The query language is that of `recto search`; a mistake is told.
    trial.keys("q<c-u>needle tool:Bash");
    assert!(trial.shows("1 hit"), "{}", trial.screen());
    trial.keys("<c-u>needle tool:Read");
    assert!(trial.shows("not found"), "{}", trial.screen());
    trial.keys("<c-u>(needle");
    assert!(trial.shows("a bracket is not closed; add `)`"), "{}", trial.screen());
    assert!(!trial.shows("not found") && !trial.shows("0 hits"), "{}", trial.screen());
    trial.keys("<c-u>nothing of the kind");
    assert!(trial.shows("not found"), "{}", trial.screen());
    trial.keys("<esc>");
    assert!(trial.shows("type to filter") && trial.shows("Parser docs"), "{}", trial.screen());
}

#[test]
fn n_goes_through_the_hits_beside_the_list() {
    let mut trial = trial();
    trial.keys("/parser<tab>");
    assert!(trial.shows(" 1/"), "{}", trial.screen());
    trial.keys("n");
    assert!(trial.shows(" 2/"), "{}", trial.screen());
    trial.keys("N");
    assert!(trial.shows(" 1/"), "{}", trial.screen());
}

#[test]
fn tool_calls_and_subagents_lead_to_their_places() {
    let mut trial = trial();
    trial.browser.handle(Input::Resize(80, 12));
    trial.keys("<enter>t");
    assert_snapshot!(trial.screen(), @"
    | Tool calls  Repair the parser
    | /home/dev/app · fix/parser · opus-5-5 · 2h ago · 11 kB · 3f2a1b4c
    |────────────────────────────────────────────────────────────────────────────────
    | 1  Bash   1.0s  ok      cargo test
    | 1  Read   1.0s  failed  /home/dev/app/gone.rs
    | 2  Edit   1.0s  ok      src/parse.rs
    | 2  Write  1.0s  ok      tests/empty.rs
    |
    |
    |
    |
    | enter go there  j k move  c copy  r resume  e export  ? help  q back       1/4
    ");
    trial.keys("jj<enter>");
    assert!(trial.shows("⏺ Edit") && trial.shows("turn 2/3"), "{}", trial.screen());
    trial.keys("a");
    assert!(trial.shows("Find all callers of parse()."), "{}", trial.screen());
    trial.keys("<enter>");
    assert_snapshot!(trial.screen(), @"
    | subagent  Find all callers of parse().
    | /home/dev/app · fix/parser · opus-5-5 · 3h ago · 1.1 kB · agent-a1b2c3d4e5f60…
    |────────────────────────────────────────────────────────────────────────────────
    | Task  1  0000-00-00 00:00:00
    |   Find all callers of parse().
    |
    | Claude
    |   There are two callers.
    |
    |
    |
    | [ ] turns  / find  n next  x detail  t tools  ? help  q back   turn 1/1  100 %
    ");
    trial.keys("r");
    assert!(trial.shows("a subagent cannot be resumed"), "{}", trial.screen());
    assert!(trial.resumed.is_empty());
}

#[test]
fn the_changes_of_a_turn_are_a_diff() {
    let mut trial = trial();
    trial.browser.handle(Input::Resize(80, 14));
    trial.keys("<enter>d");
    assert!(trial.shows("turn 1 changed no file"), "{}", trial.screen());
    trial.keys("q]d");
    assert_snapshot!(trial.screen(), @"
    | Changes of turn 2  Repair the parser
    | /home/dev/app · fix/parser · opus-5-5 · 2h ago · 11 kB · 3f2a1b4c
    |────────────────────────────────────────────────────────────────────────────────
    | /home/dev/app/src/parse.rs  1 line added, 1 removed
    |   line 7
    |    fn parse() {
    |   -    fail();
    |   +    skip();
    |    }
    |
    | /home/dev/app/tests/empty.rs  new file, 1 line added, 0 removed
    |   +// empty
    |
    | j k scroll  / find  n next  c copy  ? help  q back                       100 %
    ");
}

#[test]
fn the_id_the_command_and_the_path_are_copied() {
    let mut trial = trial();
    trial.keys("<tab>c");
    assert!(trial.shows("cd /home/dev/app && claude --resume"), "{}", trial.screen());
    trial.keys("ccrcp");
    let path = format!("{}/projects/-home-dev-app/{FIX}.jsonl", trial.home.path().display());
    let command = format!("cd /home/dev/app && claude --resume {FIX}");
    assert_eq!(trial.copied, [FIX.to_owned(), command, path]);
    assert!(trial.shows("copied: "), "{}", trial.screen());
    trial.keys("c<esc>");
    assert_eq!(trial.copied.len(), 3);
    trial.browser.facts.home_to_name = Some("/my home".into());
    trial.keys("cr");
    let named = format!("cd /home/dev/app && CLAUDE_CONFIG_DIR='/my home' claude --resume {FIX}");
    assert_eq!(trial.copied.pop(), Some(named));
}

#[test]
fn a_document_is_written_under_a_name_that_is_free() {
    let mut trial = trial();
    trial.keys("<tab>em");
    assert!(trial.shows("wrote ~/3f2a1b4c.md ("), "{}", trial.screen());
    trial.keys("em");
    assert!(trial.shows("wrote ~/3f2a1b4c-2.md ("), "{}", trial.screen());
    let path = trial.work.path().join("3f2a1b4c.md");
    assert!(std::fs::read_to_string(path).unwrap().contains("The parser fails on empty lines."));
    trial.work = tempfile::tempdir().unwrap();
    std::fs::remove_dir(trial.work.path()).unwrap();
    trial.keys("eh");
    assert!(trial.shows("the document could not be written"), "{}", trial.screen());
}

#[test]
fn a_running_session_is_resumed_only_when_it_is_meant() {
    let home = home();
    home.announce(FIX, "idle");
    let mut trial = Trial::new(home, (80, 14));
    trial.keys("<tab>r");
    assert!(trial.shows("This session is already open"), "{}", trial.screen());
    trial.keys("n");
    assert!(trial.resumed.is_empty());
    trial.keys("ry");
    assert_eq!(trial.resumed.len(), 1);
    trial.input(Input::Returned(Err("there is no program claude".into())));
    assert!(trial.shows("there is no program claude"), "{}", trial.screen());
}

#[test]
fn the_mouse_chooses_opens_and_scrolls() {
    let mut trial = trial();
    trial.click(5, 6);
    assert!(trial.shows("│ Parser docs"), "{}", trial.screen());
    trial.click(5, 6);
    assert!(trial.screen().starts_with("| Parser docs"), "{}", trial.screen());
    trial.keys("q");
    trial.browser.handle(Input::Resize(80, 12));
    trial.click(5, 3).click(60, 8).mouse(MouseEventKind::ScrollDown, 60, 8);
    assert!(trial.shows("┃ Repair the parser"), "the transcript has the keys: {}", trial.screen());
    assert!(!trial.shows("You  1"), "{}", trial.screen());
    trial.mouse(MouseEventKind::ScrollUp, 60, 8);
    assert!(trial.shows("You  1"), "{}", trial.screen());
    trial.keys("?").click(0, 0);
    assert!(!trial.shows("Keys"), "{}", trial.screen());
}

#[test]
fn help_names_the_keys_and_scrolls() {
    let mut trial = trial();
    trial.keys("?");
    assert!(trial.shows("In the list, typing filters"), "{}", trial.screen());
    trial.keys("<c-x>");
    assert!(!trial.shows("In the list"), "any other key closes it");
    trial.keys("<f1>       ");
    assert!(trial.shows("select text, in most terminals"), "{}", trial.screen());
}

#[test]
fn every_size_of_screen_has_its_screen() {
    let mut trial = trial();
    for width in [0, 1, 2, 5, 10, 20, 40, 59, 60, 61, 79, 80, 200] {
        for height in [0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 24, 60] {
            trial.input(Input::Resize(width, height));
            trial.keys("<esc><esc><esc><esc>");
            assert!(trial.browser.pages.is_empty() && trial.browser.list.filter.is_empty());
            for keys in
                ["?", "<esc>fix", "<c-u>/parser", "<enter>", "/x<enter>", "t", "qa", "qd", "qc"]
            {
                trial.keys(keys);
                trial.screen();
            }
        }
    }
}

#[test]
fn whatever_is_pressed_there_is_a_screen() {
    const KEYS: [&str; 34] = [
        "<enter>", "<esc>", "<tab>", "<up>", "<down>", "<home>", "<end>", "<back>", "<c-u>",
        "<c-w>", "<c-t>", "<c-a>", "<f1>", "/", "?", "q", "j", "k", "g", "G", "[", "]", "n", "N",
        "x", "t", "a", "d", "c", "p", "r", " ", "parser", "b",
    ];
    let mut trial = trial();
    let mut state: u64 = 7;
    let mut random = |below: usize| {
        // The constants of Knuth's MMIX.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..1500 {
        match random(20) {
            0 => trial.input(Input::Resize(random(120) as u16, random(40) as u16)),
            1 => trial.look(),
            2 => {
                trial.click(random(120) as u16, random(40) as u16);
            }
            3 => {
                let kind = [MouseEventKind::ScrollDown, MouseEventKind::ScrollUp][random(2)];
                trial.mouse(kind, random(120) as u16, random(40) as u16);
            }
            _ => {
                trial.keys(KEYS[random(KEYS.len())]);
            }
        }
        trial.screen();
    }
}

#[test]
fn another_width_leaves_the_place_where_it_was() {
    let mut trial = trial();
    trial.browser.handle(Input::Resize(80, 10));
    trial.keys("<enter>]");
    let second = |trial: &Trial| trial.screen().lines().nth(1).unwrap().contains("You  2");
    assert!(second(&trial), "{}", trial.screen());
    trial.input(Input::Resize(50, 10));
    assert!(second(&trial), "{}", trial.screen());
}

#[test]
fn on_a_narrow_screen_the_transcript_gets_all_of_it() {
    let mut trial = Trial::new(home(), (50, 12));
    trial.keys("<tab>");
    assert!(trial.screen().starts_with("| Repair the parser\n"), "{}", trial.screen());
    trial.keys("c");
    assert!(trial.shows("resume command"), "{}", trial.screen());
    trial.keys("<esc>q");
    assert_snapshot!(trial.screen(), @"
    | recto  ~/.claude   ^s all sessions    3 sessions
    | › type to filter, / to search
    | /home/dev/app                                  2
    |   Repair the parser                   11 kB   2h
    |   What does this project do?         1.2 kB   3w
    | /home/dev/docs                                 1
    |   Parser docs                        1.1 kB   1d
    |
    |
    |
    |
    | enter read  tab transcript  ? help  esc quit 1/3
    ");
}

#[test]
fn an_empty_home_and_a_log_that_vanished_are_told() {
    let empty = Trial::new(FakeHome::new(), (80, 8));
    assert!(empty.shows("no sessions yet") && empty.shows("0 sessions"), "{}", empty.screen());
    let mut trial = trial();
    let project = trial.home.path().join("projects/-home-dev-app");
    std::fs::remove_file(project.join(format!("{FIX}.jsonl"))).unwrap();
    trial.keys("<enter>");
    assert!(trial.shows("cannot read the log"), "{}", trial.screen());
    trial.look();
    trial.keys("q");
    assert!(trial.shows("2 sessions") && !trial.shows("Repair the parser"), "{}", trial.screen());
}

#[test]
fn pasted_text_is_typed_on_one_line() {
    let mut trial = trial();
    trial.input(Input::Paste("parser\r\ndocs\u{1b}[2J".into()));
    assert!(trial.shows("› parser docs␛[2J"), "{}", trial.screen());
}

#[test]
fn reports_for_what_is_no_longer_shown_change_nothing() {
    let mut trial = trial();
    let before = trial.screen();
    for report in [
        Report::Begun { ticket: 1000 },
        Report::Lines { ticket: 1000, lines: Vec::new() },
        Report::Read { ticket: 1000, is_cut: true },
        Report::Rows { ticket: 1000, rows: Vec::new() },
        Report::Hits { ticket: 1000, hits: Vec::new() },
        Report::Failed { ticket: Some(1000), message: "too late".into() },
    ] {
        trial.input(Input::Report(report));
        assert_eq!(trial.screen(), before);
    }
    let entries: Vec<_> = trial.browser.list.entries.iter().map(Arc::clone).collect();
    assert_eq!(entries.len(), 3);
}

#[test]
fn an_archived_session_is_marked_and_restored_when_that_is_meant() {
    let mut trial = Trial::new(home(), (80, 20));
    let opened = super::trial::opened(&trial.home, &trial.environment);
    let data = trial.environment.data_directory().unwrap();
    let archive = data.root().join("archive");
    let options = CollectOptions::default();
    let mut collector = Collector::open(&opened, &data, &archive, options).unwrap();
    collector.collect(&mut |_| {}).unwrap();
    let log = trial.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    let before = std::fs::read(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    trial.look();
    assert!(trial.shows("archived"), "{}", trial.screen());
    trial.keys("<c-r>");
    assert!(trial.shows("is only in the archive"), "{}", trial.screen());
    trial.keys("n");
    assert!(!log.exists());
    trial.keys("<c-r>y");
    assert!(trial.shows("restored 1 file"), "{}", trial.screen());
    assert_eq!(std::fs::read(&log).unwrap(), before);
    trial.look();
    assert!(!trial.shows("archived"), "{}", trial.screen());
    assert!(trial.resumed.is_empty());
}
