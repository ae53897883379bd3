//! A million generated lines: the bytes stay, and the meaning is the one that
//! `serde_json` reads too.

use proptest::prelude::*;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::LineReader;
use recto_log::Lines;
use recto_log::OpaqueReason;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::Object;
use recto_log::json::Value;
use recto_log::json::write_string;

use crate::line_maker::LineMaker;
use crate::mutation::damage;
use crate::random::Case;
use crate::random::Random;
use crate::random::seed;
use crate::reference;
use crate::reference::Answer;
use crate::reference::Tree;

const WHOLE_LINES: u64 = 700_000;
const SPOILED_LINES: u64 = 400_000;
const LINES_PER_LOG: u64 = 500;

/// What the reference said of the lines of a run.
#[derive(Default)]
struct Tally {
    accepted: u64,
    refused: u64,
    no_opinion: u64,
}

#[test]
fn a_million_lines_keep_their_bytes_and_mean_the_same() {
    let mut maker = LineMaker::new(seed());
    let tally = run(WHOLE_LINES, seed(), &mut |line| {
        line.extend_from_slice(maker.line());
    });
    assert_eq!(tally.refused, 0, "the maker makes nothing but JSON");
    assert!(tally.accepted > WHOLE_LINES / 2, "only {} lines were compared", tally.accepted);
}

#[test]
fn spoiled_lines_are_refused_exactly_where_the_reference_refuses() {
    let mut maker = LineMaker::new(seed() ^ 0x5_0113d);
    let mut random = Random::new(seed());
    let tally = run(SPOILED_LINES, seed(), &mut |line| {
        line.extend_from_slice(maker.line());
        let other = line.clone();
        damage(&mut random, line, &other);
        line.retain(|byte| *byte != b'\n');
    });
    assert!(tally.accepted > SPOILED_LINES / 20, "only {} were accepted", tally.accepted);
    assert!(tally.refused > SPOILED_LINES / 4, "only {} were refused", tally.refused);
}

/// Makes logs of lines, reads them both ways, and checks every line.
fn run(lines: u64, seed: u64, make: &mut dyn FnMut(&mut Vec<u8>)) -> Tally {
    let mut tally = Tally::default();
    let mut line = Vec::new();
    for log_number in 0..lines / LINES_PER_LOG {
        let mut log = Vec::new();
        let mut ends = Vec::new();
        for _ in 0..LINES_PER_LOG {
            line.clear();
            make(&mut line);
            log.extend_from_slice(&line);
            ends.push(log.len());
            log.push(b'\n');
        }
        let mut reader = LineReader::new(&log[..]);
        let mut start = 0;
        for (made, end) in Lines::new(&log).zip(ends) {
            let _case = Case { seed, round: log_number, line: made.bytes };
            assert!(made.bytes == &log[start..end], "the slice gives another line");
            assert_eq!(reader.next_line().unwrap(), Some(made), "the reader gives another line");
            check_line(made, &mut tally);
            start = end + 1;
        }
        assert_eq!(reader.next_line().unwrap(), None);
    }
    tally
}

fn check_line(line: RawLine<'_>, tally: &mut Tally) {
    let (entry, _) = decode(line);
    assert_eq!(entry.bytes(), line.bytes);
    let text = line.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line.bytes);
    match reference::ask(text) {
        Answer::Is(tree) => {
            tally.accepted += 1;
            assert_agrees(&entry, text, &tree);
        }
        Answer::IsNot => {
            tally.refused += 1;
            let blank = reference::trim(text).is_empty();
            let expected = if blank { None } else { Some(OpaqueReason::NotJson) };
            assert_eq!(entry.opaque_reason(), expected);
            assert!(matches!(entry.kind(), Kind::Opaque | Kind::Blank));
            assert!(Value::parse(text).is_err());
        }
        Answer::NoOpinion => tally.no_opinion += 1,
    }
}

fn assert_agrees(entry: &Entry<'_>, text: &[u8], tree: &Tree) {
    let value = Value::parse(text).expect("the reference takes it for JSON");
    tree.assert_same(value);
    if matches!(tree, Tree::Map(_)) {
        assert_eq!(entry.opaque_reason(), None);
        let members: Vec<_> = value.members().collect();
        assert_eq!(entry.object().members(), members);
        assert_eq!(Object::parse(text).unwrap().members(), members);
    } else {
        assert_eq!(entry.opaque_reason(), Some(OpaqueReason::NotObject));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The maker makes only JSON, so a line that the reference has no opinion
    /// of is still an object.
    #[test]
    fn a_made_line_is_always_an_object(seed: u64) {
        let mut maker = LineMaker::new(seed);
        for _ in 0..50 {
            let line = maker.line().to_vec();
            let (entry, _) = decode(RawLine::alone(&line));
            prop_assert_eq!(entry.opaque_reason(), None);
            prop_assert_ne!(entry.kind(), Kind::Blank);
        }
    }

    /// Lone surrogates are where the reference gives up; the standard library does not.
    #[test]
    fn any_units_decode_as_the_standard_library_does(units: Vec<u16>) {
        let spelled: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let json = format!("\"{spelled}\"");
        let text = Value::parse(json.as_bytes()).unwrap().as_str().unwrap().into_owned();
        prop_assert_eq!(text, String::from_utf16_lossy(&units));
    }

    #[test]
    fn any_bytes_decode_as_the_standard_library_does(mut bytes: Vec<u8>) {
        bytes.retain(|byte| !matches!(byte, 0..0x20 | b'"' | b'\\'));
        let json = [b"\"", &bytes[..], b"\""].concat();
        let text = Value::parse(&json).unwrap().as_str().unwrap().into_owned();
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_is_written_as_the_reference_writes_it(text: String) {
        let mut json = Vec::new();
        write_string(&mut json, &text);
        prop_assert_eq!(&json, &serde_json::to_vec(&text).unwrap());
        prop_assert_eq!(Value::parse(&json).unwrap().as_str().unwrap(), text);
    }

    #[test]
    fn any_bytes_at_all_are_a_line(bytes: Vec<u8>) {
        let (entry, _) = decode(RawLine::alone(&bytes));
        prop_assert_eq!(entry.bytes(), &bytes);
    }
}
