//! Who is answered: a table of hosts, origins, sites, methods, tokens and routes.

use recto_testkit::FakeHome;

use crate::support::SESSION;
use crate::support::TOKEN;
use crate::support::Test;
use crate::support::working_home;

/// One address of each kind: pages, data, bodies, events, files, nothing.
fn routes() -> Vec<String> {
    vec![
        "/".to_owned(),
        "/api/v1/sessions".to_owned(),
        format!("/api/v1/sessions/{SESSION}"),
        format!("/api/v1/sessions/{SESSION}/turns"),
        format!("/api/v1/sessions/{SESSION}/export?format=html"),
        "/api/v1/search?q=parser".to_owned(),
        "/api/v1/events".to_owned(),
        "/api/openapi.json".to_owned(),
        "/assets/style.css".to_owned(),
        "/assets/none.css".to_owned(),
        "/nothing/here".to_owned(),
    ]
}

/// Asks, and reads the head only: a stream of events has no end.
fn status(test: &Test, method: &str, path: &str, headers: &str) -> u16 {
    test.head(method, path, headers).status
}

#[test]
fn only_our_own_names_are_answered_on_every_route() {
    let test = Test::new(working_home());
    let port = test.address.port();
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let ours = ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"];
    let others = [
        "evil.example",
        "evil.example.127.0.0.1.nip.io",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil-localhost",
        "localhost.",
        "127.0.0.1.",
        "127.1",
        "0.0.0.0",
        "2130706433",
        "0x7f000001",
        "[::ffff:127.0.0.1]",
        "[::]",
        "127.0.0.2",
        "192.168.0.1",
        "user@127.0.0.1",
        "",
    ];
    for route in routes() {
        let expected = match route.as_str() {
            "/nothing/here" | "/assets/none.css" => 404,
            _ => 200,
        };
        for host in ours {
            let headers = format!("Host: {host}:{port}\n{bearer}");
            assert_eq!(status(&test, "GET", &route, &headers), expected, "{host} {route}");
            // Another port is another server.
            let headers = format!("Host: {host}:{}\n{bearer}", port ^ 1);
            assert_eq!(status(&test, "GET", &route, &headers), 421, "{host} {route}");
            let headers = format!("Host: {host}\n{bearer}");
            assert_eq!(status(&test, "GET", &route, &headers), 421, "{host} {route}");
        }
        for host in others {
            let headers = format!("Host: {host}:{port}\n{bearer}");
            assert_eq!(status(&test, "GET", &route, &headers), 421, "{host} {route}");
        }
        let twice = format!("Host: 127.0.0.1:{port}\nHost: 127.0.0.1:{port}\n{bearer}");
        assert_eq!(status(&test, "GET", &route, &twice), 421, "{route}");
    }
    // An address in the first line must agree with the host.
    let headers = format!("Host: 127.0.0.1:{port}\n{bearer}");
    let absolute = |host: &str| format!("http://{host}/api/v1/overview");
    let own = absolute(&format!("127.0.0.1:{port}"));
    assert_eq!(status(&test, "GET", &own, &headers), 200);
    assert_eq!(status(&test, "GET", &absolute("evil.example"), &headers), 421);
}

#[test]
fn pages_of_other_origins_are_refused_on_every_route() {
    let test = Test::new(working_home());
    let port = test.address.port();
    let base = format!("Host: 127.0.0.1:{port}\nAuthorization: Bearer {TOKEN}");
    let own = format!("http://127.0.0.1:{port}");
    let neighbour = format!("http://127.0.0.1:{}", port ^ 1);
    // What a browser says, and whether it is answered.
    let cases: Vec<(String, bool)> = vec![
        (String::new(), true),
        ("Sec-Fetch-Site: none".into(), true),
        ("Sec-Fetch-Site: same-origin".into(), true),
        (format!("Sec-Fetch-Site: same-origin\nOrigin: {own}"), true),
        (format!("Origin: {own}"), true),
        ("Sec-Fetch-Site: same-site".into(), false),
        ("Sec-Fetch-Site: cross-site".into(), false),
        (
            "Sec-Fetch-Site: cross-site\nSec-Fetch-Mode: navigate\nSec-Fetch-Dest: document".into(),
            false,
        ),
        ("Sec-Fetch-Site: SAME-ORIGIN".into(), false),
        ("Sec-Fetch-Site: same-origin\nSec-Fetch-Site: cross-site".into(), false),
        ("Sec-Fetch-Site: new-word".into(), false),
        ("Origin: null".into(), false),
        ("Origin: https://evil.example".into(), false),
        (format!("Origin: {neighbour}"), false),
        (format!("Origin: https://127.0.0.1:{port}"), false),
        (format!("Origin: http://localhost:{port}"), false),
        (format!("Origin: {own}.evil.example"), false),
        (format!("Origin: {own}/"), false),
        (format!("Sec-Fetch-Site: same-origin\nOrigin: {neighbour}"), false),
        (format!("Sec-Fetch-Site: cross-site\nOrigin: {own}"), false),
    ];
    for route in routes().into_iter().chain(["/login?code=x".to_owned()]) {
        for (headers, is_answered) in &cases {
            let answer = test.head("GET", &route, &format!("{base}\n{headers}"));
            assert_eq!(answer.status != 403, *is_answered, "{route} {headers}");
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
}

#[test]
fn only_reading_methods_are_known_on_every_route() {
    let test = Test::new(working_home());
    let headers = format!("Host: {}\nAuthorization: Bearer {TOKEN}", test.address);
    for route in routes() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"] {
            let answer = test.head(method, &route, &headers);
            assert_eq!(answer.status, 405, "{method} {route}");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {route}");
        }
        assert_ne!(test.head("HEAD", &route, &headers).status, 405, "{route}");
    }
}

