//! Runs commands and takes their CPU time and peak memory.

use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use wait4::Wait4 as _;

use crate::repository::say;

/// Commands that read one home. The first one is what the others are compared with.
pub(super) struct Group {
    pub(super) title: String,
    pub(super) home: PathBuf,
    pub(super) cases: Vec<Case>,
}

/// One command and what was measured of it.
pub(super) struct Case {
    pub(super) label: String,
    pub(super) words: Vec<OsString>,
    piped: bool,
    samples: Vec<Sample>,
    /// Why the command cannot be measured.
    pub(super) failure: Option<String>,
}

/// What one run took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    /// User and system time of all threads and children.
    pub(super) cpu: Duration,
    pub(super) wall: Duration,
    /// The most memory that was resident, in bytes.
    pub(super) peak: u64,
}

impl Group {
    pub(super) fn new(title: String, home: &Path) -> Group {
        Group { title, home: home.to_owned(), cases: Vec::new() }
    }

    pub(super) fn has_failures(&self) -> bool {
        self.cases.iter().any(|case| case.failure.is_some())
    }
}

impl Case {
    pub(super) fn new(label: impl Into<String>, words: impl Into<Vec<OsString>>) -> Case {
        Case {
            label: label.into(),
            words: words.into(),
            piped: false,
            samples: Vec::new(),
            failure: None,
        }
    }

    /// The output is read by somebody, instead of going nowhere.
    pub(super) fn through_a_pipe(mut self) -> Case {
        self.piped = true;
        self
    }

    /// The medians, each for itself.
    pub(super) fn median(&self) -> Option<Sample> {
        Some(Sample {
            cpu: median(self.samples.iter().map(|sample| sample.cpu).collect())?,
            wall: median(self.samples.iter().map(|sample| sample.wall).collect())?,
            peak: median(self.samples.iter().map(|sample| sample.peak).collect())?,
        })
    }

    fn run(&self, home: &Path, folder: &Path) -> anyhow::Result<Sample> {
        let errors = folder.join("errors.txt");
        let empty = folder.join("empty-home");
        fs::create_dir_all(&empty)?;
        let (program, words) = self.words.split_first().context("no command")?;
        let mut command = Command::new(program);
        command.args(words).env("HOME", &empty).env("CLAUDE_CONFIG_DIR", home);
        for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env(name, &empty);
        }
        command.stdin(Stdio::null()).stderr(File::create(&errors)?);
        command.stdout(if self.piped { Stdio::piped() } else { Stdio::null() });
        let start = Instant::now();
        let mut child = command.spawn().context("cannot be started")?;
        if let Some(mut output) = child.stdout.take() {
            io::copy(&mut output, &mut io::sink())?;
        }
        let used = child.wait4()?;
        let wall = start.elapsed();
        // 1 is an answer too: something was found, or nothing.
        if !matches!(used.status.code(), Some(0 | 1)) {
            let said = String::from_utf8_lossy(&fs::read(&errors)?).into_owned();
            anyhow::bail!("{}: {}", used.status, said.lines().next().unwrap_or("no word"));
        }
        let cpu = used.rusage.utime + used.rusage.stime;
        Ok(Sample { cpu, wall, peak: used.rusage.maxrss })
    }
}

/// Measures everything in turns. A command that fails is left out from then on.
pub(super) fn run(groups: &mut [Group], rounds: usize, folder: &Path) -> anyhow::Result<()> {
    // The round before the first warms the caches of the file system.
    for round in 0..=rounds {
        say(&format!("round {round} of {rounds}"));
        for group in &mut *groups {
            for case in group.cases.iter_mut().filter(|case| case.failure.is_none()) {
                match case.run(&group.home, folder) {
                    Ok(sample) if round > 0 => case.samples.push(sample),
                    Ok(_) => {}
                    Err(error) => {
                        say(&format!("{} ({}): {error:#}", case.label, group.title));
                        case.failure = Some(format!("{error:#}"));
                    }
                }
            }
        }
    }
    Ok(())
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Case {
        Case::new(script, ["sh".into(), "-c".into(), script.into()])
    }

    #[test]
    fn a_failing_command_is_told_and_the_others_are_measured() {
        let folder = tempfile::tempdir().unwrap();
        let mut group = Group::new("test".to_owned(), folder.path());
        group
            .cases
            .push(shell("test \"$CLAUDE_CONFIG_DIR\" = \"$(cd \"$HOME/..\"; pwd)\" || exit 7"));
        group.cases.push(shell("echo 'no such command' >&2; exit 2"));
        group.cases.push(Case::new("missing", ["/does/not/exist".into()]));
        group.cases.push(shell("head -c 1000000 /dev/zero; exit 1").through_a_pipe());
        let mut groups = [group];
        run(&mut groups, 3, folder.path()).unwrap();
        let [good, bad, missing, piped] = &groups[0].cases[..] else { panic!() };
        assert_eq!(good.failure, None);
        assert!(good.median().unwrap().peak > 0);
        assert!(bad.failure.as_deref().unwrap().contains("no such command"));
        assert_eq!(bad.median(), None);
        assert!(missing.failure.as_deref().unwrap().contains("cannot be started"));
        assert_eq!((piped.failure.as_deref(), piped.samples.len()), (None, 3));
        assert!(groups[0].has_failures());
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![5, 1, 3]), Some(3));
        assert_eq!(median::<u8>(vec![]), None);
    }
}
