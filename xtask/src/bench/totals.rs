//! Whether `recto usage` counts what is there, to the token, on homes of the sizes
//! that are measured.
//!
//! The generator writes what it generated into `truth.json`. Of the home with one
//! very long log nobody knows the truth; there the bare reader counts too, which
//! shares no code with recto.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use anyhow::bail;
use serde_json::Value;

use super::homes::Homes;
use crate::repository::say;

/// How large the smaller homes are, which are made for this only.
const SMALLER_MB: u64 = 100;

/// Messages, input, output, cache writes, cache reads.
type Numbers = [u64; 5];

/// The numbers of each model.
type ByModel = BTreeMap<String, Numbers>;

/// What was compared.
pub(super) struct Check {
    home: String,
    with: &'static str,
    found: ByModel,
    expected: ByModel,
    /// What the clients' own counts say beside it, where the home has such.
    own_counts: Option<String>,
}

/// Compares the totals of all homes.
pub(super) fn check_all(
    recto: &Path,
    folder: &Path,
    homes: &Homes,
    megabytes: u64,
) -> anyhow::Result<Vec<Check>> {
    let mut checks = Vec::new();
    for (shape, home) in [("old", &homes.old), ("new", &homes.new)] {
        if megabytes > SMALLER_MB {
            let home = smaller(folder, shape)?;
            checks.push(with_truth(recto, &home, format!("{SMALLER_MB} MB, {shape}"))?);
        }
        checks.push(with_truth(recto, home, format!("{megabytes} MB, {shape}"))?);
    }
    let report = usage(recto, &homes.long)?;
    let mut reader = Command::new(env::current_exe()?);
    let output = reader.args(["bench", "bare-reader"]).arg(&homes.long).output()?;
    let bytes = fs::metadata(&homes.long_file)?.len();
    checks.push(Check {
        home: format!("one log of {} MB", bytes / 1_000_000),
        with: "the bare reader",
        found: rows(&report)?,
        expected: bare_rows(&String::from_utf8_lossy(&output.stdout))?,
        own_counts: None,
    });
    for check in &checks {
        say(&check.row());
    }
    Ok(checks)
}

/// A home of 100 MB, generated unless it is there.
fn smaller(folder: &Path, shape: &str) -> anyhow::Result<PathBuf> {
    let place = folder.join(format!("{shape}-{SMALLER_MB}"));
    // The truth is written last.
    if !place.join("truth.json").exists() {
        if place.exists() {
            fs::remove_dir_all(&place)?;
        }
        let mut task = Command::new(env::current_exe()?);
        task.args(["gen", "--seed", "1", "--shape", shape, "--mb", &SMALLER_MB.to_string()]);
        if !task.arg(&place).status()?.success() {
            bail!("the generator failed");
        }
    }
    Ok(place.join(".claude"))
}

fn with_truth(recto: &Path, home: &Path, name: String) -> anyhow::Result<Check> {
    let truth = home.parent().context("a home without a folder")?.join("truth.json");
    let truth: Value = serde_json::from_slice(&fs::read(&truth)?)?;
    let report = usage(recto, home)?;
    let (found, expected) = (rows(&report)?, true_rows(&truth)?);
    let own_counts = own_counts(&report);
    Ok(Check { home: name, with: "the generator", found, expected, own_counts })
}

