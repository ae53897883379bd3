//! Two logs with one id: two pages, and each of them leads to the other.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::pages::assert_quiet;
use crate::pages::opened;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::hours_ago;

/// A log of the same id in each of two projects, the second one older.
fn home() -> FakeHome {
    let home = FakeHome::new();
    for (project, hours) in [("app", 1), ("copy", 5)] {
        let log = SessionBuilder::new(SESSION, Client::V2_1_325)
            .cwd(&format!("/home/dev/{project}"))
            .prompt(&format!("Build the {project}"))
            .failed_tool("Bash", r#"{"command":"make"}"#, &format!("no rule for {project}"))
            .answer(&format!("The {project} is built."))
            .custom_title(&format!("Work on {project}"));
        home.add(&log, hours_ago(hours));
    }
    home
}

/// The addresses of both, newest first.
fn names(test: &Test) -> Vec<String> {
    let sessions = test.get("/api/v1/sessions").json();
    let rows = sessions["sessions"].as_array().unwrap().iter();
    rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn two_logs_with_one_id_are_two_pages() {
    let test = Test::new(home());
    let names = names(&test);
    assert_eq!(names.len(), 2);
    assert_ne!(names[0], names[1]);
    assert!(names.iter().all(|name| name.starts_with(SESSION)));
    let list = test.get("/sessions").text();
    let mut messages = 0;
    for (name, own, other) in [(&names[0], "app", "copy"), (&names[1], "copy", "app")] {
        let base = format!("/session/{name}");
        assert!(list.contains(&format!("href=\"{base}\"")), "{list}");
        let page = test.get(&base).text();
        assert!(page.contains(&format!("The {own} is built.")), "{name}");
        assert!(!page.contains(&format!("The {other} is built.")), "{name}");
        let turns = test.get(&format!("{base}/turns")).text();
        assert!(turns.contains(&format!("no rule for {own}")), "{name}");
        for part in ["costs", "cost", "facts", "news", "name"] {
            assert_eq!(test.get(&format!("{base}/{part}")).status, 200, "{part}");
        }
        let api = format!("/api/v1/sessions/{name}");
        assert_eq!(test.get(&api).json()["session"]["title"], format!("Work on {own}"));
        assert_eq!(test.get(&format!("{api}/find?q=built")).json()["total"], 1);
        assert_eq!(test.get(&format!("{api}/find?q={other}")).json()["total"], 0);
        let costs = test.get(&format!("{api}/costs")).json();
        messages += costs["turns"][0]["messages"].as_u64().unwrap();
        assert!(test.get(&format!("{api}/export?format=txt")).text().contains(own));
    }
    // The two messages of one log are copies of those of the other: each counts once.
    assert_eq!(messages, 2);
}

#[test]
fn the_page_of_the_id_alone_is_the_newest_log_and_leads_to_the_other() {
    let test = Test::new(home());
    let names = names(&test);
    let page = test.get(&format!("/session/{SESSION}")).text();
    assert!(page.contains("The app is built."), "{page}");
    assert!(page.contains("Another log has the same id"), "{page}");
    assert!(page.contains(&format!("href=\"/session/{}\"", names[1])), "{page}");
    let found = test.get("/api/v1/search?q=built").json();
    for hit in found["hits"].as_array().unwrap() {
        let is_copy = hit["cwd"] == "/home/dev/copy";
        assert_eq!(hit["name"], names[usize::from(is_copy)], "{found}");
    }
    let page = test.get("/search?q=built").text();
    assert_eq!(page.matches("<section class=\"panel found\">").count(), 2, "{page}");
    for bad in ["~00000000", "~", "~x", "~0000000g"] {
        assert_eq!(test.get(&format!("/session/{SESSION}{bad}")).status, 404, "{bad}");
        assert_eq!(test.get(&format!("/api/v1/sessions/{SESSION}{bad}")).status, 404, "{bad}");
    }
}

#[test]
fn an_edit_changes_the_log_that_its_address_names() {
    let test = Test::with(home(), |options| options.allow_edits = true);
    let names = names(&test);
    let renamed =
        test.change(&format!("/api/v1/sessions/{}/title", names[1]), r#"{"title":"The copy"}"#);
    assert_eq!(renamed.status, 200, "{}", renamed.text());
    let title = |name: &str| {
        test.get(&format!("/api/v1/sessions/{name}")).json()["session"]["title"].clone()
    };
    assert_eq!((title(&names[0]), title(&names[1])), ("Work on app".into(), "The copy".into()));
}

#[test]
#[ignore = "needs a browser"]
fn the_list_marks_the_log_that_is_open_and_keys_work_in_it() {
    let test = Test::new(home());
    let names = names(&test);
    let mut tab = opened(&test);
    let here = "document.querySelector('#side-list a[aria-current]')?.getAttribute('href')";
    for name in &names {
        tab.open(&format!("{}/session/{name}", test.server.base_url()));
        tab.wait(&format!("{here} === '/session/{name}'"));
        assert_eq!(
            tab.number("document.querySelectorAll('#side-list [aria-current]').length"),
            1.0
        );
        tab.press("f");
        tab.type_text("is built");
        tab.wait("document.querySelector('.find-count').textContent === '1 of 1'");
    }
    tab.click(".namesakes a");
    tab.wait(&format!("location.pathname === '/session/{}'", names[0]));
    assert_quiet(&mut tab, &test);
}
