//! `cargo xtask bench compare OLD NEW`: two programs on the same logs, in turns.
//!
//! For "did this change cost anything": both are asked the same, alternating, each with an index
//! and data of its own, and medians of CPU time are compared. `--instructions` counts the
//! instructions of one run instead (with valgrind), which other work on the machine does not
//! change.
//!
//! ```text
//! cargo xtask bench compare base/target/release/recto target/release/recto
//! cargo xtask bench compare OLD NEW --instructions --only ls
//! ```

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;

use anyhow::Context as _;
use anyhow::bail;

use super::homes;
use super::measure;
use super::measure::Case;
use super::measure::Group;
use crate::repository::heading;
use crate::repository::say;
use crate::repository::target;

const USAGE: &str = "usage: cargo xtask bench compare OLD NEW \
    [--mb N] [--rounds N] [--only TEXT] [--instructions]";

/// What is asked, with nothing but the logs to answer from.
const WITHOUT_INDEX: [&[&str]; 7] = [
    &["ls"],
    &["ls", "--json"],
    &["usage"],
    &["stats"],
    &["grep", "parser"],
    &["check", "--all"],
    &["status", "--all"],
];

/// What is asked once there is an index. The search comes first, because it builds it.
const WITH_INDEX: [&[&str]; 4] = [&["find", "parser"], &["ls"], &["usage"], &["stats"]];

#[derive(Debug, PartialEq, Eq)]
struct Plan {
    programs: [PathBuf; 2],
    megabytes: u64,
    rounds: usize,
    /// Only commands with this in their words.
    only: String,
    instructions: bool,
}

fn parse(words: &[String]) -> anyhow::Result<Plan> {
    let (mut programs, mut megabytes, mut rounds) = (Vec::new(), 100, 15);
    let (mut only, mut instructions) = (String::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--mb" => megabytes = value()?.parse().context(USAGE)?,
            "--rounds" => rounds = value()?.parse().context(USAGE)?,
            "--only" => only = value()?.clone(),
            "--instructions" => instructions = true,
            option if option.starts_with('-') => bail!("unknown option `{option}`\n{USAGE}"),
            program => programs.push(fs::canonicalize(program).context(word.clone())?),
        }
    }
    let programs = programs.try_into().map_err(|_| anyhow::anyhow!(USAGE))?;
    Ok(Plan { programs, megabytes, rounds, only, instructions })
}

/// Runs the task with the words after `compare`.
pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let plan = parse(words)?;
    heading("home");
    let megabytes = plan.megabytes;
    let kept = target().join("bench");
    fs::create_dir_all(&kept)?;
    let make = |place: &Path| homes::generate(place, "mixed", megabytes);
    let home = homes::kept(&kept, &format!("mixed-{megabytes}"), make)?;
    let folder = tempfile::tempdir()?;
    heading("compare");
    let without = ("without an index", "plain", &WITHOUT_INDEX[..]);
    let with = ("with an index", "indexed", &WITH_INDEX[..]);
    let mut text = String::new();
    let mut is_well = true;
    for (title, name, commands) in [without, with] {
        let wanted = |words: &&&[&str]| words.join(" ").contains(&plan.only);
        let wanted: Vec<&[&str]> = commands.iter().filter(wanted).copied().collect();
        if wanted.is_empty() {
            continue;
        }
        let folders = ["old", "new"].map(|which| folder.path().join(format!("{name}-{which}")));
        if name == "indexed" {
            for (program, folder) in plan.programs.iter().zip(&folders) {
                build_index(program, &home, folder)?;
            }
        }
        writeln!(text, "\n{} MB of logs, {title}:\n", plan.megabytes)?;
        is_well &= match plan.instructions {
            true => compare_instructions(&plan, &home, &folders, &wanted, &mut text)?,
            false => compare_cpu(&plan, &home, &folders, &wanted, &mut text)?,
        };
    }
    say(&text);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn words(program: &Path, words: &[&str], home: &Path) -> Vec<OsString> {
    let all = [program.as_os_str().to_owned()].into_iter();
    let all = all.chain(words.iter().map(OsString::from));
    all.chain(["--home".into(), home.into()]).collect()
}

fn build_index(program: &Path, home: &Path, folder: &Path) -> anyhow::Result<()> {
    let case = Case::new("find", words(program, &["find", "parser"], home)).may_answer_one();
    case.try_out(home, folder).context("the index cannot be built")
}

/// Medians of CPU time, in a table.
fn compare_cpu(
    plan: &Plan,
    home: &Path,
    folders: &[PathBuf; 2],
    commands: &[&[&str]],
    text: &mut String,
) -> anyhow::Result<bool> {
    let mut group = Group::new("compare".to_owned(), home);
    for command in commands {
        for (program, folder) in plan.programs.iter().zip(folders) {
            let case = Case::new(command.join(" "), words(program, command, home));
            group.cases.push(case.may_answer_one().in_folder(folder));
        }
    }
    let mut groups = [group];
    measure::run(&mut groups, plan.rounds, &folders[0]);
    writeln!(text, "| command | old, ms CPU | new, ms CPU | new / old |\n|---|---|---|---|")?;
    for pair in groups[0].cases.chunks(2) {
        let [old, new] = pair else { continue };
        let cpu = |case: &Case| case.median().map(|sample| sample.cpu.as_secs_f64() * 1000.0);
        let (Some(before), Some(after)) = (cpu(old), cpu(new)) else {
            writeln!(text, "| {} | failed | failed | |", old.label)?;
            continue;
        };
        let ratio = after / before;
        writeln!(text, "| {} | {before:.1} | {after:.1} | {ratio:.2} |", old.label)?;
    }
    Ok(!groups[0].has_failures())
}

/// Instructions of one run each, in a table.
fn compare_instructions(
    plan: &Plan,
    home: &Path,
    folders: &[PathBuf; 2],
    commands: &[&[&str]],
    text: &mut String,
) -> anyhow::Result<bool> {
    writeln!(text, "| command | old, million | new, million | new / old |\n|---|---|---|---|")?;
    for command in commands {
        let mut counts = [0.0; 2];
        for (at, (program, folder)) in plan.programs.iter().zip(folders).enumerate() {
            say(&format!("{} {}", program.display(), command.join(" ")));
            counts[at] = instructions(&words(program, command, home), home, folder)? as f64 / 1e6;
        }
        let [before, after] = counts;
        let ratio = after / before;
        writeln!(text, "| {} | {before:.1} | {after:.1} | {ratio:.2} |", command.join(" "))?;
    }
    Ok(true)
}

/// The instructions of all threads of a command, as valgrind counts them.
fn instructions(words: &[OsString], home: &Path, folder: &Path) -> anyhow::Result<u64> {
    fs::create_dir_all(folder)?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(words);
    measure::see_only(&mut command, home, folder);
    let output = command.output().context("cannot start valgrind")?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected :"));
    let count = collected.and_then(|(_, count)| count.trim().parse().ok());
    count.with_context(|| format!("valgrind counted nothing: {}", said.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let plan = |words: &[&str]| {
            parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let found = plan(&["/bin/sh", "/bin/sh", "--mb", "5", "--instructions"]).unwrap();
        assert_eq!((found.megabytes, found.rounds, found.instructions), (5, 15, true));
        for bad in [&["/bin/sh"][..], &["/bin/sh", "/bin/sh", "/bin/sh"], &["--mb"], &["-x"]] {
            assert!(plan(bad).is_err(), "{bad:?}");
        }
    }
}
