//! Whatever happens to a log, lines in it are whole.

use std::path::PathBuf;
use std::thread;

use fs_err as fs;
use proptest::prelude::*;
use recto_log::Kind;
use recto_log::Lines;
use recto_log::decode;
use tempfile::TempDir;

use super::*;
use crate::Home;

const LINE: &[u8] = br#"{"type":"mode","mode":"normal"}"#;

struct Setup {
    directory: TempDir,
    home: Home,
}

impl Setup {
    fn new() -> Setup {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("home");
        fs::create_dir(&root).unwrap();
        Setup { home: Home::open(root).unwrap(), directory }
    }

    fn log(&self) -> PathBuf {
        self.home.projects().join("-w").join("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl")
    }

    fn writer(&self) -> LogWriter {
        LogWriter::new(&self.home, self.log(), SyncPolicy::Never)
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.log()).unwrap()
    }
}

#[test]
fn lines_are_added_to_a_new_log() {
    let setup = Setup::new();
    let mut writer = LogWriter::new(&setup.home, setup.log(), SyncPolicy::EachLine);
    writer.append(LINE).unwrap();
    writer.append(b"{}").unwrap();
    writer.sync().unwrap();
    assert_eq!(setup.bytes(), [LINE, b"\n{}\n"].concat());
    assert!(matches!(writer.append(b"{}\n{}"), Err(AppendError::LineEnd)));
    assert_eq!(setup.bytes(), [LINE, b"\n{}\n"].concat());
}

proptest! {
    /// A killed writer leaves a beginning of what it wrote, cut anywhere.
    #[test]
    fn after_a_torn_tail_a_line_starts_on_its_own(
        before in prop::collection::vec(any::<u8>(), 0..64),
        cut in 0..=LINE.len() + 1,
    ) {
        let setup = Setup::new();
        setup.writer().append(LINE).unwrap();
        let mut torn = [before.as_slice(), LINE, b"\n"].concat();
        torn.truncate(before.len() + cut);
        fs::write(setup.log(), &torn).unwrap();
        setup.writer().append(LINE).unwrap();

        let bytes = setup.bytes();
        prop_assert!(bytes.starts_with(&torn), "nothing that was there is changed");
        let heals = !torn.is_empty() && !torn.ends_with(b"\n");
        let expected = [&torn, &b"\n"[..usize::from(heals)], LINE, b"\n"].concat();
        prop_assert_eq!(&bytes, &expected);
        let last = Lines::new(&bytes).last().unwrap();
        prop_assert_eq!(decode(last).0.kind(), Kind::Mode);
    }
}

#[test]
fn a_write_that_was_cut_anywhere_costs_that_line_only() {
    let setup = Setup::new();
    for cut in 0..=LINE.len() {
        let whole = [LINE, b"\n", &LINE[..cut]].concat();
        fs::create_dir_all(setup.log().parent().unwrap()).unwrap();
        fs::write(setup.log(), &whole).unwrap();
        let kinds = || -> Vec<Kind> {
            let bytes = setup.bytes();
            Lines::new(&bytes).map(|line| decode(line).0.kind()).collect()
        };
        let is_whole = |kind: &&Kind| **kind == Kind::Mode;
        let expected = if cut == LINE.len() { 2 } else { 1 };
        assert_eq!(kinds().iter().filter(is_whole).count(), expected, "cut at {cut}");
        setup.writer().append(LINE).unwrap();
        assert_eq!(kinds().iter().filter(is_whole).count(), expected + 1, "cut at {cut}");
    }
}

#[test]
fn writers_of_one_log_never_write_into_each_others_lines() {
    const WRITERS: u8 = 4;
    const LINES: usize = 24;
    let setup = Setup::new();
    thread::scope(|scope| {
        for number in 0..WRITERS {
            let mut writer = setup.writer();
            scope.spawn(move || {
                for count in 0..LINES {
                    // From one byte to more than a pipe or a page takes at once.
                    let length = 1 + (count * 37_123 + usize::from(number) * 991) % 600_000;
                    writer.append(&vec![b'a' + number; length]).unwrap();
                }
            });
        }
    });
    let bytes = setup.bytes();
    let mut counts = [0; WRITERS as usize];
    for line in Lines::new(&bytes) {
        let first = line.bytes[0];
        assert!(line.bytes.iter().all(|byte| *byte == first), "line {}", line.number);
        counts[usize::from(first - b'a')] += 1;
    }
    assert_eq!(counts, [LINES; WRITERS as usize]);
}

#[test]
fn a_log_that_was_replaced_or_removed_is_found_again() {
    let setup = Setup::new();
    let mut writer = setup.writer();
    writer.append(LINE).unwrap();
    let other = setup.directory.path().join("other");
    fs::write(&other, "new\n").unwrap();
    fs::rename(&other, setup.log()).unwrap();
    writer.append(b"{}").unwrap();
    assert_eq!(setup.bytes(), b"new\n{}\n");
    fs::remove_dir_all(setup.home.projects()).unwrap();
    writer.append(b"[]").unwrap();
    assert_eq!(setup.bytes(), b"[]\n");
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_new_logs() {
    use std::os::unix::fs::PermissionsExt;
    let setup = Setup::new();
    setup.writer().append(LINE).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(setup.log()), 0o600);
    assert_eq!(mode(setup.home.projects()), 0o700);
    assert_eq!(mode(setup.home.projects().join("-w")), 0o700);
}

#[cfg(unix)]
#[test]
fn links_out_of_the_home_are_refused() {
    use std::os::unix::fs::symlink;
    let setup = Setup::new();
    let outside = setup.directory.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(setup.home.projects()).unwrap();
    let refused =
        |setup: &Setup| matches!(setup.writer().append(LINE), Err(AppendError::Outside { .. }));
    symlink(&outside, setup.home.projects().join("-w")).unwrap();
    assert!(refused(&setup));
    fs::remove_file(setup.home.projects().join("-w")).unwrap();
    fs::create_dir(setup.home.projects().join("-w")).unwrap();
    symlink(outside.join("new.jsonl"), setup.log()).unwrap();
    assert!(refused(&setup));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    let elsewhere = LogWriter::new(&setup.home, outside.join("a.jsonl"), SyncPolicy::Never);
    let mut elsewhere = elsewhere;
    assert!(matches!(elsewhere.append(LINE), Err(AppendError::Outside { .. })));

    fs::remove_file(setup.log()).unwrap();
    let inside = setup.home.projects().join("real.jsonl");
    fs::write(&inside, "").unwrap();
    symlink(&inside, setup.log()).unwrap();
    setup.writer().append(LINE).unwrap();
    assert_eq!(fs::read(&inside).unwrap(), [LINE, b"\n"].concat());
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_log_is_refused() {
    use rustix::fs::CWD;
    use rustix::fs::FileType;
    use rustix::fs::Mode;
    let setup = Setup::new();
    fs::create_dir_all(setup.log().parent().unwrap()).unwrap();
    rustix::fs::mknodat(CWD, setup.log(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(matches!(setup.writer().append(LINE), Err(AppendError::NotAFile { .. })));
}
