//! Runs commands and takes their CPU time and peak memory.

use std::ffi::OsString;
use std::fs;
use std::fs::File;
use std::io;
use std::io::BufRead as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use wait4::Wait4 as _;

use super::homes;
use crate::repository::say;

/// Commands that read one home. The first one is what the others are compared with.
pub(super) struct Group {
    pub(super) title: String,
    pub(super) home: PathBuf,
    pub(super) cases: Vec<Case>,
    /// What the table does not say.
    pub(super) remarks: Vec<String>,
}

/// One command and what was measured of it.
pub(super) struct Case {
    pub(super) label: String,
    pub(super) words: Vec<OsString>,
    piped: bool,
    /// How many lines are read before the reader goes away; all, if none.
    first_lines: Option<usize>,
    /// How many bytes of logs the command reads, to say how fast.
    pub(super) bytes: Option<u64>,
    /// Whether the logs are read from the disk each time.
    cold: bool,
    /// Whether one run is enough, because it takes long.
    once: bool,
    /// The largest exit code that is an answer and no failure.
    worst_answer: i32,
    /// Where its data and caches are; those of the group, if none.
    folder: Option<PathBuf>,
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
        Group { title, home: home.to_owned(), cases: Vec::new(), remarks: Vec::new() }
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
            first_lines: None,
            bytes: None,
            cold: false,
            once: false,
            worst_answer: 0,
            folder: None,
            samples: Vec::new(),
            failure: None,
        }
    }

    /// Its data and caches are its own.
    pub(super) fn in_folder(mut self, folder: &Path) -> Case {
        self.folder = Some(folder.to_owned());
        self
    }

    /// The output is read by somebody, instead of going nowhere.
    pub(super) fn through_a_pipe(mut self) -> Case {
        self.piped = true;
        self
    }

    /// The reader takes some lines and goes away: a first screen.
    pub(super) fn until_line(mut self, lines: usize) -> Case {
        self.first_lines = Some(lines);
        self.through_a_pipe()
    }

    /// The command goes through so many bytes.
    pub(super) fn over_bytes(mut self, bytes: u64) -> Case {
        self.bytes = Some(bytes);
        self
    }

    /// The system forgets the logs before each run.
    pub(super) fn read_from_the_disk(mut self) -> Case {
        self.cold = true;
        self
    }

    /// Runs in the first round only: it takes long.
    pub(super) fn only_once(mut self) -> Case {
        self.once = true;
        self
    }

    /// An exit code of 1 says that something was found, or nothing: it is an answer.
    pub(super) fn may_answer_one(mut self) -> Case {
        self.worst_answer = 1;
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

    /// Runs the command once without measuring: does it work at all? A command
    /// that prints nothing has read nothing, whatever its exit code says.
    pub(super) fn try_out(&self, home: &Path, folder: &Path) -> anyhow::Result<()> {
        let (_, printed) = self.run(home, folder, Stdio::piped())?;
        if printed == 0 {
            bail!("it printed nothing");
        }
        Ok(())
    }

    fn measure(&self, home: &Path, folder: &Path) -> anyhow::Result<Sample> {
        let output = if self.piped { Stdio::piped() } else { Stdio::null() };
        if self.cold {
            homes::forget_logs(&home.join("projects")).context("the logs stay in memory")?;
        }
        Ok(self.run(home, folder, output)?.0)
    }

    /// Reads what a command prints, and says how much that was.
    fn read(&self, mut output: impl io::Read) -> io::Result<u64> {
        let Some(lines) = self.first_lines else {
            return io::copy(&mut output, &mut io::sink());
        };
        let mut output = io::BufReader::new(output);
        let (mut line, mut printed) = (Vec::new(), 0);
        for _ in 0..lines {
            line.clear();
            printed += output.read_until(b'\n', &mut line)? as u64;
        }
        Ok(printed)
    }

    /// Runs the command; gives what it took and how much it wrote into a pipe.
    fn run(&self, home: &Path, folder: &Path, output: Stdio) -> anyhow::Result<(Sample, u64)> {
        let errors = folder.join("errors.txt");
        let mut command = self.command(home, folder)?;
        command.stdin(Stdio::null()).stdout(output).stderr(File::create(&errors)?);
        let start = Instant::now();
        let mut child = command.spawn().context("cannot be started")?;
        let printed = match child.stdout.take() {
            Some(output) => self.read(output)?,
            None => 0,
        };
        let read = start.elapsed();
        let used = child.wait4()?;
        // A first screen is there when it has been read.
        let wall = if self.first_lines.is_some() { read } else { start.elapsed() };
        if used.status.code().is_none_or(|code| code > self.worst_answer) {
            let said = String::from_utf8_lossy(&fs::read(&errors)?).into_owned();
            bail!("{}: {}", used.status, said.lines().next().unwrap_or("no word"));
        }
        let cpu = used.rusage.utime + used.rusage.stime;
        Ok((Sample { cpu, wall, peak: used.rusage.maxrss }, printed))
    }

    /// The command, which sees the given home and no other.
    fn command(&self, home: &Path, folder: &Path) -> anyhow::Result<Command> {
        let empty = folder.join("empty-home");
        fs::create_dir_all(&empty)?;
        let (program, words) = self.words.split_first().context("no command")?;
        let mut command = Command::new(program);
        command.args(words);
        see_only(&mut command, home, &empty);
        Ok(command)
    }
}

