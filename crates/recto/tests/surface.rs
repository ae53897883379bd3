//! What a stranger meets: words that are typed in any order, errors that say what to do, and
//! the same exit code for the same thing.

use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::support::DOCS;
use crate::support::FIX;
use crate::support::OLD;
use crate::support::TestHome;
use crate::support::hours_ago;

#[test]
fn the_session_may_come_after_the_conditions() {
    let test = TestHome::empty();
    let log = SessionBuilder::new(FIX, Client::V2_1_325).prompt("Look at it");
    let log = log.tool("Bash", r#"{"command":"cat"}"#, &"word ".repeat(2000)).answer("Looked.");
    test.home.add(&log, hours_ago(2));
    for words in [
        &["trim", "--tool-results", "tool", "Bash", "latest"][..],
        &["trim", "--tool-results", "older-than=0", FIX],
        &["trim", "--tool-results", "latest"],
        &["trim", "latest", "--tool-results", "tool", "Bash"],
    ] {
        let run = test.run(&[words, &["--dry-run", "--json"]].concat());
        assert_eq!(run.code, 0, "{words:?}: {}", run.shown());
        assert_eq!(run.json()[0]["source"], FIX, "{words:?}");
    }
    let run = test.run(&["trim", "--tool-results", "older-than", "5"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.starts_with("error: no session given\nhint: name it first"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_turn_that_does_not_exist_has_one_exit_code() {
    let test = TestHome::with_sessions();
    for words in [
        &["show", FIX, "--turn", "99"][..],
        &["fork", FIX, "--at", "99"],
        &["fork", FIX, "--at", "nowhere"],
        &["compress", FIX, "--before", "99"],
        &["context", FIX, "--turn", "99"],
        &["replay", FIX, "--at", "99"],
        &["show", "nosuch"],
    ] {
        assert_eq!(test.run(words).code, 1, "{words:?}: {}", test.run(words).shown());
    }
}

#[test]
fn a_document_in_a_missing_directory_is_refused_by_its_own_name() {
    let test = TestHome::with_sessions();
    let run = test.run(&["export", FIX, "--output", "missing/session.md"]);
    assert_eq!(run.code, 2);
    assert_eq!(
        run.stderr,
        "error: cannot write missing/session.md: its directory does not exist\n\
         hint: create missing first\n"
    );
}

#[test]
fn only_sessions_that_are_alike_are_offered() {
    let test = TestHome::with_sessions();
    assert_eq!(
        test.run(&["show", "nosuch"]).stderr,
        "error: no session matches `nosuch`\nhint: `recto ls` lists the sessions\n"
    );
    assert!(test.run(&["show", "pasrer"]).stderr.contains(DOCS));
    assert!(test.run(&["show", "3f2c"]).stderr.contains(DOCS));
}

#[test]
fn options_come_before_filters_in_every_help() {
    let test = TestHome::empty();
    let help = test.run(&["usage", "--help"]).stdout;
    let filters = help.find("Filters:").unwrap();
    for option in ["--explain", "--csv", "--context", "--by", "--prices"] {
        assert!(help[..filters].contains(option), "{option}: {help}");
    }
}

#[test]
fn a_manual_page_names_the_values_of_options() {
    let test = TestHome::empty();
    let page = test.run(&["man", "usage"]).stdout;
    let synopsis = page.split(".SH SYNOPSIS\n").nth(1).unwrap().lines().next().unwrap();
    assert!(synopsis.starts_with("\\fBrecto usage\\fR"), "{synopsis}");
    assert!(synopsis.contains("[\\fB\\-\\-by\\fR \\fIWHAT\\fR"), "{synopsis}");
    assert!(synopsis.contains("[\\fB\\-\\-explain\\fR]"), "{synopsis}");
    assert!(synopsis.contains("[\\fISESSION|DAY\\fR]"), "{synopsis}");
}

#[test]
fn usage_of_a_copy_names_the_session_that_counts() {
    let test = TestHome::with_sessions();
    let copy = test.run(&["clone", FIX, "--json"]).json();
    let copy = copy[0]["result"]["id"].as_str().unwrap().to_owned();
    let run = test.run(&["usage", &copy]);
    assert_eq!(run.code, 1, "{}", run.shown());
    let told = format!("its messages are already counted in {}\n", &FIX[..8]);
    assert!(run.stderr.ends_with(&told), "{}", run.shown());
    let empty = test.run(&["usage", "--since", "2030-01-01"]);
    assert_eq!((empty.code, empty.stderr.as_str()), (1, "no usage recorded\n"));
}

#[test]
fn trimming_what_is_not_sent_says_why_nothing_is_saved() {
    let test = TestHome::empty();
    let long = "word ".repeat(2000);
    let log = SessionBuilder::new(FIX, Client::V2_1_325)
        .prompt("Look at it")
        .tool("Bash", r#"{"command":"cat"}"#, &long)
        .answer("Looked.")
        .compaction("We looked at it.")
        .prompt("And now?")
        .answer("Nothing.");
    test.home.add(&log, hours_ago(2));
    let run = test.run(&["trim", FIX, "--tool-results", "--dry-run"]);
    assert!(
        run.stdout.contains("the request stays as large as before: Claude Code no longer sends"),
        "{}",
        run.shown()
    );
    let log = SessionBuilder::new(DOCS, Client::V2_1_325)
        .prompt("Look at it")
        .tool("Bash", r#"{"command":"cat"}"#, &long)
        .answer("Looked.");
    test.home.add(&log, hours_ago(2));
    let run = test.run(&["trim", DOCS, "--tool-results", "--dry-run"]);
    assert!(!run.stdout.contains("the request stays as large"), "{}", run.shown());
}

#[test]
fn sessions_of_last_year_have_ended() {
    let test = TestHome::empty();
    for (id, hours) in [(OLD, 9000), (FIX, 2)] {
        let log = SessionBuilder::new(id, Client::V2_1_29).at(hours_ago(hours));
        test.home.add(&log.prompt("Go").answer("Gone."), hours_ago(hours));
    }
    let statuses = test.run(&["status", "--all", "--json"]).json();
    let status = |id: &str| {
        statuses.iter().find(|one| one["id"] == id).unwrap()["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(OLD), "ended");
    assert_eq!(status(FIX), "idle");
}

/// What `check` calls whole, `repair` leaves alone.
#[test]
fn a_repair_agrees_with_the_check() {
    let test = TestHome::with_sessions();
    let corpus = crate::support::repository().join("fixtures/corpus");
    let mut waiting = vec![corpus];
    let mut seen = 0;
    while let Some(directory) = waiting.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") && name.len() == 36 {
                let place = format!("projects/-corpus-{seen}/{name}.jsonl");
                test.home.write(&place, std::fs::read(&path).unwrap());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
    let checked = test.run(&["check", "--all", "--json"]).json();
    let bad: std::collections::HashSet<String> = checked
        .iter()
        .filter(|row| row["severity"] == "damage")
        .map(|row| row["path"].as_str().unwrap().to_owned())
        .collect();
    for session in test.run(&["ls", "--all", "--json"]).json() {
        let path = session["path"].as_str().unwrap();
        if session["kind"] != "session" || bad.contains(path) {
            continue;
        }
        let real = path.replace("[claude]", test.home.path().to_str().unwrap());
        if test.run(&["check", &real]).code != 0 {
            continue;
        }
        let run = test.run(&["repair", &real, "--dry-run"]);
        assert!(run.stdout.starts_with("nothing is wrong"), "{path}: {}", run.shown());
    }
}

#[test]
fn fields_and_templates_shape_every_listing() {
    let test = TestHome::with_sessions();
    let run = test.run(&["ls", "--json=id,title", "-n", "1"]);
    assert_eq!(run.stdout, format!("{{\"id\":\"{FIX}\",\"title\":\"Repair the parser\"}}\n"));
    let run = test.run(&["ls", "--format", "{id}\\t{project_name}", "-n", "2"]);
    assert_eq!(run.stdout, format!("{FIX}\tapp\n{DOCS}\tdocs\n"));
    let run = test.run(&["search", "parser", "--format", "{role}: {snippet}"]);
    assert!(run.stdout.contains("title: Parser docs\n"), "{}", run.shown());
    for words in [&["ls", "--json=titel"][..], &["ls", "--format", "{titel}"]] {
        let run = test.run(words);
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.shown());
        assert!(run.stderr.contains("did you mean `title`?"), "{}", run.stderr);
    }
    // Items differ in their fields; one that none of them has was mistyped.
    let run = test.run(&["show", FIX, "--json=item,tool,tetx"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, "no item has the field `tetx`\n"));
}

#[test]
fn a_usage_error_is_json_if_json_was_asked_for() {
    let test = TestHome::empty();
    let run = test.run(&["ls", "--json", "--nonsense"]);
    assert_eq!(run.code, 2);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!((&error["kind"], error["hints"].is_array()), (&"usage".into(), true));
    assert!(error["error"].as_str().unwrap().contains("--nonsense"), "{error}");
    assert!(test.run(&["ls", "--nonsense"]).stderr.starts_with("error: "));
}

#[test]
fn what_is_typed_wrong_is_said_as_all_errors_are() {
    let test = TestHome::with_sessions();
    for (words, said) in [
        (&["lst"][..], "error: unknown command `recto lst`\nhint: did you mean `recto ls`?\n"),
        (
            &["ls", "--projekt", "x"],
            "error: unknown option `--projekt`\nhint: did you mean `--project`?\n",
        ),
        (
            &["resume"],
            "error: `recto resume` needs SESSION\nhint: `recto resume --help` has an example\n",
        ),
        // A template is for a person, and so are the errors.
        (&["show", "zzz", "--format", "{id}"], "error: no session matches `zzz`\n"),
    ] {
        let run = test.run(words);
        assert!(run.stderr.starts_with(said), "{}", run.shown());
    }
}

#[test]
fn commands_without_rows_refuse_to_write_json() {
    let test = TestHome::with_sessions();
    for words in
        [&["export", FIX][..], &["licenses"], &["man"], &["help"], &["completions", "bash"]]
    {
        for option in ["--json", "--format={id}"] {
            let run = test.run(&[words, &[option]].concat());
            assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{}", run.shown());
            assert!(run.stderr.contains("does not support --json or --format"), "{}", run.stderr);
        }
    }
}

#[test]
fn statuses_are_waited_for_by_the_words_that_are_shown() {
    let test = TestHome::with_sessions();
    for status in ["needs-approval", "needs approval", "waiting_for_approval"] {
        let run = test.run(&["status", "--wait", FIX, status, "--timeout", "1ms"]);
        assert!(!run.stderr.contains("invalid status"), "{}", run.shown());
    }
    let run = test.run(&["status", "--wait", FIX, "busy"]);
    let hint = "hint: use one of needs-approval, needs-input, working, idle, ended, unknown";
    assert!(run.stderr.contains(hint), "{}", run.shown());
}

#[test]
fn a_limit_of_0_is_no_limit_everywhere() {
    let test = TestHome::with_sessions();
    test.run(&["clone", FIX]);
    for command in ["ls", "log", "history", "search"] {
        let words = if command == "search" { vec![command, "parser"] } else { vec![command] };
        let all = test.run(&[&words[..], &["-n", "0", "--json"]].concat()).stdout.lines().count();
        let one = test.run(&[&words[..], &["-n", "1", "--json"]].concat()).stdout.lines().count();
        assert!(all >= 1 && one == 1, "{command}: {all}, {one}");
    }
}

#[test]
fn nothing_found_is_said_unless_quiet() {
    let test = TestHome::with_sessions();
    let run = test.run(&["search", "zzz"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", "nothing found\n"));
    let run = test.run(&["-q", "search", "zzz"]);
    assert_eq!((run.code, run.stderr.as_str()), (1, ""));
}

#[test]
fn a_part_of_a_title_is_not_enough_to_change_a_session() {
    let test = TestHome::with_sessions();
    for words in [
        &["rm", "docs", "--yes"][..],
        &["rename", "docs", "New"],
        &["trim", "docs", "--tool-results"],
        &["clone", "docs"],
        &["fork", "docs", "--at", "1"],
        &["move", "docs", "."],
    ] {
        let run = test.run(words);
        assert_eq!(run.code, 2, "{words:?}: {}", run.shown());
        assert!(
            run.stderr.starts_with("error: `docs` is only part of a title\n"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(DOCS), "{}", run.stderr);
    }
    // An id that does not exist must not match a title that has it in it.
    test.run(&["rename", OLD, "See 7b875b1 again"]);
    assert_eq!(test.run(&["rm", "7b875b1", "--yes"]).code, 2);
    for whole in ["parser DOCS", "See 7b875b1 again", "3f2a1b4c"] {
        let run = test.run(&["rm", whole, "--yes", "--dry-run"]);
        assert_eq!(run.code, 0, "{}", run.shown());
    }
    assert_eq!(test.run(&["ls", "--json"]).stdout.lines().count(), 3);
}

#[test]
fn a_printed_resume_command_goes_to_the_directory_first() {
    let test = TestHome::with_sessions();
    let run = test.run(&["clone", DOCS]);
    assert!(
        run.stdout.contains("resume it with: cd /home/dev/docs && claude --resume "),
        "{}",
        run.shown()
    );
    let work = test.work.path().to_str().unwrap();
    let run = test.run(&["clone", DOCS, "--to", work]);
    assert!(
        run.stdout.contains("resume it with: cd [work] && claude --resume "),
        "{}",
        run.shown()
    );
    let run = test.run(&["resume", DOCS, "--print"]);
    let expected = format!("cd /home/dev/docs && claude --resume {DOCS}\n");
    assert_eq!((run.code, run.stdout), (0, expected), "{}", run.stderr);
    let row = &test.run(&["resume", DOCS, "--json"]).json()[0];
    assert_eq!((&row["session"], &row["directory"]), (&DOCS.into(), &"/home/dev/docs".into()));
}

#[test]
fn the_log_of_operations_names_sessions_and_titles_that_are_gone() {
    let test = TestHome::with_sessions();
    test.run(&["rename", OLD, "Old times"]);
    assert_eq!(test.run(&["rm", OLD, "--yes"]).code, 0);
    let check = || {
        let shown = test.run(&["log"]).stdout;
        let first = shown.lines().next().unwrap();
        assert!(first.contains("c81d4e2e") && first.contains("Old times"), "{shown}");
        let row = &test.run(&["log", "--json"]).json()[0];
        assert_eq!((&row["title"], &row["sessions"][0]), (&"Old times".into(), &OLD.into()));
    };
    check();
    test.run(&["log", "prune", "--larger-than", "100MB"]);
    check();
}

#[test]
fn names_that_people_type_work() {
    let test = TestHome::with_sessions();
    for (typed, meant) in [
        (&["list", "--json"][..], &["ls", "--json"][..]),
        (&["cat", FIX], &["show", FIX]),
        (&["cost"], &["usage"]),
        (&["find", "parser", "--json"], &["search", "parser", "--json"]),
        (&["grep", "pars", "--json"], &["search", "-e", "pars", "--json"]),
        (&["doctor", FIX], &["check", FIX]),
        (&["doctor"], &["check", "--all"]),
        (&["help", "ls"], &["ls", "--help"]),
    ] {
        assert_eq!(test.run(typed).shown(), test.run(meant).shown(), "{typed:?}");
    }
}

#[test]
fn a_first_search_answers_from_the_newest_logs_and_says_so() {
    let test = TestHome::with_sessions();
    let mut command = test.command(&["search", "parser"]);
    // The newest log is searched, the others are not.
    command.env("RECTO_SEARCH_BYTES", "10000");
    let run = test.finish(&mut command);
    assert_eq!(run.code, 0, "{}", run.shown());
    assert!(run.stderr.contains("the index is being built; "), "{}", run.stderr);
    assert!(run.stderr.contains("not searched yet"), "{}", run.stderr);
    assert!(run.stdout.contains("Repair the parser") && !run.stdout.contains("Parser docs"));
    // The index is built in the background, and then everything is found. Another process
    // may still be at it, which the next search waits for.
    for _ in 0..600 {
        if test.run(&["search", "docs"]).code == 0 {
            return;
        }
        std::thread::yield_now();
    }
    panic!("the index was never built: {}", test.run(&["index"]).shown());
}

#[test]
fn history_and_plans_say_the_same_by_way_of_the_index() {
    let test = TestHome::with_sessions();
    let plan = r##"{"plan":"# Repair it\n\nFirst the parser."}"##;
    let log = SessionBuilder::new("4f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", Client::V2_1_325)
        .prompt("Make a plan")
        .tool("ExitPlanMode", plan, "User has approved your plan.");
    test.home.add(&log, hours_ago(4));
    let answers = || ["history", "plans"].map(|command| test.run(&[command, "--json"]).stdout);
    let before = answers();
    assert!(before[0].contains("Make a plan") && before[1].contains("First the parser."));
    assert_eq!(test.run(&["index", "update"]).code, 0);
    // Once to keep where everything is, and once to read only that.
    assert_eq!(answers(), before);
    assert_eq!(answers(), before);
}

#[test]
fn a_config_file_is_weaker_than_variables_and_options() {
    let test = TestHome::with_sessions();
    let folder = test.user.path().join(".config/recto");
    std::fs::create_dir_all(&folder).unwrap();
    let write = |text: &str| std::fs::write(folder.join("config.toml"), text).unwrap();
    write("client = \"claude-beta\"\nhome = \"~/elsewhere\"\n");
    let printed = test.run(&["resume", DOCS, "--print"]).stdout;
    assert!(printed.ends_with(&format!("claude-beta --resume {DOCS}\n")), "{printed}");
    let mut command = test.command(&["resume", DOCS, "--print"]);
    let printed = test.finish(command.env("RECTO_CLIENT", "other")).stdout;
    assert!(printed.ends_with(&format!("other --resume {DOCS}\n")), "{printed}");
    let rows = test.run(&["config", "--json"]).json();
    let origin =
        |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["origin"].clone();
    assert_eq!(
        ["home", "client", "pager"].map(origin),
        ["CLAUDE_CONFIG_DIR", "config.toml", "default"]
    );
    write("[keys]\nresume = \"v\"\n[colors]\nstrong = \"bold #ff8800\"\n");
    let rows = test.run(&["config", "--json"]).json();
    let value = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap()["value"].clone();
    assert_eq!(["keys", "colors"].map(value), ["resume=v", "strong=bold #ff8800"]);
    let painted = test.run(&["show", DOCS, "--color", "always"]).stdout;
    assert!(painted.contains("\u{1b}[1m\u{1b}[38;2;255;136;0m"), "{painted:?}");
    write("client = \"claude-beta\"\nhome = \"~/elsewhere\"\n");
    // The home of the file counts where no variable names one.
    let mut command = test.command(&["ls"]);
    let run = test.finish(command.env_remove("CLAUDE_CONFIG_DIR"));
    assert!(run.stderr.contains("elsewhere"), "{}", run.shown());
    for (text, told) in [
        ("clinet = \"x\"", "did you mean `client`?"),
        ("color = \"red\"", "use auto, always or never"),
        ("home = \"relative\"", "write an absolute path"),
        ("= 1", "the file is TOML"),
        ("keys = 1", "write a table, such as: [keys]"),
        ("[keys]\nresum = \"v\"", "the commands are agents, back"),
        ("[keys]\nresume = \"t\"", "another command already uses this key"),
        ("[keys]\nresume = 1", "write the value in quotes"),
        ("[colors]\nuser = \"purple\"", "write a colour such as \"bold cyan\""),
        ("[colors]\nnobody = \"red\"", "name one of strong, faint"),
    ] {
        write(text);
        let mut command = test.command(&["ls"]);
        let run = test.finish(command.env_remove("CLAUDE_CONFIG_DIR"));
        assert_eq!(run.code, 2, "{text}: {}", run.shown());
        assert!(run.stderr.contains(told), "{text}: {}", run.stderr);
    }
}
