//! Exported pages in a real browser: nothing of a log runs or is loaded.
//!
//! `RECTO_TEST_BROWSER` names the browser. `cargo xtask test` runs these tests where it
//! finds one, and counts them as skipped where not.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::hostile::turn;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

const SESSION: &str = "bbbbbbbb-0000-4000-8000-000000000001";

/// What a browser made of a page.
struct Visit {
    /// The page after it was loaded.
    page: String,
    /// What it wrote to its console, among other things.
    console: String,
    /// Everything that it asked the network for.
    network: String,
}

fn visit(browser: &str, page: &Path) -> Visit {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("network.json");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("--log-net-log={}", network.display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", folder.path())
        .output()
        .unwrap();
    Visit {
        page: String::from_utf8_lossy(&output.stdout).into_owned(),
        console: String::from_utf8_lossy(&output.stderr).into_owned(),
        network: fs::read_to_string(&network).unwrap_or_default(),
    }
}

impl Visit {
    /// Signs that something of the log acted: a load, a refusal by the policy of
    /// the page, or a script's mark.
    fn signs(&self) -> Vec<String> {
        let mut signs = Vec::new();
        if self.network.contains("pwned.invalid") {
            signs.push("asked for pwned.invalid".to_owned());
        }
        for line in self.console.lines() {
            let is_refusal =
                line.contains("Content Security Policy") || line.contains("Refused to");
            if line.contains("CONSOLE") && (is_refusal || line.contains("pwned")) {
                signs.push(line.to_owned());
            }
        }
        signs
    }
}

fn export(texts: &[String]) -> (TestHome, PathBuf) {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(SESSION, Client::V2_1_325);
    for text in texts {
        log = turn(log, text);
    }
    test.home.add(&log, hours_ago(1));
    let page = test.home.path().join("page.html");
    let out = page.to_string_lossy().into_owned();
    let run = test.run(&["export", "bbbb", "--to", "html", "--output", &out]);
    assert_eq!(run.code, 0, "{}", run.shown());
    (test, page)
}

fn hostile_texts() -> Vec<String> {
    let lines = fs::read_to_string(repository().join("fixtures/hostile/html.txt")).unwrap();
    lines
        .lines()
        .filter_map(|line| {
            let value = recto_log::json::Value::parse(line.as_bytes()).ok()?;
            value.as_str().map(|text| text.into_owned())
        })
        .collect()
}

fn browser() -> String {
    recto_testkit::tool("RECTO_TEST_BROWSER")
}

#[test]
#[ignore = "needs a browser"]
fn hostile_text_in_every_field_neither_runs_nor_loads() {
    let browser = browser();
    let texts = hostile_texts();
    assert!(texts.len() > 200, "only {} texts", texts.len());
    let (_test, page) = export(&texts);
    let visit = visit(&browser, &page);
    assert!(
        visit.page.contains("w-prompt") && visit.page.contains("w-answer"),
        "the page is empty"
    );
    assert_eq!(visit.signs(), [""; 0]);
    for tag in [
        "<script", "<img", "<iframe", "<object", "<embed", "<svg", "<form", "<base", "<link",
        "<video", "<math",
    ] {
        assert!(!visit.page.contains(tag), "the page holds {tag}");
    }
    assert_eq!(visit.page.matches("<meta").count(), 4, "no meta element of the log");
    assert_eq!(visit.page.matches("<style").count(), 1, "no style element of the log");
}

#[test]
#[ignore = "needs a browser"]
fn a_page_that_acts_is_noticed() {
    let browser = browser();
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let check = |body: &str| {
        fs::write(&page, format!("<!doctype html><meta charset=utf-8>{body}")).unwrap();
        visit(&browser, &page).signs().len()
    };
    assert_eq!(check("<p>harmless</p>"), 0);
    assert_ne!(check("<img src='http://pwned.invalid/x'>"), 0, "a load");
    assert_ne!(check("<script>console.log('pwned')</script>"), 0, "a script");
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'\">";
    assert_ne!(check(&format!("{policy}<script>1</script>")), 0, "a script that is refused");
}
