//! The controls of the pages by keyboard alone, and the pages without scripts.

use recto_testkit::chromium::Tab;

use crate::media::home_with_media;
use crate::pages::assert_quiet;
use crate::pages::long_home;
use crate::pages::opened;
use crate::second_edition::new_pages;
use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;

/// How often Tab is pressed before a control counts as out of reach.
const MOST_STEPS: usize = 250;

/// Goes to a control as a person without a mouse does, and sees that its focus is visible.
fn reach(tab: &mut Tab, selector: &str) {
    let is_there = format!("document.activeElement.matches({selector:?})");
    for _ in 0..MOST_STEPS {
        if tab.value(&is_there) == true {
            let outline = tab.text(
                "(() => { const style = getComputedStyle(document.activeElement); \
                 return style.outlineStyle + style.boxShadow; })()",
            );
            assert_ne!(outline, "nonenone", "{selector} has no visible focus");
            return;
        }
        tab.press("Tab");
    }
    panic!("{selector} is not reached by Tab");
}

fn open(test: &Test, path: &str) -> Tab {
    let mut tab = opened(test);
    tab.open(&format!("{}{path}", test.server.base_url()));
    tab.wait("document.querySelector('#side-list a.row')");
    tab
}

#[test]
#[ignore = "needs a browser"]
fn a_session_is_marked_filtered_and_copied_by_keys_alone() {
    let test = Test::new(long_home());
    let mut tab = open(&test, &format!("/session/{OTHER}"));
    for (mark, key) in [("starred", "Enter"), ("pinned", " ")] {
        reach(&mut tab, &format!(".session-acts [data-mark={mark}]"));
        tab.press(key);
        tab.wait(&format!("document.querySelector('[data-mark={mark}]').ariaPressed === 'true'"));
    }
    reach(&mut tab, ".marks summary");
    tab.press("Enter");
    reach(&mut tab, ".marks-form [name=tags]");
    tab.type_text("keys");
    reach(&mut tab, ".marks-form [name=note]");
    tab.type_text("by keys");
    reach(&mut tab, ".marks-form button");
    tab.value("document.querySelector('.toast')?.remove()");
    tab.press("Enter");
    tab.wait("document.querySelector('.toast')?.textContent === 'Saved'");
    tab.press("Escape");
    reach(&mut tab, ".chip[data-show=errors]");
    tab.press("Enter");
    tab.wait("location.search === '?show=errors'");
    tab.wait("document.querySelectorAll('#turns > .turn').length === 2");
    // The menu of a turn: opened, walked through, closed; the focus comes back.
    reach(&mut tab, "[data-turn-menu=\"5\"]");
    tab.press("Enter");
    tab.wait("document.activeElement.matches('.turn-menu button')");
    tab.press("ArrowDown");
    tab.wait("document.activeElement.textContent === 'Copy answer'");
    tab.press("ArrowUp");
    tab.press("ArrowUp");
    tab.wait("document.activeElement.textContent === 'Copy fork command'");
    tab.press("Escape");
    tab.wait("!document.querySelector('.turn-menu') && document.activeElement.matches('[data-turn-menu=\"5\"]')");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn costs_details_and_images_are_opened_by_keys_alone() {
    let test = Test::new(full_home());
    let mut tab = open(&test, &format!("/session/{SESSION}"));
    tab.wait("document.querySelector('#costs svg')");
    reach(&mut tab, "#session-more > summary");
    tab.press("Enter");
    tab.wait("document.querySelector('#facts .context-bar')");
    reach(&mut tab, ".find-button");
    tab.press("Enter");
    tab.wait("document.activeElement.matches('.find-form input[type=search]')");
    tab.type_text("parser");
    tab.wait("document.querySelector('.find-count').textContent.startsWith('1 of')");
    reach(&mut tab, ".find-regex input");
    tab.press(" ");
    tab.wait("document.querySelector('.find-regex input').checked");
    tab.press("Escape");
    tab.wait("document.querySelector('.find-form').hidden");
    assert_eq!(tab.value("document.activeElement.matches('.find-button')"), true);
    reach(&mut tab, ".cost-top > summary");
    tab.press("Enter");
    tab.wait("document.querySelector('.cost-top').open");
    reach(&mut tab, ".cost-top a[data-goto]");
    assert_quiet(&mut tab, &test);
    let test = Test::new(home_with_media());
    let mut tab = open(&test, &format!("/session/{SESSION}"));
    reach(&mut tab, ".picture a");
    tab.press("Enter");
    tab.wait("document.activeElement.matches('.lightbox button')");
    tab.press("Enter");
    tab.wait(
        "!document.querySelector('.lightbox') && document.activeElement.matches('.picture a')",
    );
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_list_searches_and_notices_are_used_by_keys_alone() {
    let test = Test::new(full_home());
    let mut tab = open(&test, "/search?q=parser");
    reach(&mut tab, "[data-group-by=project]");
    tab.press("Enter");
    tab.wait("document.querySelector('#side-list li[data-group=app]')");
    reach(&mut tab, ".saved-searches summary");
    tab.press("Enter");
    reach(&mut tab, ".save-search input");
    tab.type_text("Parsers");
    tab.press("Enter");
    tab.wait("document.querySelector('.saved-searches a.chip')?.textContent === 'Parsers'");
    tab.wait("document.readyState === 'complete' && document.querySelector('#side-list a.row')");
    reach(&mut tab, ".saved-searches a.chip");
    tab.press("Enter");
    tab.wait("location.search === '?q=parser'");
    tab.wait("document.readyState === 'complete' && document.querySelector('#side-list a.row')");
    reach(&mut tab, "[data-forget-search]");
    tab.press("Enter");
    tab.wait("!document.querySelector('.saved-searches a.chip')");
    reach(&mut tab, "[data-act=notices]");
    reach(&mut tab, "#search-results a.hit");
    tab.press("Enter");
    tab.wait("location.pathname.startsWith('/session/') && document.querySelector('.found-line')");
    assert_quiet(&mut tab, &test);
}

/// What must be readable on a page without a script.
fn words_of(path: &str) -> &'static str {
    match path.split(['?', '/']).nth(1).unwrap_or_default() {
        "insights" => "How this is counted",
        "usage" => "Cost",
        "sessions" => "Fix the parser",
        "search" => "place",
        "session" => "Fix the parser",
        other => panic!("{other} has no words"),
    }
}

#[test]
#[ignore = "needs a browser"]
fn every_new_page_is_read_without_scripts_at_three_sizes() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    tab.call("Emulation.setScriptExecutionDisabled", serde_json::json!({ "value": true }));
    for (width, height) in [(1440, 900), (820, 1180), (390, 844)] {
        tab.size(width, height);
        for path in new_pages() {
            tab.open(&format!("{}{path}", test.server.base_url()));
            let main = tab.text("document.querySelector('main').innerText");
            assert!(main.contains(words_of(&path)), "{path} at {width}: {main}");
            let wide = tab.number("document.documentElement.scrollWidth - innerWidth");
            assert!(wide <= 0.0, "{path} at {width} is {wide} too wide");
        }
    }
    assert_quiet(&mut tab, &test);
}
