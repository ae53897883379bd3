//! Statuses of made homes.

use fs_err as fs;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;
use std::io::Write as _;

use super::*;

const ONE: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
const TWO: &str = "3f2b77aa-51c7-4d02-b8f4-93ad17c2e680";

fn now() -> Timestamp {
    "2026-11-16T12:00:00Z".parse().unwrap()
}

fn minutes_ago(minutes: i64) -> Timestamp {
    now().checked_sub(SignedDuration::from_mins(minutes)).unwrap()
}

fn log(id: &str) -> SessionBuilder {
    SessionBuilder::new(id, Client::V2_1_29).prompt("Repair it").answer("Repaired.")
}

fn open(fake: &FakeHome) -> Home {
    Home::open(fake.path()).unwrap()
}

fn kinds(found: &[SessionStatus]) -> Vec<(String, &'static str)> {
    found.iter().map(|one| (one.id.to_string(), one.status.kind.name())).collect()
}

#[test]
fn recent_logs_and_announced_clients_are_told_and_nothing_else() {
    let fake = FakeHome::new();
    fake.add(&log(ONE), minutes_ago(10));
    fake.add(&log(TWO), minutes_ago(600));
    let home = open(&fake);
    assert_eq!(kinds(&home.statuses(now())).len(), 1);
    fake.announce(TWO, "waiting");
    let found = home.statuses(now());
    assert_eq!(found.len(), 2);
    assert_eq!(
        (found[0].id.to_string().as_str(), found[0].status.kind, found[0].is_live()),
        (TWO, StatusKind::WaitingForApproval, true)
    );
    assert_eq!(found[0].status.last_prompt.as_deref(), Some("Repair it"));
    assert!(found[0].is_whole && found[0].status.tokens.output > 0);
}

#[test]
fn a_client_without_a_log_and_one_that_is_gone_are_told() {
    let fake = FakeHome::new();
    let json = format!(
        r#"{{"pid":4000000000,"sessionId":"{ONE}","procStart":"5","status":"busy","cwd":"/home/dev/app","statusUpdatedAt":1794788485636}}"#
    );
    fake.write("sessions/4000000000.json", json);
    let found = open(&fake).statuses(now());
    assert_eq!(kinds(&found), [(ONE.to_owned(), "ended")]);
    assert_eq!(found[0].path, None);
    assert_eq!(found[0].status.cwd.as_deref(), Some("/home/dev/app"));
    // A client that was started again for the session counts more than the one before.
    fake.announce(ONE, "busy");
    assert_eq!(kinds(&open(&fake).statuses(now())), [(ONE.to_owned(), "working")]);
}

#[test]
fn a_client_that_cannot_be_seen_is_neither_ended_nor_passed_over() {
    let fake = FakeHome::new();
    let path = fake.add(&log(ONE).prompt("Go").answer("done"), minutes_ago(20));
    let json = format!(
        r#"{{"pid":4000000000,"sessionId":"{ONE}","procStart":"5","status":"busy","pidDomain":"linux::pid:[1]"}}"#
    );
    fake.write("sessions/4000000000.json", json);
    let home = open(&fake);
    let found = home.statuses(now());
    assert_eq!(kinds(&found), [(ONE.to_owned(), "idle")]);
    assert!(!found[0].is_live());
    let why = &found[0].status.why;
    assert!(why.iter().any(|why| why.contains("another container")), "{why:?}");
    // It may write at any time, so that its log is not touched.
    let inventory = home.inventory();
    let session = inventory.sessions.iter().find(|session| session.path == path).unwrap();
    let refused = home.editing_allowed(session, now()).unwrap_err();
    assert_eq!(refused.kind(), "live-session");
    assert!(refused.to_string().contains("another container"), "{refused}");
}

#[test]
fn only_new_lines_are_read_and_rewritten_logs_are_read_again() {
    let fake = FakeHome::new();
    let path = fake.add(&log(ONE), minutes_ago(1));
    let home = open(&fake);
    let mut statuses = Statuses::default();
    let mut look = || {
        let scope = StatusScope::All;
        let found = statuses.look(&home, &home.inventory(), &scope, now());
        (
            found[0].status.last_prompt.clone().unwrap(),
            statuses.logs[&path].cursor.as_ref().unwrap().offset(),
        )
    };
    let (prompt, offset) = look();
    assert_eq!((prompt.as_str(), offset), ("Repair it", fs::metadata(&path).unwrap().len()));
    let more = r#"{"type":"user","uuid":"x","timestamp":"2026-11-16T11:59:00Z","message":{"role":"user","content":"And now?"}}"#;
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    // A line that is not whole waits.
    file.write_all(&more.as_bytes()[..40]).unwrap();
    assert_eq!(look(), ("Repair it".to_owned(), offset));
    file.write_all(&more.as_bytes()[40..]).unwrap();
    file.write_all(b"\n").unwrap();
    assert_eq!(look(), ("And now?".to_owned(), offset + more.len() as u64 + 1));
    // The same file with other bytes, and a longer one, is another log.
    let other = log(ONE).prompt("Something else").answer("Well.").prompt("The end");
    fake.add(&other, minutes_ago(0));
    assert_eq!(look().0, "The end");
}

