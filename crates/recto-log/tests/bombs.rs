//! Lines that are made to hurt: a gigabyte long, a million deep, a million wide.

use std::io;
use std::io::Read;

use recto_log::DEFAULT_LINE_CAP;
use recto_log::Drift;
use recto_log::Kind;
use recto_log::LineReader;
use recto_log::OpaqueReason;
use recto_log::ProblemKind;
use recto_log::RawLine;
use recto_log::classify_user;
use recto_log::decode;
use recto_log::json::Object;

use crate::views::look_at_everything;

const GIBIBYTE: u64 = 1 << 30;
const MILLION: usize = 1_000_000;

/// A log that is nowhere in memory: a head, very much filling, a tail.
struct Endless {
    head: &'static [u8],
    filling: u64,
    tail: &'static [u8],
    /// The largest buffer that the reader had for the log.
    largest_buffer: usize,
}

impl Read for &mut Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.largest_buffer = self.largest_buffer.max(buffer.len());
        if self.head.is_empty() && self.filling > 0 {
            let length = buffer.len().min(self.filling as usize);
            buffer[..length].fill(b'x');
            self.filling -= length as u64;
            return Ok(length);
        }
        let part = if self.head.is_empty() { &mut self.tail } else { &mut self.head };
        part.read(buffer)
    }
}

#[test]
fn a_line_of_a_gigabyte_is_told_and_read_past() {
    let head = b"{\"type\":\"mode\"}\n{\"type\":\"user\",\"message\":\"";
    let tail = b"\"}\n{\"type\":\"summary\",\"summary\":\"after\"}\n";
    let mut log = Endless { head, filling: GIBIBYTE, tail, largest_buffer: 0 };
    let mut reader = LineReader::new(&mut log);

    let first = reader.next_line().unwrap().unwrap();
    assert_eq!(first.bytes, b"{\"type\":\"mode\"}");

    let long = reader.next_line().unwrap().unwrap();
    let length = GIBIBYTE + 26 + 2;
    assert_eq!((long.offset, long.number, long.length), (16, 2, length));
    assert!(long.bytes.starts_with(b"{\"type\":\"user\",\"message\":\"xxx"));
    assert!(long.bytes.len() <= 4096);
    let (entry, problems) = decode(long);
    assert_eq!(entry.opaque_reason(), Some(OpaqueReason::TooLong));
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].kind, ProblemKind::LineTooLong);

    let next = reader.next_line().unwrap().unwrap();
    assert_eq!((next.offset, next.number), (16 + length + 1, 3));
    assert_eq!(decode(next).0.title().unwrap(), "after");
    assert_eq!(reader.next_line().unwrap(), None);
    drop(reader);
    assert!(
        log.largest_buffer <= DEFAULT_LINE_CAP + 1024 * 1024,
        "the reader held {} bytes",
        log.largest_buffer
    );
}

#[test]
fn a_line_without_end_at_the_end_of_the_log_is_told_too() {
    let mut log =
        Endless { head: b"{\"a\":\"", filling: GIBIBYTE / 4, tail: b"", largest_buffer: 0 };
    let mut reader = LineReader::new(&mut log).with_cap(1 << 20);
    let long = reader.next_line().unwrap().unwrap();
    assert_eq!((long.length, long.terminated), (GIBIBYTE / 4 + 6, false));
    assert!(long.is_cut());
    assert_eq!(reader.next_line().unwrap(), None);
    drop(reader);
    assert!(log.largest_buffer <= 2 << 20, "the reader held {} bytes", log.largest_buffer);
}

fn look(line: &[u8]) -> Kind {
    let (entry, _) = decode(RawLine::alone(line));
    look_at_everything(&entry, &mut Drift::default());
    assert!(entry.bytes() == line);
    entry.kind()
}

#[test]
fn nesting_a_million_deep_is_an_ordinary_line() {
    let arrays = "[".repeat(MILLION) + &"]".repeat(MILLION);
    let objects = r#"{"content":"#.repeat(MILLION) + "1" + &"}".repeat(MILLION);
    for deep in [&arrays, &objects] {
        for line in [
            format!(r#"{{"type":"user","message":{deep}}}"#),
            format!(r#"{{"type":"user","message":{{"content":{deep}}}}}"#),
            format!(r#"{{"type":"user","toolUseResult":{deep},"message":{{}}}}"#),
        ] {
            assert_eq!(look(line.as_bytes()), Kind::User);
            assert_eq!(look(&line.as_bytes()[..line.len() - 1]), Kind::Opaque);
        }
    }
    assert_eq!(look("[".repeat(MILLION).as_bytes()), Kind::Opaque);
    assert_eq!(look(r#"{"a":["#.repeat(MILLION).as_bytes()), Kind::Opaque);
}

#[test]
fn a_million_blocks_in_one_message_are_read_in_one_go() {
    let blocks = vec![r#"{"type":"text","text":"x"}"#; MILLION].join(",");
    let line = format!(r#"{{"type":"user","message":{{"content":[{blocks}]}}}}"#);
    let (entry, _) = decode(RawLine::alone(line.as_bytes()));
    let text = entry.message().unwrap().content().text().into_owned();
    assert_eq!(text.len(), 2 * MILLION - 1);
    assert_eq!(look(line.as_bytes()), Kind::User);
    classify_user(&entry);
}

fn fields(count: usize) -> String {
    let fields: Vec<String> = (0..count).map(|number| format!("\"k{number}\":0")).collect();
    fields.join(",")
}

#[test]
fn a_million_fields_in_one_line_are_read_in_one_go() {
    let line = format!(r#"{{"type":"user","message":{{{0}}},{0}}}"#, fields(MILLION));
    assert_eq!(look(line.as_bytes()), Kind::User);
}

/// A table of fields takes many times the memory of the line, so it has an end.
#[test]
fn more_fields_than_can_be_held_are_told() {
    let many = fields(Object::MOST_MEMBERS + 1);
    let line = format!("{{{many}}}");
    let (entry, problems) = decode(RawLine::alone(line.as_bytes()));
    assert_eq!(entry.opaque_reason(), Some(OpaqueReason::TooLong));
    assert_eq!(problems[0].kind, ProblemKind::LineTooLong);
    assert!(entry.bytes() == line.as_bytes());
    let line = format!(r#"{{"type":"user","message":{{{many}}}}}"#);
    let (entry, _) = decode(RawLine::alone(line.as_bytes()));
    assert_eq!(entry.kind(), Kind::User);
    assert!(entry.message().is_none());
}
