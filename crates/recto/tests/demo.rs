//! `recto demo`.

use insta::assert_snapshot;

use crate::support::TestHome;

#[test]
fn the_demo_needs_no_home_and_leaves_nothing_behind() {
    let test = TestHome::empty();
    let mut command = test.command(&["demo"]);
    command.env_remove("CLAUDE_CONFIG_DIR").env("TMPDIR", test.work.path());
    let shown = test.finish(&mut command).shown();
    assert_eq!(std::fs::read_dir(test.work.path()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(test.user.path()).unwrap().count(), 0);
    // The name of the temporary directory is another one each time.
    let shown: Vec<String> = shown
        .split_inclusive(char::is_whitespace)
        .map(|word| {
            if word.starts_with("[work]/.tmp") {
                word.replace(word.trim_end(), "[sample]")
            } else {
                word.to_owned()
            }
        })
        .collect();
    assert_snapshot!(shown.concat(), @r"
    $ recto  # an overview of the home; on a terminal, a browser
    [sample]  3 session logs in 2 projects, 22 kB

    Newest
    5c1e8a70	2h	15 kB	Fix tide table across clock changes	/home/dev/tide	fix/dst	opus-5-5
    b7d94e12	19h	2.8 kB	README section about station files	/home/dev/tide	main	sonnet-4-5
    0e63f9ab	3w	3.8 kB	Why does the map take eight seconds to load?	/home/dev/harbour-map	main	sonnet-4-5

      recto show 5c1e8a70         read a session
      recto ls                    all sessions; --since 7d, --project NAME
      recto home                  disk usage and upcoming deletions
      recto check --all           check for damage

    $ recto ls  # all sessions, from any version of Claude Code
    5c1e8a70	2h	15 kB	Fix tide table across clock changes	/home/dev/tide	fix/dst	opus-5-5
    b7d94e12	19h	2.8 kB	README section about station files	/home/dev/tide	main	sonnet-4-5
    0e63f9ab	3w	3.8 kB	Why does the map take eight seconds to load?	/home/dev/harbour-map	main	sonnet-4-5

    $ recto show 5c1e8a70  # one session as a conversation
    Fix tide table across clock changes
    5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214 · /home/dev/tide · fix/dst · 2026-11-14 09:12:24 · claude-opus-5-5 · client 2.1.325 · 15 kB

    You  1  2026-11-14 09:12:24
      The tide table is one hour off after the clocks change. Find out why and fix it.

    Claude
      I'll look for places that treat the offset as a constant.
      ⏺ Grep utcoffset|timedelta\(hours
      ⎿ src/tide/table.py:41:    local = when + timedelta(hours=site.utcoffset)
        src/tide/site.py:12:    utcoffset: int
      ⏺ Read /home/dev/tide/src/tide/table.py
      ⎿ 38    def rows(site, day):
        39        for when, height in site.extremes(day):
        40            # local time of the site
        41            local = when + timedelta(hours=site.utcoffset)
        … 1 more line

      `site.utcoffset` is read once from the station file, so it is winter time all year. The zone name is there too; converting with it fixes both changes of the clock.
      ⏺ Edit /home/dev/tide/src/tide/table.py
      ⎿ 1 line added, 1 removed
                 # local time of the site
        -        local = when + timedelta(hours=site.utcoffset)
        +        local = when.astimezone(site.zone)
                 yield local, height
      ⏺ Bash python -m pytest -q tests/test_table.py
      ⎿ F..........                                               [100%]
        FAILED tests/test_table.py::test_march - AssertionError: 03:12 != 02:12
        1 failed, 10 passed in 0.41s

      One test expects the wrong hour: `test_march` was written against the bug. On 29 March 2026 the clocks had already gone forward, so 03:12 is right. I'd rather ask before I change an expectation: shall I correct the test?

    You  2  2026-11-14 09:13:32
      Yes. And add one for the change back in October.

    Claude
      ⏺ Edit /home/dev/tide/tests/test_table.py
      ⎿ 1 line added, 1 removed
        -    assert first.hour == 2
        +    assert first.hour == 3
      ⏺ Bash python -m pytest -q
      ⎿ ............                                              [100%]
        12 passed in 0.52s

      Done: the table converts with the station's time zone, `test_march` expects 03:12, and `test_october` covers the change back. All 12 tests pass.

    $ recto home  # upcoming deletions, and the setting to change
    [sample]  22 kB

      projects  22 kB  3 files  session logs, subagents, long results

    Claude Code deletes logs not modified in 30 days (the default).
    1 session will be deleted within 7 days:
      0e63f9ab  in 4d  3.8 kB  not archived  Why does the map take eight seconds to load?
    To archive them, run `recto collect`.
    To keep them, run `recto home --keep 365`.

    Now with your own sessions:
      recto                 browse them, on a terminal
      recto show latest     the newest session
      recto check --all     check all logs for damage
      recto --help          everything else
    --- exit 0
    ");
}
