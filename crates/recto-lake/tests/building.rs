//! Every line is in the tables once, whoever builds them.

use recto_lake::query::Value;
use recto_store::UsageScan;

use crate::team::Machine;
use crate::team::ONE;
use crate::team::OTHER;
use crate::team::Team;
use crate::team::all_answers;
use crate::team::prices;

const THIRD: &str = "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214";
const FOURTH: &str = "7d2e9b81-3c75-4a2a-8e1d-7b8cf4a1d325";

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
fn a_session_that_two_projects_have_is_two_files_here_and_in_a_store() {
    let (team, alice) = (Team::new(), Machine::new("alice"));
    alice.write(ONE, 3);
    // Which one an archive sees first is the session; the other one is a copy.
    alice.send(&team.store);
    let other = alice.log(ONE).to_string_lossy().replace("/-w/", "/-x/");
    std::fs::create_dir_all(std::path::Path::new(&other).parent().unwrap()).unwrap();
    std::fs::copy(alice.log(ONE), &other).unwrap();
    alice.send(&team.store);
    team.build();
    for ((name, here), (_, there)) in
        all_answers(|sql| alice.ask(sql)).iter().zip(&all_answers(|sql| team.ask(sql)))
    {
        assert_eq!(here, there, "{name}");
    }
    let files = "SELECT COUNT(DISTINCT file_id) AS n FROM lines";
    assert_eq!(alice.ask(files).rows, [[Value::Integer(2)]]);
}

#[test]
fn times_that_engines_have_no_date_for_are_none() {
    let (team, alice) = (Team::new(), Machine::new("alice"));
    let times = [
        "-009998-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2300-01-01T00:00:00Z",
        "9998-01-01T00:00:00Z",
        "2299-12-31T23:59:59Z",
    ];
    let line = |time: &&str| format!("{{\"type\":\"user\",\"timestamp\":\"{time}\"}}\n");
    let text: String = times.iter().map(line).collect();
    std::fs::create_dir_all(alice.log(ONE).parent().unwrap()).unwrap();
    std::fs::write(alice.log(ONE), text).unwrap();
    let file = std::fs::File::options().append(true).open(alice.log(ONE)).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400)).unwrap();
    alice.send(&team.store);
    team.build();
    let sql = "SELECT day, week, month, ts FROM lines ORDER BY off";
    let text = |text: &str| Value::Text(text.to_owned());
    let none = ["1970-01-02", "1969-12-29", "1970-01-01"].map(text).into_iter();
    let none: Vec<Value> = none.chain([Value::Null]).collect();
    let last = ["2299-12-31", "2299-12-25", "2299-12-01", "2299-12-31T23:59:59Z"].map(text);
    for answer in [alice.ask(sql), team.ask(sql)] {
        assert_eq!(answer.rows[..5], vec![none.clone(); 5]);
        assert_eq!(answer.rows[5], last);
    }
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

/// Logs that end without a line end for a while, and then go on.
fn write_end(machine: &Machine, session: &str, text: &str) {
    let path = machine.log(session);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(600)).unwrap();
}

/// The lines of a session with so many turns.
fn text_of(machine: &Machine, turns: usize) -> String {
    machine.write(ONE, turns);
    std::fs::read_to_string(machine.log(ONE)).unwrap()
}

#[test]
fn an_end_that_no_line_end_follows_is_a_row_until_the_log_goes_on() {
    let (team, alice) = (Team::new(), Machine::new("alice"));
    let all = text_of(&alice, 4);
    std::fs::remove_file(alice.log(ONE)).unwrap();
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    let whole = lines[..6].concat();
    let (end, cut) = (whole.trim_end(), &whole[..whole.len() - 40]);
    let first = lines[0].trim_end();
    // What a session is, one after the other: each begins with the one before.
    let grows: [&[String]; 4] = [
        // It is finished, and goes on.
        &[end.to_owned(), whole.clone(), all.clone()],
        // It was cut, more of it comes, and it is finished.
        &[cut.to_owned(), format!("{cut}{}", &whole[cut.len()..cut.len() + 9]), all.clone()],
        // Its first line has no line end yet: nobody knows which version of the file it is.
        &[first.to_owned(), lines[..3].concat()],
        // A client goes on behind it: that is one line which nobody can read.
        &[end.to_owned(), format!("{end}{}", lines[6])],
    ];
    let sessions = [ONE, OTHER, THIRD, FOURTH];
    for step in 0..3 {
        for (session, grown) in sessions.iter().zip(grows) {
            if let Some(text) = grown.get(step) {
                write_end(&alice, session, text);
            }
        }
        alice.send(&team.store);
        team.build();
        let same = |what: &str| {
            for ((name, here), (_, there)) in
                all_answers(|sql| alice.ask(sql)).iter().zip(&all_answers(|sql| team.ask(sql)))
            {
                assert_eq!(here, there, "{what} {step}: {name}");
            }
            assert_eq!(team.repeated(), 0, "{what} {step}");
        };
        same("built");
        assert_eq!(team.build().segments, 0, "{step}");
        recto_lake::Lake::optimize(&team.store, 2).unwrap();
        same("merged");
    }
    recto_lake::Lake::rebuild(&team.store, &prices(), &mut |_, _| {}).unwrap();
    let ends = team
        .objects("raw/v1")
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".part.zst"))
        .count();
    assert_eq!(ends, 5);
    assert_eq!(team.repeated(), 0);
}

#[test]
fn ends_of_two_builders_and_of_what_was_withheld_are_there_once() {
    let team = Team::new();
    let machines: Vec<Machine> =
        (0..3).map(|_| Machine::with_policy("alice", "content = \"metadata\"")).collect();
    let all = text_of(&machines[0], 3);
    std::fs::remove_file(machines[0].log(ONE)).unwrap();
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    team.build();
    for count in 1..=lines.len() {
        let text = lines[..count].concat();
        for machine in &machines {
            write_end(machine, ONE, if count % 3 == 0 { &text } else { text.trim_end() });
            machine.send(&team.store);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| team.build());
            scope.spawn(|| team.build());
            scope.spawn(|| recto_lake::Lake::optimize(&team.store, 2).unwrap());
        });
        let expected = (machines.len() * count) as i64;
        assert_eq!(
            (team.number("SELECT COUNT(*) AS n FROM lines"), team.repeated()),
            (expected, 0)
        );
    }
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM blocks WHERE text LIKE '%alice%'"), 0);
    let what = recto_collect::Forget::User("alice".to_owned());
    write_end(&machines[0], OTHER, lines[0].trim_end());
    machines[0].send(&team.store);
    team.build();
    let options = recto_lake::EraseOptions {
        really: true,
        by: "root",
        now: jiff::Timestamp::now(),
        grace: std::time::Duration::ZERO,
    };
    recto_lake::Lake::erase(&team.store, &what, &options).unwrap();
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM lines"), 0);
}
