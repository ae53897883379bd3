//! `recto query`: SQL about the sessions of a home.

use std::fs;

use recto_lake::library::views;
use recto_lake::schema::Table;

use crate::support::FIX;
use crate::support::TestHome;
use crate::support::repository;

#[test]
fn a_home_is_asked_without_any_setup() {
    let test = TestHome::with_sessions();
    let asked = test.run(&["query", "totals", "--json"]);
    assert_eq!(asked.code, 0, "{}", asked.shown());
    let total = asked.json().remove(0);
    let usage = test.run(&["usage", "--json"]).json().remove(0)["total"].clone();
    for (here, there) in [
        ("message_count", "messages"),
        ("input_sum", "input_tokens"),
        ("output_sum", "output_tokens"),
        ("cache_read_sum", "cache_read_input_tokens"),
        ("cache_write_sum", "cache_creation_input_tokens"),
    ] {
        assert_eq!(total[here], usage[there], "{here}");
    }
    let sql = format!("SELECT session_id AS id FROM sessions WHERE session_id = '{FIX}'");
    assert_eq!(test.run(&["query", &sql, "--csv"]).stdout, format!("id\n{FIX}\n"));
    let file = test.work.path().join("mine.sql");
    fs::write(&file, sql).unwrap();
    let from_file = format!("@{}", file.display());
    assert_eq!(test.run(&["query", &from_file]).stdout, format!("id\n{FIX}\n"));
    let chart = test.run(&["query", "line-types", "--chart"]);
    assert!(chart.stdout.contains('█'), "{}", chart.shown());
    // Dollars for a person, the unit of the tables for a program.
    let costs = "SELECT 'a' AS name, 47751 AS cost_micros, 5 AS turns";
    assert_eq!(test.run(&["query", costs]).stdout, "name\tcost_micros\tturns\na\t47751\t5\n");
    let mut command = test.command(&["query", costs]);
    let shown = test.finish(command.env("RECTO_COLUMNS", "80")).stdout;
    assert_eq!(shown, "name   cost  turns\na     $0.05      5\n");
    let none = test.run(&["query", "SELECT day FROM messages WHERE 1 = 0"]);
    assert_eq!(none.code, 1);
    let cut = test.run(&["query", "SELECT off FROM lines", "--limit", "1"]);
    assert!(cut.stderr.contains("--limit 0"), "{}", cut.shown());
}

#[test]
fn what_changes_in_the_home_changes_in_the_tables() {
    let test = TestHome::with_sessions();
    let count = || test.run(&["query", "SELECT COUNT(*) AS n FROM lines", "--json"]).json();
    let number = |rows: Vec<serde_json::Value>| rows[0]["n"].as_i64().unwrap();
    let before = number(count());
    let log = "projects/-w/5f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl";
    test.home.write(log, "{\"type\":\"user\"}\n{\"type\":\"user\"}\n");
    assert_eq!(number(count()), before + 2);
    test.home.write(log, "{\"type\":\"user\"}\n{\"type\":\"user\"}\n{\"type\":\"user\"}\n");
    assert_eq!(number(count()), before + 3);
    fs::remove_file(test.home.path().join(log)).unwrap();
    assert_eq!(number(count()), before);
}

#[test]
fn mistakes_are_explained() {
    let test = TestHome::with_sessions();
    let failed = |arguments: &[&str]| {
        let run = test.run(arguments);
        assert_eq!(run.code, 2, "{}", run.shown());
        run.stderr
    };
    let column = failed(&["query", "SELECT tokens_input FROM usage"]);
    assert!(column.contains("no such column: tokens_input"), "{column}");
    assert!(column.contains("hint: similar names: input_tokens"), "{column}");
    let name = failed(&["query", "cost-by-weak"]);
    assert!(name.contains("similar names: cost-by-week"), "{name}");
    let quoted = failed(&["query", "SELECT COUNT(*) FROM sessions WHERE \"projct\" = \"x\""]);
    assert!(quoted.contains("hint: similar names: project"), "{quoted}");
    let write = failed(&["query", "DELETE FROM lines"]);
    assert!(write.contains("only read-only queries"), "{write}");
    let chart = failed(&["query", "SELECT 'a' AS x FROM lines", "--chart"]);
    assert!(chart.contains("needs a column of numbers"), "{chart}");
}

