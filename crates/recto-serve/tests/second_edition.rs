//! Insights, costs, marks, find, saved searches, groups and refusals: without a browser where
//! that is enough, and with one where something is pressed.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::pages::assert_quiet;
use crate::pages::opened;
use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::TOKEN;
use crate::support::Test;
use crate::support::full_home;
use crate::support::hours_ago;
use crate::support::working_home;
use recto_testkit::chromium::Tab;

#[test]
fn insights_name_their_rules_and_lead_to_their_evidence() {
    let test = Test::new(full_home());
    for (path, words) in [
        ("/insights?period=all", ["A session waits for you", "Over the day"]),
        ("/insights/quality?period=all", ["A retry is a call", "/tools?period=all&amp;tool=Bash"]),
        ("/insights/quality?period=all&by=week", ["Stopped turns", "?show=errors"]),
        ("/insights/cache?period=all", ["missed the cache if", "Cache hit"]),
        ("/insights/context?period=all", ["The context of a message", "/cost"]),
        ("/usage/groups?group=tool&period=all", ["Usage by tool", "Bash"]),
        ("/usage/groups?group=agent&period=all", ["Usage by subagent", "main log"]),
        ("/usage/compare", ["Cost per session", "Change"]),
        ("/usage/explain?period=all&sort=amount", ["By amount", "amount"]),
    ] {
        let page = test.get(path);
        assert_eq!(page.status, 200, "{path}: {}", page.text());
        for word in words {
            assert!(page.text().contains(word), "{path} has no {word}: {}", page.text());
        }
    }
    for path in ["/insights/quality?by=none", "/usage/groups?group=x", "/usage/explain?sort=x"] {
        assert_eq!(test.get(path).status, 400, "{path}");
    }
    let quality = test.get("/api/v1/insights/quality").json();
    assert_eq!(quality["total"]["failed"], 1, "{quality}");
    let bash = &quality["rows"][0];
    assert_eq!((&bash["key"], &bash["calls"]), (&"Bash".into(), &2.into()), "{quality}");
}

