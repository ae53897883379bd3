//! The reader with a long session, in a real browser: chips, the place that is kept, and a page
//! that stays small however much was read.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::pages::assert_quiet;
use crate::pages::opened;
use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;
use crate::support::hours_ago;

const DIFF: &str = r#"{"filePath":"/home/dev/app/src/main.rs","oldString":"a","newString":"b","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}]}"#;

/// A session of many turns with many calls each.
fn heavy_home() -> FakeHome {
    let mut log = SessionBuilder::new(OTHER, Client::V2_1_325);
    for turn in 1..=80 {
        log = log.prompt(&format!("Prompt number {turn}"));
        for call in 0..12 {
            let input =
                format!(r#"{{"command":"step {call}","description":"A step of turn {turn}"}}"#);
            log = log.tool("Bash", &input, "line\nline\nline");
        }
        if turn % 20 == 0 {
            log = log.failed_tool("Bash", r#"{"command":"make"}"#, "no rule");
            let input =
                r#"{"file_path":"/home/dev/app/src/main.rs","old_string":"a","new_string":"b"}"#;
            log = log.tool_with_detail("Edit", input, "done", DIFF);
        }
        log = log.answer(&format!("Answer number {turn}, **done**.\n\n- one\n- two\n"));
    }
    let home = FakeHome::new();
    home.add(&log, hours_ago(1));
    home
}

#[test]
#[ignore = "needs a browser"]
fn a_page_stays_small_however_much_is_read_and_turns_come_back() {
    let test = Test::new(heavy_home());
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{OTHER}", test.server.base_url()));
    let nodes = "(() => { let n = 0; const w = document.createTreeWalker(document, NodeFilter.SHOW_ALL); while (w.nextNode()) n++; return n; })()";
    let last = "Number([...document.querySelectorAll('#turns > .turn')].at(-1).dataset.turn)";
    let first = "Number(document.querySelector('#turns > .turn').dataset.turn)";
    let mut most = 0.0_f64;
    for _ in 0..400 {
        if tab.value(&format!(
            "{last} === 80 && !document.querySelector('#turns > a.more:not(.earlier)')"
        )) == true
        {
            break;
        }
        let before = tab.number(last);
        tab.value("window.scrollTo(0, document.body.scrollHeight)");
        tab.wait(&format!(
            "{last} > {before} || !document.querySelector('#turns > a.more.loading')"
        ));
        most = most.max(tab.number(nodes));
    }
    assert_eq!(tab.number(last), 80.0);
    assert!(most < 5000.0, "{most} nodes");
    assert!(tab.number(first) > 1.0, "turns that are far away left");
    // What was left out comes back when one scrolls to it.
    for _ in 0..400 {
        if tab.value(&format!("{first} === 1")) == true {
            break;
        }
        tab.value("window.scrollTo(0, 0)");
        let before = tab.number(first);
        tab.wait(&format!(
            "{first} < {before} || !document.querySelector('#turns > a.more.loading')"
        ));
        most = most.max(tab.number(nodes));
    }
    assert_eq!(tab.number(first), 1.0);
    assert!(most < 5000.0, "{most} nodes");
    // No turn is there twice, and none is missing in between.
    let numbers = "[...document.querySelectorAll('#turns > .turn:not([data-part])')].map((turn) => Number(turn.dataset.turn))";
    assert_eq!(tab.value(&format!("{numbers}.every((number, at) => number === at + 1)")), true);
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn folding_the_tools_keeps_the_place() {
    let test = Test::new(heavy_home());
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{OTHER}#turn-3", test.server.base_url()));
    tab.wait("document.querySelector('#turn-3.here')");
    let top = "document.querySelector('#turn-3 .prompt').getBoundingClientRect().top";
    let before = tab.number(top);
    for open in [true, false] {
        tab.press("t");
        tab.wait(&format!(
            "[...document.querySelectorAll('#turns .call')].every((call) => call.open === {open})"
        ));
        assert!((tab.number(top) - before).abs() < 3.0, "{} {before}", tab.number(top));
    }
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn chips_choose_what_is_shown_and_keep_the_turn() {
    let test = Test::new(heavy_home());
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{OTHER}#turn-20", test.server.base_url()));
    tab.wait("document.querySelector('#turn-20.here')");
    let numbers =
        "[...document.querySelectorAll('#turns > .turn')].map((turn) => turn.dataset.turn).join()";
    tab.click("a.chip[data-show=errors]");
    tab.wait("location.search === '?show=errors' && document.querySelector('#turn-20.here')");
    assert_eq!(tab.number("document.querySelectorAll('#turn-20 .call').length"), 1.0);
    assert_eq!(tab.number("document.querySelectorAll('#outline a[data-goto]').length"), 4.0);
    tab.click("a.chip[data-show=edits]");
    tab.wait("location.search === '?show=edits' && document.querySelector('#turn-20.here .diff')");
    // Who goes on to something else while the turns are fetched keeps the focus.
    tab.value(
        "(() => { const fetched = window.fetch; window.fetch = async (...asked) => { \
         const answer = await fetched(...asked); \
         await new Promise((done) => setTimeout(done, 500)); \
         document.documentElement.dataset.fetched = 'yes'; return answer; }; })()",
    );
    tab.press("g");
    tab.value("document.querySelector('a.chip[data-show=conversation]').focus()");
    tab.wait("document.documentElement.dataset.fetched");
    tab.wait(&format!("{numbers} === '20,40,60,80' && document.querySelector('#turn-20.here')"));
    tab.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    assert_eq!(tab.value("document.activeElement.matches('a.chip')"), true, "the focus stays");
    tab.press("Enter");
    tab.wait(
        "location.search === '?show=conversation' && document.querySelector('#turns .answer')",
    );
    assert_eq!(tab.number("document.querySelectorAll('#turns .call').length"), 0.0);
    assert_eq!(
        tab.text("document.querySelector('.chip[aria-current]').textContent"),
        "Conversation"
    );
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn a_turn_has_a_menu_and_is_forked_from_it() {
    let test = Test::with(full_home(), |options| options.allow_edits = true);
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{OTHER}", test.server.base_url()));
    tab.wait("document.querySelector('#costs .cost-strip, #costs p')");
    tab.value("document.querySelector('[data-turn-menu=\"1\"]').focus()");
    tab.press("Enter");
    tab.wait("document.querySelector('.turn-menu')");
    let names =
        "[...document.querySelectorAll('.turn-menu button')].map((one) => one.textContent).join()";
    assert_eq!(tab.text(names), "Copy prompt,Copy answer,Copy link,Fork from here");
    tab.press("Escape");
    tab.wait("!document.querySelector('.turn-menu')");
    assert_eq!(tab.value("document.activeElement.matches('[data-turn-menu]')"), true);
    tab.click("[data-turn-menu='1']");
    tab.click(".turn-menu button:last-child");
    tab.wait(&format!(
        "location.pathname.startsWith('/session/') && !location.pathname.endsWith('{OTHER}')"
    ));
    tab.wait("document.querySelector('h1')?.textContent.includes('(fork)')");
    assert_quiet(&mut tab, &test);
}

#[test]
fn chips_and_costs_are_there_without_scripts() {
    let test = Test::new(full_home());
    let page = test.get(&format!("/session/{SESSION}?show=errors")).text();
    assert!(page.contains("exit code 1") && !page.contains("src/main.rs</code>"), "{page}");
    assert!(page.contains("href=\"?") || page.contains("?show=edits"), "{page}");
    assert_eq!(test.get(&format!("/session/{SESSION}?show=none")).status, 400);
    let cost = test.get(&format!("/session/{SESSION}/cost")).text();
    assert!(cost.contains("Top turns") && cost.contains("Fix the parser"), "{cost}");
    let costs = test.get(&format!("/api/v1/sessions/{SESSION}/costs")).json();
    let turns = costs["turns"].as_array().unwrap();
    let sum: f64 = turns.iter().map(|turn| turn["cost_usd"].as_f64().unwrap()).sum();
    let total = costs["total"]["known_cost_usd"].as_f64().unwrap();
    assert!((sum - total).abs() < 1e-9 && total > 0.0, "{sum} {total}");
    let usage = test.get(&format!("/api/v1/usage?by=session&session={SESSION}")).json();
    assert_eq!(usage["total"]["known_cost_usd"], costs["total"]["known_cost_usd"]);
    let last = turns.last().unwrap();
    assert!((last["cumulative_usd"].as_f64().unwrap() - total).abs() < 1e-9);
}
