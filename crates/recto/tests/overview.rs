//! Bare `recto`.

use insta::assert_snapshot;

use crate::support::FIX;
use crate::support::TestHome;

#[test]
fn the_overview_names_the_newest_sessions_and_what_to_type() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&[]).shown(), @"
    [claude]  4 session logs in 2 projects, 12 kB
    today: 6 messages, 55,008 tokens, $0.02

    Newest
    3f2a1b4c	2h	9.5 kB	Repair the parser	/home/dev/app	fix/parser	opus-5-5
    3f2b77aa	1d	1.1 kB	Parser docs	/home/dev/docs	main	sonnet-4-5
    c81d4e2e	3w	1.2 kB	What does this project do?	/home/dev/app		sonnet-4-5

      recto show 3f2a1b4c         read a session
      recto ls                    all sessions; --since 7d, --project NAME
      recto home                  disk usage and upcoming deletions
      recto check --all           check for damage
    --- exit 0
    ");
}

#[test]
fn sessions_of_running_clients_come_first() {
    let test = TestHome::with_sessions();
    test.home.announce(FIX, "waiting");
    assert_snapshot!(test.run(&[]).shown(), @"
    [claude]  4 session logs in 2 projects, 12 kB
    today: 6 messages, 55,008 tokens, $0.02

    Running now
    3f2a1b4c	2h	9.5 kB	Repair the parser	/home/dev/app	fix/parser	opus-5-5	● needs approval

    Newest
    3f2a1b4c	2h	9.5 kB	Repair the parser	/home/dev/app	fix/parser	opus-5-5	● needs approval
    3f2b77aa	1d	1.1 kB	Parser docs	/home/dev/docs	main	sonnet-4-5
    c81d4e2e	3w	1.2 kB	What does this project do?	/home/dev/app		sonnet-4-5

      recto show 3f2a1b4c         read a session
      recto ls                    all sessions; --since 7d, --project NAME
      recto home                  disk usage and upcoming deletions
      recto check --all           check for damage
    --- exit 0
    ");
}

#[test]
fn an_empty_home_says_what_to_do() {
    let test = TestHome::empty();
    assert_snapshot!(test.run(&[]).shown(), @r#"
    [claude]  0 session logs in 0 projects, 0 B

    No session yet. `recto demo` shows recto on a sample.
    --- exit 0
    "#);
}

#[test]
fn the_overview_as_json() {
    let test = TestHome::with_sessions();
    let shown = test.run(&["--json"]).shown();
    assert_snapshot!(shown.replace(env!("CARGO_PKG_VERSION"), "[version]"), @r#"
    {"version":"[version]","home":"[claude]","projects":2,"sessions":4,"empty":1,"bytes":11863,"live":0}
    --- exit 0
    "#);
}
