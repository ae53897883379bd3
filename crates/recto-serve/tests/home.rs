//! The home page, the list of sessions and what leads from one to the other, without a
//! browser.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;
use crate::support::hours_ago;
use crate::support::session;
use crate::support::working_home;

fn page(test: &Test, path: &str) -> String {
    let answer = test.get(path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    answer.text()
}

/// The addresses in a page that begin like this.
fn addresses(page: &str, beginning: &str) -> Vec<String> {
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let links = links.map(|link| link.replace("&amp;", "&"));
    links.filter(|link| link.starts_with(beginning)).collect()
}

#[test]
fn an_empty_home_says_where_was_looked_and_what_to_do() {
    let test = Test::new(FakeHome::new());
    let shown = page(&test, "/");
    let place = test.home.path().join("projects").display().to_string();
    assert!(shown.contains(&place) && shown.contains("recto serve --home"), "{shown}");
    assert!(page(&test, "/sessions/list").contains("No sessions yet"));
}

#[test]
fn figures_of_the_home_page_are_those_of_a_period_and_a_model() {
    let home = FakeHome::new();
    let recent = SessionBuilder::new(SESSION, Client::V2_1_325).at(hours_ago(48));
    let recent = recent.prompt("New").answer("One").answer("Two").answer("Three");
    home.add(&recent, hours_ago(1));
    let other = SessionBuilder::new(OTHER, Client::V2_1_325).at(hours_ago(24 * 60));
    home.add(&other.model("claude-haiku-4-5").prompt("Old").answer("Yes"), hours_ago(24 * 60));
    let test = Test::new(home);
    let card = |path: &str, label: &str| {
        let shown = page(&test, path);
        let after = shown.split(&format!("<dt>{label}</dt>")).nth(1);
        let after = after.unwrap_or_else(|| panic!("no {label}: {shown}"));
        let value = after.split("class=\"value\">").nth(1).unwrap();
        value.split("</dd>").next().unwrap().to_owned()
    };
    let month: u64 = card("/", "Messages").parse().unwrap();
    let all: u64 = card("/?period=all", "Messages").parse().unwrap();
    assert_eq!(all, month + 1);
    assert_eq!(card("/?period=all&model=claude-haiku-4-5", "Messages"), "1");
    assert_eq!(card("/?period=all", "Messages per session"), "1");
    for path in ["/?heat=sessions", "/?heat=output", "/?top=duration", "/?top=output&period=7d"] {
        let shown = page(&test, path);
        assert!(shown.contains("Top sessions") && shown.contains("heat-4"), "{path}");
        let csv = addresses(&shown, "/usage.csv?");
        assert_eq!(csv.len(), 2, "{path}: {csv:?}");
        for address in csv {
            assert_eq!(test.get(&address).status, 200, "{address}");
        }
    }
    for path in ["/?heat=mood", "/?top=sessions", "/?period=soon", "/?by=model"] {
        assert_eq!(test.get(path).status, 400, "{path}");
    }
}

#[test]
fn a_day_of_the_year_leads_to_its_sessions() {
    let home = FakeHome::new();
    let first = SessionBuilder::new(SESSION, Client::V2_1_325).at(hours_ago(24 * 9));
    home.add(&first.prompt("Earlier").answer("Yes"), hours_ago(1));
    let other = SessionBuilder::new(OTHER, Client::V2_1_325).at(hours_ago(24 * 3));
    home.add(&other.prompt("Later").answer("Yes"), hours_ago(1));
    let test = Test::new(home);
    let days = addresses(&page(&test, "/"), "/sessions?day=");
    assert_eq!(days.len(), 2, "{days:?}");
    for (day, there, missing) in [(&days[0], SESSION, OTHER), (&days[1], OTHER, SESSION)] {
        let list = page(&test, day);
        assert!(list.contains(&format!("/session/{there}")), "{day}: {list}");
        assert!(!list.contains(&format!("/session/{missing}")), "{day}: {list}");
    }
    assert_eq!(test.get("/sessions?day=yesterday").status, 400);
}

#[test]
fn sessions_are_listed_in_any_order() {
    let test = Test::new(full_home());
    let ids = |path: &str| {
        let mut links = addresses(&page(&test, path), "/session/");
        // Those to costs and errors stand in other columns.
        links.retain(|link| !link.ends_with("/cost") && !link.contains('?'));
        links
    };
    let newest = ids("/sessions");
    assert_eq!(newest.len(), 2);
    assert!(newest[0].ends_with(SESSION));
    // `app` before `docs`, and the other way round by title.
    assert_eq!(ids("/sessions?sort=project"), newest);
    assert_eq!(ids("/sessions?sort=size"), newest);
    let titles = ids("/sessions?sort=title&project=docs");
    assert_eq!(titles, [format!("/session/{OTHER}")]);
    assert!(page(&test, "/sessions?sort=size&q=the").contains("/sessions?q=the&amp;sort=project"));
    assert_eq!(test.get("/sessions?sort=mood").status, 400);
}

#[test]
fn what_the_form_of_the_search_asks_for_holds() {
    let test = Test::new(full_home());
    let places = |query: &str| {
        let shown = page(&test, &format!("/search?{query}"));
        let count = shown.split("found-count\"").nth(1).map(|rest| {
            rest.split('>').nth(1).unwrap().split(' ').next().unwrap().parse::<u64>().unwrap()
        });
        count.unwrap_or(0)
    };
    assert_eq!(places("tool=Bash"), 4);
    assert_eq!(places("tool=Bash&role=tool-result"), 2);
    assert_eq!(places("tool=Bash&errors=true"), places("q=tool%3ABash+is%3Aerror"));
    assert_eq!(places("q=parser+OR+docs&role=user"), 2);
    assert_eq!(places("q=parser&project=%2Fhome%2Fdev%2Fdocs"), 0);
    assert_eq!(test.get("/search?role=mood").status, 400);
    assert_eq!(test.get("/search?q=x&errors=maybe").status, 400);
    let form = page(&test, "/search");
    for choice in ["/home/dev/app", "/home/dev/docs", "list=\"known-branch\"", "type=\"date\""] {
        assert!(form.contains(choice), "{choice}: {form}");
    }
}

#[test]
fn a_fork_says_where_its_messages_are_counted() {
    let home = working_home();
    let copy = String::from_utf8(session().bytes().to_vec()).unwrap().replace(SESSION, OTHER);
    home.write(&format!("projects/-home-dev-app/{OTHER}.jsonl"), copy);
    let test = Test::new(home);
    let facts = [SESSION, OTHER].map(|id| page(&test, &format!("/session/{id}/facts")));
    let told: Vec<bool> = facts.iter().map(|one| one.contains("counted in")).collect();
    // Each message counts once, so exactly one of them names the other.
    assert_eq!(told.iter().filter(|told| **told).count(), 1, "{facts:?}");
    let (at, other) = if told[0] { (0, OTHER) } else { (1, SESSION) };
    assert!(facts[at].contains(&format!("href=\"/session/{other}\"")), "{facts:?}");
}

#[test]
fn plans_that_were_kept_are_those_of_the_logs() {
    let home = FakeHome::new();
    let log = SessionBuilder::new(SESSION, Client::V2_1_325).prompt("Plan it").tool(
        "ExitPlanMode",
        r##"{"plan":"# The first plan"}"##,
        "agreed",
    );
    home.add(&log, hours_ago(1));
    let test = Test::new(home);
    assert_eq!(page(&test, "/plans").matches("?plan=").count(), 1);
    let more = log.clone().prompt("Another").tool(
        "ExitPlanMode",
        r##"{"plan":"# The second plan"}"##,
        "agreed",
    );
    // Requests of a moment share a list of files, until the server has seen a change.
    let mut events = test.events(None);
    events.until("ready");
    test.write(&more.bytes()[log.bytes().len()..]);
    events.until("appended");
    let shown = page(&test, "/plans");
    assert!(shown.contains("The second plan") && shown.contains("The first plan"), "{shown}");
}
