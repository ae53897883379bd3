//! Prints the failed tool calls of a session log, with their arguments.
//!
//! `cargo run -p recto-session --example failed_calls -- LOG.jsonl`

// Clippy takes an example for ordinary code.
#![allow(clippy::print_stdout)]

use std::fs::File;
use std::io;

use recto_log::LineReader;
use recto_log::decode;
use recto_session::SeekLines;
use recto_session::Session;

fn main() -> io::Result<()> {
    let path = std::env::args_os().nth(1).ok_or(io::Error::other("name a log"))?;
    let mut lines = LineReader::new(File::open(&path)?);
    let mut session = Session::new();
    while let Some(line) = lines.next_line()? {
        session.push(&decode(line).0);
    }
    // The session keeps facts; texts are read again where they are needed.
    let log = SeekLines::new(File::open(&path)?);
    for call in session.facts().calls.iter().filter(|call| call.is_error) {
        let tool = call.name.map_or("unknown tool", |name| session.name(name));
        let input = session.with_input(call, &log, |input| input.bytes().to_vec())?;
        println!("{tool} {}", String::from_utf8_lossy(&input.unwrap_or_default()));
    }
    Ok(())
}
