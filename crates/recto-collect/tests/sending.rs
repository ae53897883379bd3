//! Everything into a store, once.

use std::time::Duration;

use recto_collect::SendOptions;
use recto_collect::StoreVerify;
use recto_testkit::FakeS3;

use crate::edge::Edge;

const LOG: &str = "projects/-w/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl";
const OTHER: &str = "projects/-w/5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214.jsonl";
const TITLES: &str = "projects/-w/sessions-index.json";

fn lines(from: usize, to: usize) -> String {
    (from..to).map(|number| format!("{{\"n\":{number}}}\n")).collect()
}

/// Ranges in the store of all files, sorted: none may overlap.
fn assert_nothing_twice(edge: &Edge) {
    let mut ranges: Vec<(String, u64, u64)> = edge
        .segments()
        .iter()
        .map(|key| {
            let (folder, name) = key.rsplit_once('/').unwrap();
            let (start, end) = name.split_once('.').unwrap().0.split_once('-').unwrap();
            (folder.to_owned(), start.parse().unwrap(), end.parse().unwrap())
        })
        .collect();
    ranges.sort();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 != pair[1].0 || pair[0].2 == pair[1].1, "{pair:?}");
    }
}

#[test]
fn what_is_sent_comes_back_byte_for_byte_and_grows() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.write(OTHER, lines(0, 3));
    edge.write(TITLES, "{\"a\":1}");
    let report = edge.send();
    assert_eq!((report.files, report.changed, report.objects), (3, 3, 3));
    assert_eq!(edge.send().objects, 0);
    edge.write(LOG, lines(0, 20));
    edge.write(TITLES, "{\"a\":2}");
    assert_eq!(edge.send().objects, 2);
    let stored = edge.stored();
    assert_eq!(stored[LOG], lines(0, 20));
    assert_eq!(stored[OTHER], lines(0, 3));
    assert_eq!(stored[TITLES], "{\"a\":2}");
    assert_nothing_twice(&edge);
    let report = StoreVerify::of_sender(&edge.sender(SendOptions::default()), &mut |_, _| {});
    let report = report.unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.files, report.objects, report.filtered), (3, 5, Some(0)));
    let hints = edge.store.keys("fleet/ledger/v1/d=");
    assert_eq!(hints.len(), 2, "{hints:?}");
}

#[test]
fn a_lost_memory_stores_nothing_twice() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.send();
    edge.write(LOG, lines(0, 20));
    edge.send();
    for round in 0..3 {
        match round {
            0 => edge.lose_state(),
            _ => edge.lose_data(),
        }
        let end = 30 + 10 * round;
        edge.write(LOG, lines(0, end));
        assert_eq!(edge.send().objects, 1, "round {round}");
        assert_eq!(edge.stored()[LOG], lines(0, end), "round {round}");
        assert_nothing_twice(&edge);
    }
}

#[test]
fn redacted_lines_are_recognised_again_when_everything_is_lost() {
    let edge = Edge::new(&FakeS3::start());
    let secret = "{\"text\":\"export GITHUB_TOKEN=ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5\"}\n";
    edge.write(LOG, format!("{secret}{}", lines(0, 5)));
    edge.send();
    edge.lose_data();
    edge.write(LOG, format!("{secret}{}", lines(0, 9)));
    assert_eq!(edge.send().objects, 1);
    assert_nothing_twice(&edge);
    let stored = edge.stored().remove(LOG).unwrap();
    assert!(stored.ends_with(&lines(0, 9)) && !stored.contains("ghp_"), "{stored}");
}

#[test]
fn another_life_with_the_same_first_line_is_never_taken_for_the_first() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.send();
    // Without its data the machine cannot know that the file was rewritten.
    edge.lose_data();
    let other = format!("{}{}", lines(0, 1), lines(50, 55));
    edge.write(LOG, &other);
    let report = edge.send();
    assert_eq!(report.objects, 1);
    assert_eq!(edge.stored()[LOG], other);
    let lives: std::collections::BTreeSet<String> =
        edge.segments().iter().map(|key| key.rsplit_once('/').unwrap().0.to_owned()).collect();
    assert_eq!(lives.len(), 2, "{lives:?}");
    assert_eq!(edge.send().objects, 0);
}

#[test]
fn a_lost_answer_is_no_second_object() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.store.lose_answers(1);
    edge.send();
    assert_eq!(edge.segments().len(), 1);
    assert_eq!(edge.stored()[LOG], lines(0, 10));
}

#[test]
fn a_range_that_was_begun_is_sent_under_the_same_name() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.send();
    edge.write(LOG, lines(0, 20));
    edge.collect();
    // The store takes it, and nobody hears of that.
    edge.store.lose_answers(u64::MAX);
    assert!(edge.try_send().is_err());
    edge.store.lose_answers(0);
    edge.write(LOG, lines(0, 30));
    edge.send();
    assert_eq!(edge.stored()[LOG], lines(0, 30));
    assert_nothing_twice(&edge);
    assert_eq!(edge.segments().len(), 3);
}

#[test]
fn a_store_that_is_away_is_named_and_the_archive_waits() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.collect();
    edge.store.close(true);
    let error = edge.try_send().unwrap_err();
    assert_eq!(error.kind(), "store-unreachable");
    let status = edge.sender(SendOptions::default()).status().unwrap();
    assert_eq!((status.files, status.behind), (1, 1));
    assert!(status.error.is_some());
    edge.store.close(false);
    edge.store.fail(2);
    assert_eq!(edge.send().objects, 1);
    let status = edge.sender(SendOptions::default()).status().unwrap();
    assert_eq!((status.behind, status.error), (0, None));
}

