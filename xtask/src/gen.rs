//! `cargo xtask gen`: writes a made-up Claude home for tests and measurements.
//!
//! Owns: the command line. Does not own: the content, see `recto_testkit::generate`.

use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

const USAGE: &str = "usage: cargo xtask gen --mb N --seed S [--shape old|new|mixed] DIR";

/// Runs the command with the words after `gen`.
pub(crate) fn run(args: &[String]) -> anyhow::Result<()> {
    let (options, directory) = parse(args)?;
    refuse_if_not_empty(&directory)?;
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let start = Instant::now();
    let mut next = 100_000_000;
    let truth = generate(&options, &directory, &mut |bytes| {
        if bytes >= next {
            report(&format!("{} MB", bytes / 1_000_000));
            next = bytes + 100_000_000;
        }
    })
    .with_context(|| format!("cannot write the home into {}", directory.display()))?;
    report(&format!(
        "{} bytes, {} lines, {} session logs ({} empty, {} forks), {} subagent logs, {:.1} s",
        truth.bytes_jsonl,
        truth.lines.total,
        truth.files.main,
        truth.files.main_empty,
        truth.files.main_fork,
        truth.files.agent,
        start.elapsed().as_secs_f64()
    ));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "a command tells how far it is")]
fn report(text: &str) {
    eprintln!("gen: {text}");
}

fn parse(args: &[String]) -> anyhow::Result<(Options, PathBuf)> {
    let (mut megabytes, mut seed, mut shape, mut directory) = (None, None, Shape::default(), None);
    let mut words = args.iter();
    while let Some(argument) = words.next() {
        match argument.as_str() {
            "--mb" => megabytes = Some(number("--mb", words.next())?),
            "--seed" => seed = Some(number("--seed", words.next())?),
            "--shape" => {
                let name =
                    words.next().with_context(|| format!("--shape needs a value\n{USAGE}"))?;
                shape = Shape::from_name(name).with_context(|| {
                    format!("--shape: `{name}` is none of old, new, mixed\n{USAGE}")
                })?;
            }
            option if option.starts_with('-') => bail!("unknown option `{option}`\n{USAGE}"),
            _ if directory.is_some() => bail!("one directory only, not also `{argument}`\n{USAGE}"),
            path => directory = Some(PathBuf::from(path)),
        }
    }
    let megabytes = megabytes.with_context(|| format!("--mb is missing\n{USAGE}"))?;
    let seed = seed.with_context(|| format!("--seed is missing\n{USAGE}"))?;
    let directory = directory.with_context(|| format!("the directory is missing\n{USAGE}"))?;
    if megabytes == 0 {
        bail!("--mb must be at least 1\n{USAGE}");
    }
    Ok((Options { megabytes, seed, shape }, directory))
}

fn number(option: &str, value: Option<&String>) -> anyhow::Result<u64> {
    let value = value.with_context(|| format!("{option} needs a value\n{USAGE}"))?;
    value.parse().with_context(|| format!("{option}: `{value}` is not a number\n{USAGE}"))
}

fn refuse_if_not_empty(directory: &Path) -> anyhow::Result<()> {
    let entries = match std::fs::read_dir(directory) {
        Ok(mut entries) => entries.next(),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => None,
        Err(problem) => {
            return Err(problem)
                .with_context(|| format!("cannot look into {}", directory.display()));
        }
    };
    if entries.is_some() {
        bail!("{} is not empty; give a new or an empty directory", directory.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use super::run;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_string).collect()
    }

    #[test]
    fn tells_what_is_wrong_with_the_words() {
        for (line, problem) in [
            ("--seed 1 home", "--mb is missing"),
            ("--mb 1 home", "--seed is missing"),
            ("--mb 1 --seed 1", "the directory is missing"),
            ("--mb x --seed 1 home", "`x` is not a number"),
            ("--mb 1 --seed 1 --shape odd home", "`odd` is none of"),
            ("--mb 1 --seed 1 --other home", "unknown option `--other`"),
            ("--mb 1 --seed 1 home away", "one directory only"),
            ("--mb 0 --seed 1 home", "at least 1"),
        ] {
            let error = parse(&words(line)).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains("usage:"), "{line}: {error}");
        }
    }

    #[test]
    fn does_not_write_into_a_directory_with_content() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("note"), "mine").unwrap();
        let path = directory.path().display().to_string();
        let mut arguments = words("--mb 1 --seed 1");
        arguments.push(path);
        assert!(run(&arguments).unwrap_err().to_string().contains("is not empty"));
        assert!(!directory.path().join(".claude").exists());
    }
}
