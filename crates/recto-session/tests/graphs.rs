//! Random graphs of lines: whatever the links are, no rules hang or panic.

use recto_session::health::health;
use recto_session::request::Generation;
use recto_session::request::RequestOptions;
use recto_session::request::Search;
use recto_session::request::Sent;
use recto_session::request::reach;
use recto_session::request::request;
use recto_session::request::verify;

use crate::cases::session;

/// A small generator of numbers that gives the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }
}

/// A line with random links, kinds and blocks, out of `names` uuids.
fn line(random: &mut Random, names: usize, seconds: usize) -> String {
    let uuid = random.below(names);
    let parent = match random.below(8) {
        0 => "null".to_owned(),
        1 => format!("\"gone{}\"", random.below(3)),
        2 => "\"\"".to_owned(),
        _ => format!("\"n{}\"", random.below(names)),
    };
    let call = random.below(6);
    let blocks = [
        "{\"type\":\"text\",\"text\":\"hi\"}".to_owned(),
        "{\"type\":\"text\",\"text\":\" \"}".to_owned(),
        "{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"s\"}".to_owned(),
        format!("{{\"type\":\"tool_use\",\"id\":\"t{call}\",\"name\":\"Bash\",\"input\":{{}}}}"),
        format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"t{call}\",\"content\":\"ok\"}}"),
        "null".to_owned(),
    ];
    let count = random.below(3);
    let blocks: Vec<&str> = (0..count).map(|_| blocks[random.below(6)].as_str()).collect();
    let content =
        if random.one_in(5) { "\"text\"".into() } else { format!("[{}]", blocks.join(",")) };
    let kind =
        ["user", "user", "assistant", "assistant", "assistant", "attachment", "progress", "system"]
            [random.below(8)];
    let mut line = format!("{{\"type\":\"{kind}\",\"uuid\":\"n{uuid}\",\"parentUuid\":{parent}");
    if !random.one_in(10) {
        let (minute, second) = (random.below(seconds) / 60 % 60, random.below(seconds) % 60);
        line += &format!(",\"timestamp\":\"2026-01-01T00:{minute:02}:{second:02}.000Z\"");
    }
    if random.one_in(6) {
        line += &format!(",\"logicalParentUuid\":\"n{}\"", random.below(names));
    }
    if random.one_in(20) {
        line += ",\"isSidechain\":true";
    }
    match kind {
        "user" | "assistant" if !random.one_in(15) => {
            line +=
                &format!(",\"message\":{{\"id\":\"m{}\",\"content\":{content}", random.below(4));
            line += if random.one_in(3) { "}" } else { ",\"model\":\"claude-sonnet-4-5\"}" };
        }
        "system" if random.one_in(3) => {
            line += ",\"subtype\":\"compact_boundary\",\"compactMetadata\":{\"preservedMessages\":";
            line += &format!(
                "{{\"anchorUuid\":\"n{}\",\"uuids\":[\"n1\",\"n2\",\"x\"]}}}}",
                random.below(names)
            );
        }
        "system" => line += ",\"subtype\":\"local_command\",\"content\":\"out\"",
        "attachment" => {
            line +=
                ",\"attachment\":{\"type\":\"task_reminder\"},\"rendered\":[{\"content\":\"r\"}]"
        }
        _ => {}
    }
    line + "}\n"
}

/// A log of such lines, with damage and meta lines between them.
pub(crate) fn random_log(seed: u64) -> String {
    let mut random = Random(seed);
    let count = 1 + random.below(40);
    let names = 1 + random.below(count + 5);
    let mut log = String::new();
    for _ in 0..count {
        let seconds = 1 + random.below(60);
        log += &line(&mut random, names, seconds);
        match random.below(60) {
            0 => log += "null\n",
            1 => log += "{broken\n",
            2 => {
                log += &format!(
                    "{{\"type\":\"last-prompt\",\"leafUuid\":\"n{}\"}}\n",
                    random.below(names)
                )
            }
            3 => log += "{\"type\":\"api-request\",\"tail\":[\"00\"]}\n",
            _ => {}
        }
    }
    log
}

