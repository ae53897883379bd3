//! How many secrets are found, and how much that is none.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use recto_session::redact::Options;
use recto_session::redact::Outcome;
use recto_session::redact::Redactor;

use crate::samples::PublicRule;
use crate::samples::Random;
use crate::samples::public_rules;
use crate::samples::true_positive;

/// A line of a log that holds the text, in one of the places where text is.
pub(crate) fn line_with(text: &str, random: &mut Random) -> String {
    let text = match random.below(4) {
        0 => text.to_owned(),
        1 => format!("Here it is:\n{text}\nThanks."),
        2 => format!("{text}\n"),
        _ => format!("    1\u{2192}{text}\n    2\u{2192}\n"),
    };
    let json = serde_json::to_string(&text).unwrap();
    let json = if random.below(4) == 0 { spelled_oddly(&json, random) } else { json };
    let envelope = r#""uuid":"5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214","sessionId":"b7d94e12-7f3a-4c58-8e21-0f9d2c6a5b43""#;
    match random.below(5) {
        0 => {
            format!(r#"{{"type":"user",{envelope},"message":{{"role":"user","content":{json}}}}}"#)
        }
        1 => format!(
            r#"{{"type":"assistant",{envelope},"message":{{"id":"msg_01","role":"assistant","content":[{{"type":"text","text":{json}}}]}}}}"#
        ),
        2 => format!(
            r#"{{"type":"assistant",{envelope},"message":{{"content":[{{"type":"tool_use","id":"toolu_01","name":"Bash","input":{{"command":{json}}}}}]}}}}"#
        ),
        3 => format!(
            r#"{{"type":"user",{envelope},"message":{{"content":[{{"type":"tool_result","tool_use_id":"toolu_01","content":[{{"type":"text","text":{json}}}]}}]}},"toolUseResult":{{"stdout":{json}}}}}"#
        ),
        _ => format!(
            r#"{{"type":"attachment",{envelope},"attachment":{{"type":"file","content":{json}}}}}"#
        ),
    }
}

/// The same JSON string with some letters as escapes.
fn spelled_oddly(json: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut is_escaped = false;
    for c in json.chars() {
        if !is_escaped && c.is_ascii_alphanumeric() && random.below(10) == 0 {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    out
}

/// All strings of a JSON text.
pub(crate) fn strings(value: &serde_json::Value, out: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => out.push(text.clone()),
        serde_json::Value::Array(all) => all.iter().for_each(|one| strings(one, out)),
        serde_json::Value::Object(all) => {
            for (key, value) in all {
                out.push(key.clone());
                strings(value, out);
            }
        }
        _ => {}
    }
}

fn redacted(redactor: &Redactor, line: &str) -> Vec<u8> {
    match redactor.line(line.as_bytes()) {
        Outcome::Unchanged => line.as_bytes().to_vec(),
        Outcome::Changed(change) => change.bytes,
    }
}

#[test]
fn of_the_secrets_of_the_public_rules_99_of_100_are_found() {
    let redactor = Redactor::new(Options::default()).unwrap();
    let mut random = Random(7);
    let (mut all, mut found) = (0, 0);
    let mut missed: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    for rule in public_rules() {
        for _ in 0..20 {
            let (text, secret) = true_positive(&rule, &mut random);
            let line = line_with(&text, &mut random);
            let bytes = redacted(&redactor, &line);
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let mut left = Vec::new();
            strings(&value, &mut left);
            all += 1;
            if left.iter().any(|text| text.contains(&secret)) {
                let row = missed.entry(rule.name).or_insert((0, String::new()));
                row.0 += 1;
                row.1 = format!("{secret:?} in {text:?}");
            } else {
                found += 1;
            }
        }
    }
    eprintln!("{found} of {all} secrets found");
    assert!(found * 100 >= all * 99, "{found} of {all} found; missed: {missed:#?}");
}

fn corpus_lines() -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut waiting = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus")];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                lines.extend(
                    fs::read(path).unwrap().split(|byte| *byte == b'\n').map(<[u8]>::to_vec),
                );
            }
        }
    }
    lines
}

