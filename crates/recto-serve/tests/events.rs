//! Events: order, numbers, breaks, and clients that never read.

use std::time::Duration;

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::Events;
use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::TOKEN;
use crate::support::Test;
use crate::support::hours_ago;
use crate::support::options;
use crate::support::working_home;

fn more(text: &str) -> SessionBuilder {
    SessionBuilder::new(SESSION, Client::V2_1_325).prompt(text)
}

#[test]
fn appended_lines_are_told_with_their_numbers() {
    let test = Test::new(working_home());
    let lines = test.lines();
    let mut events = test.events(None);
    let ready = events.until("ready");
    assert_eq!(ready.data["sequence"], 0);
    test.append(&more("One"));
    let event = events.until("appended");
    assert_eq!(event.data["session"], SESSION);
    assert_eq!(event.data["agent"], serde_json::Value::Null);
    assert_eq!(event.data["project"], "-home-dev-app");
    assert_eq!(event.data["lines"], more("One").bytes().iter().filter(|b| **b == b'\n').count());
    assert_eq!(event.data["first_line"], lines + 1);
    assert_eq!(event.data["turn"], 3);
    test.append(&more("Two"));
    assert_eq!(events.until("appended").data["turn"], 4);
}

#[test]
fn sessions_that_come_and_go_are_told() {
    let test = Test::new(working_home());
    let mut events = test.events(None);
    events.until("ready");
    let other = SessionBuilder::new(OTHER, Client::V2_1_325).prompt("Hello").answer("Yes");
    let path = test.home.add(&other, hours_ago(0));
    assert_eq!(events.until("appeared").data["session"], OTHER);
    let event = events.until("appended");
    assert_eq!((&event.data["session"], &event.data["first_line"]), (&OTHER.into(), &1.into()));
    std::fs::write(&path, "{}\n").unwrap();
    assert_eq!(events.until("restarted").data["session"], OTHER);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(events.until("removed").data["session"], OTHER);
    test.home.announce(SESSION, "busy");
    // What the client does may be seen before the news of its file arrives.
    let (mut is_announced, mut is_working) = (false, false);
    while !is_announced || !is_working {
        let event = events.any();
        is_announced |= event.name == "announcements";
        is_working |= event.name == "status"
            && event.data["id"] == SESSION
            && event.data["live"] == true
            && event.data["status"] == "working";
    }
}

#[test]
fn a_client_goes_on_where_it_was() {
    let test = Test::new(working_home());
    let mut events = test.events(None);
    events.until("ready");
    test.append(&more("One"));
    let first = events.until("appended");
    drop(events);
    test.append(&more("Two"));
    test.append(&more("Three"));
    let mut seen = test.events(None);
    // Somebody else has seen that both are told.
    seen.until("ready");
    test.append(&more("Four"));
    seen.until("appended");
    let mut events = test.events(Some(first.id.as_deref().unwrap()));
    events.until("ready");
    let mut bytes = 0;
    let mut sequence = first.sequence();
    let expected: usize = ["Two", "Three", "Four"].iter().map(|t| more(t).bytes().len()).sum();
    while bytes < expected {
        let event = events.any();
        assert_eq!(event.sequence(), sequence + 1, "none is left out");
        sequence = event.sequence();
        if event.name == "appended" {
            bytes += event.data["bytes"].as_u64().unwrap() as usize;
        }
    }
    assert_eq!(bytes, expected, "each line once");
}

#[test]
fn who_was_away_too_long_is_told_of_the_gap() {
    let test = Test::new(working_home());
    let mut events = test.events(None);
    let ready = events.until("ready");
    let id = ready.id.unwrap();
    // More events than are kept.
    test.flood(5000);
    let mut late = test.events(Some(&id));
    late.until("ready");
    let gap = late.until("gap");
    assert_eq!(gap.data["from"], 1);
    let to = gap.data["to"].as_u64().unwrap();
    assert!(to > 500, "{to}");
    assert_eq!(late.any().sequence(), to + 1, "it goes on right after the gap");
    let mut other = test.events(Some("0123456789ab-7"));
    let gap = other.until("gap");
    assert_eq!(gap.data["from"], serde_json::Value::Null, "another start");
}

#[test]
fn clients_that_never_read_hurt_nobody() {
    let test = Test::new(working_home());
    let silent: Vec<_> = (0..5).map(|_| test.events(None)).collect();
    let mut events = test.events(None);
    events.until("ready");
    test.flood(3000);
    let mut sequence = 0;
    while sequence < 3000 {
        let event = events.any();
        assert_eq!(event.sequence(), sequence + 1);
        sequence = event.sequence();
    }
    assert_eq!(test.get("/api/v1/overview").status, 200);
    drop(silent);
}

