//! `bench/LAKE.md`: a section for each command, so that one can be measured without the others.

use std::fs;

use anyhow::Context as _;

use crate::repository::root;

const FILE: &str = "bench/LAKE.md";

/// Replaces a section of the report, or adds it at the end.
pub(super) fn write_section(title: &str, text: &str) -> anyhow::Result<()> {
    let path = root().join(FILE);
    let report = fs::read_to_string(&path).context("cannot read bench/LAKE.md")?;
    fs::write(path, with_section(&report, title, text))?;
    Ok(())
}

fn with_section(report: &str, title: &str, text: &str) -> String {
    let head = format!("## {title}\n");
    let section = format!("{head}\n{}\n", text.trim());
    let start = match report.find(&format!("\n{head}")) {
        Some(at) => at + 1,
        None => return format!("{}\n\n{section}", report.trim_end()),
    };
    let rest = &report[start + head.len()..];
    match rest.find("\n## ") {
        Some(at) => format!("{}{section}{}", &report[..start], &rest[at..]),
        None => format!("{}{section}", &report[..start]),
    }
}

/// The machine that was measured on.
pub(super) fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    format!(
        "{cores} cores, load {load} at the end of the run; wall-clock times include other work on the machine"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_and_others_stay() {
        let report = "# Report\n\nIntro.\n\n## A\n\nold\n\n## B\n\nstays\n";
        let changed = with_section(report, "A", "new\n");
        assert_eq!(changed, "# Report\n\nIntro.\n\n## A\n\nnew\n\n## B\n\nstays\n");
        let last = with_section(&changed, "B", "other");
        assert!(last.ends_with("## A\n\nnew\n\n## B\n\nother\n"), "{last}");
        let more = with_section(&last, "C", "third");
        assert!(more.ends_with("## B\n\nother\n\n## C\n\nthird\n"), "{more}");
    }
}
