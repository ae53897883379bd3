//! Fuzz target: whatever stands in an address or in a header of the event stream, there is an
//! answer, and it is not a failure of the server.

use recto_testkit::fuzz::fuzz;

use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;

const WORDS: [&str; 22] = [
    "%00",
    "%ff",
    "%",
    "..",
    "%2e%2e%2f",
    "?",
    "&",
    "=",
    "#",
    "0",
    "1",
    "-1",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "9999999999999999999999",
    "1e9",
    "%F0%9F%98%80",
    "latest",
    "from=0",
    "limit=0",
    "a",
];

#[test]
fn no_parameter_of_any_route_makes_the_server_fail() {
    let test = Test::new(full_home());
    let s = SESSION;
    let owned: Vec<String> = [
        "/",
        "/live",
        "/sessions?sort=time&page=2",
        "/sessions/list?after=3&limit=5",
        "/usage?by=day&since=7d",
        "/usage.csv?by=model&until=2026-11-16",
        "/usage/explain?model=x&day=2026-11-16",
        "/search?q=needle+OR+x&page=1",
        "/tools?since=7d&page=1",
        "/plans?page=1",
        "/files?q=x&page=1",
        "/file?path=/home/dev/app/x&page=1",
        "/health",
        "/api/v1/overview?x=1",
        "/api/v1/sessions?limit=5&offset=0&since=7d",
        "/api/v1/search?q=x&limit=5&offset=1",
        "/api/v1/usage?by=day&since=7d",
        "/api/v1/status",
        "/api/v1/plans?limit=5",
        "/api/v1/operations?limit=5",
        "/assets/app.js?x=1",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(
        [
            "?turn=1",
            "/turns?from=1&limit=5",
            "/news?after=0&turn=1",
            "/facts",
            "/agent/a1?turn=2",
            "/agent/a1/turns?from=9",
        ]
        .map(|rest| format!("/sessions/{s}{rest}")),
    )
    .chain(
        [
            "",
            "/turns?from=1&limit=5",
            "/lines/1",
            "/results/x",
            "/agents",
            "/agents/a1/turns?from=1",
            "/plans",
            "/agents/a1/lines/2",
            "/agents/a1/results/y",
            "/agents/a1/stats",
            "/stats",
            "/files",
            "/health",
            "/export?to=md&redact=1",
        ]
        .map(|rest| format!("/api/v1/sessions/{s}{rest}")),
    )
    .collect();
    let seeds: Vec<&str> = owned.iter().map(String::as_str).collect();
    let mut answers = 0u64;
    fuzz(&seeds, &WORDS, 400, |input| {
        // An address has no spaces and no control characters; hyper itself refuses others.
        let path: String =
            String::from_utf8_lossy(input).chars().filter(|c| c.is_ascii_graphic()).collect();
        if !path.starts_with('/') || path.contains("/events") {
            return;
        }
        let answer = test.try_get(&path).unwrap_or_else(|| panic!("no answer to {path}"));
        assert!(answer.status < 500, "{path}: {} {}", answer.status, answer.text());
        answers += 1;
    });
    assert!(answers > 0);
}

#[test]
fn no_value_of_the_last_event_makes_the_stream_fail() {
    let test = Test::new(full_home());
    let seeds =
        ["1-5", "0", "18446744073709551615", "12345678-1", "-", "a-b-c", "1-18446744073709551615"];
    fuzz(&seeds, &WORDS, 60, |input| {
        let value: String =
            String::from_utf8_lossy(input).chars().filter(|c| c.is_ascii_graphic()).collect();
        let headers = format!(
            "Host: {}\nAuthorization: Bearer {}\nLast-Event-ID: {value}",
            test.address,
            crate::support::TOKEN
        );
        let head = test.head("GET", "/api/v1/events", &headers);
        assert!(head.status < 500, "{value}: {}", head.status);
    });
}
