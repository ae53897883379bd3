//! What was tried and what failed, and the page that says so.

use std::fmt::Write as _;
use std::time::Duration;

use crate::repository::say;

/// How many failures of a figure are described.
const DESCRIBED: usize = 5;

/// The figures of all drivers, in the order in which they were first tried.
#[derive(Debug, Default)]
pub(super) struct Figures {
    rows: Vec<Figure>,
    times: Vec<(&'static str, Duration)>,
}

#[derive(Debug)]
struct Figure {
    name: &'static str,
    tried: u64,
    failed: u64,
    /// The first failures, in words.
    examples: Vec<String>,
}

impl Figures {
    /// Counts one try. A failure says how to repeat it.
    pub(super) fn tried(&mut self, name: &'static str, outcome: Result<(), String>) {
        let figure = self.figure(name);
        figure.tried += 1;
        let Err(what) = outcome else { return };
        figure.failed += 1;
        if figure.examples.len() < DESCRIBED {
            say(&format!("{name}: {what}"));
            figure.examples.push(what);
        }
    }

    fn figure(&mut self, name: &'static str) -> &mut Figure {
        let at = self.rows.iter().position(|figure| figure.name == name).unwrap_or_else(|| {
            self.rows.push(Figure { name, tried: 0, failed: 0, examples: Vec::new() });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    pub(super) fn end_of(&mut self, driver: &'static str, took: Duration) {
        self.times.push((driver, took));
    }

    pub(super) fn failed(&self) -> u64 {
        self.rows.iter().map(|figure| figure.failed).sum()
    }

    pub(super) fn table(&self) -> String {
        let mut text = String::from("| figure | tried | failed |\n|---|---:|---:|\n");
        for Figure { name, tried, failed, .. } in &self.rows {
            let _ = writeln!(text, "| {name} | {tried} | {failed} |");
        }
        text
    }

    /// The whole page.
    pub(super) fn page(&self, seconds: u64, seed: u64) -> String {
        let mut text = format!(
            "# Results of `cargo xtask attack --seconds {seconds} --seed {seed}`\n\n\
             What holds and what does not is in [safety](../docs/concepts/safety.md).\n\n{}",
            self.table()
        );
        for figure in self.rows.iter().filter(|figure| figure.failed > 0) {
            let _ = writeln!(text, "\n## {}\n", figure.name);
            for example in &figure.examples {
                let _ = writeln!(text, "- {example}");
            }
        }
        text.push_str("\nTime of each driver:");
        for (name, took) in &self.times {
            let _ = write!(text, " {name} {} s,", took.as_secs());
        }
        text.pop();
        text.push_str(".\n");
        text
    }
}