#[test]
fn little_waits_for_more_or_for_its_time() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.write(OTHER, "x".repeat(300_000) + "\n");
    edge.collect();
    let waiting = SendOptions { all: false, ..SendOptions::default() };
    let report = edge.sender(waiting.clone()).send(&mut |_, _| {}).unwrap();
    assert_eq!(report.objects, 1);
    assert_eq!(report.waiting_bytes, lines(0, 10).len() as u64);
    assert!(report.waiting_since.is_some());
    let now = SendOptions { every: Duration::ZERO, ..waiting };
    assert_eq!(edge.sender(now).send(&mut |_, _| {}).unwrap().objects, 1);
}

#[test]
fn what_a_session_wrote_is_sent_when_its_client_leaves() {
    let store = FakeS3::start();
    let session = LOG.rsplit('/').next().unwrap().trim_end_matches(".jsonl");
    let pid = std::process::id();
    let announcement = format!("sessions/{pid}.json");
    let json = format!("{{\"pid\":{pid},\"sessionId\":\"{session}\"}}");
    let result = format!("projects/-w/{session}/tool-results/a.txt");
    let played = |clock: fn() -> jiff::Timestamp| {
        let edge = Edge::raw(&store);
        edge.collect();
        let waiting = SendOptions { all: false, clock, ..SendOptions::default() };
        let sender = edge.sender(waiting);
        let round = || {
            edge.collect();
            sender.look_at_clients(&edge.home());
            sender.send(&mut |_, _| {}).unwrap().objects
        };
        edge.write(&announcement, &json);
        edge.write(LOG, lines(0, 10));
        edge.write(OTHER, lines(0, 10));
        let first = round();
        edge.write(&result, "a result");
        edge.remove(&announcement);
        let second = round();
        // The client's last line is archived a moment later.
        edge.write(LOG, lines(0, 11));
        let third = round();
        // It is resumed, and waits again.
        edge.write(&announcement, &json);
        edge.write(LOG, lines(0, 12));
        [first, second, third, round()]
    };
    assert_eq!(played(jiff::Timestamp::now), [0, 2, 1, 0]);
    // Whatever comes long after the end is not of this session's run.
    let earlier = || jiff::Timestamp::now() - Duration::from_secs(600);
    assert_eq!(played(earlier), [0, 0, 0, 0]);
}

#[test]
fn many_small_segments_become_few() {
    let edge = Edge::raw(&FakeS3::start());
    for end in 1..30 {
        edge.write(LOG, lines(0, end));
        edge.collect();
    }
    assert_eq!(edge.send().objects, 1);
    assert_eq!(edge.stored()[LOG], lines(0, 29));
}

#[test]
fn what_is_missing_in_the_store_is_found_and_sent_again() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 10));
    edge.send();
    edge.write(LOG, lines(0, 20));
    edge.send();
    let keys = edge.segments();
    edge.store.remove(&keys[0]);
    let mut damaged = edge.store.objects()[&keys[1]].clone();
    damaged.truncate(damaged.len() - 5);
    edge.store.insert(&keys[1], damaged);
    let verify = || {
        let sender = edge.sender(SendOptions::default());
        StoreVerify::of_sender(&sender, &mut |_, _| {}).unwrap()
    };
    let report = verify();
    assert_eq!(report.problems.len(), 3, "{report:?}");
    assert_eq!(report.behind.len(), 1);
    edge.store.remove(&keys[1]);
    verify();
    edge.send();
    assert!(verify().is_sound());
    assert_eq!(edge.stored()[LOG], lines(0, 20));
}

#[test]
fn renamed_torn_and_deleted_files_are_the_same_in_the_store() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 4));
    edge.send();
    let home = edge.home();
    let moved = LOG.replace("-w", "-other");
    std::fs::create_dir_all(home.root().join("projects/-other")).unwrap();
    std::fs::rename(home.root().join(LOG), home.root().join(&moved)).unwrap();
    edge.send();
    assert_eq!(edge.stored()[&moved], lines(0, 4));
    std::fs::remove_file(home.root().join(&moved)).unwrap();
    edge.send();
    assert_eq!(edge.stored()[&moved], lines(0, 4));
    assert!(edge.store.keys("fleet/raw").iter().any(|key| key.contains("/gone/")));
}

#[test]
fn a_slow_line_is_respected() {
    let edge = Edge::raw(&FakeS3::start());
    edge.write(LOG, lines(0, 4));
    edge.collect();
    let options = SendOptions { bytes_per_second: Some(1_000_000), ..SendOptions::default() };
    assert_eq!(edge.sender(options).send(&mut |_, _| {}).unwrap().objects, 1);
}

#[test]
fn a_large_segment_goes_in_parts() {
    let edge = Edge::raw(&FakeS3::start());
    // Nothing that compresses.
    let mut number = 1_u64;
    let mut text = String::new();
    while text.len() < 40_000_000 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
        text.push_str(&format!("{number:016x}"));
    }
    text.push('\n');
    edge.write(LOG, &text);
    let report = edge.send();
    assert_eq!(report.objects, 1);
    assert!(report.sent_bytes > 16 * 1024 * 1024, "{}", report.sent_bytes);
    assert_eq!(edge.store.requests("POST"), 2);
    assert!(edge.stored()[LOG] == text);
}
