//! What changes something: who may ask for it, what it does, and the way back.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use recto_testkit::FakeHome;

use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::TOKEN;
use crate::support::Test;
use crate::support::full_home;
use crate::support::hours_ago;
use crate::support::working_home;
use recto_testkit::chromium::browser;

const NEW: &str = r#"{"title":"New"}"#;

fn editable(home: FakeHome) -> Test {
    Test::with(home, |options| options.allow_edits = true)
}

fn title_of(session: &str) -> String {
    format!("/api/v1/sessions/{session}/title")
}

/// Contents and times of all files below a directory.
fn tree(root: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let time = std::fs::metadata(&path).unwrap().modified().unwrap();
                found.insert(path.clone(), (std::fs::read(&path).unwrap(), time));
            }
        }
    }
    found
}

/// Nothing in the home is another, and nothing was recorded.
fn assert_untouched(test: &Test, before: &BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) {
    assert!(tree(test.home.path()) == *before, "the home has changed");
    assert!(!test.own.path().join("data").exists(), "something was recorded");
}

/// The title as the API and the page have it.
fn shown_title(test: &Test, session: &str) -> String {
    let head = test.get(&format!("/api/v1/sessions/{session}")).json();
    let title = head["session"]["title"].as_str().unwrap_or_default().to_owned();
    let list = test.get("/api/v1/sessions").json();
    let rows = list["sessions"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == session).unwrap();
    assert_eq!(row["title"].as_str().unwrap_or_default(), title);
    title
}