#[test]
fn a_retry_that_works_is_a_repair() {
    let home = FakeHome::new();
    let log = SessionBuilder::new(SESSION, Client::V2_1_325)
        .prompt("Go")
        .failed_tool("Bash", r#"{"command":"make"}"#, "no rule")
        .failed_tool("Bash", r#"{"command":"make all"}"#, "no rule")
        .tool("Bash", r#"{"command":"make it"}"#, "done")
        .tool("Bash", r#"{"command":"ls"}"#, "done")
        .answer("Done");
    home.add(&log, hours_ago(1));
    let test = Test::new(home);
    let total = test.get("/api/v1/insights/quality").json()["total"].clone();
    let figures = ["calls", "failed", "retries", "repaired"].map(|name| total[name].as_u64());
    assert_eq!(figures, [Some(4), Some(2), Some(2), Some(1)], "{total}");
}

#[test]
fn the_list_of_sessions_is_sorted_by_cost_and_failures() {
    let test = Test::new(full_home());
    for order in ["status", "turns", "messages", "cost", "failed"] {
        let page = test.get(&format!("/sessions?sort={order}")).text();
        assert!(page.contains("aria-sort"), "{order}");
        let (first, second) = (page.rfind("Write the docs"), page.rfind("Fix the parser"));
        assert!(first > second, "{order}: the larger session comes first");
    }
}

#[test]
fn marks_are_kept_beside_the_logs_and_filter_lists_and_searches() {
    let test = Test::new(full_home());
    let before =
        std::fs::read(test.home.path().join(format!("projects/-home-dev-docs/{OTHER}.jsonl")));
    let address = format!("/api/v1/sessions/{OTHER}/marks");
    let marked = test.change(&address, r#"{"starred":true,"tags":["Release 2"],"note":"look"}"#);
    assert_eq!(marked.status, 200, "{}", marked.text());
    assert_eq!(marked.json()["tags"][0], "Release-2");
    // What is not said stays.
    assert_eq!(test.change(&address, r#"{"pinned":true}"#).json()["note"], "look");
    let after =
        std::fs::read(test.home.path().join(format!("projects/-home-dev-docs/{OTHER}.jsonl")));
    assert_eq!(before.unwrap(), after.unwrap());
    let main = |path: &str| {
        let page = test.get(path).text();
        page.split("<tbody>").nth(1).unwrap_or_default().to_owned()
    };
    for path in ["/sessions?starred=true", "/sessions?tag=release-2"] {
        let page = main(path);
        assert!(page.contains("Write the docs") && !page.contains("Fix the parser"), "{path}");
    }
    let side = test.get("/sessions/list").text();
    assert!(side.contains("data-group=\"Pinned\""), "{side}");
    assert!(side.find("Write the docs") < side.find("Fix the parser"), "{side}");
    assert!(test.get("/sessions/list?group=project").text().contains("data-group=\"app\""));
    for (query, total) in [
        ("parser", 1),
        ("docs tag:release-2", 1),
        ("parser tag:release-2", 0),
        ("docs -is:starred", 0),
    ] {
        let found = test.get(&format!("/api/v1/search?q={}", query.replace(' ', "+"))).json();
        assert_eq!(found["total"].as_u64().unwrap() > 0, total > 0, "{query}: {found}");
    }
    let found = test.get(&format!("/api/v1/search?q=docs+session:{}", &OTHER[..8])).json();
    assert!(found["total"].as_u64().unwrap() > 0);
    assert_eq!(
        test.get(&format!("/api/v1/search?q=docs+session:{}", &SESSION[..8])).json()["total"],
        0
    );
    for bad in [r#"{"stared":true}"#, r#"{"tags":"x"}"#, "7"] {
        assert_eq!(test.change(&address, bad).status, 400, "{bad}");
    }
    let long = format!(r#"{{"note":"{}"}}"#, "x".repeat(4001));
    assert_eq!(test.change(&address, &long).status, 400);
    let missing = "/api/v1/sessions/00000000-0000-4000-8000-000000000000/marks";
    assert_eq!(test.change(missing, "{}").status, 404);
}

#[test]
fn a_text_is_found_wherever_it_is_in_a_session() {
    let test = Test::new(full_home());
    let find = |query: &str| test.get(&format!("/api/v1/sessions/{SESSION}/find?{query}"));
    let found = find("q=PARSER").json();
    assert!(found["total"].as_u64().unwrap() >= 3, "{found}");
    let turns: Vec<u64> = found["places"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["turn"].as_u64().unwrap())
        .collect();
    assert!(turns.is_sorted(), "{turns:?}");
    assert_eq!(find("q=exit+code+%5Cd&regex=true").json()["total"], 1);
    assert_eq!(find("q=exit+code+%5Cd").json()["total"], 0);
    assert_eq!(find("q=nothing+like+that").json()["total"], 0);
    assert_eq!(find("q=(&regex=true").status, 400);
    assert_eq!(find("").status, 400);
}

#[test]
fn a_browser_that_is_refused_gets_a_page() {
    let test = Test::new(working_home());
    let host = test.address;
    let page = |headers: &str| test.ask("GET", "/", &format!("{headers}\nAccept: text/html"));
    for (headers, status, words) in [
        (format!("Host: {host}"), 401, "not logged in"),
        ("Host: example.org".to_owned(), 421, "Unknown host"),
        (format!("Host: {host}\nSec-Fetch-Site: cross-site"), 403, "refused"),
    ] {
        let answer = page(&headers);
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(answer.text().contains(words), "{}", answer.text());
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!answer.text().contains(TOKEN) && !answer.text().contains("session"));
    }
    assert!(page(&format!("Host: {host}")).text().contains("http-equiv=\"refresh\""));
}

#[test]
fn a_body_that_is_far_too_large_is_refused_before_it_is_sent() {
    let test = Test::with(working_home(), |options| options.allow_edits = true);
    let headers = format!(
        "Host: {}\nAuthorization: Bearer {TOKEN}\nContent-Type: application/json\nContent-Length: 5000000",
        test.address
    );
    // Only the head is sent.
    let answer = test.head("POST", &format!("/api/v1/sessions/{SESSION}/title"), &headers);
    assert_eq!(answer.status, 413);
}

fn open_session(test: &Test, id: &str) -> Tab {
    let mut tab = opened(test);
    tab.open(&format!("{}/session/{id}", test.server.base_url()));
    tab
}

#[test]
#[ignore = "needs a browser"]
fn a_text_is_found_by_keys_and_its_words_are_marked() {
    let test = Test::new(crate::pages::long_home());
    let mut tab = open_session(&test, OTHER);
    tab.wait("document.querySelector('#turn-1.here')");
    tab.press("f");
    tab.wait("document.activeElement.matches('.find-form input[type=search]')");
    tab.type_text("number 5");
    // Turns 5 and 50 to 59, the prompt and the answer each.
    tab.wait("document.querySelector('.find-count').textContent === '1 of 22'");
    tab.wait("document.querySelector('#turn-5 .found-line')");
    tab.wait("[...CSS.highlights.get('found')].map(String).join().toLowerCase() === 'number 5'");
    tab.press("Enter");
    tab.wait("document.querySelector('.find-count').textContent === '2 of 22'");
    tab.value("document.activeElement.blur()");
    tab.press("n");
    tab.wait("document.querySelector('.find-count').textContent === '3 of 22'");
    tab.wait("document.querySelector('#turns > .turn[data-turn=\"50\"] .found-line')");
    tab.press("N");
    tab.press("N");
    tab.wait("document.querySelector('.find-count').textContent === '1 of 22'");
    tab.click(".find-regex input");
    tab.value("(() => { const f = document.querySelector('.find-form input[type=search]'); f.value = 'number 6\\\\d'; f.dispatchEvent(new Event('input')); })()");
    tab.wait("document.querySelector('.find-count').textContent === '1 of 2'");
    tab.value("document.querySelector('.find-form input[type=search]').focus()");
    tab.press("Escape");
    tab.wait("document.querySelector('.find-form').hidden");
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_list_at_the_side_is_grouped_and_leads_to_neighbours() {
    let test = Test::new(full_home());
    let mut tab = open_session(&test, SESSION);
    let groups = "[...document.querySelectorAll('#side-list li[data-group]')].map((one) => one.dataset.group).join()";
    tab.wait("document.querySelector('#side-list a[aria-current]')");
    tab.click("[data-group-by=project]");
    tab.wait(&format!("{groups} === 'app,docs'"));
    tab.press("]");
    tab.wait(&format!("location.pathname === '/session/{OTHER}'"));
    tab.wait("document.querySelector('#side-list a[aria-current]')");
    tab.press("[");
    tab.wait(&format!("location.pathname === '/session/{SESSION}'"));
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser"]
fn the_title_of_the_tab_says_how_many_sessions_wait() {
    let test = Test::new(full_home());
    test.home.announce(SESSION, "waiting");
    let mut tab = opened(&test);
    tab.wait("document.title.startsWith('(1) waiting')");
    assert_quiet(&mut tab, &test);
}

/// All new pages.
pub(crate) fn new_pages() -> Vec<String> {
    let mut pages: Vec<String> = [
        "/insights?period=all",
        "/insights/quality?period=all",
        "/insights/cache?period=all",
        "/insights/context?period=all",
        "/usage/groups?group=tool&period=all",
        "/usage/groups?group=agent&period=all",
        "/usage/compare",
        "/usage/explain?period=all&sort=amount",
        "/sessions?sort=cost",
        "/search?q=parser",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.extend([
        format!("/session/{SESSION}"),
        format!("/session/{SESSION}/cost"),
        format!("/session/{SESSION}?show=edits"),
    ]);
    pages
}

#[test]
#[ignore = "needs a browser"]
fn new_pages_fit_three_sizes_in_light_and_dark() {
    let test = Test::new(full_home());
    let mut tab = opened(&test);
    for (width, height) in [(1440, 900), (820, 1180), (390, 844)] {
        tab.size(width, height);
        for theme in ["light", "dark"] {
            tab.value(&format!("localStorage.setItem('theme', '{theme}')"));
            for path in new_pages() {
                tab.open(&format!("{}{path}", test.server.base_url()));
                assert_eq!(tab.text("document.documentElement.dataset.theme"), theme);
                let wide = tab.number("document.documentElement.scrollWidth - innerWidth");
                assert!(wide <= 0.0, "{path} at {width} is {wide} too wide");
            }
        }
    }
    assert_quiet(&mut tab, &test);
}

#[test]
#[ignore = "needs a browser and axe"]
fn axe_finds_nothing_on_any_page() {
    let folder = recto_testkit::tool("RECTO_TEST_AXE");
    let axe = std::path::Path::new(&folder).join("node_modules/axe-core/axe.min.js");
    let axe = std::fs::read_to_string(axe).unwrap();
    let test = Test::with(full_home(), |options| options.allow_edits = true);
    let mut tab = recto_testkit::chromium::browser().tab();
    tab.open(&test.server.login_url());
    let mut found = Vec::new();
    let usual =
        ["/", "/usage?period=all", "/tools?period=all", "/plans", "/files?period=all", "/health"];
    for theme in ["light", "dark"] {
        tab.value(&format!("localStorage.setItem('theme', '{theme}')"));
        for path in usual.map(str::to_owned).into_iter().chain(new_pages()) {
            tab.open(&format!("{}{path}", test.server.base_url()));
            tab.wait("document.querySelector('#side-list a.row')");
            tab.value("new Promise((done) => setTimeout(done, 400))");
            tab.call("Runtime.evaluate", serde_json::json!({ "expression": axe }));
            let broken = tab.text(
                "axe.run(document, { resultTypes: ['violations'] }).then((result) => result.violations.map((one) => \
                 `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`).join('\\n'))",
            );
            if !broken.is_empty() {
                found.push(format!("{path} ({theme}): {broken}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
#[ignore = "needs a browser"]
fn a_star_and_tags_are_given_and_searches_are_saved() {
    let test = Test::new(full_home());
    let mut tab = open_session(&test, OTHER);
    tab.click("[data-mark=starred]");
    tab.wait("document.querySelector('[data-mark=starred]').ariaPressed === 'true'");
    tab.value("document.querySelector('.toast')?.remove()");
    tab.click(".marks summary");
    tab.value("document.querySelector('.marks-form [name=tags]').focus()");
    tab.type_text("w-tag<img src=x onerror=alert(1)>, two");
    tab.press("Enter");
    tab.wait("document.querySelector('.toast')?.textContent === 'Saved'");
    let base = test.server.base_url();
    tab.open(&format!("{base}/sessions?starred=true"));
    tab.wait("document.querySelectorAll('main tbody tr').length === 1");
    assert!(tab.text("document.querySelector('#tag').textContent").contains("w-tag<img"));
    tab.open(&format!("{base}/search?q=docs"));
    tab.click(".saved-searches summary");
    tab.value("document.querySelector('.save-search input').focus()");
    tab.type_text("Docs <b>x</b>");
    tab.press("Enter");
    tab.wait("document.querySelector('.saved-searches a.chip')?.textContent === 'Docs <b>x</b>'");
    // The page was loaded again, and its scripts come after its text.
    tab.wait("document.readyState === 'complete'");
    tab.click("[data-forget-search]");
    tab.wait("!document.querySelector('.saved-searches li')");
    // Results come while one types.
    tab.open(&format!("{base}/search?q=nothingofthekind"));
    tab.wait("document.readyState === 'complete'");
    tab.value("document.querySelector('#q').select()");
    tab.type_text("docs");
    tab.wait(
        "location.search.includes('q=docs') && document.querySelector('#search-results .hit')",
    );
    assert_quiet(&mut tab, &test);
}
