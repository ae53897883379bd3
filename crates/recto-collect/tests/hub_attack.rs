//! A hub under attack: the right status, nothing stored.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use recto_collect::hub::HubLimits;
use recto_store::follow::FileKind;
use recto_store::keep::SegmentHeader;
use recto_store::keep::SegmentWriter;
use sha2::Digest as _;
use sha2::Sha256;

use crate::edge::Edge;
use crate::hub::LOG;
use crate::hub::TestHub;
use crate::hub::limits;
use crate::hub::secret_of;

const FILE: &str = "0123456789abcdef0123456789abcdef";
const GENERATION: &str = "00112233445566778899aabbccddeeff";

fn digest(bytes: &[u8]) -> String {
    format!("sha-256=:{}:", BASE64_STANDARD.encode(Sha256::digest(bytes)))
}

/// A segment with these bytes, which says that it has `says` of them.
fn segment(bytes: &[u8], says: Option<u64>) -> Vec<u8> {
    let mut text = segment_at(bytes, 0);
    if let Some(says) = says {
        // The same number of digits: the header stays as long as it was.
        let (true_end, false_end) = (format!("\"end\":{}", bytes.len()), format!("\"end\":{says}"));
        assert_eq!(true_end.len(), false_end.len());
        let at = text.windows(true_end.len()).position(|one| one == true_end.as_bytes()).unwrap();
        text[at..at + true_end.len()].copy_from_slice(false_end.as_bytes());
    }
    text
}

/// A segment with these bytes of a file from some place on.
pub(crate) fn segment_at(bytes: &[u8], start: u64) -> Vec<u8> {
    let header = SegmentHeader {
        path: LOG.to_owned(),
        kind: FileKind::MainLog,
        start,
        end: start,
        sha256: [0; 32],
        modified: Timestamp::UNIX_EPOCH,
        captured: Timestamp::UNIX_EPOCH,
        policy: "raw".to_owned(),
        level: SegmentHeader::USUAL_LEVEL,
        marks: Vec::new(),
        length: None,
    };
    let mut writer = SegmentWriter::new(tempfile::tempfile().unwrap(), header);
    writer.write(bytes).unwrap();
    let (_, mut file) = writer.seal().unwrap();
    let mut text = Vec::new();
    std::io::Seek::rewind(&mut file).unwrap();
    std::io::Read::read_to_end(&mut file, &mut text).unwrap();
    text
}

pub(crate) fn key(machine: &str, start: u64, end: u64) -> String {
    format!("raw/v1/machine={machine}/file={FILE}/gen={GENERATION}/{start:020}-{end:020}.jsonl.zst")
}

pub(crate) fn put(key: &str, token: &str, body: &[u8]) -> String {
    format!(
        "PUT /v1/segments/{key} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {}\r\nContent-Digest: {}\r\n\r\n",
        body.len(),
        digest(body)
    )
}

#[test]
fn whatever_is_wrong_is_refused_with_its_status_and_nothing_is_stored() {
    let hub = TestHub::start(HubLimits { body_bytes: 100_000, ..limits() });
    let (mut edge, mut other) = (Edge::raw(&hub.store), Edge::raw(&hub.store));
    let (mine, its) = (hub.join(&mut edge), hub.join(&mut other));
    let token = format!("rht_{}_{}", mine.id(), secret_of(&edge));
    let its_token = format!("rht_{}_{}", its.id(), secret_of(&other));
    let machine = edge.machine().to_string();
    let before = hub.store.objects();
    let good = segment(b"{\"n\":1}\n", None);
    let name = key(&machine, 0, 8);
    let mut damaged = good.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    let head = put(&name, &token, &good);
    let without = |line: &str| {
        let lines: Vec<&str> = head.split("\r\n").filter(|one| !one.starts_with(line)).collect();
        lines.join("\r\n")
    };
    let wrong = |from: &str, to: &str| head.replace(from, to);
    let zeros = vec![b' '; 70_000_000];
    let bomb = segment(&zeros, None);
    let lying = segment(&zeros, Some(10_000_001));
    let one_bit =
        format!("{}{}", &token[..token.len() - 1], if token.ends_with('0') { '1' } else { '0' });
    let long = vec![0; 100_001];
    let table: Vec<(&str, String, &[u8], u16)> = vec![
        ("no token", without("Authorization"), &good, 401),
        ("not a token", wrong(&token, "x"), &good, 401),
        ("a wrong secret", wrong(&token, &one_bit), &good, 401),
        ("an unknown token", wrong(mine.id(), "00000000"), &good, 401),
        ("two tokens", wrong("Host: x", "Host: x\r\nAuthorization: Bearer y"), &good, 401),
        ("another machine's token", put(&name, &its_token, &good), &good, 403),
        (
            "outside the prefix",
            put(&key(&other.machine().to_string(), 0, 8), &token, &good),
            &good,
            403,
        ),
        ("no segment's name", put("raw/v1/x", &token, &good), &good, 400),
        (
            "a way out",
            put(&format!("raw/v1/machine={machine}/../../hub/v1/tokens/A.json"), &token, &good),
            &good,
            400,
        ),
        ("escaped", put(&name.replace('/', "%2f"), &token, &good), &good, 400),
        ("hub's own names", put("hub/v1/tokens/AAAAAAAA.json", &token, &good), &good, 400),
        ("no length", without("Content-Length"), b"", 411),
        ("too long", put(&name, &token, &long), &long, 413),
        ("no digest", without("Content-Digest"), &good, 400),
        ("a wrong digest", wrong(&digest(&good), &digest(b"x")), &good, 400),
        ("compressed once more", wrong("Host: x", "Host: x\r\nContent-Encoding: gzip"), &good, 400),
        ("not a segment", put(&name, &token, b"hello"), b"hello", 422),
        ("damaged", put(&name, &token, &damaged), &damaged, 422),
        ("another range", put(&key(&machine, 0, 9), &token, &good), &good, 422),
        ("a bomb", put(&key(&machine, 0, zeros.len() as u64), &token, &bomb), &bomb, 413),
        ("a bomb that lies", put(&key(&machine, 0, 10_000_001), &token, &lying), &lying, 422),
        ("a web page", wrong("Host: x", "Host: x\r\nOrigin: https://evil.dev"), &good, 403),
        ("reading", head.replacen("PUT", "GET", 1), b"", 405),
        ("deleting", head.replacen("PUT", "DELETE", 1), b"", 405),
        ("nothing there", wrong("/v1/segments/", "/v2/segments/"), &good, 404),
        (
            "another's names",
            wrong(
                &format!("PUT /v1/segments/{name}"),
                &format!("GET /v1/segments?after={}", key(&other.machine().to_string(), 0, 8)),
            ),
            b"",
            403,
        ),
        (
            "another's beat",
            put("", &token, b"{}").replace("/v1/segments/", "/v1/machine"),
            b"{}",
            400,
        ),
    ];
    for (what, head, body, status) in table {
        let (given, text) = hub.ask(&head, body);
        assert_eq!(given, status, "{what}: {text}");
        assert!(!text.contains(&secret_of(&edge)), "{what}");
    }
    assert_eq!(hub.raw(), Vec::<String>::new());
    assert_eq!(hub.store.objects(), before);
    // The same request without a mistake is good, and replaying it stores nothing.
    assert_eq!(hub.ask(&head, &good).0, 201);
    assert_eq!(hub.ask(&head, &good).0, 200);
    // Other bytes under the name are refused.
    let evil = segment(b"{\"n\":2}\n", None);
    assert_eq!(hub.ask(&put(&name, &token, &evil), &evil).0, 409);
    assert_eq!(hub.raw().len(), 1);
    assert_eq!(hub.store.objects()[&format!("fleet/{name}")], good);
    hub.roster().revoke(mine.id(), Timestamp::now()).unwrap();
    assert_eq!(hub.ask(&head, &good).0, 401);
}

