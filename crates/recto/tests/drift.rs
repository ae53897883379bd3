//! `recto drift`.

use insta::assert_snapshot;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

#[test]
fn what_is_not_known_is_named_without_its_content() {
    let test = TestHome::with_sessions();
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .version("3.0.0")
        .prompt("a secret prompt")
        .unknown("hologram", ("secret", "value"))
        .attachment("perfume", ("scent", "secret"))
        .model_block(r#"{"type":"dream","of":"secret"}"#)
        .system("nap", "secret");
    test.home.add(&log, hours_ago(2));
    let run = test.run(&["drift"]);
    assert!(!run.stdout.contains("secret"), "{}", run.stdout);
    assert_snapshot!(run.shown(), @"
    recto 0.2.0, 17 lines
    client versions: 2.0.50 (4), 2.1.29 (3), 2.1.325 (2), 3.0.0 (5)

    type	hologram	3.0.0	1
    subtype	attachment/perfume	3.0.0	1
    subtype	system/nap	3.0.0	1
    block	assistant/dream	3.0.0	1
    --- exit 1
    ");
    assert_snapshot!(test.run(&["drift", "3f2a", "--json"]).shown(), @r#"
    {"what":"type","name":"hologram","version":"3.0.0","count":1}
    {"what":"subtype","name":"attachment/perfume","version":"3.0.0","count":1}
    {"what":"subtype","name":"system/nap","version":"3.0.0","count":1}
    {"what":"block","name":"assistant/dream","version":"3.0.0","count":1}
    --- exit 1
    "#);
}

#[test]
fn recorded_logs_of_all_versions_are_known() {
    let test = TestHome::empty();
    for version in ["2.0.36/S1", "2.0.50/S2", "2.1.29/I8", "2.1.200/I5", "2.1.325/S8"] {
        let recorded = repository().join("fixtures/corpus").join(version).join("home/.claude");
        test.home.copy(&recorded, hours_ago(5));
    }
    assert_snapshot!(test.run(&["drift"]).shown(), @"
    recto 0.2.0, 379 lines
    client versions: 2.0.36 (6), 2.0.50 (27), 2.1.200 (60), 2.1.29 (82), 2.1.325 (186)
    No unknown fields.
    --- exit 0
    ");
}
