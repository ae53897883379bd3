//! The tables.

use std::fmt::Write as _;
use std::fs;

use anyhow::bail;

use super::Plan;
use super::measure::Case;
use super::measure::Group;
use super::measure::Sample;

/// All results as Markdown.
pub(super) fn render(
    decoder: &[(String, String)],
    groups: &[Group],
    plan: &Plan,
    has_ccusage: bool,
) -> String {
    let mut text = String::from("# Results of `cargo xtask bench`\n\n");
    let (rounds, machine) = (plan.rounds, machine());
    let _ = writeln!(
        text,
        "Medians of {rounds} rounds in which the commands took turns, on {machine}."
    );
    text.push_str("CPU is user and system time of all threads; × is CPU against the first row.\n");
    text.push_str("The smallest peak that can be seen is that of the program that measures.\n");
    if !has_ccusage {
        text.push_str("ccusage is not here: it could not be installed.\n");
    }
    text.push_str("\n## Decoder, one thread\n\n| what | bytes a second |\n|---|---:|\n");
    for (name, speed) in decoder {
        let _ = writeln!(text, "| {name} | {speed} |");
    }
    text.push_str(&tables(groups));
    text
}

/// Tables, each with its title.
pub(super) fn tables(groups: &[Group]) -> String {
    let mut text = String::new();
    for group in groups {
        render_group(&mut text, group);
    }
    text
}

/// Results with some tables measured anew.
pub(super) fn replace(text: &str, groups: &[Group]) -> anyhow::Result<String> {
    let mut text = text.to_owned();
    for group in groups {
        let title = format!("\n## {}\n", group.title);
        let Some(start) = text.find(&title) else {
            bail!("there is no table `{}` to replace", group.title);
        };
        let rest = &text[start + title.len()..];
        let end = rest.find("\n## ").map_or(text.len(), |end| start + title.len() + end);
        text.replace_range(start..end, &tables(std::slice::from_ref(group)));
    }
    Ok(text)
}

fn render_group(text: &mut String, group: &Group) {
    let _ = writeln!(text, "\n## {}\n", group.title);
    let has_speeds = group.cases.iter().any(|case| case.bytes.is_some());
    let (name, rule) = if has_speeds { (" GB/s |", "---:|") } else { ("", "") };
    let _ = writeln!(text, "| command | CPU s | × | wall s | peak MB |{name}");
    let _ = writeln!(text, "|---|---:|---:|---:|---:|{rule}");
    let base = group.cases.first().and_then(Case::median);
    for case in &group.cases {
        let row = match (&case.failure, case.median()) {
            (None, Some(median)) => figures(median, base),
            (failure, _) => format!("failed: {} | | |", failure.as_deref().unwrap_or("not run")),
        };
        let speed = match has_speeds {
            true => format!(" {} |", speed(case).unwrap_or_default()),
            false => String::new(),
        };
        let label = case.label.replace('|', "\\|");
        let _ = writeln!(text, "| `{label}` | {row} |{speed}");
    }
    for (number, remark) in group.remarks.iter().enumerate() {
        let _ = writeln!(text, "{}{remark}", if number == 0 { "\n" } else { "" });
    }
}

/// How much of the logs a command goes through in a second of the clock.
fn speed(case: &Case) -> Option<String> {
    let wall = case.median()?.wall.as_secs_f64();
    Some(format!("{:.2}", case.bytes? as f64 / 1e9 / wall)).filter(|_| wall > 0.0)
}

fn figures(median: Sample, base: Option<Sample>) -> String {
    let (cpu, wall) = (median.cpu.as_secs_f64(), median.wall.as_secs_f64());
    let ratio = base.map(|base| base.cpu.as_secs_f64()).filter(|base| *base > 0.0);
    let ratio = ratio.map_or_else(|| "?".to_owned(), |base| format!("{:.2}", cpu / base));
    let peak = median.peak as f64 / 1e6;
    format!("{cpu:.4} | {ratio} | {wall:.4} | {peak:.1}")
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or(std::env::consts::ARCH, |(_, name)| name);
    format!("{cores} cores of {model}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn ratios_are_against_the_first_row() {
        let sample = |seconds: f64, peak| Sample {
            cpu: Duration::from_secs_f64(seconds),
            wall: Duration::from_secs(2),
            peak,
        };
        let base = sample(0.5, 3_000_000);
        assert_eq!(figures(sample(1.25, 42_500_000), Some(base)), "1.2500 | 2.50 | 2.0000 | 42.5");
        assert_eq!(figures(base, Some(sample(0.0, 0))), "0.5000 | ? | 2.0000 | 3.0");
    }

    #[test]
    fn tables_are_replaced_and_the_others_stay() {
        let text = "# R\n\n## a\n\nold\n\n## b\n\nkept\n";
        let home = std::path::Path::new("home");
        let group = |title: &str| Group::new(title.to_owned(), home);
        let new = replace(text, &[group("a")]).unwrap();
        assert!(new.starts_with("# R\n\n## a\n\n| command |"), "{new}");
        assert!(new.ends_with("|\n\n## b\n\nkept\n") && !new.contains("old"), "{new}");
        let new = replace(text, &[group("b")]).unwrap();
        assert!(new.starts_with("# R\n\n## a\n\nold\n\n## b\n\n| command |"), "{new}");
        assert!(replace(text, &[group("c")]).is_err());
    }
}
