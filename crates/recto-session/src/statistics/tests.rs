use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::*;
use crate::Session;
use crate::fold::packed::tests::resealed;
use crate::fold::packed::tests::sealed;
use crate::fold::session::tests::session;
use crate::turns;

fn user(uuid: &str, parent: &str, time: &str, content: &str) -> String {
    let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"timestamp":"{time}","message":{{"content":{content}}}}}"#
    ) + "\n"
}

/// A message with its id for a uuid, that was sent some tokens, half from the cache.
fn answer(id: &str, parent: &str, time: &str, sent: u64, block: &str) -> String {
    let half = sent / 2;
    format!(
        r#"{{"type":"assistant","uuid":"{id}","parentUuid":"{parent}","timestamp":"{time}","message":{{"id":"{id}","model":"m","content":[{block}],"stop_reason":"end_turn","usage":{{"input_tokens":{half},"cache_read_input_tokens":{half},"output_tokens":1}}}}}}"#
    ) + "\n"
}

fn result(uuid: &str, parent: &str, time: &str, call: &str, detail: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{uuid}","parentUuid":"{parent}","timestamp":"{time}","message":{{"content":[{{"type":"tool_result","tool_use_id":"{call}","content":"x","is_error":{}}}]}},"toolUseResult":{detail}}}"#,
        detail.starts_with('"')
    ) + "\n"
}

const TEXT: &str = r#"{"type":"text","text":"ok"}"#;

fn call(id: &str, name: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}"#)
}

/// One turn with an edit of two seconds and a command that failed, then a short one.
fn log() -> String {
    let edit = r#"{"filePath":"/a","oldString":"x","newString":"y","structuredPatch":[{"lines":["-x","+y","+z"]}]}"#;
    [
        user("p1", "", "2026-11-16T08:00:00Z", "\"one\""),
        answer("a1", "p1", "2026-11-16T08:00:01Z", 1000, &call("t1", "Edit")),
        result("r1", "a1", "2026-11-16T08:00:03Z", "t1", edit),
        answer("a2", "r1", "2026-11-16T08:00:04Z", 1200, &call("t2", "Bash")),
        result("r2", "a2", "2026-11-16T08:00:14Z", "t2", "\"failed\""),
        answer("a3", "r2", "2026-11-16T08:00:15Z", 1400, TEXT),
        user("p2", "a3", "2026-11-16T23:30:00Z", "\"two\""),
        answer("a4", "p2", "2026-11-16T23:30:05Z", 3000, TEXT),
    ]
    .concat()
}

fn statistics_of(logs: &[(&str, LogRole)], zone: TimeZone) -> Statistics {
    let mut tally = Tally::new(zone);
    for (log, role) in logs {
        let session: Session = session(log);
        tally.add(&LogStatistics::of(&session, &turns(&session), *role));
    }
    tally.finish()
}

/// All of it in a few lines.
fn shown(statistics: &Statistics) -> Vec<String> {
    let mut lines = vec![format!(
        "{} sessions, {} agents, {} turns, {} prompts, {} messages, {} ms",
        statistics.sessions,
        statistics.agents,
        statistics.turns,
        statistics.prompts,
        statistics.messages,
        statistics.working_milliseconds
    )];
    for tool in &statistics.tools {
        let ToolStatistics { name, calls, failed, open, .. } = tool;
        let (median, total) = (tool.median_milliseconds, tool.total_milliseconds);
        lines.push(format!("{name} {calls} {failed} {open} {median:?} {total}"));
    }
    for file in &statistics.files {
        let FileStatistics { path, edits, added, removed, logs } = file;
        lines.push(format!("{path} {edits} +{added} -{removed} in {logs}"));
    }
    for point in &statistics.contexts {
        let ContextPoint { turn, sessions, median_tokens } = point;
        lines.push(format!("turn {turn}: {median_tokens} in {sessions}"));
    }
    lines
}

#[test]
fn a_session_is_counted() {
    let statistics = statistics_of(&[(&log(), LogRole::Session)], TimeZone::UTC);
    assert_eq!(
        shown(&statistics),
        [
            "1 sessions, 0 agents, 2 turns, 2 prompts, 4 messages, 20000 ms",
            "Bash 1 1 0 Some(10000) 10000",
            "Edit 1 0 0 Some(2000) 2000",
            "/a 1 +2 -1 in 1",
            "turn 1: 1000 in 1",
            "turn 2: 3000 in 1",
        ]
    );
    assert_eq!(statistics.tokens.cache_hit_percent(), Some(50.0));
    let lengths: Vec<(u64, u64)> = statistics
        .lengths
        .iter()
        .filter(|range| range.turns > 0)
        .map(|range| (range.from, range.turns))
        .collect();
    assert_eq!(lengths, [(0, 1), (10_000, 1)]);
    assert_eq!((statistics.median_turn, statistics.long_turn), (Some(5000), Some(15_000)));
}

