//! `recto branches`, and turns of other branches in `recto turns`.

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A session that was rewound to its first answer.
fn rewound() -> TestHome {
    let test = TestHome::empty();
    let log = |uuid: &str, parent: &str, minute: u32, kind: &str, text: &str| {
        let parent = if parent.is_empty() { "null".into() } else { format!("\"{parent}\"") };
        let more = match kind {
            "assistant" => format!(r#""id":"msg_{uuid}","model":"claude-opus-5-5","#),
            _ => String::new(),
        };
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{kind}","message":{{{more}"role":"{kind}","content":[{{"type":"text","text":"{text}"}}]}},"uuid":"{uuid}","timestamp":"2026-11-16T08:{minute:02}:00.000Z","cwd":"/home/dev/app","sessionId":"{FIX}","version":"2.1.325"}}"#
        ) + "\n"
    };
    let session = SessionBuilder::new(FIX, Client::V2_1_325)
        .raw(log("u1", "", 0, "user", "Repair the parser"))
        .raw(log("u2", "u1", 1, "assistant", "Repaired."))
        .raw(log("u3", "u2", 2, "user", "Now rewrite it"))
        .raw(log("u4", "u3", 3, "assistant", "Rewritten."))
        .raw(log("u5", "u2", 4, "user", "Now test it"))
        .raw(log("u6", "u5", 5, "assistant", "Tested."));
    test.home.add(&session, hours_ago(2));
    test
}

#[test]
fn branches_are_listed_with_who_goes_on_from_them() {
    let test = rewound();
    assert_snapshot!(test.run(&["branches"]).shown(), @"
    2026-11-16 08:03:00	1 turn	1 message		Now rewrite it	from turn 1: Repair the parser
    2026-11-16 08:05:00	1 turn	1 message	2.0.50, 2.1.29, latest	Now test it	from turn 1: Repair the parser
    --- exit 0
    ");
    assert_snapshot!(test.run(&["branches", "--json"]).shown(), @r#"
    {"tip":"u4","line":4,"time":"2026-11-16T08:03:00.000Z","fork":{"uuid":"u2","line":2,"turn":1,"prompt":"Repair the parser"},"turns":1,"messages":1,"last_prompt":"Now rewrite it","resumed_by":[]}
    {"tip":"u6","line":6,"time":"2026-11-16T08:05:00.000Z","fork":{"uuid":"u2","line":2,"turn":1,"prompt":"Repair the parser"},"turns":1,"messages":1,"last_prompt":"Now test it","resumed_by":["2.0.50","2.1.29","latest"]}
    --- exit 0
    "#);
}

#[test]
fn turns_of_other_branches_are_marked() {
    let test = rewound();
    assert_snapshot!(test.run(&["turns"]).shown(), @"
    1	2026-11-16 08:00:00	1m 00s		0 out	Repair the parser
    2	2026-11-16 08:02:00	1m 00s		0 out	[other branch] Now rewrite it
    3	2026-11-16 08:04:00	1m 00s		0 out	Now test it
    --- exit 0
    ");
    let turns = test.run(&["turns", "--json"]).json();
    let current: Vec<bool> = turns.iter().map(|turn| turn["current"].as_bool().unwrap()).collect();
    assert_eq!(current, [true, false, true]);
}