/// What is no secret: ids, hashes, signatures, pictures, code, prose, examples.
fn false_positives(random: &mut Random) -> Vec<String> {
    const HEX: &str = "0123456789abcdef";
    const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut all: Vec<String> = include_str!("../../../fixtures/secrets/no-secrets.txt")
        .split("\n\n")
        .map(|text| text.trim_end_matches('\n').to_owned())
        .collect();
    for _ in 0..60 {
        let hex = |random: &mut Random, length| random.string(HEX, length);
        let uuid = format!(
            "{}-{}-4{}-a{}-{}",
            hex(random, 8),
            hex(random, 4),
            hex(random, 3),
            hex(random, 3),
            hex(random, 12)
        );
        all.push(format!("session {uuid} is resumed"));
        all.push(format!("{{ key: '{uuid}', value: 'Americas' }}"));
        all.push(format!("parentUuid: {uuid}, promptId: {uuid}"));
        all.push(format!("commit {}\nAuthor: A Person", hex(random, 40)));
        all.push(format!("cache key: {}", hex(random, 64)));
        all.push(format!("index {}..{} 100644", hex(random, 7), hex(random, 7)));
        all.push(format!("sha256:{}", hex(random, 64)));
        all.push(format!("toolu_01{}", random.string(&BASE64[..62], 22)));
        all.push(format!("req_011{}, msg_01{}", hex(random, 21), hex(random, 22)));
        all.push(format!("\"integrity\": \"sha512-{}==\"", random.string(BASE64, 86)));
        all.push(format!("data:image/png;base64,iVBORw0KGgo{}", random.string(BASE64, 4000)));
        all.push(format!("golang.org/x/oauth2 v0.15.0 h1:{}=", random.string(BASE64, 43)));
        all.push(format!("{}\n{}\n", random.string(BASE64, 76), random.string(BASE64, 76)));
    }
    all
}

#[test]
fn of_what_is_no_secret_1_of_100_is_taken_for_one_at_most() {
    let redactor = Redactor::new(Options::default()).unwrap();
    let mut random = Random(11);
    let texts = false_positives(&mut random);
    assert!(texts.len() > 800, "{}", texts.len());
    let mut alarms = Vec::new();
    for text in &texts {
        let line = line_with(text, &mut random);
        for finding in redactor.check(line.as_bytes()) {
            alarms.push(format!("{}: {text}", finding.rule));
        }
    }
    eprintln!("{} of {} taken for secrets\n{}", alarms.len(), texts.len(), alarms.join("\n"));
    assert!(alarms.len() * 100 <= texts.len(), "{}", alarms.join("\n"));
}

#[test]
fn no_line_of_a_recorded_log_is_changed() {
    let redactor = Redactor::new(Options::default()).unwrap();
    let lines = corpus_lines();
    assert!(lines.len() > 5000, "{}", lines.len());
    for line in &lines {
        let found = redactor.check(line);
        assert!(found.is_empty(), "{found:?} in {}", String::from_utf8_lossy(line));
    }
}

/// Ids, hashes, signatures and pictures stay even where they look like a secret.
#[test]
fn ids_and_signatures_are_untouched() {
    let redactor = Redactor::new(Options::default()).unwrap();
    let mut random = Random(5);
    let rules = public_rules();
    let is_pat = |rule: &&PublicRule| rule.name == "github-pat";
    let (_, secret) = true_positive(rules.iter().find(is_pat).unwrap(), &mut random);
    for line in [
        format!(r#"{{"uuid":"{secret}","parentUuid":"{secret}","sessionId":"{secret}"}}"#),
        format!(
            r#"{{"message":{{"id":"{secret}","content":[{{"type":"thinking","thinking":"","signature":"{secret}"}}]}}}}"#
        ),
        format!(
            r#"{{"message":{{"content":[{{"type":"tool_use","id":"{secret}","input":{{}}}}]}}}}"#
        ),
        format!(
            r#"{{"message":{{"content":[{{"type":"tool_result","tool_use_id":"{secret}","content":"x"}}]}}}}"#
        ),
        format!(
            r#"{{"message":{{"content":[{{"type":"redacted_thinking","data":"{secret}"}}]}}}}"#
        ),
        format!(
            r#"{{"message":{{"content":[{{"type":"image","source":{{"type":"base64","data":"{secret}"}}}}]}}}}"#
        ),
        format!(
            r#"{{"type":"api-request","shapeHash":"{secret}","tail":["{secret}"],"base":"{secret}"}}"#
        ),
        format!(r#"{{"toolUseResult":{{"type":"image","file":{{"base64":"{secret}"}}}}}}"#),
    ] {
        assert_eq!(redactor.line(line.as_bytes()), Outcome::Unchanged, "{line}");
    }
    // The same names in what a tool was given are no ids.
    let line = format!(
        r#"{{"message":{{"content":[{{"type":"tool_use","input":{{"id":"{secret}"}}}}]}}}}"#
    );
    assert_eq!(redactor.check(line.as_bytes()).len(), 1);
}
