//! The JSON cases of `fixtures/json`: what must be taken, what must be refused.

use recto_log::Kind;
use recto_log::OpaqueReason;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::Value;

use crate::corpus::fixtures;
use crate::reference::trim;

struct Case {
    name: String,
    expect: String,
    text: Vec<u8>,
}

impl Case {
    fn check(&self, accepted: bool, how: &str) {
        match &*self.expect {
            "accept" => assert!(accepted, "{} must be accepted {how}", self.name),
            "reject" => assert!(!accepted, "{} must be refused {how}", self.name),
            "either" => {}
            other => panic!("{}: what is {other}?", self.name),
        }
    }
}

fn cases() -> Vec<Case> {
    let file = std::fs::read(fixtures().join("json/cases.jsonl")).unwrap();
    let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let cases: Vec<Case> = lines
        .map(|line| {
            let case: serde_json::Value = serde_json::from_slice(line).unwrap();
            let text = |name: &str| case[name].as_str().unwrap().to_owned();
            let once = decode_base64(&text("base64"));
            let times = case["repeat"].as_u64().unwrap_or(1) as usize;
            Case { name: text("name"), expect: text("expect"), text: once.repeat(times) }
        })
        .collect();
    assert!(cases.len() >= 318, "only {} cases", cases.len());
    cases
}

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0u32, 0);
    for letter in text.bytes().filter(|letter| *letter != b'=') {
        let digit = ALPHABET.iter().position(|known| *known == letter).unwrap();
        bits = bits << 6 | digit as u32;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

#[test]
fn values_are_accepted_and_refused_as_the_cases_say() {
    for case in cases() {
        case.check(Value::parse(&case.text).is_ok(), "as a value");
    }
}

#[test]
fn values_inside_a_line_are_accepted_and_refused_all_the_same() {
    for case in cases() {
        let line = [b"{\"type\":\"x\",\"v\":", &case.text[..], b"}"].concat();
        let (entry, _) = decode(RawLine::alone(&line));
        case.check(entry.kind() == Kind::Unknown, "inside a line");
        assert_eq!(entry.bytes(), line, "{}", case.name);
        if entry.kind() == Kind::Unknown {
            let value = entry.get("v").unwrap();
            assert_eq!(value.bytes(), trim(&case.text), "{}", case.name);
        }
    }
}

#[test]
fn a_case_as_a_whole_line_is_an_object_or_opaque() {
    for case in cases() {
        let (entry, problems) = decode(RawLine::alone(&case.text));
        assert_eq!(entry.bytes(), case.text, "{}", case.name);
        let text = case.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&case.text);
        let expected = match Value::parse(text) {
            _ if trim(text).is_empty() => (Kind::Blank, None),
            Ok(value) if value.is_object() => (Kind::Unknown, None),
            Ok(_) => (Kind::Opaque, Some(OpaqueReason::NotObject)),
            Err(_) => (Kind::Opaque, Some(OpaqueReason::NotJson)),
        };
        assert_eq!((entry.kind(), entry.opaque_reason()), expected, "{}", case.name);
        let silent = entry.kind() == Kind::Blank && text.len() == case.text.len();
        assert_eq!(problems.is_empty(), silent, "{}: {problems:?}", case.name);
    }
}

/// The client writes lone surrogates, so these must not only pass: they must be shown.
#[test]
fn lone_surrogates_are_kept_and_shown() {
    let mut seen = 0;
    for case in cases().iter().filter(|case| case.name.contains("surrogate")) {
        let Ok(value) = Value::parse(&case.text) else { continue };
        let Some(text) = value.elements().next().and_then(Value::as_str) else { continue };
        if case.expect == "either" {
            assert!(text.contains('\u{fffd}'), "{}: {text}", case.name);
            seen += 1;
        }
    }
    assert!(seen >= 8, "only {seen} cases");
}
