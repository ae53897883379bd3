//! Logs of a few lines, counted and priced.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_log::RawLine;
use recto_log::decode;

use super::*;

const NOW: &str = "2026-11-16T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn line(about: &str, usage: &str) -> String {
    let (id, more) = about.split_once(' ').unwrap_or((about, ""));
    let id = if id.is_empty() { String::new() } else { format!(r#""id":"{id}","#) };
    format!(
        r#"{{"type":"assistant","sessionId":"s1","timestamp":"2026-11-03T23:30:00Z",{more}"message":{{{id}"model":"claude-sonnet-4-5-20250929","usage":{{{usage}}}}}}}"#
    )
}

fn log(session: &str, lines: &[String]) -> (LogFile, LogUsage) {
    let mut usage = LogUsage::new(Wanted::default());
    for (at, line) in lines.iter().enumerate() {
        let raw = RawLine { number: at as u64 + 1, ..RawLine::alone(line.as_bytes()) };
        usage.push(&decode(raw).0, Some(session));
    }
    let file = LogFile {
        path: format!("{session}.jsonl"),
        project: "-w".into(),
        session: Some(session.into()),
        agent: None,
        modified: now(),
    };
    (file, usage)
}

fn ledger(logs: Vec<(FileLog, &[String])>) -> Ledger {
    let mut ledger = Ledger::default();
    for (name, lines) in logs {
        let (file, usage) = log(name, lines);
        ledger.add(file, usage);
    }
    ledger
}

type FileLog = &'static str;

fn by(ledger: &Ledger, dimension: Dimension, zone: &str) -> Report {
    let zone = TimeZone::get(zone).unwrap();
    let grouping = Grouping { dimensions: vec![dimension], zone };
    let prices = PriceTable::built_in().unwrap();
    report(ledger, &prices, &grouping, &Selection::default(), now())
}

fn keys(report: &Report) -> Vec<(&str, u64)> {
    report.rows.iter().map(|row| (row.keys[0].as_str(), row.total.messages)).collect()
}

#[test]
fn a_copy_counts_once_for_the_session_that_its_lines_name_in_any_order() {
    let partial = vec![line("m1", r#""input_tokens":1,"output_tokens":2"#)];
    let copy = vec![
        line("m1", r#""input_tokens":1,"output_tokens":9"#),
        line("m2", r#""input_tokens":5,"output_tokens":5"#),
    ];
    let forward = ledger(vec![("s1", &partial), ("s2", &copy)]);
    let backward = ledger(vec![("s2", &copy), ("s1", &partial)]);
    for ledger in [forward, backward] {
        let report = by(&ledger, Dimension::Session, "UTC");
        assert_eq!((report.total.messages, report.total.tokens.output), (2, 14));
        let s1 = report.rows.iter().find(|row| row.keys[0] == "s1").unwrap();
        assert_eq!(s1.total.tokens.output, 9, "the number of the line that had come furthest");
        let record = ledger.records().iter().find(|record| record.counts.output == 9).unwrap();
        assert_eq!(ledger.files()[record.counted_file as usize].path, "s2.jsonl");
        assert_eq!(ledger.copies, 1);
    }
}

#[test]
fn days_weeks_and_hours_are_those_of_the_time_zone() {
    let lines = vec![line("m1", r#""input_tokens":1"#)];
    let ledger = ledger(vec![("s1", &lines)]);
    for (dimension, zone, expected) in [
        (Dimension::Day, "UTC", "2026-11-03"),
        (Dimension::Day, "Asia/Tokyo", "2026-11-04"),
        (Dimension::Hour, "UTC", "2026-11-03 23:00"),
        (Dimension::Week, "UTC", "2026-W45"),
        (Dimension::Month, "UTC", "2026-11"),
        (Dimension::Block, "UTC", "2026-11-03 23:00"),
        (Dimension::Model, "UTC", "claude-sonnet-4-5-20250929"),
        (Dimension::Branch, "UTC", "unknown"),
        (Dimension::Agent, "UTC", "main"),
        (Dimension::Tool, "UTC", "none"),
        (Dimension::Project, "UTC", "-w"),
    ] {
        assert_eq!(keys(&by(&ledger, dimension, zone)), [(expected, 1)], "{}", dimension.name());
    }
}

#[test]
fn what_cannot_be_true_or_is_missing_is_counted_beside() {
    let lines = vec![
        line(r#" "uuid":"a","#, r#""input_tokens":1"#),
        line(r#" "uuid":"b","#, r#""input_tokens":1"#),
        line("m1", r#""input_tokens":-1,"output_tokens":3"#),
        line("m2", r#""input_tokens":1"#).replace("2026-11-03", "2027-11-03"),
        line("m3", r#""input_tokens":1"#).replace("2026-11-03T23:30:00Z", "never"),
        line("m4", r#""input_tokens":1"#).replace("claude-sonnet-4-5-20250929", "other"),
    ];
    let ledger = ledger(vec![("s1", &lines)]);
    let report = by(&ledger, Dimension::Model, "UTC");
    let doubts = &report.doubts;
    assert_eq!((doubts.no_id, doubts.bad_count, doubts.no_time), (2, 1, 1));
    assert_eq!(
        (doubts.in_the_future, doubts.unknown_models.as_slice()),
        (1, &["other".to_owned()][..])
    );
    assert_eq!(ledger.clock_jumps, 1, "from 2027 back to 2026");
    assert_eq!((report.total.messages, report.total.cost()), (6, None));
    let known = report.rows.iter().find(|row| row.keys[0] != "other").unwrap();
    assert!(known.total.cost().is_some());
}

#[test]
fn answers_of_clients_that_log_too_few_tokens_have_an_upper_bound() {
    let text = "x".repeat(300);
    let lines = [("2.1.29", ""), ("2.1.325", ""), ("2.1.29", r#""stop_reason":"end_turn","#)];
    let lines: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(at, (version, stop))| {
            line(&format!(r#"m{at} "version":"{version}","#), r#""output_tokens":1"#)
                .replace(r#""usage""#, &format!(r#"{stop}"content":"{text}","usage""#))
        })
        .collect();
    let total = by(&ledger(vec![("s1", &lines)]), Dimension::Day, "UTC").total;
    // 302 bytes with the quotes, a token for three.
    assert_eq!((total.tokens.output, total.most_output, total.under_reported), (3, 103, 1));
}

fn amount(model: &str, usage: &str, table: &PriceTable) -> Result<String, Unpriced> {
    let ledger = ledger(vec![("s1", &[line("m", usage)][..])]);
    let record = &ledger.records()[0];
    table.amount(Some(model), record).map(|amount| amount.total.to_string())
}

#[test]
fn every_kind_of_token_has_its_own_price() {
    let table = PriceTable::built_in().unwrap();
    let price = |usage: &str| amount("claude-sonnet-4-5-20250929", usage, &table);
    assert_eq!(price(r#""input_tokens":1000"#).as_deref(), Ok("0.003"));
    assert_eq!(price(r#""output_tokens":1000"#).as_deref(), Ok("0.015"));
    assert_eq!(price(r#""cache_read_input_tokens":1000"#).as_deref(), Ok("0.0003"));
    assert_eq!(price(r#""cache_creation_input_tokens":1000"#).as_deref(), Ok("0.00375"));
    let tiers =
        r#""cache_creation_input_tokens":1000,"cache_creation":{"ephemeral_1h_input_tokens":1000}"#;
    assert_eq!(price(tiers).as_deref(), Ok("0.006"));
    let search = r#""input_tokens":0,"server_tool_use":{"web_search_requests":2}"#;
    assert_eq!(price(search).as_deref(), Ok("0.02"));
    assert_eq!(price(r#""input_tokens":200000"#).as_deref(), Ok("0.60"));
    assert_eq!(price(r#""input_tokens":200001"#).as_deref(), Ok("1.200006"), "a long context");
    assert_eq!(price(r#""input_tokens":1000,"service_tier":"batch""#).as_deref(), Ok("0.0015"));
    assert_eq!(price(r#""input_tokens":1000,"speed":"fast""#), Err(Unpriced::Way));
    assert_eq!(price(r#""input_tokens":1000,"service_tier":"priority""#), Err(Unpriced::Way));
    let fast = r#""input_tokens":1000,"speed":"fast","inference_geo":"us""#;
    assert_eq!(amount("claude-opus-5-5", fast, &table).as_deref(), Ok("0.0088"));
}

#[test]
fn a_model_is_never_guessed_and_a_file_of_the_user_is_stronger() {
    let mut table = PriceTable::built_in().unwrap();
    let usage = r#""input_tokens":1000000"#;
    for unknown in ["gpt-5", "claude-sonnet-4-5-preview", "claude-sonnet", "", "claude-opus-9"] {
        assert_eq!(amount(unknown, usage, &table), Err(Unpriced::Model), "{unknown}");
    }
    for known in ["claude-opus-5-5", "claude-opus-5-5-20261104", "claude-opus-5-5[1m]"] {
        assert_eq!(amount(known, usage, &table).as_deref(), Ok("4.00"), "{known}");
    }
    let row = |from: &str, input: u32| {
        format!(
            "[[price]]\nmodel = \"claude-opus-5-5\"\n{from}\ninput = {input}\noutput = 1\ncache_read = 1\ncache_write_5m = 1\n"
        )
    };
    let dated = row("from = \"2026-11-03\"", 7) + &row("from = \"2026-11-04\"", 8) + &row("", 6);
    table.add_file(&dated, "mine").unwrap();
    assert_eq!(amount("claude-opus-5-5", usage, &table).as_deref(), Ok("7.00"));
    assert_eq!(table.sources.len(), 3);
}

#[test]
fn models_of_compatible_endpoints_have_the_prices_of_their_vendors() {
    let table = PriceTable::built_in().unwrap();
    let usage = r#""input_tokens":1000000"#;
    for (model, price) in [
        ("glm-4.7", "0.60"),
        ("MiniMax-M2.7", "0.30"),
        ("kimi-k2.5", "0.60"),
        ("deepseek-chat", "0.28"),
        ("qwen3.8-max", "2.00"),
    ] {
        assert_eq!(amount(model, usage, &table).as_deref(), Ok(price), "{model}");
    }
    // What it costs depends on the length of the input in several steps.
    assert_eq!(amount("qwen3-coder-plus", usage, &table), Err(Unpriced::Model));
    let dates: Vec<_> = table
        .rows()
        .iter()
        .filter(|row| row.model == "deepseek-chat")
        .map(|row| row.from)
        .collect();
    assert_eq!(dates.len(), 3);
    assert!(dates.is_sorted());
}

#[test]
fn the_prices_that_come_with_recto_are_sound() {
    let table = PriceTable::built_in().unwrap();
    assert!(table.rows().len() > 25);
    assert!(table.sources[0].contains("litellm 1.108.4"));
    for row in table.rows() {
        let [(_, input), (_, output), (_, read), (_, write), (_, hour)] = row.per_million();
        // Others do not charge for a write, or for anything.
        let is_sound = match row.model.starts_with("claude-") {
            true => read < input && input < write && write < output,
            false => read <= input && input <= output && write <= output,
        };
        assert!(is_sound, "{}", row.model);
        assert!(hour.is_none_or(|hour| Some(hour) > write), "{}", row.model);
    }
}

#[test]
fn calls_of_helpers_are_the_difference_to_the_clients_own_count() {
    let state = r#"{"type":"cost-state","totalCostUSD":0.5,"modelUsage":{"claude-sonnet-4-5-20250929":{"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":0,"cacheCreationInputTokens":0},"claude-haiku-4-5":{"inputTokens":7,"outputTokens":1}}}"#;
    let lines = vec![
        line("m1", r#""input_tokens":10,"output_tokens":3"#),
        state.to_owned(),
        state.replace("\"inputTokens\":7", "\"inputTokens\":1"),
    ];
    let ledger = ledger(vec![("s1", &lines)]);
    let found = helpers(&ledger, &Selection::default()).unwrap();
    assert_eq!((found.sessions, found.agreeing, found.uncounted), (1, 0, 0));
    assert_eq!((found.tokens.input, found.tokens.output), (7, 3));
    assert_eq!(found.client_cost.to_string(), "0.50");
    let span = Selection { since: Some(now()), ..Selection::default() };
    assert_eq!(helpers(&ledger, &span), None, "its count has no days");
}

/// A count of the client for one model: input and output.
fn state(input: u32, output: u32) -> String {
    format!(
        r#"{{"type":"cost-state","totalCostUSD":0.5,"modelUsage":{{"claude-sonnet-4-5-20250929":{{"inputTokens":{input},"outputTokens":{output}}}}}}}"#
    )
}

#[test]
fn the_count_of_a_fork_goes_on_from_that_of_its_source() {
    let message = |id: &str| line(id, r#""input_tokens":10,"output_tokens":3"#);
    let agent = vec![message("a1")];
    // Each title took 5 tokens; the fork has the source's title and subagent in its count.
    let source = vec![message("m1"), state(25, 6)];
    let fork = vec![message("m1"), message("m2"), state(40, 9)];
    let alone = vec![message("m3"), state(10, 3)];
    let mut ledger = ledger(vec![("s1", &source), ("s2", &fork), ("s3", &alone)]);
    let (mut file, usage) = log("s1", &agent);
    file.agent = Some("a".into());
    ledger.add(file, usage);
    let found = helpers(&ledger, &Selection::default()).unwrap();
    assert_eq!((found.sessions, found.agreeing, found.uncounted), (3, 1, 0));
    assert_eq!((found.tokens.input, found.tokens.output), (10, 0), "both titles, once");
    assert_eq!(found.client_cost.to_string(), "1.00", "of the fork and of the third");
}

#[test]
fn a_session_without_a_message_that_counts_can_have_a_count_of_the_client() {
    let source = vec![line("m1", r#""input_tokens":10"#)];
    let only_copies = vec![line("m1", r#""input_tokens":10"#), state(17, 0)];
    let only_a_title = vec![state(4, 0)];
    let ledger = ledger(vec![("s1", &source), ("s2", &only_copies), ("s3", &only_a_title)]);
    let found = helpers(&ledger, &Selection::default()).unwrap();
    assert_eq!((found.sessions, found.agreeing, found.tokens.input), (2, 0, 11));
    let one = |session: &str| {
        let selection = Selection { session: Some(session.into()), ..Selection::default() };
        helpers(&ledger, &selection).map(|found| found.tokens.input)
    };
    assert_eq!((one("s1"), one("s2"), one("s3")), (None, Some(7), Some(4)));
}

#[test]
fn what_came_after_the_clients_count_is_told() {
    let lines = vec![state(0, 0), line("m1", r#""input_tokens":10,"output_tokens":3"#)];
    let found = helpers(&ledger(vec![("s1", &lines)]), &Selection::default()).unwrap();
    assert_eq!((found.agreeing, found.tokens.all(), found.uncounted), (0, 0, 13));
}

#[test]
fn copies_that_differ_count_the_same_in_whatever_order_they_come() {
    // The first file has come less far than two others, which differ.
    let early = line("a", r#""input_tokens":1,"output_tokens":1"#);
    let later = |input: u32| {
        let line = line("a", &format!(r#""input_tokens":{input},"output_tokens":9"#));
        line.replace("T23:30", "T23:45")
    };
    let logs = [("s1", early), ("s2", later(5)), ("s3", later(7))];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let mut ledger = Ledger::default();
        for place in order {
            let (name, line) = &logs[place];
            let (file, usage) = log(name, std::slice::from_ref(line));
            ledger.add(file, usage);
        }
        let [record] = ledger.records() else { panic!("one message") };
        assert_eq!((record.counts.input, record.counts.output), (7, 9), "{order:?}");
        assert_eq!(ledger.file_of(record).path, "s1.jsonl");
    }
}

#[test]
fn files_that_share_a_message_are_known_also_through_others() {
    let usage = r#""input_tokens":1,"output_tokens":2"#;
    let logs = [
        vec![line("m1", usage)],
        vec![line("m1", usage), line("m2", usage)],
        vec![line("m2", usage)],
        vec![line("m3", usage)],
    ];
    let names = ["s1", "s2", "s3", "s4"];
    let logs = names.iter().zip(&logs).map(|(name, lines)| (*name, lines.as_slice()));
    let ledger = ledger(logs.collect());
    let key = ledger.records().iter().find(|record| record.file == 0).unwrap().key;
    let files = ledger.files_of(&[key].into());
    assert_eq!(files.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
    assert!(ledger.files_of(&[].into()).is_empty());
}

#[test]
fn a_row_can_be_asked_for_by_its_key_alone() {
    let usage = r#""input_tokens":1,"output_tokens":2"#;
    let lines = [line("m1", usage), line("m2", usage).replace("claude-sonnet-4-5-20250929", "")];
    let lines = [lines.to_vec(), vec![line("m3", usage).replace("-20250929", "")]].concat();
    let ledger = ledger(vec![("s1", &lines)]);
    let count = |selection: &Selection| {
        let grouping = Grouping { dimensions: Vec::new(), zone: TimeZone::UTC };
        let prices = PriceTable::built_in().unwrap();
        report(&ledger, &prices, &grouping, selection, now()).total.messages
    };
    let model = |name: &str| Selection { exact_model: Some(name.into()), ..Selection::default() };
    let project = |key: &str| Selection { project_key: Some(key.into()), ..Selection::default() };
    assert_eq!(count(&model("claude-sonnet-4-5")), 1, "not what only begins so");
    assert_eq!(count(&model("claude-sonnet-4-5-20250929")), 1);
    assert_eq!((count(&project("-w")), count(&project("w"))), (3, 0));
    assert_eq!(ledger.project_labels().get("-w").map(String::as_str), Some("-w"));
}