/// What `recto usage --by model --json` prints.
fn usage(recto: &Path, home: &Path) -> anyhow::Result<Value> {
    let mut command = Command::new(recto);
    command.args(["usage", "--by", "model", "--json", "--home"]).arg(home);
    let data = tempfile::tempdir()?;
    command.env("CLAUDE_CONFIG_DIR", home).env("RECTO_DATA_DIR", data.path());
    // The logs are to be counted, not what an index of the user says of them.
    command.env("RECTO_CACHE_DIR", data.path());
    let output = command.output()?;
    if !output.status.success() {
        bail!("recto usage: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn number(value: &Value, name: &str) -> anyhow::Result<u64> {
    value[name].as_u64().with_context(|| format!("no number `{name}`"))
}

fn rows(report: &Value) -> anyhow::Result<ByModel> {
    const NAMES: [&str; 5] = [
        "messages",
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ];
    let rows = report["rows"].as_array().context("no rows")?;
    let rows = rows.iter().map(|row| {
        let mut numbers = [0; 5];
        for (slot, name) in numbers.iter_mut().zip(NAMES) {
            *slot = number(row, name)?;
        }
        Ok((row["model"].as_str().context("a row without a model")?.to_owned(), numbers))
    });
    rows.collect()
}

fn true_rows(truth: &Value) -> anyhow::Result<ByModel> {
    let models = truth["tokens"].as_object().context("no tokens")?;
    let models = models.iter().filter(|(model, _)| *model != "ALL").map(|(model, tokens)| {
        let last = &tokens["final"];
        let numbers = [
            number(tokens, "messages")?,
            number(last, "input")?,
            number(last, "output")?,
            number(last, "cache_create")?,
            number(last, "cache_read")?,
        ];
        Ok((model.clone(), numbers))
    });
    models.collect()
}

/// What the bare reader prints: a model and a list of numbers on each line.
fn bare_rows(text: &str) -> anyhow::Result<ByModel> {
    let lines = text.lines().map(|line| {
        let (model, numbers) = line.split_once(' ').context("a line without numbers")?;
        Ok((model.to_owned(), serde_json::from_str(numbers)?))
    });
    lines.collect()
}

fn own_counts(report: &Value) -> Option<String> {
    let helpers = report.get("helpers").filter(|helpers| helpers.is_object())?;
    let number = |name| helpers[name].as_u64().unwrap_or(0);
    let only: u64 =
        ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
            .map(number)
            .iter()
            .sum();
    Some(format!(
        "{} of {} agree; {only} tokens only there, {} after the last one",
        number("agreeing"),
        number("sessions"),
        number("uncounted_tokens")
    ))
}

impl Check {
    /// Whether every number of every model is the same.
    pub(super) fn holds(&self) -> bool {
        self.found == self.expected && !self.found.is_empty()
    }

    fn row(&self) -> String {
        let sum = |place: usize| self.found.values().map(|numbers| numbers[place]).sum::<u64>();
        let tokens: u64 = (1..5).map(sum).sum();
        let verdict = match self.holds() {
            true => "the same".to_owned(),
            false => format!("DIFFERS: {:?}", self.expected),
        };
        format!(
            "| {} | {} | {} | {tokens} | {}: {verdict} | {} |",
            self.home,
            self.found.len(),
            sum(0),
            self.with,
            self.own_counts.as_deref().unwrap_or_default()
        )
    }
}

/// All comparisons as Markdown.
pub(super) fn render(checks: &[Check]) -> String {
    let mut text = String::from("\n## Totals by model\n\n");
    text.push_str(
        "`recto usage --by model --json`, every number of every model, to the token.\n\n",
    );
    text.push_str("| home | models | messages | tokens | compared with | counts of the client |\n");
    text.push_str("|---|---:|---:|---:|---|---|\n");
    for check in checks {
        let _ = writeln!(text, "{}", check.row());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_too_few_is_a_difference() {
        let truth = serde_json::json!({"tokens": {"ALL": {}, "m": {"messages": 2,
            "final": {"input": 1, "output": 2, "cache_create": 3, "cache_read": 4}}}});
        let report = |output: u64| {
            serde_json::json!({"rows": [{"model": "m", "messages": 2, "input_tokens": 1,
                "output_tokens": output, "cache_creation_input_tokens": 3,
                "cache_read_input_tokens": 4}]})
        };
        let check = |output| Check {
            home: "a home".to_owned(),
            with: "the generator",
            found: rows(&report(output)).unwrap(),
            expected: true_rows(&truth).unwrap(),
            own_counts: None,
        };
        assert!(check(2).holds() && render(&[check(2)]).contains("| 10 | the generator: the same"));
        assert!(!check(1).holds() && render(&[check(1)]).contains("DIFFERS"));
        assert_eq!(bare_rows("m [2, 1, 2, 3, 4]\n").unwrap(), check(2).expected);
        assert!(rows(&serde_json::json!({"rows": [{"model": "m"}]})).is_err());
    }
}
