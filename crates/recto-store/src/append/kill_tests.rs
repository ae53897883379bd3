//! Writers that are killed with `kill -9` while they write, each in a process of its own.

use std::io::BufRead;
use std::io::BufReader;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::ChildStdout;
use std::process::Command;
use std::process::Stdio;

use fs_err as fs;
use recto_log::Lines;

use super::LogWriter;
use super::SyncPolicy;
use crate::Home;

/// Says to a process of these tests what to write: a letter, how many lines (0 for ever), and the home.
const TOLD: &str = "RECTO_TEST_KILLED_WRITER";
const TEST: &str = "a_writer_that_is_killed_loses_no_line_that_it_finished";
const LOG: &str = "projects/-w/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl";

/// A line of which every byte tells who wrote it, and the length which one it is.
fn line(letter: u8, number: usize) -> Vec<u8> {
    // From one byte to more than a pipe or a page takes at once; each number another length.
    vec![letter; 1 + number % 7 * 40_000 + number]
}

/// What the other process does: it writes lines, and tells each that is finished. `false` if this
/// process is not the other one.
fn writes_what_it_is_told() -> bool {
    let Ok(told) = std::env::var(TOLD) else { return false };
    let mut words = told.splitn(3, ' ');
    let mut word = || words.next().unwrap();
    let (letter, lines, root) = (word().as_bytes()[0], word().parse::<usize>().unwrap(), word());
    let home = Home::open(root).unwrap();
    let mut writer = LogWriter::new(&home, home.root().join(LOG), SyncPolicy::Never);
    let mut out = std::io::stdout();
    for number in (0..).take(if lines == 0 { usize::MAX } else { lines }) {
        writer.append(&line(letter, number)).unwrap();
        writeln!(out, "\nfinished {number}").unwrap();
    }
    true
}

struct Writer {
    child: Child,
    told: BufReader<ChildStdout>,
}

impl Writer {
    fn start(root: &Path, letter: char, lines: usize) -> Writer {
        let (_, module) = module_path!().split_once("::").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::{TEST}"), "--nocapture"])
            .env(TOLD, format!("{letter} {lines} {}", root.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap());
        Writer { child, told }
    }

    /// The next line that it has finished; none when it tells nothing any more.
    fn next(&mut self) -> Option<usize> {
        let mut told = String::new();
        while self.told.read_line(&mut told).unwrap() > 0 {
            if let Some(number) = told.trim_end().strip_prefix("finished ") {
                return Some(number.parse().unwrap());
            }
            told.clear();
        }
        None
    }

    /// Kills it once it has finished some lines, and gives how many it has finished then.
    fn kill_after(mut self, lines: usize) -> usize {
        let mut finished = 0;
        while finished < lines {
            finished = self.next().unwrap() + 1;
        }
        self.child.kill().unwrap();
        while let Some(number) = self.next() {
            finished = number + 1;
        }
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), None, "it was killed, and did not fail by itself");
        finished
    }
}

/// The whole lines of a writer in the log, by their numbers, and how many others there are.
fn lines_in(log: &Path, letter: char) -> (Vec<usize>, usize) {
    let bytes = fs::read(log).unwrap();
    let letter = letter as u8;
    let (mut numbers, mut torn) = (Vec::new(), 0);
    for found in Lines::new(&bytes).filter(|line| line.bytes.first() == Some(&letter)) {
        assert!(found.bytes.iter().all(|byte| *byte == letter), "line {} is mixed", found.number);
        // A line that was torn is shorter than the one that it should have been.
        match found.bytes.len() == line(letter, numbers.len()).len() && found.terminated {
            true => numbers.push(numbers.len()),
            false => torn += 1,
        }
    }
    (numbers, torn)
}

#[test]
fn a_writer_that_is_killed_loses_no_line_that_it_finished() {
    if writes_what_it_is_told() {
        return;
    }
    const OTHERS: usize = 40;
    for after in [1, 2, 5, 9, 16, 23] {
        let directory = tempfile::tempdir().unwrap();
        let log: PathBuf = directory.path().join(LOG);
        let mut other = Writer::start(directory.path(), 'b', OTHERS);
        let finished = Writer::start(directory.path(), 'a', 0).kill_after(after);
        // The other writer is neither blocked by the lock of the one that is gone, nor harmed.
        while other.next().is_some() {}
        assert!(other.child.wait().unwrap().success());
        let home = Home::open(directory.path()).unwrap();
        LogWriter::new(&home, &log, SyncPolicy::Never).append(b"c").unwrap();

        let (own, torn) = lines_in(&log, 'a');
        assert!(own.len() >= finished && torn <= 1, "{finished}: {own:?}, {torn}");
        assert!(own.len() <= finished + 1, "at most the line that nobody heard of is more");
        assert_eq!(lines_in(&log, 'b'), ((0..OTHERS).collect(), 0));
        let bytes = fs::read(&log).unwrap();
        assert_eq!(Lines::new(&bytes).last().unwrap().bytes, b"c");
    }
}
