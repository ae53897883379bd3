//! Tasks of this repository; `cargo xtask` lists them.
//!
//! Owns: the test command. All other tasks are those of the package `xtask`, which knows
//! the product and so takes minutes to build; the test command does not wait for that.

mod test;

use std::process::Command;
use std::process::ExitCode;

use anyhow::Context as _;

use gate::repository;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.as_slice() {
        [task] if task == "test" => test::run(),
        words => other_task(words),
    };
    outcome.unwrap_or_else(|error| {
        repository::say(&format!("error: {error:#}"));
        ExitCode::FAILURE
    })
}

/// Runs a task of the package `xtask`, and ends as it does.
fn other_task(words: &[String]) -> anyhow::Result<ExitCode> {
    let mut command = Command::new(repository::cargo());
    command.args(["run", "--quiet", "--package", "xtask", "--manifest-path"]);
    command.arg(repository::root().join("Cargo.toml")).arg("--").args(words);
    let status = command.status().context("cannot start cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
