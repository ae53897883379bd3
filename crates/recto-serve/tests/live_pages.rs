//! Pages that stay open while sessions go on: what is new is to be had, and neither the
//! place nor the focus of who reads is lost.

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

/// A session of many turns, each higher than a small screen.
fn long(turns: std::ops::RangeInclusive<u32>, log: SessionBuilder) -> SessionBuilder {
    turns.fold(log, |log, turn| {
        let answer = format!("Answer number {turn}\n\n{}", "A line.\n\n".repeat(12));
        log.prompt(&format!("Prompt number {turn}")).answer(&answer)
    })
}

fn started() -> SessionBuilder {
    SessionBuilder::new(SESSION, Client::V2_1_325)
}

#[test]
#[ignore = "needs a browser"]
fn the_button_for_news_leads_to_the_end_when_the_end_is_not_there_yet() {
    let home = FakeHome::new();
    let log = long(1..=30, started());
    home.add(&log, hours_ago(1));
    let test = Test::new(home);
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
    tab.wait("document.documentElement.dataset.events === 'open'");
    let more = long(31..=33, log.clone());
    test.write(&more.bytes()[log.bytes().len()..]);
    tab.wait("document.querySelector('.news')");
    // Turns that are not on the page are in the outline, and the numbers are new.
    tab.wait("document.querySelector('#outline a[data-goto=\"33\"]')");
    assert_eq!(tab.text("document.querySelector('#outline h2').textContent"), "33 turns");
    assert_eq!(tab.number("document.querySelectorAll('#outline a[data-goto=\"30\"]').length"), 1.0);
    assert!(tab.text("document.querySelector('#session-numbers').innerText").contains("33"));
    tab.wait("document.querySelector('#reader-status').textContent.includes('new item')");
    tab.click(".news");
    tab.wait("document.querySelector('#turn-33')");
    tab.wait("innerHeight + scrollY >= document.body.scrollHeight - 2");
    tab.wait("!document.querySelector('.news')");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_outline_of_a_narrow_page_scrolls_and_closes_without_a_jump() {
    let home = FakeHome::new();
    home.add(&long(1..=60, started()), hours_ago(1));
    let test = Test::new(home);
    let mut tab = opened(&test);
    for (width, height) in [(390, 844), (1000, 700)] {
        tab.size(width, height);
        tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
        let is_open = "getComputedStyle(document.querySelector('#outline')).display !== 'none'";
        let expanded = "document.querySelector('.outline-button').ariaExpanded";
        let top = tab.number("scrollY");
        for close in ["button", "Escape", "beside"] {
            tab.click(".outline-button");
            tab.wait(is_open);
            assert_eq!(tab.text(expanded), "true");
            let list = "document.querySelector('.outline-list')";
            assert!(
                tab.value(&format!("{list}.scrollHeight > {list}.clientHeight && {list}.getBoundingClientRect().bottom <= innerHeight")) == true,
                "at {width} its end cannot be reached"
            );
            match close {
                "button" => tab.click(".outline-close"),
                "Escape" => tab.press("Escape"),
                _ => {
                    tab.value("document.querySelector('main').click()");
                }
            }
            tab.wait(&format!("!({is_open})"));
            assert_eq!(tab.text(expanded), "false", "{close}");
            assert_eq!(tab.text("location.hash"), "", "{close}");
            assert!((tab.number("scrollY") - top).abs() < 200.0, "{close}");
        }
    }
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_outline_keeps_the_way_back() {
    let home = FakeHome::new();
    home.add(&long(1..=40, started()), hours_ago(1));
    let test = Test::new(home);
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{SESSION}#turn-3", test.server.base_url()));
    tab.wait("document.querySelector('#turn-3.here')");
    tab.click("#outline a[data-goto='30']");
    tab.wait("document.querySelector('#turn-30.here') && location.hash === '#turn-30'");
    tab.value("history.back()");
    tab.wait("document.querySelector('#turn-3.here') && location.hash === '#turn-3'");
    // Loaded again, the page is where the reader was, not where a link once led.
    tab.press("j");
    tab.press("j");
    tab.wait("location.hash === '#turn-5'");
    tab.reload();
    tab.wait("document.querySelector('#turn-5.here')");
    let top = "document.querySelector('#turn-5')?.getBoundingClientRect().top";
    tab.wait(&format!("{top} >= 0 && {top} < 200"));
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_list_at_the_side_keeps_its_length_its_place_and_the_focus() {
    let home = FakeHome::new();
    home.add(&started().prompt("The one that goes on").answer("Yes"), hours_ago(200));
    for at in 0..90 {
        let id = format!("7c2a1b4c-9d8e-4f70-a1b2-0000000000{at:02}");
        let log = SessionBuilder::new(&id, Client::V2_1_325).prompt(&format!("Session {at}"));
        home.add(&log.answer("Yes"), hours_ago(2 + at));
    }
    let test = Test::new(home);
    let mut tab = opened(&test);
    tab.open(&format!("{}/sessions", test.server.base_url()));
    let rows = "document.querySelectorAll('#side-list a.row').length";
    tab.wait(&format!("{rows} === 60"));
    tab.click("#side-list .side-more");
    tab.wait(&format!("{rows} === 91"));
    tab.value("document.querySelectorAll('#side-list a.row')[70].focus()");
    let focused = tab.text("document.activeElement.getAttribute('href')");
    let top = "document.querySelector('#side-list').scrollTop";
    let before = tab.number(top);
    assert!(before > 0.0);
    tab.wait("document.documentElement.dataset.events === 'open'");
    test.append(&started().prompt("More").answer("Yes"));
    tab.wait(&format!("document.querySelector('#side-list a.row').href.endsWith('{SESSION}')"));
    assert_eq!(tab.number(rows), 91.0);
    assert_eq!(tab.text("document.activeElement.getAttribute('href') ?? ''"), focused);
    assert!((tab.number(top) - before).abs() < 100.0, "{before} is now {}", tab.number(top));
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn what_runs_now_is_renewed_without_taking_the_focus_and_transitions_are_told() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    tab.wait("document.documentElement.dataset.events === 'open'");
    tab.value("document.querySelector('#live a.live').focus()");
    assert!(tab.value("document.querySelector('#live[aria-live]') === null") == true);
    let status = "document.querySelector('#live a.live').dataset.status";
    let before = tab.text(status);
    test.home.announce(SESSION, "idle");
    tab.wait(&format!("{status} !== '{before}'"));
    let now = tab.text(status).replace('_', " ");
    tab.wait(&format!("document.querySelector('#live-status').textContent.includes('{now}')"));
    assert!(
        tab.text("document.activeElement.getAttribute('href') ?? ''").ends_with(SESSION),
        "the focus is lost"
    );
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn a_hit_is_shown_unfolded_in_the_middle_and_marked() {
    let home = FakeHome::new();
    let mut log = long(1..=2, SessionBuilder::new(OTHER, Client::V2_1_325)).prompt("Long work");
    // More than comes at once.
    for at in 0..420 {
        let output = if at == 410 { "the needle is here" } else { "ok" };
        log = log.tool("Bash", &format!(r#"{{"command":"step {at}"}}"#), output);
    }
    home.add(&log.answer("Done"), hours_ago(1));
    let test = Test::new(home);
    let mut tab = opened(&test);
    tab.open(&format!("{}/search?q=needle", test.server.base_url()));
    let address = tab.text("document.querySelector('main a.hit').href");
    assert!(address.contains("line=") && address.ends_with("#turn-3"), "{address}");
    tab.open(&address);
    tab.wait("document.querySelector('.found-line')");
    let found = "document.querySelector('.found-line')";
    assert!(tab.text(&format!("{found}.innerText")).contains("the needle is here"));
    assert!(tab.value(&format!("{found}.open")) == true);
    let middle = format!(
        "(() => {{ const r = {found}.getBoundingClientRect(); return (r.top + r.bottom) / 2 / innerHeight; }})()"
    );
    assert!((0.2..0.8).contains(&tab.number(&middle)), "{}", tab.number(&middle));
    assert_quiet(&mut tab, &test);
}