#[test]
fn without_the_token_there_is_nothing() {
    let test = Test::new(working_home());
    let host = format!("Host: {}", test.address);
    let cookie = format!("recto_{}", test.address.port());
    let wrong = [
        String::new(),
        "Authorization: Bearer".into(),
        "Authorization: Bearer wrong".into(),
        format!("Authorization: Bearer {}", &TOKEN[1..]),
        format!("Authorization: Bearer {TOKEN}{TOKEN}"),
        format!("Authorization: Basic {TOKEN}"),
        format!("Authorization: {TOKEN}"),
        format!("Cookie: {cookie}="),
        format!("Cookie: {cookie}={}", TOKEN.to_uppercase()),
        format!("Cookie: recto_1={TOKEN}"),
        format!("Cookie: {TOKEN}"),
        format!("Cookie: {cookie}={TOKEN}\nAuthorization: Bearer wrong"),
    ];
    for route in routes() {
        for headers in &wrong {
            let answer = test.head("GET", &route, &format!("{host}\n{headers}"));
            assert_eq!(answer.status, 401, "{route} {headers}");
        }
        let headers = format!("{host}\nCookie: other=1; {cookie}={TOKEN}");
        assert_ne!(status(&test, "GET", &route, &headers), 401, "{route}");
    }
    // The token is no part of an address, where it would be seen and kept.
    let answer = test.ask("GET", &format!("/?token={TOKEN}"), &host);
    assert_eq!(answer.status, 401);
}

#[test]
fn every_answer_has_the_headers_that_protect_it() {
    let test = Test::new(working_home());
    let host = format!("Host: {}", test.address);
    let known = format!("{host}\nAuthorization: Bearer {TOKEN}");
    let mut answers = vec![
        test.head("GET", "/", &host),
        test.head("GET", "/", "Host: evil.example"),
        test.head("GET", "/", &format!("{known}\nOrigin: null")),
        test.head("DELETE", "/", &known),
        test.head("GET", "/login?code=x", &host),
        test.head("GET", &format!("/{}", "x".repeat(9000)), &known),
    ];
    answers.extend(routes().iter().map(|route| test.head("GET", route, &known)));
    for answer in &answers {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{answer:?}");
        }
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"));
        assert!(policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        assert!(answer.header("cache-control").is_some());
    }
    let kept = answers.iter().filter(|answer| answer.header("cache-control") != Some("no-store"));
    assert_eq!(kept.count(), 1, "only a file of the pages may be kept");
    assert_eq!(answers[5].status, 414);
}

#[test]
fn what_is_too_large_or_no_http_is_refused() {
    let test = Test::new(FakeHome::new());
    let many: String = (0..200).map(|at| format!("X-{at}: y\r\n")).collect();
    let large = "z".repeat(200_000);
    for request in [
        format!("GET / HTTP/1.1\r\nHost: {}\r\n{many}\r\n", test.address),
        format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {large}\r\n\r\n", test.address),
        "\u{1}\u{2}\r\n\r\n".to_owned(),
        "GET / HTTP/9.9\r\n\r\n".to_owned(),
    ] {
        let status = test.try_send(&request).map_or(0, |answer| answer.status);
        assert!(matches!(status, 0 | 400 | 414 | 431 | 505), "{status}");
    }
    assert_eq!(test.get("/api/v1/overview").status, 200, "the server goes on");
}

#[test]
fn an_asset_is_kept_by_its_hash() {
    let test = Test::new(FakeHome::new());
    let page = test.get("/").text();
    let start = page.find("/assets/style.").unwrap();
    let address: String = page[start..].chars().take_while(|c| *c != '"').collect();
    let answer = test.get(&address);
    assert_eq!(answer.status, 200);
    assert!(answer.header("cache-control").unwrap().contains("immutable"));
    assert_eq!(answer.header("content-type"), Some("text/css; charset=utf-8"));
    let tag = answer.header("etag").unwrap();
    let headers =
        format!("Host: {}\nAuthorization: Bearer {TOKEN}\nIf-None-Match: {tag}", test.address);
    assert_eq!(test.ask("GET", "/assets/style.css", &headers).status, 304);
}

#[cfg(unix)]
#[test]
fn a_socket_is_served_and_taken_away() {
    use std::io::Read;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recto.sock");
    let (server, _home, _cache) =
        crate::support::serve_on(recto_serve::Listen::Socket(path.clone()));
    let mut stream = UnixStream::connect(&path).unwrap();
    let request = format!(
        "GET /api/v1/overview HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    drop(server);
    assert!(!path.exists());
}

#[test]
fn other_addresses_need_a_token_of_the_users_own() {
    let home = FakeHome::new();
    let cache = tempfile::tempdir().unwrap();
    let mut options = crate::support::options(&home, &cache);
    options.listen = recto_serve::Listen::Address("127.0.0.1:0".parse().unwrap());
    options.token = None;
    let error = recto_serve::Server::start(options).unwrap_err();
    assert_eq!(error.kind(), "no-token");
}