#[test]
fn a_body_that_comes_too_slowly_is_given_up() {
    let hub = TestHub::start(limits());
    let mut edge = Edge::raw(&hub.store);
    let mine = hub.join(&mut edge);
    let token = format!("rht_{}_{}", mine.id(), secret_of(&edge));
    let good = segment(b"{\"n\":1}\n", None);
    let head = put(&key(&edge.machine().to_string(), 0, 8), &token, &good);
    let mut stream = TcpStream::connect(hub.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&good[..10]).unwrap();
    let (status, text) = crate::hub::answer(&mut stream);
    assert_eq!(status, 408, "{text}");
    assert_eq!(hub.raw(), Vec::<String>::new());
}

#[test]
fn who_guesses_and_who_sends_too_much_has_to_wait() {
    let hub = TestHub::start(HubLimits { daily_objects: 2, requests_per_second: 1000, ..limits() });
    let mut edge = Edge::raw(&hub.store);
    let mine = hub.join(&mut edge);
    let token = format!("rht_{}_{}", mine.id(), secret_of(&edge));
    let machine = edge.machine().to_string();
    let good = segment(b"{\"n\":1}\n", None);
    for (at, wanted) in [(1, 201), (2, 201), (3, 429)] {
        let name = key(&machine, 0, 8).replace(FILE, &format!("{at:032x}"));
        let (status, text) = hub.ask(&put(&name, &token, &good), &good);
        assert_eq!(status, wanted, "{text}");
        assert_eq!(status == 429, text.contains("retry-after"), "{text}");
    }
    assert_eq!(hub.raw().len(), 2);
    let guess = put(&key(&machine, 0, 8), &format!("rht_{}_{}", mine.id(), "0".repeat(64)), &good);
    let statuses: Vec<u16> = (0..30).map(|_| hub.ask(&guess, &good).0).collect();
    assert!(statuses.iter().filter(|status| **status == 401).count() <= 25, "{statuses:?}");
    assert_eq!(statuses.last(), Some(&429));
    // Codes are guessed no faster, and the token that is known still works.
    let body = format!(
        "{{\"code\":\"{}\",\"machine\":\"{machine}\",\"secret\":\"{}\"}}",
        "A".repeat(28),
        "0".repeat(64)
    );
    let join = format!(
        "POST /v1/join HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    assert_eq!(hub.ask(&join, body.as_bytes()).0, 429);
}

#[test]
fn connections_that_say_nothing_give_way_to_a_machine() {
    let hub = TestHub::start(HubLimits { connections: 32, ..limits() });
    let mut silent = std::collections::VecDeque::new();
    // Ten thousand in all, few at a time: the hub must not run out of anything.
    for at in 0..10_000 {
        let mut stream = TcpStream::connect(hub.address()).unwrap();
        if at % 7 == 0 {
            let _ = stream.write_all(b"PUT /v1/segments/x HTTP/1.1\r\nHost: ");
        }
        silent.push_back(stream);
        if silent.len() > 300 {
            silent.pop_front();
        }
    }
    let mut edge = Edge::raw(&hub.store);
    edge.write(LOG, "{\"n\":1}\n");
    hub.join(&mut edge);
    assert_eq!(edge.send().objects, 1);
    drop(silent);
    let get = "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let (status, text) = hub.ask(get, b"");
    assert_eq!(status, 200);
    let open = text.lines().find_map(|line| line.strip_prefix("recto_hub_connections "));
    assert!(open.unwrap().trim().parse::<u64>().unwrap() <= 32, "{text}");
}
