//! Counts the tool calls in a session log by name.
//!
//! ```sh
//! cargo run -p recto-log --example count_tools -- SESSION.jsonl
//! ```

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs::File;
use std::io::Write;

use recto_log::LineReader;
use recto_log::decode;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("usage: count_tools SESSION.jsonl")?;
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    let mut lines = LineReader::new(File::open(path)?);
    while let Some(line) = lines.next_line()? {
        let (entry, _problems) = decode(line);
        let Some(message) = entry.message() else { continue };
        for name in message.content().blocks().filter_map(|block| block.name()) {
            *calls.entry(name.into_owned()).or_default() += 1;
        }
    }
    for (name, count) in calls {
        writeln!(std::io::stdout(), "{count:>6} {name}")?;
    }
    Ok(())
}
