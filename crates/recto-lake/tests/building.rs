//! Every line is in the tables once, whoever builds them.

use recto_lake::query::Value;
use recto_store::UsageScan;

use crate::team::Machine;
use crate::team::ONE;
use crate::team::OTHER;
use crate::team::Team;
use crate::team::all_answers;

fn lines_of(machine: &Machine, session: &str) -> i64 {
    let text = std::fs::read_to_string(machine.log(session)).unwrap();
    text.lines().count() as i64
}

#[test]
fn every_line_is_in_the_tables_once_however_often_they_are_built() {
    let team = Team::new();
    let (alice, bob) = (Machine::new("alice"), Machine::new("bob"));
    alice.write(ONE, 2);
    bob.write(OTHER, 3);
    alice.send(&team.store);
    bob.send(&team.store);
    let report = team.build();
    assert_eq!((report.segments, report.damaged.as_slice()), (2, &[][..]));
    let count = "SELECT COUNT(*) AS n FROM lines";
    assert_eq!(team.number(count), lines_of(&alice, ONE) + lines_of(&bob, OTHER));
    assert_eq!(team.build().segments, 0);
    // What grew is added, and nothing else.
    alice.write(ONE, 5);
    alice.send(&team.store);
    assert_eq!(team.build().segments, 1);
    assert_eq!(team.number(count), lines_of(&alice, ONE) + lines_of(&bob, OTHER));
    assert_eq!(team.repeated(), 0);
    let users = team.ask("SELECT DISTINCT user_id FROM lines ORDER BY user_id");
    let names: Vec<Value> = users.rows.into_iter().flatten().collect();
    assert_eq!(names, ["alice", "bob"].map(|name| Value::Text(name.to_owned())));
}

#[test]
fn the_tables_of_a_store_and_of_the_home_answer_every_question_alike() {
    let team = Team::new();
    let alice = Machine::new("alice");
    alice.write(ONE, 4);
    alice.write(OTHER, 2);
    alice.send(&team.store);
    team.build();
    let here = all_answers(|sql| alice.ask(sql));
    let there = all_answers(|sql| team.ask(sql));
    for ((name, here), (_, there)) in here.iter().zip(&there) {
        assert_eq!(here, there, "{name}");
    }
    let empty = here.iter().filter(|(_, answer)| answer.rows.is_empty());
    let empty: Vec<&str> = empty.map(|(name, _)| *name).collect();
    assert_eq!(empty, ["api-errors", "unpriced"], "questions without rows");
}

#[test]
fn totals_are_those_of_the_usage_command_to_the_token() {
    let alice = Machine::new("alice");
    alice.write(ONE, 4);
    // A fork repeats the lines of its source; they count once.
    let text = std::fs::read_to_string(alice.log(ONE)).unwrap();
    std::fs::write(alice.log(OTHER), text.replace(ONE, OTHER)).unwrap();
    let home = alice.home();
    let usage = home.usage(&home.inventory(), &UsageScan::default(), None, &|_, _| {});
    let mut sums = [0_i64; 5];
    for record in usage.ledger.records() {
        let counts = record.counts;
        sums[0] += 1;
        sums[1] += i64::from(counts.input);
        sums[2] += i64::from(counts.output);
        sums[3] += i64::from(counts.cache_read);
        sums[4] += counts.writes() as i64;
    }
    assert!(sums[0] > 3, "{sums:?}");
    let answer = alice.ask(
        "SELECT COUNT(*) AS a, SUM(input_tokens) AS b, SUM(output_tokens) AS c, \
         SUM(cache_read_tokens) AS d, SUM(cache_write_tokens) AS e FROM messages",
    );
    assert_eq!(answer.rows, [sums.map(Value::Integer).to_vec()]);
}

#[test]
fn what_was_withheld_on_the_machine_is_in_no_table() {
    let team = Team::new();
    let machine = Machine::with_policy("alice", "content = \"metadata\"");
    machine.write(ONE, 3);
    machine.send(&team.store);
    team.build();
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM blocks WHERE text LIKE '%alice%'"), 0);
    assert!(team.number("SELECT COUNT(*) AS n FROM tool_calls") > 0);
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM lines WHERE policy = 'raw'"), 0);
    assert_eq!(team.repeated(), 0);
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM lines"), lines_of(&machine, ONE));
}

#[test]
fn two_builders_and_an_optimizer_at_once_give_every_line_once() {
    let team = Team::new();
    let machines: Vec<Machine> = (0..4).map(|_| Machine::new("alice")).collect();
    for round in 1..=4 {
        for machine in &machines {
            machine.write(ONE, round);
            machine.send(&team.store);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| team.build());
            scope.spawn(|| team.build());
            if round > 1 {
                scope.spawn(|| recto_lake::Lake::optimize(&team.store, 2).unwrap());
            }
        });
    }
    let lines: i64 = machines.iter().map(|machine| lines_of(machine, ONE)).sum();
    assert_eq!((team.number("SELECT COUNT(*) AS n FROM lines"), team.repeated()), (lines, 0));
    assert_eq!(team.number("SELECT COUNT(DISTINCT machine) AS n FROM segments"), 4);
}

#[test]
fn a_large_store_is_asked_for_hints_and_listed_once_a_day() {
    let (team, alice) = (Team::new(), Machine::new("alice"));
    alice.write(ONE, 1);
    alice.send(&team.store);
    team.build();
    let record = team.folder.path().join("store/lake/v1/t1/_found.json");
    let told = std::fs::read_to_string(&record).unwrap();
    assert!(told.contains("\"objects\":1"), "{told}");
    let note = |hours: i64| {
        let ms =
            (jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours)).as_millisecond();
        let text = format!("{{\"listed_ms\":{ms},\"objects\":900000,\"built_ms\":{ms}}}");
        std::fs::write(&record, text).unwrap();
    };
    // A hint is enough to find a segment; a listing is not made.
    note(1);
    alice.write(ONE, 2);
    alice.send(&team.store);
    assert_eq!(team.build().segments, 1);
    assert!(std::fs::read_to_string(&record).unwrap().contains("\"objects\":900000"));
    // One whose hint was lost waits for the next listing. What is no hint does not matter.
    alice.write(ONE, 3);
    alice.send(&team.store);
    for hint in team.objects("ledger/v1") {
        std::fs::write(hint, b"\x00 no hint").unwrap();
    }
    note(1);
    assert_eq!(team.build().segments, 0);
    note(25);
    assert_eq!(team.build().segments, 1);
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM lines"), lines_of(&alice, ONE));
    assert_eq!(team.repeated(), 0);
    // A record that is damaged or from the future costs a listing.
    for bad in ["", "{\"listed_ms\":9999999999999,\"objects\":900000,\"built_ms\":9999999999999}"] {
        std::fs::write(&record, bad).unwrap();
        alice.write(ONE, 4 + bad.len().min(1));
        alice.send(&team.store);
        assert_eq!(team.build().segments, 1, "{bad}");
    }
}
