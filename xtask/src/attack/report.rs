//! What was tried and what failed, and the page that says so.

use std::fmt::Write as _;
use std::time::Duration;

use crate::repository::say;
use crate::repository::section_of;

/// How many failures of a figure are described.
const DESCRIBED: usize = 5;

/// What the page begins with.
const HEAD: &str = "# Results of `cargo xtask attack`\n\n\
    What holds and what does not is in [safety](../docs/concepts/safety.md). Each driver names \
    the command that gives its figures again; `--write` puts them here.\n";

/// The figures of all drivers, in the order in which they ran.
#[derive(Debug, Default)]
pub(super) struct Figures {
    sections: Vec<Section>,
}

/// What one driver tried.
#[derive(Debug)]
struct Section {
    driver: &'static str,
    /// In the order in which they were first tried.
    rows: Vec<Figure>,
    /// What is worth knowing beside, in words or as a table.
    notes: Vec<String>,
    took: Duration,
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
    /// What follows is of this driver.
    pub(super) fn begin(&mut self, driver: &'static str) {
        let (rows, notes) = (Vec::new(), Vec::new());
        self.sections.push(Section { driver, rows, notes, took: Duration::ZERO });
    }

    /// Counts one try. A failure says how to repeat it.
    pub(super) fn tried(&mut self, name: &'static str, outcome: Result<(), String>) {
        let Some(section) = self.sections.last_mut() else { return };
        let figure = section.figure(name);
        figure.tried += 1;
        let Err(what) = outcome else { return };
        figure.failed += 1;
        if figure.examples.len() < DESCRIBED {
            say(&format!("{name}: {what}"));
            figure.examples.push(what);
        }
    }

    /// A line that stands below the figures of the driver.
    pub(super) fn note(&mut self, line: String) {
        say(&line);
        if let Some(section) = self.sections.last_mut() {
            section.notes.push(line);
        }
    }

    /// The driver is at its end.
    pub(super) fn end(&mut self, took: Duration) {
        if let Some(section) = self.sections.last_mut() {
            section.took = took;
        }
    }

    pub(super) fn failed(&self) -> u64 {
        self.sections.iter().flat_map(|section| &section.rows).map(|figure| figure.failed).sum()
    }

    pub(super) fn table(&self) -> String {
        table(self.sections.iter().flat_map(|section| &section.rows))
    }

    /// The whole page: what was tried now, and of other drivers what the page has of them.
    pub(super) fn page(&self, before: &str, drivers: &[&str], asked: &str) -> String {
        let mut text = HEAD.to_owned();
        for driver in drivers {
            match self.sections.iter().find(|section| section.driver == *driver) {
                Some(section) => text += &section.text(asked),
                None => text += &section_of(before, driver),
            }
        }
        text
    }
}

impl Section {
    fn figure(&mut self, name: &'static str) -> &mut Figure {
        let at = self.rows.iter().position(|figure| figure.name == name).unwrap_or_else(|| {
            self.rows.push(Figure { name, tried: 0, failed: 0, examples: Vec::new() });
            self.rows.len() - 1
        });
        &mut self.rows[at]
    }

    fn text(&self, asked: &str) -> String {
        let (driver, seconds) = (self.driver, self.took.as_secs());
        let mut text = format!("\n## {driver}\n\n`cargo xtask attack");
        for word in asked.split_whitespace() {
            let _ = write!(text, " {word}");
        }
        let _ = write!(text, "`, {seconds} s\n\n{}", table(&self.rows));
        for figure in &self.rows {
            for example in &figure.examples {
                let _ = write!(text, "\n- {}: {example}\n", figure.name);
            }
        }
        if !self.notes.is_empty() {
            let _ = write!(text, "\n{}\n", self.notes.join("\n"));
        }
        text
    }
}

fn table<'f>(rows: impl IntoIterator<Item = &'f Figure>) -> String {
    let mut text = String::from("| figure | tried | failed |\n|---|---:|---:|\n");
    for Figure { name, tried, failed, .. } in rows {
        let _ = writeln!(text, "| {name} | {tried} | {failed} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(driver: &'static str, times: u64) -> Figures {
        let mut figures = Figures::default();
        figures.begin(driver);
        for _ in 0..times {
            figures.tried("tries", Ok(()));
        }
        figures.end(Duration::from_secs(3));
        figures
    }

    #[test]
    fn a_driver_that_did_not_run_keeps_its_figures() {
        let drivers = ["one", "two", "three"];
        let first = tried("two", 7).page("", &drivers, "--only two");
        assert!(first.contains("`cargo xtask attack --only two`, 3 s"));
        assert!(first.contains("| tries | 7 | 0 |") && !first.contains("## one"));
        let both = tried("one", 8).page(&first, &drivers, "");
        assert_eq!(tried("two", 7).page(&both, &drivers, "--only two"), both);
        let again = tried("two", 9).page(&both, &drivers, "--only two");
        assert!(again.contains("| tries | 8 | 0 |") && again.contains("| tries | 9 | 0 |"));
        assert!(!again.contains("| 7 |"));
    }
}