#[test]
fn a_query_may_have_any_form_that_sqlite_reads() {
    let test = TestHome::with_sessions();
    let lines = test.run(&["query", "SELECT COUNT(*) AS n FROM lines", "--csv"]).stdout;
    assert_ne!(lines, "n\n0\n");
    let file = test.work.path().join("mine.sql");
    fs::write(&file, "-- how many?\nSELECT COUNT(*) AS n FROM lines;\n").unwrap();
    let from_file = format!("@{}", file.display());
    for sql in [
        from_file.as_str(),
        "/* don't */ SELECT COUNT(*) AS n FROM lines",
        "SELECT(COUNT(*))AS[n]FROM[lines]",
    ] {
        // Nothing is loaded before, so that a table that was not seen would be empty.
        fs::remove_dir_all(test.user.path().join(".cache")).unwrap();
        let run = test.run(&["query", sql, "--csv"]);
        assert_eq!((run.code, &run.stdout), (0, &lines), "{sql}: {}", run.shown());
    }
    let typed = test.run_with_input(&["query", "@-", "--csv"], "SELECT COUNT(*) AS n FROM lines");
    assert_eq!(typed.stdout, lines);
    assert_eq!(test.run(&["query", "VALUES(1),(2)", "--csv"]).stdout, "column1\n1\n2\n");
}

#[test]
fn values_reach_programs_as_they_are() {
    let test = TestHome::with_sessions();
    assert_eq!(test.run(&["query", "SELECT 0.0042 AS x"]).stdout, "x\n0.0042\n");
    let twice = test.run(&["query", "SELECT 1 AS x, 2 AS x, 3 AS x", "--json"]).json().remove(0);
    assert_eq!(twice, serde_json::json!({"x": 1, "x_2": 2, "x_3": 3}));
    let none = test.run(&["query", "SELECT 1 AS n WHERE 1 = 0", "--chart"]);
    assert_eq!((none.code, none.stdout.as_str()), (1, ""), "{}", none.shown());
}

#[test]
fn a_query_that_takes_too_long_says_so() {
    let test = TestHome::with_sessions();
    let sql = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) \
               SELECT COUNT(*) AS n FROM x";
    let run = test.run(&["query", sql, "--timeout", "1"]);
    assert_eq!(run.code, 2, "{}", run.shown());
    assert!(run.stderr.contains("longer than 1 s\nhint: `--timeout`"), "{}", run.shown());
    let none = test.run(&["query", "SELECT 1 AS n", "--timeout", "0"]);
    assert_eq!(none.stdout, "n\n1\n");
}

#[test]
fn hostile_text_in_an_answer_is_harmless() {
    let test = TestHome::empty();
    let line = "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"\\u001b]0;x\\u0007 <b>\\u202e\"}}\n";
    test.home.write(&format!("projects/-w/{FIX}.jsonl"), line);
    for form in ["--csv", "--table", "--json"] {
        let run = test.run(&["query", "SELECT text FROM blocks", form]);
        assert_eq!(run.code, 0, "{}", run.shown());
        let bad = |one: char| one.is_control() && one != '\n' || one == '\u{202e}';
        assert!(!run.stdout.contains(bad), "{form}: {:?}", run.stdout);
    }
}

/// The page of all tables and columns; `RECTO_BLESS=1` writes it again.
#[test]
fn the_reference_of_tables_is_that_of_the_program() {
    let mut page = "# Tables\n\n\
        <!-- Written by the test `the_reference_of_tables_is_that_of_the_program`; see CONTRIBUTING.md. -->\n\n\
        The tables of `recto query` and `recto lake`. Days are in UTC. A log's rows are identified by\n\
        `machine`, `file_id`, `gen` and `off`.\n"
        .to_owned();
    for table in Table::ALL {
        page += &format!("\n## {}\n\n{}\n\n", table.name(), table.about());
        page += "| column | type | meaning |\n|---|---|---|\n";
        for column in table.columns() {
            let or_null = if column.nullable { ", or null" } else { "" };
            let kind = column.kind.delta();
            page += &format!("| `{}` | {kind}{or_null} | {} |\n", column.name, column.about);
        }
    }
    page += "\n# Views\n\nThe same text on every engine.\n";
    for view in views() {
        page += &format!("\n## {}\n\n{}\n\n", view.name, view.about);
        page += "| column | meaning |\n|---|---|\n";
        for (column, about) in &view.columns {
            page += &format!("| `{column}` | {about} |\n");
        }
    }
    let path = repository().join("docs/reference/tables.md");
    if std::env::var_os("RECTO_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page, "docs/reference/tables.md is old; write it with RECTO_BLESS=1");
    // Views have the columns that are documented, in their order.
    let test = TestHome::empty();
    for view in views() {
        let sql = format!("SELECT * FROM {} LIMIT 0", view.name);
        let heads = test.run(&["query", &sql, "--csv"]).stdout;
        let names: Vec<&str> = view.columns.iter().map(|(name, _)| *name).collect();
        assert_eq!(heads.trim_end(), names.join(","), "{}", view.name);
    }
}
