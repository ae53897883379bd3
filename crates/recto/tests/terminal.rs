//! What a person sees: the program on a pseudo terminal of 80 columns.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use rustix::pty;
use rustix::termios;

use crate::hostile::assert_no_control;
use crate::hostile::texts;
use crate::hostile::turn;
use crate::hostile::without_own_colours;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// Runs the program on a terminal, and gives what the terminal got.
pub(crate) fn on_terminal(
    test: &TestHome,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> String {
    let flags = pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY;
    let ours = pty::openpt(flags).unwrap();
    pty::grantpt(&ours).unwrap();
    pty::unlockpt(&ours).unwrap();
    let size = termios::Winsize { ws_row: 40, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let name = pty::ptsname(&ours, Vec::new()).unwrap();
    let theirs = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    termios::tcsetwinsize(&theirs, size).unwrap();
    let mut command = test.command(arguments);
    command.env_remove("NO_COLOR").env("TERM", "xterm-256color");
    command.envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    let mut child = command.spawn().unwrap();
    // The command holds the other end too, and the end must come.
    drop(command);
    let mut text = Vec::new();
    let mut ours = File::from(ours);
    let mut piece = [0; 4096];
    // Linux says that the other end is gone by an error.
    while let Ok(read @ 1..) = ours.read(&mut piece) {
        text.extend_from_slice(&piece[..read]);
    }
    child.wait().unwrap();
    // The terminal itself makes line ends of two characters.
    String::from_utf8(text).unwrap().replace("\r\n", "\n")
}

/// The text without colours and without spaces at the ends of lines.
fn plain(shown: &str) -> String {
    let text = without_own_colours(shown);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n")
}

#[test]
fn a_listing_is_as_wide_as_the_terminal() {
    let test = TestHome::with_sessions();
    let shown = on_terminal(&test, &["ls"], &[]);
    assert!(shown.contains("\u{1b}[1m3f2a1b4c\u{1b}[0m"), "{shown:?}");
    assert_snapshot!(plain(&shown), @"
    3f2a1b4c  2h  9.5 kB  Repair the parser           /home/dev/app   fix/parser
    3f2b77aa  1d  1.1 kB  Parser docs                 /home/dev/docs  main
    c81d4e2e  3w  1.2 kB  What does this project do?  /home/dev/app
    ");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let without = on_terminal(&test, &["ls"], &[variable]);
        assert!(!without.contains('\u{1b}'), "{variable:?}: {without:?}");
        assert_eq!(plain(&shown), plain(&without));
    }
}

#[test]
fn a_transcript_goes_through_the_pager() {
    let test = TestHome::with_sessions();
    let pager = ("RECTO_PAGER", "sed s/^/|/");
    let path = ("PATH", "/usr/bin:/bin");
    let shown = on_terminal(&test, &["show", "3f2b"], &[pager, path, ("PAGER", "false")]);
    assert_snapshot!(plain(&shown), @"
    |Parser docs
    |3f2b77aa-51c7-4d02-b8f4-93ad17c2e680 · /home/dev/docs · main
    |2026-11-16 08:00:00 · claude-sonnet-4-5-20250929 · client 2.1.29 · 1.1 kB
    |
    |You  1  2026-11-16 08:00:00
    |  Write the parser docs
    |
    |Claude
    |  Written.
    ");
    let direct = on_terminal(&test, &["show", "3f2b", "--no-pager"], &[pager, path]);
    assert_eq!(shown.replace('|', ""), direct);
    let missing = on_terminal(&test, &["show", "3f2b"], &[("RECTO_PAGER", "/no/such/pager")]);
    assert_eq!(missing, direct);
}

#[test]
fn hostile_text_is_harmless_here_too() {
    let test = TestHome::empty();
    let mut log = SessionBuilder::new(FIX, Client::V2_1_325);
    for text in texts() {
        log = turn(log, &text);
    }
    test.home.add(&log, hours_ago(1));
    for arguments in [
        &["show", "--no-pager", "--thinking", "--tools", "full", "--meta"][..],
        &["show", "--no-pager"],
        &["show", "--no-pager", "--raw"],
        &["ls"],
        &["ls", "--json"],
        &[],
    ] {
        let shown = on_terminal(&test, arguments, &[]);
        assert!(shown.contains("w-prompt"), "{arguments:?}: {shown}");
        assert_no_control(&without_own_colours(&shown), &format!("{arguments:?}"));
    }
}