/// Lets a command see a home, and a directory in place of the user's own.
pub(super) fn see_only(command: &mut Command, home: &Path, directory: &Path) {
    command.env("HOME", directory).env("CLAUDE_CONFIG_DIR", home);
    for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
        command.env(name, directory);
    }
}

/// Measures everything in turns. A command that fails is left out from then on.
pub(super) fn run(groups: &mut [Group], rounds: usize, folder: &Path) {
    // The round before the first also warms the caches of the file system.
    for round in 0..=rounds {
        say(&format!("round {round} of {rounds}"));
        for group in &mut *groups {
            for case in group.cases.iter_mut().filter(|case| case.failure.is_none()) {
                let folder = case.folder.clone().unwrap_or_else(|| folder.to_owned());
                let outcome = match round {
                    0 if !case.once => case.try_out(&group.home, &folder),
                    1.. if case.once => continue,
                    _ => case.measure(&group.home, &folder).map(|sample| case.samples.push(sample)),
                };
                if let Err(error) = outcome {
                    say(&format!("{} ({}): {error:#}", case.label, group.title));
                    case.failure = Some(format!("{error:#}"));
                }
            }
        }
    }
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

    /// The failures of some commands after two rounds.
    fn failures(cases: Vec<Case>) -> Vec<Option<String>> {
        let folder = tempfile::tempdir().unwrap();
        let mut group = Group::new("test".to_owned(), folder.path());
        group.cases = cases;
        let mut groups = [group];
        run(&mut groups, 2, folder.path());
        for case in &groups[0].cases {
            assert_eq!(case.samples.len(), if case.failure.is_some() { 0 } else { 2 });
            assert_eq!(case.median().is_some(), case.failure.is_none());
        }
        groups[0].cases.iter().map(|case| case.failure.clone()).collect()
    }

    #[test]
    fn a_failing_command_is_told_and_the_others_are_measured() {
        let found = failures(vec![
            shell("echo 'no such command' >&2; exit 2").may_answer_one(),
            shell("echo x"),
            Case::new("missing", ["/does/not/exist".into()]),
            shell("head -c 1000000 /dev/zero").through_a_pipe(),
        ]);
        assert!(found[0].as_deref().unwrap().contains("no such command"));
        assert_eq!(found[1], None);
        assert!(found[2].as_deref().unwrap().contains("cannot be started"));
        assert_eq!(found[3], None);
    }

    #[test]
    fn a_command_that_did_no_work_is_not_measured() {
        let found = failures(vec![
            shell("echo x; exit 1"),
            shell("echo x; exit 1").may_answer_one(),
            shell("echo 'no data' >&2"),
        ]);
        assert!(found[0].is_some());
        assert_eq!(found[1], None);
        assert!(found[2].as_deref().unwrap().contains("printed nothing"));
    }

    #[test]
    fn a_command_sees_the_given_home_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let command = shell("env").command(&home, folder.path()).unwrap();
        for (name, value) in command.get_envs() {
            assert!(Path::new(value.unwrap()).starts_with(folder.path()), "{name:?}");
        }
        assert_eq!(command.get_envs().count(), 6);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![5, 1, 3]), Some(3));
        assert_eq!(median::<u8>(vec![]), None);
    }
}