#[test]
fn a_copy_counts_once_and_what_follows_it_counts() {
    // The copy has other uuids for its prompts, as some copies have.
    let copy = log().replace("\"p1\"", "\"q1\"").replace("\"p2\"", "\"q2\"")
        + &user("p3", "a4", "2026-11-17T08:00:00Z", "\"three\"")
        + &answer("a5", "p3", "2026-11-17T08:00:01Z", 5000, TEXT);
    let log = log();
    let logs = [(log.as_str(), LogRole::Session), (copy.as_str(), LogRole::Session)];
    let statistics = statistics_of(&logs, TimeZone::UTC);
    assert_eq!(
        shown(&statistics),
        [
            "2 sessions, 0 agents, 3 turns, 3 prompts, 5 messages, 21000 ms",
            "Bash 1 1 0 Some(10000) 10000",
            "Edit 1 0 0 Some(2000) 2000",
            "/a 1 +2 -1 in 1",
            "turn 1: 1000 in 1",
            "turn 2: 3000 in 1",
            "turn 3: 5000 in 1",
        ]
    );
}

#[test]
fn the_tools_of_a_subagent_count_and_its_turns_do_not() {
    let statistics = statistics_of(&[(&log(), LogRole::Agent)], TimeZone::UTC);
    let shown = shown(&statistics);
    assert_eq!(shown[0], "0 sessions, 1 agents, 0 turns, 0 prompts, 4 messages, 0 ms");
    assert_eq!(shown[1], "Bash 1 1 0 Some(10000) 10000");
}

#[test]
fn hours_and_days_are_those_of_the_zone() {
    let busy = |zone: TimeZone| {
        let statistics = statistics_of(&[(&log(), LogRole::Session)], zone);
        let hours = statistics.hours.iter().enumerate().filter(|(_, hour)| hour.messages > 0);
        let hours: Vec<(usize, u64)> = hours.map(|(at, hour)| (at, hour.messages)).collect();
        let days: Vec<u64> = statistics.weekdays.iter().map(|day| day.prompts).collect();
        (hours, days)
    };
    // The sixteenth is a Monday.
    assert_eq!(busy(TimeZone::UTC), (vec![(8, 3), (23, 1)], vec![2, 0, 0, 0, 0, 0, 0]));
    let east = TimeZone::fixed(jiff::tz::offset(2));
    assert_eq!(busy(east), (vec![(1, 1), (10, 3)], vec![1, 1, 0, 0, 0, 0, 0]));
}

#[test]
fn odd_lines_do_not_stop_the_count() {
    let odd = [
        // A result without a call, a call without a result, a message without a model.
        result("r", "gone", "no time", "t9", "\"failed\""),
        answer("b1", "r", "9999-12-31T23:59:59Z", u64::MAX, &call("t8", "")),
        r#"{"type":"assistant","uuid":"b2","parentUuid":"b1","message":{"id":"b2","content":"x"}}"#
            .to_owned(),
    ]
    .concat();
    let statistics = statistics_of(&[(&odd, LogRole::Session)], TimeZone::UTC);
    assert_eq!(statistics.tools.len(), 1);
    assert_eq!((statistics.tools[0].name.as_str(), statistics.tools[0].open), ("", 1));
    let models: Vec<&str> = statistics.models.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(models, ["m", "unknown"]);
    let nothing = statistics_of(&[("", LogRole::Session)], TimeZone::UTC);
    assert_eq!((nothing.messages, nothing.started, nothing.median_turn), (0, None, None));
    assert_eq!(nothing.tokens.cache_hit_percent(), None);
}

fn log_statistics(log: &str, role: LogRole) -> LogStatistics {
    let session: Session = session(log);
    LogStatistics::of(&session, &turns(&session), role)
}

fn told(log: &LogStatistics) -> String {
    let mut tally = Tally::new(TimeZone::UTC);
    tally.add(log);
    format!("{:?}", tally.finish())
}

#[test]
fn a_log_is_the_same_when_it_is_read_back() {
    for role in [LogRole::Session, LogRole::Agent] {
        let log = log_statistics(&log(), role);
        let read = LogStatistics::decode(&log.encode()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{log:?}"));
        assert_eq!(told(&read), told(&log));
    }
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        place in any::<usize>(),
        byte in any::<u8>(),
    ) {
        prop_assert!(LogStatistics::decode(&bytes).is_none());
        let whole = log_statistics(&log(), LogRole::Session).encode();
        for odd in [sealed(whole[0], &bytes), resealed(whole, place, byte)] {
            if let Some(read) = LogStatistics::decode(&odd) {
                told(&read);
            }
        }
    }
}