/// Far more than are open at once. Each of them could keep its place for as long as the head of
/// a request may take, and an honest client would wait for all of them.
#[test]
fn connections_that_say_nothing_give_way_to_a_client_that_does() {
    use std::io::Read as _;
    use std::net::TcpStream;
    let test = Test::new(working_home());
    let mut silent = Vec::new();
    for _ in 0..700 {
        silent.push(TcpStream::connect(test.address).unwrap());
    }
    // One that has the token keeps its place among them.
    let mut events = test.events(None);
    events.until("ready");
    for _ in 0..300 {
        silent.push(TcpStream::connect(test.address).unwrap());
    }
    assert_eq!(test.get("/api/v1/overview").status, 200);
    // The first ones were sent away, not after their time but for others.
    for stream in &mut silent[..400] {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        assert!(matches!(stream.read(&mut [0]), Ok(0)), "it still has its place");
    }
    test.flood(5);
    assert!(events.any().sequence() > 0);
}

/// More than there are threads that read files, and none of them is ever dropped.
#[test]
fn documents_that_nobody_reads_keep_nobody_waiting() {
    use std::io::Write as _;
    use std::net::TcpStream;
    let home = working_home();
    let mut log = recto_testkit::SessionBuilder::new(SESSION, recto_testkit::Client::V2_1_325);
    for _ in 0..24 {
        log = log.prompt("a long answer, please").answer(&"word ".repeat(200_000));
    }
    home.add(&log, crate::support::hours_ago(1));
    let test = Test::with(home, |options| options.stall_time = Duration::from_secs(3600));
    let address = test.server.address().unwrap();
    let silent: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            let path = format!("/api/v1/sessions/{SESSION}/export?format=json");
            let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n");
            let token = format!("Authorization: Bearer {TOKEN}\r\n\r\n");
            stream.write_all(format!("{head}{token}").as_bytes()).unwrap();
            stream
        })
        .collect();
    // Those that begin have begun when one of them is answered.
    silent[0].peek(&mut [0]).unwrap();
    for _ in 0..20 {
        assert_eq!(test.get("/api/v1/overview").status, 200);
        assert_eq!(test.get("/api/v1/sessions").status, 200);
    }
}

/// On a socket, whose buffers are small.
#[test]
#[cfg(unix)]
fn who_reads_nothing_for_long_is_dropped_and_others_miss_nothing() {
    use std::io::ErrorKind;
    use std::io::Read as _;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    let (home, folder) = (working_home(), tempfile::tempdir().unwrap());
    let path = folder.path().join("socket");
    let mut options = options(&home, &folder);
    options.listen = recto_serve::Listen::Socket(path.clone());
    options.stall_time = Duration::from_millis(200);
    let _server = recto_serve::Server::start(options).unwrap();
    let listen = || {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer";
        stream.write_all(format!("{head} {TOKEN}\r\n\r\n").as_bytes()).unwrap();
        stream
    };
    let log = home.path().join(format!("projects/-home-dev-app/{SESSION}.jsonl"));
    let mut log = std::fs::File::options().append(true).open(log).unwrap();
    let mut silent = listen();
    let reading = listen();
    let mut knocking = reading.try_clone().unwrap();
    let mut events = Events::of(reading);
    let mut sequence = events.until("ready").sequence();
    let mut go_on = |count: u64| {
        let end = sequence + count;
        while sequence < end {
            log.write_all(b"{\"type\":\"mode\"}\n").unwrap();
            let event = events.any();
            assert_eq!(event.sequence(), sequence + 1, "{event:?}");
            sequence = event.sequence();
        }
    };
    go_on(3000);
    // Who is dropped can send nothing any more. The other one sends the same.
    let begin = std::time::Instant::now();
    silent.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
    while !silent.write_all(b"\r").is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        assert!(begin.elapsed() < Duration::from_secs(30), "it is not dropped");
        knocking.write_all(b"\r").unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    go_on(50);
    // What was sent before can still be read, and has an end.
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).unwrap();
    let told = String::from_utf8_lossy(&rest).matches("event: appended").count();
    assert!((1..3000).contains(&told), "{told}");
}

#[test]
fn there_is_an_end_to_how_many_may_listen() {
    let test = Test::new(working_home());
    let clients: Vec<_> = (0..128)
        .map(|_| {
            let mut events = test.events(None);
            events.until("ready");
            events
        })
        .collect();
    assert_eq!(test.get("/api/v1/events").status, 503);
    drop(clients);
}

#[test]
fn the_server_ends_while_clients_listen() {
    let test = Test::new(working_home());
    let mut events = test.events(None);
    events.until("ready");
    drop(test);
    assert!(events.next().is_none(), "the stream has an end");
}
