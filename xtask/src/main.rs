//! Tasks of this repository but the tests; `cargo xtask` lists all.

mod attack;
mod bench;
mod fleet;
mod r#gen;
mod lake;
mod minute;
mod oracle;
mod parity;
mod pictures;
mod sdk;

use std::process::ExitCode;

use gate::browser;
use gate::programs;
use gate::repository;

const USAGE: &str = "usage: cargo xtask <task>

  attack    what recto does under attack: tried and failed, for as long as asked
  test      format, lints, tests and documentation, away from the real home
  bench     how fast recto is, against cat and others
  fleet     many machines into one store, while collectors and the store fail
  gen       a made-up Claude home of any size
  lake-engines  the named questions on Polars, DuckDB, chDB and a Spark cluster
  lake-kills    builders of tables that are killed on a real object store
  minute    a stranger's first minute, on a large home without an index
  oracle    what the real client does with a session, off the network
  pictures  the pictures in docs/pictures, made by the program
  parity    what recto does with the cases that the real client was recorded on
  sdk       programs on the Agent SDK, with the real client and with recto";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.split_first().map(|(task, rest)| (task.as_str(), rest)) {
        Some(("attack", rest)) => attack::run(rest),
        Some(("bench", rest)) => bench::run(rest),
        Some(("fleet", rest)) => fleet::run(rest),
        Some(("gen", rest)) => r#gen::run(rest).map(|()| ExitCode::SUCCESS),
        Some(("lake-engines", rest)) => lake::engines::run(rest),
        Some(("lake-kills", rest)) => lake::kills::run(rest),
        Some(("oracle", rest)) => oracle::run(rest),
        Some(("parity", rest)) => parity::run(rest),
        Some(("minute", rest)) => minute::run(rest),
        Some(("pictures", rest)) => pictures::run(rest),
        Some(("sdk", rest)) => sdk::run(rest),
        _ => {
            repository::say(USAGE);
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        repository::say(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}