#[test]
fn what_is_posted_passes_every_check_or_changes_nothing() {
    let json = "Content-Type: application/json";
    for allow_edits in [true, false] {
        let test = Test::with(working_home(), |options| options.allow_edits = allow_edits);
        let before = tree(test.home.path());
        let port = test.address.port();
        let (host, own) = (format!("Host: 127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
        let bearer = format!("Authorization: Bearer {TOKEN}");
        let cookie = format!("Cookie: recto_{port}={TOKEN}");
        let good = format!("{host}\n{bearer}");
        let mut cases: Vec<(String, u16)> = Vec::new();
        for other in ["evil.example", "127.0.0.1", "127.0.0.1.evil.example", "0.0.0.0"] {
            cases.push((format!("Host: {other}:{}\n{bearer}\n{json}", port ^ 1), 421));
            cases.push((format!("Host: {other}\n{bearer}\n{json}"), 421));
        }
        for origin in [
            "null",
            "https://evil.example",
            &format!("http://127.0.0.1:{}", port ^ 1),
            &format!("http://localhost:{port}"),
            &format!("https://127.0.0.1:{port}"),
            &format!("{own}/"),
        ] {
            cases.push((format!("{good}\n{json}\nOrigin: {origin}"), 403));
            cases.push((format!("{host}\n{cookie}\n{json}\nOrigin: {origin}"), 403));
            cases.push((format!("{good}\n{json}\nOrigin: {own}\nOrigin: {origin}"), 403));
        }
        for site in ["none", "same-site", "cross-site", "new-word"] {
            cases.push((format!("{good}\n{json}\nSec-Fetch-Site: {site}"), 403));
            let browser = format!("{host}\n{cookie}\n{json}\nOrigin: {own}");
            cases.push((format!("{browser}\nSec-Fetch-Site: {site}"), 403));
        }
        for token in [
            "",
            "Authorization: Bearer wrong",
            "Authorization: Basic x",
            "Cookie: recto_1=x",
            &format!("{cookie}\nAuthorization: Bearer wrong"),
        ] {
            cases.push((format!("{host}\n{json}\n{token}"), 401));
            cases.push((format!("{host}\n{json}\n{token}\nOrigin: {own}"), 401));
        }
        // A browser that does not say who asks.
        cases.push((format!("{host}\n{cookie}\n{json}"), 403));
        cases.push((format!("{host}\n{cookie}\n{json}\nSec-Fetch-Site: same-origin"), 403));
        for kind in [
            "",
            "Content-Type: text/plain",
            "Content-Type: application/x-www-form-urlencoded",
            "Content-Type: multipart/form-data; boundary=x",
            "Content-Type: application/jsonp",
            "Content-Type: text/plain; application/json",
            &format!("{json}\n{json}"),
        ] {
            cases.push((format!("{good}\n{kind}"), 415));
            cases.push((format!("{host}\n{cookie}\nOrigin: {own}\n{kind}"), 415));
        }
        let restore = format!("/api/v1/sessions/{SESSION}/restore");
        for route in [title_of(SESSION), restore, "/api/v1/undo".to_owned()] {
            let body = if route.ends_with("title") { NEW } else { "{}" };
            for (headers, status) in &cases {
                let answer = test.post(&route, headers, body);
                assert_eq!(answer.status, *status, "{route} {headers}");
                assert_eq!(answer.header("access-control-allow-origin"), None);
                assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            }
            for method in ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                let answer = test.head(method, &route, &format!("{good}\n{json}"));
                assert_eq!(answer.status, 405, "{method} {route}");
                assert_eq!(answer.header("allow"), Some("POST"), "{method} {route}");
            }
        }
        assert_untouched(&test, &before);
        // What passes all checks is answered, by who may change something.
        for (headers, body) in [
            (format!("{good}\n{json}; charset=utf-8"), NEW),
            (format!("{host}\n{cookie}\n{json}\nOrigin: {own}"), NEW),
            (format!("{good}\n{json}\nOrigin: {own}\nSec-Fetch-Site: same-origin"), NEW),
        ] {
            let answer = test.post(&title_of(SESSION), &headers, body);
            assert_eq!(answer.status, if allow_edits { 200 } else { 403 }, "{headers}");
        }
        if !allow_edits {
            assert_untouched(&test, &before);
        }
    }
}

#[test]
fn a_server_that_allows_no_edits_says_so_and_its_pages_do_not_offer_any() {
    let test = Test::new(working_home());
    let before = tree(test.home.path());
    for (route, body) in [(title_of(SESSION), NEW), ("/api/v1/undo".to_owned(), "{}")] {
        let answer = test.change(&route, body);
        assert_eq!(answer.status, 403);
        assert_eq!(answer.json()["kind"], "edits-not-allowed");
        assert!(answer.json()["hint"].as_str().unwrap().contains("`recto serve --allow-edits`"));
    }
    assert_eq!(test.get("/api/v1/operations").json(), serde_json::json!([]));
    for page in [format!("/session/{SESSION}"), format!("/session/{SESSION}/name")] {
        let text = test.get(&page).text().to_lowercase();
        for word in ["rename", "edits.js", "data-edit", "undo"] {
            assert!(!text.contains(word), "{page} has {word}");
        }
    }
    assert_untouched(&test, &before);
    let page = editable(working_home()).get(&format!("/session/{SESSION}")).text();
    assert!(page.contains("data-edit=\"rename\"") && page.contains("/assets/edits."), "{page}");
}

#[test]
fn bodies_that_are_no_order_change_nothing() {
    let test = editable(working_home());
    let before = tree(test.home.path());
    let title = title_of(SESSION);
    let long = format!(r#"{{"title":"{}"}}"#, "x".repeat(64 * 1024));
    let huge = format!(r#"{{"title":"{}"}}"#, "x".repeat(900 * 1024));
    for (route, body, status, kind) in [
        (title.as_str(), "", 400, "bad-body"),
        (&title, "{", 400, "bad-body"),
        (&title, "[]", 400, "bad-body"),
        (&title, "{}", 400, "bad-body"),
        (&title, r#"{"title":null}"#, 400, "bad-body"),
        (&title, r#"{"title":"a","title":"b"}"#, 400, "bad-body"),
        (&title, r#"{"title":"a","force":true}"#, 400, "bad-body"),
        (&title, "title=a", 400, "bad-body"),
        (&title, r#"{"title":"a\nb"}"#, 400, "bad-title"),
        (&title, r#"{"title":"a\u001b[31m"}"#, 400, "bad-title"),
        (&title, &long, 413, "body-too-large"),
        (&title, &huge, 413, "body-too-large"),
        (&format!("{title}?force=1"), NEW, 400, "bad-parameter"),
        (&title_of(OTHER), NEW, 404, "not-found"),
        (&title_of("latest"), NEW, 404, "not-found"),
        (&title_of("..%2f..%2fsettings"), NEW, 404, "not-found"),
        ("/api/v1/undo", r#"{"operation":"1"}"#, 400, "bad-body"),
        ("/api/v1/undo", r#"{"operation":-1}"#, 400, "bad-body"),
        ("/api/v1/undo", r#"{"force":true}"#, 400, "bad-body"),
        ("/api/v1/undo", "", 400, "bad-body"),
        ("/api/v1/undo", &long, 413, "body-too-large"),
        ("/api/v1/undo", r#"{"operation":7}"#, 404, "no-operation"),
        ("/api/v1/undo", "{}", 409, "nothing-to-undo"),
    ] {
        let answer = test.change(route, body);
        let told = format!("{route} {}: {}", &body[..body.len().min(60)], answer.text());
        assert_eq!(answer.status, status, "{told}");
        assert_eq!(answer.json()["kind"], kind, "{told}");
    }
    // Without a length, in pieces.
    let chunk = format!("8000\r\n{}\r\n", "x".repeat(0x8000));
    let request = format!(
        "POST {title} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nConnection: close\r\n\
         Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        test.address,
        chunk.repeat(3)
    );
    assert_eq!(test.send(&request).status, 413);
    assert!(tree(test.home.path()) == before, "the home has changed");
    assert_eq!(test.get("/api/v1/operations").json(), serde_json::json!([]));
}

#[test]
fn a_session_is_renamed_and_undo_brings_back_the_same_bytes() {
    let test = editable(working_home());
    let before = tree(test.home.path());
    let was = shown_title(&test, SESSION);
    let answer = test.change(&title_of(SESSION), r#"{"title":" Mend \"it\" ✓ "}"#).json();
    assert_eq!(answer["session"], SESSION);
    assert_eq!(answer["title"], "Mend \"it\" ✓");
    assert_eq!(answer["remarks"], serde_json::json!([]));
    assert_eq!(shown_title(&test, SESSION), "Mend \"it\" ✓");
    let operations = test.get("/api/v1/operations").json();
    assert_eq!(operations[0]["id"], answer["operation"]);
    assert_eq!(operations[0]["name"], "rename");
    assert_eq!(operations[0]["status"], "done");
    assert_eq!(operations[0]["result"], SESSION);
    assert_eq!(operations[0]["changes"][0]["change"], "replace");
    // As a page does it.
    let port = test.address.port();
    let headers = format!(
        "Host: localhost:{port}\nOrigin: http://localhost:{port}\nCookie: recto_{port}={TOKEN}\n\
         Sec-Fetch-Site: same-origin\nContent-Type: application/json"
    );
    let answer = test.post("/api/v1/undo", &headers, "{}");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!((&answer.json()["id"], &answer.json()["status"]), (&1.into(), &"undone".into()));
    assert!(tree(test.home.path()) == before, "not the same bytes");
    assert_eq!(shown_title(&test, SESSION), was);
    // The next title is as long, and the time of the log is the same: it is shown.
    for (title, operation) in [("Abc", 2), ("Xyz", 3)] {
        let body = format!(r#"{{"title":"{title}"}}"#);
        assert_eq!(test.change(&title_of(SESSION), &body).json()["operation"], operation);
        assert_eq!(shown_title(&test, SESSION), title);
        let body = format!(r#"{{"operation":{operation}}}"#);
        assert_eq!(test.change("/api/v1/undo", &body).status, 200);
    }
    assert!(tree(test.home.path()) == before, "not the same bytes");
    let list = test.get("/api/v1/operations?count=2").json();
    let ids: Vec<&serde_json::Value> =
        list.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [3, 2]);
}

#[test]
fn nobodys_work_is_overwritten() {
    let test = editable(full_home());
    let before = tree(test.home.path());
    // A client works on the session.
    let answer = test.change(&title_of(SESSION), NEW);
    assert_eq!(answer.status, 409);
    assert_eq!(answer.json()["kind"], "live-session");
    // A client may: the log was written a moment ago.
    let other = recto_testkit::SessionBuilder::new(OTHER, recto_testkit::Client::V2_1_325)
        .cwd("/home/dev/docs")
        .prompt("Write the docs");
    test.home.add(&other, hours_ago(0));
    let answer = test.change(&title_of(OTHER), NEW);
    assert_eq!(answer.status, 409);
    assert_eq!(answer.json()["kind"], "recently-written");
    let log = test.home.add(&other, hours_ago(1));
    assert_eq!(test.change(&title_of(OTHER), NEW).status, 200);
    // What was added since is not lost by an undo.
    let mut bytes = std::fs::read(&log).unwrap();
    bytes.extend_from_slice(b"{\"type\":\"mode\"}\n");
    std::fs::write(&log, &bytes).unwrap();
    let answer = test.change("/api/v1/undo", "{}");
    assert_eq!(answer.status, 409);
    assert_eq!(answer.json()["kind"], "changed-since");
    assert_eq!(std::fs::read(&log).unwrap(), bytes);
    let rest = |tree: BTreeMap<PathBuf, (Vec<u8>, SystemTime)>| {
        tree.into_iter().filter(|(path, _)| *path != log).collect::<Vec<_>>()
    };
    assert!(rest(tree(test.home.path())) == rest(before), "another file has changed");
}

#[test]
fn an_undo_waits_for_the_client() {
    let test = editable(working_home());
    assert_eq!(test.change(&title_of(SESSION), NEW).status, 200);
    let place = test.home.announce(SESSION, "idle");
    let own = std::fs::read_to_string(&place).unwrap();
    // One that cannot be seen from here may run too.
    let elsewhere = own.replace("{\"pid\"", "{\"pidDomain\":\"linux::pid:[1]\",\"pid\"");
    for announced in [own, elsewhere] {
        std::fs::write(&place, announced).unwrap();
        let before = tree(test.home.path());
        let answer = test.change("/api/v1/undo", "{}");
        assert_eq!(answer.status, 409);
        assert_eq!(answer.json()["kind"], "live-session");
        assert!(tree(test.home.path()) == before, "the home has changed");
    }
    std::fs::remove_file(&place).unwrap();
    assert_eq!(test.change("/api/v1/undo", "{}").status, 200);
}

#[test]
fn what_was_interrupted_is_put_right_first_and_told() {
    let test = editable(full_home());
    let log = test.home.path().join(format!("projects/-home-dev-docs/{OTHER}.jsonl"));
    let before = std::fs::read(&log).unwrap();
    assert_eq!(test.change(&title_of(OTHER), NEW).status, 200);
    // As if the machine had stopped before the file took its name, and the new content
    // were gone.
    let record = test.own.path().join("data/operations/000001.json");
    let mut operation: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&record).unwrap()).unwrap();
    let change = operation["changes"][0].clone();
    operation["pending"] = serde_json::json!({
        "steps": [{
            "path": change["path"], "from": change["before"], "to": change["after"],
            "temporary": log.with_file_name(".recto-1-0-1.tmp").to_str().unwrap(),
        }],
        "previous": null,
    });
    std::fs::write(&record, operation.to_string()).unwrap();
    std::fs::write(&log, &before).unwrap();
    let file = std::fs::File::options().write(true).open(&log).unwrap();
    file.set_modified(hours_ago(10).into()).unwrap();
    assert_eq!(test.get("/api/v1/operations").json()[0]["unfinished"], true);
    let answer = test.change(&title_of(OTHER), r#"{"title":"Newer"}"#);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let remarks = ["operation 1 (rename) had been interrupted: it was undone"];
    assert_eq!(answer.json()["remarks"], serde_json::json!(remarks));
    assert_eq!(shown_title(&test, OTHER), "Newer");
    assert_eq!(test.change("/api/v1/undo", "{}").status, 200);
    assert_eq!(std::fs::read(&log).unwrap(), before);
}

/// The name of the session on its page.
const NAME: &str = "document.querySelector('.session-title h1').textContent";

#[test]
#[ignore = "needs a browser"]
fn a_session_is_renamed_on_its_page_and_back() {
    let test = editable(working_home());
    let before = tree(test.home.path());
    let browser = browser();
    let mut tab = browser.tab();
    tab.open(&test.server.login_url());
    tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
    tab.wait("document.documentElement.dataset.events === 'open'");
    tab.value("window.sameDocument = true");
    let rename = "[data-edit=rename]";
    tab.wait(&format!("document.querySelector('{rename}')?.hidden === false"));
    assert_eq!(tab.text(NAME), "Fix the parser");
    // Escape leaves all as it was.
    tab.click(rename);
    tab.wait("document.activeElement.id === 'new-title'");
    tab.type_text("Not this");
    tab.press("Escape");
    tab.wait("document.querySelector('.rename-form').hidden");
    assert_eq!(tab.text("document.querySelector('#new-title').value"), "Fix the parser");
    assert_eq!(tab.text(NAME), "Fix the parser");
    assert!(tree(test.home.path()) == before, "nothing was asked for");
    // A hostile title is a text like any other.
    let hostile = "<img src=x onerror=\"window.__pwned=1\"><script>window.__pwned=2</script>";
    tab.click(rename);
    tab.wait("document.activeElement.id === 'new-title'");
    tab.type_text(hostile);
    tab.press("Enter");
    tab.wait("document.querySelector('[data-edit=undo]')");
    assert_eq!(tab.text(NAME), hostile);
    assert_eq!(tab.number("document.querySelectorAll('main img').length"), 0.0);
    assert!(tab.text("document.title").starts_with("<img src=x"));
    assert_eq!(shown_title(&test, SESSION), hostile);
    tab.wait("document.querySelector('#side-list').textContent.includes('<img src=x')");
    // The form has it too, and what was given can be taken back.
    assert_eq!(tab.text("document.querySelector('#new-title').value"), hostile);
    tab.click("[data-edit=undo]");
    tab.wait("!document.querySelector('[data-edit=undo]')");
    assert_eq!(tab.text(NAME), "Fix the parser");
    assert!(tree(test.home.path()) == before, "not the same bytes");
    // What goes wrong is said in words.
    test.home.announce(SESSION, "idle");
    tab.click(rename);
    tab.wait("document.activeElement.id === 'new-title'");
    tab.type_text("While it runs");
    tab.press("Enter");
    tab.wait("!document.querySelector('.edit-error').hidden");
    let error = tab.text("document.querySelector('.edit-error').textContent");
    assert!(error.contains("is open (process") && error.contains("close the session"), "{error}");
    assert_eq!(tab.text("document.querySelector('#new-title').value"), "While it runs");
    assert!(tab.value("window.sameDocument === true") == true, "the page was loaded anew");
    // The browser itself notes that an answer was a refusal.
    let mut signs = tab.signs(&test.server.base_url());
    signs.retain(|sign| !sign.contains("409 (Conflict)"));
    assert_eq!(signs, [""; 0]);
}

#[test]
#[ignore = "needs a browser"]
fn a_page_of_another_origin_cannot_rename() {
    let test = editable(working_home());
    let neighbour = Test::new(FakeHome::new());
    let before = tree(test.home.path());
    let browser = browser();
    let mut tab = browser.tab();
    tab.open(&test.server.login_url());
    // The same site, so that the browser sends the cookie: only the port is another.
    tab.open(&neighbour.server.login_url());
    let address = format!("{}{}", test.server.base_url(), title_of(SESSION));
    let address = serde_json::to_string(&address).unwrap();
    // The policy of our own pages is not what is tested here.
    tab.call("Page.setBypassCSP", serde_json::json!({ "enabled": true }));
    tab.open(&neighbour.server.base_url());
    let sent = tab.text(&format!(
        "fetch({address}, {{ method: 'POST', credentials: 'include', \
         headers: {{ 'content-type': 'application/json' }}, body: '{{\"title\":\"Theirs\"}}' }})\
         .then((answer) => answer.type, () => 'refused')"
    ));
    assert_eq!(sent, "refused");
    // A form whose one field looks like JSON.
    tab.value(&format!(
        "(() => {{ const form = document.createElement('form'); \
         Object.assign(form, {{ method: 'POST', enctype: 'text/plain', action: {address} }}); \
         const field = document.createElement('input'); \
         Object.assign(field, {{ name: '{{\"title\":\"Theirs', value: '\"}}' }}); \
         form.append(field); document.body.append(form); \
         setTimeout(() => form.submit(), 50); }})()"
    ));
    tab.wait("document.body?.innerText.includes('A page of another origin asked for this')");
    assert_eq!(tab.text("location.pathname"), title_of(SESSION));
    assert_untouched(&test, &before);
}

#[test]
#[ignore = "needs a browser"]
fn a_session_of_the_archive_is_restored_on_its_page() {
    let test = editable(working_home());
    let bytes = || -> Vec<Vec<u8>> {
        let of_session =
            |(path, _): &(std::path::PathBuf, _)| path.to_string_lossy().contains(SESSION);
        let files = tree(test.home.path()).into_iter().filter(of_session);
        files.map(|(_, (bytes, _))| bytes).collect()
    };
    let before = bytes();
    assert!(!before.is_empty());
    test.collect();
    std::fs::remove_dir_all(test.home.path().join("projects")).unwrap();
    let browser = browser();
    let mut tab = browser.tab();
    tab.open(&test.server.login_url());
    tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
    tab.wait("document.querySelector('[data-restore]')");
    assert_eq!(tab.text(NAME), "Fix the parser");
    tab.click("[data-restore]");
    // The page is loaded anew, and is that of a session like any other.
    tab.wait("document.querySelector('[data-edit=rename]')?.hidden === false");
    assert_eq!(tab.number("document.querySelectorAll('[data-restore]').length"), 0.0);
    assert_eq!(tab.text(NAME), "Fix the parser");
    assert!(bytes() == before, "not the same bytes");
    assert_eq!(test.change("/api/v1/undo", "{}").status, 200);
    tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
    tab.wait("document.querySelector('[data-restore]')");
}
