//! The page about a team's store: rows in, text out, and nobody else's text acts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;

use recto_serve::TeamAnswer;
use recto_serve::TeamMachine;
use recto_serve::TeamRows;
use recto_serve::TeamSource;
use recto_serve::TeamTrouble;
use recto_serve::TeamValue;
use recto_testkit::FakeHome;
use recto_view::Moment;

use crate::support::Test;
use crate::support::hours_ago;

fn answer(question: &str, columns: &[&str], rows: Vec<Vec<TeamValue>>) -> TeamAnswer {
    TeamAnswer {
        question: question.to_owned(),
        about: "About it".to_owned(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        rows,
        is_cut: false,
    }
}

/// Rows whose every text is, or begins with, a word and ends with `text`.
fn rows(text: &str) -> TeamRows {
    let word = |word: &str| TeamValue::Text(format!("{word}{text}"));
    let plain = |text: &str| TeamValue::Text(text.to_owned());
    let number = TeamValue::Integer;
    let machine = TeamMachine {
        machine: format!("5b0c91d24e6f7a83{text}"),
        user: Some(format!("w-user{text}")),
        host: Some(format!("w-host{text}")),
        version: Some(format!("w-version{text}")),
        seen: Some(Moment(hours_ago(3))),
        waiting_bytes: Some(2_500_000),
        waiting_since: Some(Moment(hours_ago(5))),
        files: 12,
        stored_bytes: 34_000_000,
        gaps: 2,
    };
    let silent =
        TeamMachine { seen: None, waiting_bytes: None, waiting_since: None, ..machine.clone() };
    let week = || plain("2026-11-02");
    TeamRows {
        store: format!("s3://team/claude{text}"),
        built_to: Some(Moment(hours_ago(2))),
        machines: vec![machine, silent],
        answers: vec![
            answer(
                "cost-by-week",
                &["week", "message_count", "session_count", "tokens_sum", "cost_micros_sum"],
                vec![vec![week(), number(5), number(2), number(900), number(12_340_000)]],
            ),
            answer(
                "cost-by-user",
                &["user_name", "week", "session_count", "cost_micros_sum"],
                vec![vec![word("w-payer"), week(), number(2), number(12_340_000)]],
            ),
            answer(
                "cost-by-project",
                &["project_name", "session_count", "message_count", "cost_micros_sum"],
                vec![vec![word("w-project"), number(2), number(5), number(12_340_000)]],
            ),
            answer(
                "tool-failures",
                &["tool", "call_count", "unanswered_count", "failed_count"],
                vec![vec![word("w-tool"), number(200), number(1), number(30)]],
            ),
            answer(
                "waiting",
                &["week", "wait_count", "waited_ms_sum"],
                vec![vec![week(), number(4), number(5_400_000)]],
            ),
        ],
        skipped: vec![format!("w-skipped{text}")],
    }
}

pub(crate) fn team() -> TeamSource {
    TeamSource::new(|_| Ok(rows("")))
}

#[test]
fn the_page_shows_machines_lag_cost_failures_and_waiting_time() {
    let test = Test::with(FakeHome::new(), |options| options.team = Some(team()));
    let page = test.get("/team");
    assert_eq!(page.status, 200);
    let page = page.text();
    for text in [
        "s3://team/claude",
        "w-user",
        "w-host",
        "5b0c91d24e6f7a83",
        "2.5 MB",
        "34.0 MB",
        ">3h<",
        ">5h<",
        "never",
        "1 silent for two days",
        "$12.34",
        "w-payer",
        "w-project",
        "w-tool",
        "15.0 % of calls",
        "1h 30m",
        "4 prompts",
        "1 file could not be read: w-skipped",
        "recto query cost-by-project",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    // Every page leads to it.
    assert!(test.get("/sessions").text().contains(r#"href="/team""#));
    assert!(test.get("/nowhere").status == 404);
}

#[test]
fn a_server_without_a_store_has_no_such_page() {
    let test = Test::new(FakeHome::new());
    for address in ["/team", "/api/v1/team"] {
        let answer = test.get(address);
        assert_eq!(answer.status, 404, "{address}");
        assert!(answer.text().contains("recto serve --store URL"), "{}", answer.text());
    }
    assert!(!test.get("/sessions").text().contains(r#"href="/team""#));
}

#[test]
fn without_the_token_nothing_of_a_team_is_shown() {
    let was_read = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&was_read);
    let source = TeamSource::new(move |_| {
        told.store(true, Ordering::Relaxed);
        Ok(rows(""))
    });
    let test = Test::with(FakeHome::new(), |options| options.team = Some(source));
    let host = format!("Host: {}", test.address);
    for address in ["/team", "/api/v1/team"] {
        assert_eq!(test.ask("GET", address, &host).status, 401, "{address}");
        assert_eq!(test.change(address, "{}").status, 405, "{address}");
    }
    assert!(!was_read.load(Ordering::Relaxed));
}

#[test]
fn hostile_text_of_a_team_stays_text() {
    let text = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{202e}\u{1b}[31m";
    let source = TeamSource::new(move |_| Ok(rows(text)));
    let test = Test::with(FakeHome::new(), |options| options.team = Some(source));
    let page = test.get("/team").text();
    for bad in ["<script>alert", "<img", "\u{202e}", "\u{1b}"] {
        assert!(!page.contains(bad), "{bad:?}");
    }
    for word in ["w-user", "w-host", "w-version", "w-payer", "w-project", "w-tool", "w-skipped"] {
        assert!(page.contains(&format!("{word}&lt;script&gt;alert(1)")), "{word}");
    }
    assert!(page.contains("s3://team/claude&lt;script&gt;"));
}

#[test]
fn trouble_with_the_store_is_shown_with_what_to_do() {
    let source = TeamSource::new(|_| {
        let message = "s3://team has no tables".to_owned();
        let hint = Some("create them with `recto lake build`".to_owned());
        Err(TeamTrouble { kind: "no-tables", message, hint })
    });
    let test = Test::with(FakeHome::new(), |options| options.team = Some(source));
    let answer = test.get("/api/v1/team");
    assert_eq!(answer.status, 502);
    let json = answer.json();
    assert_eq!(json["kind"], "no-tables");
    assert_eq!(json["hint"], "create them with `recto lake build`");
    let accept = format!(
        "Host: {}\nAuthorization: Bearer {}\nAccept: text/html",
        test.address,
        crate::support::TOKEN
    );
    let page = test.ask("GET", "/team", &accept);
    assert_eq!(page.status, 502);
    assert!(page.text().contains("has no tables") && page.text().contains("recto lake build"));
}

#[test]
fn a_page_whose_tables_are_still_loading_says_how_far_they_are() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let source = TeamSource::new(move |tell| {
        tell(3_000_000, 10_000_000);
        wait.lock().unwrap().recv().unwrap();
        Ok(rows(""))
    });
    let test = Test::with(FakeHome::new(), |options| options.team = Some(source));
    let page = test.get("/team").text();
    assert!(page.contains("3.0 MB of 10.0 MB"), "{page}");
    assert!(page.contains(r#"http-equiv="refresh""#), "{page}");
    assert_eq!(test.get("/api/v1/team").status, 503);
    go.send(()).unwrap();
    let page = test.get("/team").text();
    assert!(page.contains("w-project") && !page.contains(r#"http-equiv="refresh""#), "{page}");
}
