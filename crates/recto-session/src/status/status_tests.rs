//! The rules, one by one, on lines made for them.

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::RawLine;
use recto_log::decode;

use super::*;

fn at(seconds: i64) -> Timestamp {
    let noon: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
    noon.checked_add(SignedDuration::from_secs(seconds)).unwrap()
}

fn line(seconds: i64, kind: &str, rest: &str) -> String {
    let time = at(seconds);
    format!(
        r#"{{"type":"{kind}","uuid":"u{seconds}","timestamp":"{time}","version":"2.1.29",{rest}}}"#
    )
}

fn prompt(seconds: i64, text: &str) -> String {
    line(seconds, "user", &format!(r#""message":{{"role":"user","content":"{text}"}}"#))
}

/// An answer with blocks and a reason to stop.
fn answer(seconds: i64, blocks: &str, stop: &str) -> String {
    let usage = r#""usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":5}"#;
    let id = format!("m{seconds}");
    line(
        seconds,
        "assistant",
        &format!(
            r#""message":{{"id":"{id}","model":"claude-opus-5-5","content":[{blocks}],"stop_reason":{stop},{usage}}}"#
        ),
    )
}

fn said(seconds: i64, text: &str, stop: &str) -> String {
    answer(seconds, &format!(r#"{{"type":"text","text":"{text}"}}"#), stop)
}

fn call(seconds: i64, id: &str, tool: &str, input: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}"#);
    answer(seconds, &block, r#""tool_use""#)
}

fn bash(seconds: i64) -> String {
    call(seconds, "t1", "Bash", r#"{"command":"make all"}"#)
}

fn result(seconds: i64, id: &str, more: &str) -> String {
    line(
        seconds,
        "user",
        &format!(
            r#""message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"done"}}]}}{more}"#
        ),
    )
}

fn mode(name: &str) -> String {
    format!(r#"{{"type":"permission-mode","permissionMode":"{name}"}}"#)
}

fn fold(lines: &[String]) -> StatusFold {
    let mut fold = StatusFold::default();
    for line in lines {
        fold.push(&decode(RawLine::alone(line.as_bytes())).0);
    }
    fold
}

fn ask(announcement: &Announcement, lines: &[String], seconds: i64) -> Status {
    status(announcement, &fold(lines), at(seconds))
}

/// What the log alone says: status, since when (in seconds), how sure, why.
fn told(lines: &[String], seconds: i64) -> String {
    shown(&ask(&Announcement::Unknown, lines, seconds))
}

fn shown(status: &Status) -> String {
    let since =
        status.since.map_or("?".into(), |since| since.duration_since(at(0)).as_secs().to_string());
    let (kind, confidence) = (status.kind.name(), status.confidence.name());
    format!("{kind} since {since}, {confidence}: {}", status.why.join("; "))
}

fn announced(said: Option<&str>) -> Announced {
    Announced {
        pid: 7,
        is_alive: true,
        status: said.map(str::to_owned),
        since: Some(at(10)),
        ..Announced::default()
    }
}

#[test]
fn a_call_that_may_have_to_be_allowed_is_waited_for_after_a_moment() {
    let lines = [prompt(0, "Build it"), bash(2)];
    assert_eq!(
        told(&lines, 3),
        "working since 0, low: Bash was called 1 s ago and has no result yet"
    );
    assert_eq!(
        told(&lines, 16),
        "waiting_for_approval since 5, low: Bash was called 14 s ago and has no result yet; \
         in permission mode `default` it may have to be allowed"
    );
    let found = ask(&Announcement::Unknown, &lines, 16);
    let pending = found.pending.unwrap();
    assert_eq!((pending.tool.as_str(), pending.about.as_str()), ("Bash", "make all"));
    assert_eq!(found.current, None);
    // An hour later it is still so; a day later nobody comes any more.
    assert!(told(&lines, 3600).starts_with("waiting_for_approval since 5"));
    assert!(told(&lines, 86_402).starts_with("idle since 86402, low: nothing was written for"));
}

#[test]
fn in_modes_that_do_not_ask_a_call_runs() {
    let never = "it runs without approval in";
    let rarely = "it rarely needs approval in";
    for (name, how) in
        [("bypassPermissions", never), ("plan", rarely), ("auto", never), ("dontAsk", never)]
    {
        let lines = [mode(name), prompt(0, "Build it"), bash(2)];
        let found = ask(&Announcement::Unknown, &lines, 60);
        assert_eq!((found.kind, found.since), (StatusKind::Working, Some(at(0))), "{name}");
        assert_eq!(found.current.unwrap().tool, "Bash");
        assert_eq!(
            found.why,
            [
                "Bash was called 58 s ago and has no result yet".to_owned(),
                format!("{how} permission mode `{name}`")
            ]
        );
    }
    // That edits are accepted says nothing about commands.
    let lines = |tool: &str| [mode("acceptEdits"), prompt(0, "Go"), call(2, "t1", tool, "{}")];
    let kind = |tool: &str| ask(&Announcement::Unknown, &lines(tool), 60).kind;
    for tool in ["Bash", "WebFetch", "mcp__db__drop"] {
        assert_eq!(kind(tool), StatusKind::WaitingForApproval, "{tool}");
    }
    assert_eq!(kind("Edit"), StatusKind::Working);
    assert!(
        told(&lines("Edit"), 60)
            .ends_with("it rarely needs approval in permission mode `acceptEdits`")
    );
    // A question is one in every mode.
    let question = r#"{"questions":[{"question":"Which colour?"}]}"#;
    let lines =
        [mode("bypassPermissions"), prompt(0, "Go"), call(2, "q", "AskUserQuestion", question)];
    let found = ask(&Announcement::Unknown, &lines, 2);
    assert_eq!(found.kind, StatusKind::WaitingForInput);
    assert_eq!(found.pending.unwrap().about, "Which colour?");
}

#[test]
fn a_question_needs_input_and_a_plan_needs_approval() {
    let waits = Announcement::Made(announced(Some("waiting")));
    for (tool, kind) in [
        ("AskUserQuestion", StatusKind::WaitingForInput),
        ("ExitPlanMode", StatusKind::WaitingForApproval),
        ("Bash", StatusKind::WaitingForApproval),
    ] {
        let lines = [prompt(0, "Go"), call(2, "q", tool, "{}")];
        for announcement in [&Announcement::Unknown, &waits] {
            let found = ask(announcement, &lines, 60);
            assert_eq!((found.kind, found.pending.unwrap().tool.as_str()), (kind, tool));
        }
    }
}

#[test]
fn a_session_without_a_known_process_has_ended_after_a_day() {
    const DAY: i64 = 24 * 3600;
    let over = [prompt(0, "Build it"), said(2, "Built.", r#""end_turn""#)];
    let kind = |announcement: &Announcement, now| ask(announcement, &over, now).kind;
    assert_eq!(kind(&Announcement::Absent, DAY), StatusKind::Idle);
    let idle = ask(&Announcement::Absent, &over, DAY);
    assert_eq!(idle.changes_at, Some(at(DAY + 2)));
    let ended = ask(&Announcement::Absent, &over, 400 * DAY);
    assert_eq!((ended.kind, ended.since), (StatusKind::Ended, Some(at(2))));
    assert!(ended.why[0].starts_with("nothing was written for"), "{:?}", ended.why);
    // Where nobody could look, or a process lives, silence proves nothing.
    assert_eq!(kind(&Announcement::Unknown, 400 * DAY), StatusKind::Idle);
    let lives = Announcement::Made(announced(Some("idle")));
    assert_eq!(kind(&lives, 400 * DAY), StatusKind::Idle);
}

#[test]
fn what_shows_progress_or_only_looks_is_not_waited_for() {
    let progress = line(
        4,
        "progress",
        r#""data":{"type":"bash_progress"},"parentToolUseID":"t1","toolUseID":"x""#,
    );
    let hook = progress.replace("bash_progress", "hook_progress");
    let lines = [prompt(0, "Build it"), bash(2)];
    let kind = |more: &str, now| {
        let lines: Vec<String> = lines.iter().cloned().chain([more.to_owned()]).collect();
        ask(&Announcement::Unknown, &lines, now).kind
    };
    assert_eq!(kind(&progress, 60), StatusKind::Working);
    assert_eq!(kind(&hook, 60), StatusKind::WaitingForApproval);
    let reading = [prompt(0, "Look"), call(2, "r", "Read", r#"{"file_path":"a"}"#)];
    assert!(told(&reading, 60).starts_with("working since 0, medium"));
}

#[test]
fn work_that_was_waited_for_begins_again_with_the_result() {
    let quick = [prompt(0, "Build it"), bash(2), result(4, "t1", "")];
    assert!(told(&quick, 6).starts_with("working since 0, medium: the model has not answered"));
    let slow = [prompt(0, "Build it"), bash(2), result(40, "t1", "")];
    assert!(told(&slow, 41).starts_with("working since 40, medium"));
}

#[test]
fn a_turn_is_over_when_the_log_says_so() {
    let ends = [
        (said(9, "Done.", r#""end_turn""#), "the turn ended 1 s ago"),
        (
            line(
                9,
                "user",
                r#""message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}"#,
            ),
            "the turn was interrupted 1 s ago",
        ),
        (
            said(9, "API Error: 529", r#""stop_sequence""#)
                .replace(r#""message""#, r#""isApiErrorMessage":true,"message""#),
            "the request failed and was given up 1 s ago",
        ),
        (
            line(9, "system", r#""subtype":"turn_duration","durationMs":9000"#),
            "the turn ended 1 s ago",
        ),
        (prompt(9, "<local-command-stdout>x</local-command-stdout>"), "a command was done 1 s ago"),
        (
            line(
                9,
                "system",
                r#""subtype":"compact_boundary","compactMetadata":{"trigger":"manual"}"#,
            ),
            "the conversation was compacted 1 s ago",
        ),
    ];
    for (end, why) in ends {
        let lines = [prompt(0, "Go"), bash(2), end];
        assert_eq!(told(&lines, 10), format!("waiting_for_input since 9, medium: {why}"));
        assert!(told(&lines, 309).starts_with("idle since 309, medium"), "{why}");
    }
}

#[test]
fn a_text_without_a_reason_to_stop_settles() {
    let lines = [prompt(0, "Go"), said(2, "I look.", "null")];
    assert_eq!(told(&lines, 11), "working since 0, low: a text was written 9 s ago");
    assert_eq!(
        told(&lines, 12),
        "waiting_for_input since 12, low: a text was written 10 s ago and nothing followed"
    );
    assert_eq!(
        told(&lines, 482),
        "idle since 302, low: a text was written 8 min ago and nothing followed; \
         after 5 min it counts as idle"
    );
}

#[test]
fn requests_that_are_sent_again_are_work() {
    let error = line(
        3,
        "system",
        r#""subtype":"api_error","retryAttempt":2,"maxRetries":10,"retryInMs":8000.5"#,
    );
    let lines = [prompt(0, "Go"), error];
    assert_eq!(
        told(&lines, 5),
        "working since 0, medium: a request failed (try 2 of 10) and will be retried in 6 s"
    );
    assert!(told(&lines, 20).ends_with("a request failed (try 2 of 10) and is sent again"));
}

#[test]
fn silence_ends_work_only_where_no_process_is_known() {
    let lines = [mode("bypassPermissions"), prompt(0, "Go"), bash(2)];
    assert!(told(&lines, 301).starts_with("working since 0"));
    assert!(told(&lines, 302).starts_with("idle since 302, low: nothing was written for 5 min"));
    let lives = Announcement::Made(announced(None));
    assert_eq!(
        shown(&ask(&lives, &lines, 3602)),
        "working since 0, medium: process 7 runs and reports no status; \
         Bash was called 60 min ago and has no result yet; \
         it runs without approval in permission mode `bypassPermissions`"
    );
}

#[test]
fn the_word_of_the_client_counts() {
    let lines = [prompt(0, "Build it"), bash(2)];
    let by_word = |word: &str, now: i64| {
        let made = Announced {
            waiting_for: (word == "waiting").then(|| "permission prompt".to_owned()),
            ..announced(Some(word))
        };
        shown(&ask(&Announcement::Made(made), &lines, now))
    };
    assert_eq!(
        by_word("busy", 16),
        "working since 10, high: process 7 has reported `busy` for 6 s; \
         Bash was called 14 s ago and has no result yet"
    );
    assert_eq!(
        by_word("waiting", 16),
        "waiting_for_approval since 10, high: process 7 has reported `waiting` for 6 s; \
         it waits for: permission prompt; Bash was called 14 s ago and has no result yet"
    );
    assert!(by_word("shell", 16).starts_with("working since 10, high"));
    assert!(by_word("idle", 16).starts_with("waiting_for_input since 10, high"));
    assert!(by_word("idle", 310).starts_with("idle since 310, high"));
    assert!(by_word("juggling", 16).starts_with(
        "waiting_for_approval since 5, low: process 7 has reported `juggling` for 6 s, \
         an unknown status"
    ));
}

#[test]
fn a_process_that_is_gone_has_ended() {
    let lines = [prompt(0, "Build it"), bash(22)];
    let gone = Announcement::Made(Announced { is_alive: false, ..announced(Some("busy")) });
    assert_eq!(
        shown(&ask(&gone, &lines, 30)),
        "ended since 22, high: process 7 exited without cleaning up; Bash has no result"
    );
}

#[test]
fn who_would_be_announced_and_is_not_has_ended() {
    let newer = |line: String| {
        line.replace(r#""version":"2.1.29""#, r#""version":"2.1.325","entrypoint":"cli""#)
    };
    let lines = [newer(prompt(0, "Build it")), newer(bash(2))];
    assert!(shown(&ask(&Announcement::Absent, &lines, 11)).starts_with("waiting_for_approval"));
    assert_eq!(
        shown(&ask(&Announcement::Absent, &lines, 12)),
        "ended since 2, medium: no running 2.1.325 process is registered for this session; \
         Bash has no result"
    );
    // Older clients, and programs, are not announced while they run.
    let older = [prompt(0, "Build it"), bash(2)];
    assert!(shown(&ask(&Announcement::Absent, &older, 60)).starts_with("waiting_for_approval"));
    let program: Vec<String> =
        lines.iter().map(|line| line.replace(r#""cli""#, r#""sdk-ts""#)).collect();
    assert!(shown(&ask(&Announcement::Absent, &program, 60)).starts_with("waiting_for_approval"));
}

#[test]
fn nobody_is_waited_for_in_a_run_for_one_prompt() {
    let headless = |line: String| {
        line.replace(r#""version":"2.1.29""#, r#""version":"2.1.325","entrypoint":"sdk-cli""#)
    };
    let lives = Announcement::Made(announced(None));
    let question = r#"{"questions":[{"question":"Which colour?"}]}"#;
    for call in [bash(2), call(2, "q", "AskUserQuestion", question)] {
        let lines = [prompt(0, "Build it"), call].map(headless);
        for announcement in [&Announcement::Absent, &Announcement::Unknown, &lives] {
            let found = ask(announcement, &lines, 60);
            assert_eq!((found.kind, found.pending.as_ref()), (StatusKind::Working, None));
            let why = "it cannot ask: it was started by `claude -p`";
            assert_eq!(found.why.last().unwrap(), why);
        }
    }
    // It ends with its turn.
    let over = [prompt(0, "Build it"), said(2, "Built.", r#""end_turn""#)].map(headless);
    assert_eq!(
        shown(&ask(&Announcement::Absent, &over, 3)),
        "ended since 2, medium: it was started for one prompt (`claude -p`); the turn ended 1 s ago"
    );
    assert!(shown(&ask(&lives, &over, 3)).starts_with("idle since 2, medium: process 7 runs"));
    let settled = [prompt(0, "Build it"), said(2, "Built.", "null")].map(headless);
    assert!(told(&settled, 3).starts_with("working since 0, low"));
    assert!(told(&settled, 12).starts_with("ended since 12, low"));
    // It has its prompt from the start, before that is written.
    let as_program = Announced { entrypoint: Some("sdk-cli".into()), ..announced(None) };
    let found = ask(&Announcement::Made(as_program), &[], 1);
    assert_eq!((found.kind, found.since), (StatusKind::Working, None));
    // A person who goes on with the session can be asked.
    let as_person = Announced { entrypoint: Some("cli".into()), ..announced(None) };
    assert_eq!(ask(&Announcement::Made(as_person), &over, 3).kind, StatusKind::WaitingForInput);
    let mut resumed = over.to_vec();
    resumed.push(headless(prompt(10, "More")).replace("sdk-cli", "cli"));
    resumed.push(headless(bash(12)).replace("sdk-cli", "cli"));
    assert!(told(&resumed, 60).starts_with("waiting_for_approval"));
}

#[test]
fn subagents_in_the_background_go_on_after_the_turn() {
    let launched =
        r#","toolUseResult":{"isAsync":true,"status":"async_launched","agentId":"a1b2"}"#;
    let start = [
        prompt(0, "Look around"),
        call(2, "t1", "Agent", r#"{"description":"Look at files","prompt":"x"}"#),
        result(3, "t1", launched),
        said(5, "Started.", r#""end_turn""#),
    ];
    let found = ask(&Announcement::Unknown, &start, 20);
    assert_eq!(found.running.len(), 1);
    assert_eq!(
        (found.running[0].id.as_str(), found.running[0].about.as_str()),
        ("a1b2", "Look at files")
    );
    assert!(
        shown(&found)
            .starts_with("working since 5, low: the turn is over, but subagents are running")
    );
    // The client's own word counts more, and the subagent is told.
    let idle = shown(&ask(&Announcement::Made(announced(Some("idle"))), &start, 20));
    assert!(idle.starts_with("waiting_for_input") && idle.ends_with("1 subagent runs"), "{idle}");
    // What an earlier process had started ended with it.
    let restarted = Announced { started: Some(at(4)), ..announced(Some("idle")) };
    assert_eq!(ask(&Announcement::Made(restarted), &start, 20).running, []);
    // A subagent that writes nothing for long does not count; one that writes does.
    assert!(told(&start, 303).starts_with("waiting_for_input since 5"));
    assert!(told(&start, 305).starts_with("idle since 305"));
    let mut writing = fold(&start);
    writing.note_agents_written(Some(at(200)));
    assert_eq!(status(&Announcement::Unknown, &writing, at(400)).kind, StatusKind::Working);
    // The note that it has ended comes first in the queue.
    let note = "<task-notification>\\n<task-id>a1b2</task-id>";
    let mut ended = start.to_vec();
    ended.push(line(8, "queue-operation", &format!(r#""operation":"enqueue","content":"{note}""#)));
    assert!(told(&ended, 20).starts_with("waiting_for_input since 5"));
    ended.push(prompt(9, note));
    assert!(told(&ended, 20).starts_with("working since 9"));
}

#[test]
fn commands_in_the_background_are_counted_until_they_end_or_are_stopped() {
    let background = r#","toolUseResult":{"stdout":"","stderr":"","backgroundTaskId":"b9"}"#;
    let mut lines = vec![
        mode("bypassPermissions"),
        prompt(0, "Serve it"),
        call(2, "t1", "Bash", r#"{"command":"serve","run_in_background":true}"#),
        result(3, "t1", background),
        said(5, "It runs.", r#""end_turn""#),
    ];
    assert_eq!(
        told(&lines, 6),
        "waiting_for_input since 5, medium: the turn ended 1 s ago; 1 background command runs"
    );
    lines.push(prompt(7, "Stop it"));
    lines.push(call(8, "t2", "KillShell", r#"{"shell_id":"b9"}"#));
    assert_eq!(ask(&Announcement::Unknown, &lines, 9).running.len(), 1);
    lines.push(result(9, "t2", ""));
    assert_eq!(ask(&Announcement::Unknown, &lines, 9).running, []);
}

#[test]
fn details_come_with_the_answer() {
    let lines = [
        prompt(0, "Repair   the\\nparser"),
        said(2, "I look.", "null").replace("\"m2\"", "\"m\""),
        bash(3).replace("\"m3\"", "\"m\"").replace("\"output_tokens\":5", "\"output_tokens\":50"),
        line(4, "system", r#""subtype":"turn_duration","gitBranch":"main","cwd":"/home/dev/app""#),
        r#"{"type":"ai-title","aiTitle":"By a model"}"#.into(),
        r#"{"type":"custom-title","customTitle":"By hand"}"#.into(),
    ];
    let found = ask(&Announcement::Unknown, &lines, 5);
    assert_eq!(found.last_prompt.as_deref(), Some("Repair the parser"));
    assert_eq!(found.last_output.as_deref(), Some("I look."));
    assert_eq!(found.title.as_deref(), Some("By hand"));
    assert_eq!(found.model.as_deref(), Some("claude-opus-5-5"));
    assert_eq!(found.branch.as_deref(), Some("main"));
    assert_eq!(found.cwd.as_deref(), Some("/home/dev/app"));
    // Both lines are one message.
    assert_eq!((found.tokens.output, found.tokens.context()), (50, 100));
    assert_eq!((found.context_tokens, found.last_line), (Some(100), Some(at(4))));
}

#[test]
fn nothing_is_known_of_nothing() {
    assert_eq!(
        told(&[], 0),
        "unknown since ?, low: nothing is written and no process is announced"
    );
    let lines = [mode("plan"), "{torn".to_owned()];
    assert_eq!(told(&lines, 0), "waiting_for_input since ?, low: nothing was asked yet");
    let lives = Announcement::Made(announced(None));
    assert!(shown(&ask(&lives, &[], 0)).starts_with("waiting_for_input since ?, low: process 7"));
}

#[test]
fn names_are_found_again() {
    for kind in StatusKind::ALL {
        assert_eq!(StatusKind::from_name(kind.name()), Some(kind));
    }
    assert_eq!(StatusKind::from_name("busy"), None);
}