#[test]
fn the_first_prompt_is_found_when_it_comes_later() {
    let fake = FakeHome::new();
    let path = fake.add(&SessionBuilder::new(ONE, Client::V2_1_325).custom_title("New"), now());
    let home = open(&fake);
    let mut statuses = Statuses::default();
    let mut look = || statuses.look(&home, &home.inventory(), &StatusScope::All, now());
    assert_eq!(look()[0].first_prompt, None);
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(SessionBuilder::new(ONE, Client::V2_1_325).prompt("Go").bytes()).unwrap();
    assert_eq!(look()[0].first_prompt.as_deref(), Some("Go"));
}

#[test]
fn of_a_large_log_without_a_client_the_end_is_read() {
    let fake = FakeHome::new();
    let mut large = SessionBuilder::new(ONE, Client::V2_1_29).prompt("First");
    for _ in 0..30 {
        large = large.tool("Bash", r#"{"command":"x"}"#, &"long ".repeat(10_000));
    }
    let path = fake.add(&large.prompt("Last").answer("Done."), minutes_ago(1));
    assert!(fs::metadata(&path).unwrap().len() > WHOLE);
    let found = open(&fake).statuses(now());
    assert!(!found[0].is_whole);
    assert_eq!(found[0].status.last_prompt.as_deref(), Some("Last"));
    assert_eq!(found[0].first_prompt.as_deref(), Some("First"));
    // The client runs: all tokens are wanted.
    fake.announce(ONE, "idle");
    let live = open(&fake).statuses(now());
    assert!(live[0].is_whole);
    assert!(live[0].status.tokens.output > found[0].status.tokens.output);
}

#[test]
fn what_is_no_log_is_passed_over() {
    let fake = FakeHome::new();
    fake.write("projects/-home-dev-app/x.jsonl", "{torn");
    fake.write("sessions/4000000000.json", "{broken");
    fake.write(&format!("projects/-home-dev-app/{TWO}.jsonl"), "");
    assert_eq!(kinds(&open(&fake).statuses(now())), []);
}

#[test]
fn a_client_that_writes_its_announcement_now_has_not_ended() {
    let fake = FakeHome::new();
    let by_a_person = r#"{"type":"system","subtype":"x","uuid":"e","timestamp":"2026-11-16T11:40:00Z","version":"2.1.325","entrypoint":"cli"}"#;
    let newer = SessionBuilder::new(ONE, Client::V2_1_325).at(minutes_ago(20));
    let newer = newer.prompt("Go").answer("Gone.").raw(format!("{by_a_person}\n"));
    fake.add(&newer, minutes_ago(20));
    let announcement = fake.announce(ONE, "busy");
    let home = open(&fake);
    let mut statuses = Statuses::default();
    let look = |statuses: &mut Statuses| {
        statuses.look(&home, &home.inventory(), &StatusScope::Recent(RECENT), now())
    };
    assert_eq!(kinds(&look(&mut statuses)), [(ONE.to_owned(), "working")]);
    fs::write(&announcement, "").unwrap();
    // What it said last counts, for as long as it takes.
    for _ in 0..3 {
        let found = look(&mut statuses);
        assert_eq!(kinds(&found), [(ONE.to_owned(), "working")]);
        assert!(found[0].is_live());
    }
    // Who has not heard it before knows that there is something to hear.
    let found = home.statuses(now());
    assert_eq!(kinds(&found), [(ONE.to_owned(), "idle")]);
    let why = format!("the announcement of process {} cannot be read", std::process::id());
    assert_eq!(found[0].status.why.last(), Some(&why));
    fs::remove_file(&announcement).unwrap();
    assert_eq!(kinds(&look(&mut statuses)), [(ONE.to_owned(), "ended")]);
}

#[test]
fn a_session_whose_log_cannot_be_read_is_told_by_its_client_or_as_unknown() {
    let fake = FakeHome::new();
    let path = fake.add(&log(ONE), minutes_ago(1));
    let home = open(&fake);
    let inventory = home.inventory();
    // A directory in its place is one of the ways.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let look = || {
        let scope = StatusScope::Recent(RECENT);
        Statuses::default().look(&home, &inventory, &scope, now()).remove(0)
    };
    let unknown = look();
    assert_eq!((unknown.status.kind, unknown.path.as_ref()), (StatusKind::Unknown, Some(&path)));
    let [why] = &unknown.status.why[..] else { panic!("{:?}", unknown.status.why) };
    assert!(why.starts_with("its log cannot be read: "), "{why}");
    fake.announce(ONE, "waiting");
    let waiting = look();
    assert_eq!(waiting.status.kind, StatusKind::WaitingForApproval);
    assert!(waiting.status.why.last().unwrap().starts_with("its log cannot be read: "));
    // One that is gone is no session, unless its client runs.
    fs::remove_dir(&path).unwrap();
    assert_eq!(look().path, None);
}

#[test]
fn some_are_looked_at_however_old_they_are() {
    let fake = FakeHome::new();
    fake.add(&log(ONE), minutes_ago(600));
    fake.add(&log(TWO), minutes_ago(600));
    let home = open(&fake);
    let scope = StatusScope::RecentAnd(RECENT, HashSet::from([TWO.parse().unwrap()]));
    let found = Statuses::default().look(&home, &home.inventory(), &scope, now());
    assert_eq!(kinds(&found), [(TWO.to_owned(), "idle")]);
}
