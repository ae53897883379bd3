//! `cargo xtask attack`: attacks recto for as long as asked, and counts what fails.
//!
//! Owns: the command line, the list of drivers, the table. A driver is one kind of attack: it
//! runs the real program in homes of its own until its share of the time is over, and counts
//! what it tried and what failed, by figure. The program is built without optimisation, because
//! that build also stops at an arithmetic overflow.
//!
//! ```text
//! cargo xtask attack                  a minute, all drivers
//! cargo xtask attack --seconds 3600   an hour
//! cargo xtask attack --only mutation  one driver
//! cargo xtask attack --seed 7         other random choices
//! cargo xtask attack --recto PROGRAM  attacks this program instead of building one
//! cargo xtask attack --full           at least 5,000 races, 1,000 damaged indexes, 1,000 edits and
//!                                     all bombs in their full size, however long it takes
//! cargo xtask attack --write          also writes what was tried to bench/ATTACK.md
//! ```
//!
//! `cargo xtask test` runs the short form: one round of every driver.

mod arena;
mod bombs;
mod edits;
mod following;
mod index_damage;
mod mutation;
mod races;
mod report;
mod sandbox;
mod sequences;
mod server;

use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;

use crate::repository;
use crate::repository::heading;
use crate::repository::say;
use arena::Arena;
use report::Figures;

const USAGE: &str = "usage: cargo xtask attack [--seconds N] [--seed N] [--only DRIVER] \
                     [--recto PROGRAM] [--full] [--write]";

/// How long all drivers together take if nobody says.
const SECONDS: u64 = 60;

/// One kind of attack.
struct Driver {
    name: &'static str,
    /// Runs at least one round, and more while the arena has time.
    attack: fn(&mut Arena, &mut Figures) -> anyhow::Result<()>,
}

const DRIVERS: &[Driver] = &[
    Driver { name: "mutation", attack: mutation::attack },
    Driver { name: "edits", attack: edits::attack },
    Driver { name: "index", attack: index_damage::attack },
    Driver { name: "following", attack: following::attack },
    Driver { name: "server", attack: server::attack },
    Driver { name: "sequences", attack: sequences::attack },
    Driver { name: "bombs", attack: bombs::attack },
    Driver { name: "races", attack: races::attack },
    Driver { name: "sandbox", attack: sandbox::attack },
];

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    seconds: u64,
    seed: u64,
    only: Option<String>,
    recto: Option<PathBuf>,
    full: bool,
    write: bool,
}

fn parse(words: &[String]) -> anyhow::Result<Plan> {
    let mut plan =
        Plan { seconds: SECONDS, seed: 1, only: None, recto: None, full: false, write: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--write" || word == "--full" {
            plan.write |= word == "--write";
            plan.full |= word == "--full";
            continue;
        }
        let value = words.next().with_context(|| format!("{word} needs a value\n{USAGE}"))?;
        let number = || value.parse().with_context(|| format!("{word} needs a number\n{USAGE}"));
        match word.as_str() {
            "--seconds" => plan.seconds = number()?,
            "--seed" => plan.seed = number()?,
            "--only" => plan.only = Some(value.clone()),
            "--recto" => plan.recto = Some(PathBuf::from(value)),
            _ => bail!("unknown option `{word}`\n{USAGE}"),
        }
    }
    Ok(plan)
}

/// Runs the task with the words after `attack`.
pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let plan = parse(words)?;
    let chosen = chosen(&plan)?;
    let recto = match &plan.recto {
        Some(recto) => {
            recto.canonicalize().with_context(|| format!("no program at {}", recto.display()))?
        }
        None => build_recto()?,
    };
    let share = Duration::from_secs(plan.seconds)
        .checked_div(u32::try_from(chosen.len()).unwrap_or(u32::MAX))
        .unwrap_or_default();
    let mut figures = Figures::default();
    for driver in chosen {
        heading(driver.name);
        figures.begin(driver.name);
        let mut arena = Arena::new(recto.clone(), plan.seed, share, plan.full)?;
        let start = Instant::now();
        (driver.attack)(&mut arena, &mut figures)
            .with_context(|| format!("the driver `{}`", driver.name))?;
        figures.end(start.elapsed());
    }
    say(&format!("\n{}", figures.table()));
    if plan.write {
        let page = repository::root().join("bench/ATTACK.md");
        let before = std::fs::read_to_string(&page).unwrap_or_default();
        let drivers: Vec<&str> = DRIVERS.iter().map(|driver| driver.name).collect();
        std::fs::write(&page, figures.page(&before, &drivers, &asked(words)))
            .with_context(|| format!("cannot write {}", page.display()))?;
    }
    Ok(if figures.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The words that matter to who wants the same again, as they were typed.
fn asked(words: &[String]) -> String {
    let program = words.iter().position(|word| word == "--recto");
    let is_program = |at: usize| program.is_some_and(|program| at == program + 1);
    let words = words.iter().enumerate();
    let shown = words.map(|(at, word)| if is_program(at) { "PROGRAM" } else { word });
    shown.filter(|word| *word != "--write").collect::<Vec<_>>().join(" ")
}

fn chosen(plan: &Plan) -> anyhow::Result<Vec<&'static Driver>> {
    let chosen: Vec<&Driver> = DRIVERS
        .iter()
        .filter(|driver| plan.only.as_deref().is_none_or(|only| only == driver.name))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = DRIVERS.iter().map(|driver| driver.name).collect();
        bail!("no such driver\nhint: the drivers are {}", names.join(", "));
    }
    Ok(chosen)
}

fn build_recto() -> anyhow::Result<PathBuf> {
    let mut command = Command::new(repository::cargo());
    command.args(["build", "--package", "recto"]).current_dir(repository::root());
    let status = command.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("recto could not be built");
    }
    Ok(repository::target().join("debug/recto"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> anyhow::Result<Plan> {
        parse(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_what_is_unknown_is_rejected() {
        let plan = parsed("--seconds 5 --only mutation --seed 9").unwrap();
        assert_eq!((plan.seconds, plan.seed), (5, 9));
        assert_eq!(chosen(&plan).unwrap().len(), 1);
        assert!(!plan.full && parsed("--full --seed 2").unwrap().full);
        let words = ["--full", "--recto", "/a/b", "--write", "--seed", "2"].map(str::to_owned);
        assert_eq!(asked(&words), "--full --recto PROGRAM --seed 2");
        assert!(parsed("--seconds").is_err());
        assert!(parsed("--seconds many").is_err());
        assert!(chosen(&parsed("--only nothing").unwrap()).is_err());
    }
}