#[test]
fn random_graphs_are_harmless() {
    for seed in 0..3000 {
        let log = random_log(seed);
        let session = session(log.as_bytes());
        for generation in Generation::ALL {
            let reach = reach(&session, generation);
            let mut seen = vec![false; session.node_count()];
            for sent in &reach.sent {
                let Sent::Line(line) = sent else { continue };
                let twice = std::mem::replace(&mut seen[line.node.index()], true);
                assert!(!twice, "seed {seed}, {generation}: a line is sent twice");
            }
            let request = request(&session, &reach, &log.as_bytes(), &RequestOptions::default());
            if !request.messages.is_empty() {
                let messages: serde_json::Value =
                    serde_json::from_slice(&request.messages).unwrap();
                assert!(messages.is_array());
            }
        }
        verify(&session, &log.as_bytes(), Search::Thorough);
        let health = health(&session, &Generation::ALL, &|_| None);
        for reach in &health.reaches {
            let left_out = reach.compacted.lines + reach.branches.lines;
            let left_out = left_out + reach.other_beginnings.lines + reach.unsendable.lines;
            let sum = reach.sent.lines + left_out + reach.lost.lines;
            assert_eq!(sum, health.all.lines, "seed {seed}, {}", reach.generation);
        }
    }
}

/// The parent of the line at a place, as JSON.
type ParentOf = fn(usize) -> String;

/// Large logs of one shape each; a rule that is not linear would take hours.
#[test]
fn large_graphs_take_linear_time() {
    const COUNT: usize = 100_000;
    let shapes: [(&str, ParentOf); 6] = [
        ("chain", |at| format!("\"n{}\"", at.wrapping_sub(1) as isize)),
        ("star", |_| "\"n0\"".into()),
        ("orphans", |at| format!("\"gone{at}\"")),
        ("one cycle", |at| format!("\"n{}\"", (at + 1) % COUNT)),
        ("pairs of orphans", |at| {
            if at % 2 == 0 { "\"gone\"".into() } else { format!("\"n{}\"", at - 1) }
        }),
        (
            "backwards",
            |at| if at + 1 == COUNT { "null".into() } else { format!("\"n{}\"", at + 1) },
        ),
    ];
    for (name, parent) in shapes {
        let start = std::time::Instant::now();
        let mut log = String::new();
        for at in 0..COUNT {
            let kind = if at % 2 == 0 { "user" } else { "assistant" };
            // All within the time in which orphans are hung on other lines.
            log += &format!(
                "{{\"type\":\"{kind}\",\"uuid\":\"n{at}\",\"parentUuid\":{},\"timestamp\":\"2026-01-01T00:00:00.{:03}Z\",\"message\":{{\"id\":\"m\",\"model\":\"x\",\"content\":[{{\"type\":\"tool_{}\",\"id\":\"{at}\",\"tool_use_id\":\"{}\"}}]}}}}\n",
                parent(at),
                at * 7 % 1000,
                if at % 2 == 0 { "result" } else { "use" },
                at.wrapping_sub(1) as isize,
            );
        }
        let session = session(log.as_bytes());
        for generation in Generation::ALL {
            reach(&session, generation);
        }
        health(&session, &Generation::ALL, &|_| None);
        let seconds = start.elapsed().as_secs();
        assert!(seconds < 60, "{name}: {seconds} s");
    }
}

/// A chain as deep as the log is long.
#[test]
fn a_million_lines_in_a_row_are_reached() {
    let mut session = recto_session::Session::new();
    for at in 0..1_000_000u32 {
        let parent = if at == 0 { "null".into() } else { format!("\"n{}\"", at - 1) };
        let kind = if at % 2 == 0 { "user" } else { "assistant" };
        let line = format!(
            "{{\"type\":\"{kind}\",\"uuid\":\"n{at}\",\"parentUuid\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{{\"id\":\"m{at}\",\"model\":\"x\",\"content\":[{{\"type\":\"text\",\"text\":\"x\"}}]}}}}"
        );
        session.push(&recto_log::decode(recto_log::RawLine::alone(line.as_bytes())).0);
    }
    for generation in [Generation::V2_1_200, Generation::V2_1_300] {
        assert_eq!(reach(&session, generation).chain.len(), 1_000_000);
    }
}
