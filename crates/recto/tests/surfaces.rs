//! Every question has one answer: `recto … --json`, the API and MCP are asked the same, and
//! what they have in common must be equal.

use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;
use serde_json::json;

use crate::mcp::Talk;
use crate::serve::Served;
use crate::serve::get;
use crate::serve::start;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A session whose log is empty.
const EMPTY: &str = "0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9";
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// A home, a server and an agent's client.
pub(crate) struct Surfaces {
    pub(crate) test: TestHome,
    pub(crate) talk: Talk,
    _served: Served,
    pub(crate) base: String,
}

impl Surfaces {
    pub(crate) fn new() -> Surfaces {
        Surfaces::of(home())
    }

    pub(crate) fn of(test: TestHome) -> Surfaces {
        let token = test.work.path().join("token");
        std::fs::write(&token, TOKEN).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let arguments = ["--allow-edits", "--token-file", token.to_str().unwrap()];
        let (served, url) = start(&test, &arguments);
        let base = url.split("/login").next().unwrap().to_owned();
        let talk = Talk::start(&test, &["mcp"]);
        Surfaces { test, talk, _served: served, base }
    }

    /// The answer of a command, paths included, which snapshots leave out.
    pub(crate) fn command(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.test.command(&[arguments, &["--json"]].concat()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The body of an answer of the server.
    pub(crate) fn body(&self, path: &str) -> String {
        let url = format!("{}{path}", self.base);
        let answer = get(&url, &format!("Authorization: Bearer {TOKEN}\r\n"));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        body.to_owned()
    }

    pub(crate) fn api(&self, path: &str) -> Value {
        serde_json::from_str(&self.body(&format!("/api/v1/{path}"))).unwrap()
    }

    pub(crate) fn api_list(&self, path: &str) -> Vec<Value> {
        self.api(path).as_array().unwrap().clone()
    }

    /// The items that an agent gets.
    pub(crate) fn mcp(&mut self, tool: &str, arguments: Value) -> Vec<Value> {
        self.talk.json(tool, arguments)["items"].as_array().unwrap().clone()
    }

    /// The session that `clone` made.
    fn clone_id(&self) -> String {
        let all = self.command(&["ls"]);
        let mut ids = all.iter().map(|row| row["id"].as_str().unwrap());
        ids.find(|id| ![FIX, DOCS].contains(id)).unwrap().to_owned()
    }
}

/// Two projects; a session with a plan, edits, to-dos, a subagent and a compaction, its clone, and
/// one with two branches; a plan that no log names.
fn home() -> TestHome {
    let test = TestHome::empty();
    let patch = r#"{"filePath":"/home/dev/app/src/main.rs","oldString":"x","newString":"y","structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":2,"lines":["-x","+y","+z"]}]}"#;
    let fix = SessionBuilder::new(FIX, Client::V2_1_325)
        .branch("fix/parser")
        .at(hours_ago(5))
        .prompt("The parser fails on empty lines.")
        .tool_with_detail(
            "ExitPlanMode",
            r##"{"plan":"# Repair one function\n"}"##,
            "User has approved your plan.",
            r##"{"plan":"# Repair one function\n\n1. skip\n","isAgent":false,"filePath":"/home/dev/.claude/plans/calm-river.md"}"##,
        )
        .tool_with_detail(
            "Edit",
            r#"{"file_path":"/home/dev/app/src/main.rs","old_string":"x","new_string":"y"}"#,
            "The file was updated.",
            patch,
        )
        .tool(
            "TodoWrite",
            r#"{"todos":[{"content":"Test it","status":"pending","activeForm":"Testing it"}]}"#,
            "Todos have been modified.",
        )
        .failed_tool("Read", r#"{"file_path":"/home/dev/app/gone.rs"}"#, "File does not exist.")
        .answer("Repaired: empty lines are skipped now.")
        .compaction("We repaired the parser.")
        .prompt("Thanks!")
        .answer("You are welcome.")
        .model_title("Repair the parser");
    test.home.add(&fix, hours_ago(4));
    let agent = SessionBuilder::agent(FIX, "a1b2c3d4e5f60718", Client::V2_1_325)
        .at(hours_ago(5))
        .prompt("Find all callers of parse().")
        .answer("There are two callers.");
    test.home.add(&agent, hours_ago(4));
    let docs = SessionBuilder::new(DOCS, Client::V2_1_29)
        .at(hours_ago(27))
        .cwd("/home/dev/docs")
        .prompt("Write the parser docs")
        .answer("Written.")
        .prompt("Once more.")
        .answer("Written again.")
        .raw(format!("{}\n", rewound(DOCS)))
        .custom_title("Parser docs");
    test.home.add(&docs, hours_ago(26));
    test.home.write("plans/lost-leaf.md", "# Nobody's plan\n");
    assert_eq!(test.run(&["clone", FIX]).code, 0);
    test
}

/// A prompt that follows the first answer of a session, though the session went on.
fn rewound(session: &str) -> Value {
    json!({
        "type": "user", "uuid": "0b0b0b0b-0000-4000-8000-000000000001",
        "parentUuid": format!("{}-0000-4000-8000-000000000002", &session[..8]),
        "isSidechain": false, "sessionId": session, "timestamp": "2026-11-16T09:30:00.000Z",
        "cwd": "/home/dev/docs", "version": "2.1.29", "userType": "external",
        "message": {"role": "user", "content": "Shorter, please."},
    })
}

/// What two answers have in common must be equal; `least` fields must be in both.
#[track_caller]
fn assert_agree(what: &str, left: &[Value], right: &[Value], least: usize) {
    assert_eq!(left.len(), right.len(), "{what}: {left:#?} {right:#?}");
    assert!(!left.is_empty(), "{what}: no rows");
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (left.as_object().unwrap(), right.as_object().unwrap());
        let shared: Vec<&String> = left.keys().filter(|name| right.contains_key(*name)).collect();
        assert!(shared.len() >= least, "{what}: only {shared:?} of {left:?} and {right:?}");
        for name in shared {
            assert_eq!(left[name], right[name], "{what}: {name}");
        }
    }
}

#[test]
fn plans_are_the_same_everywhere_and_a_copy_is_none() {
    let mut surfaces = Surfaces::new();
    let told = surfaces.command(&["plans"]);
    let sessions: Vec<&Value> = told.iter().map(|plan| &plan["session"]).collect();
    assert_eq!(sessions, [&Value::Null, &json!(FIX)], "the loose file, and the original's plan");
    assert_agree("plans", &told, &surfaces.api_list("plans"), 7);
    assert_agree("plans", &told, &surfaces.mcp("plans", json!({})), 3);
    let of_session = surfaces.command(&["plans", FIX]);
    assert_agree("plans", &of_session, &surfaces.api_list(&format!("sessions/{FIX}/plans")), 7);
    assert_agree("plans", &of_session, &surfaces.mcp("plans", json!({"session": FIX})), 6);
}

#[test]
fn uses_of_a_file_are_the_originals_everywhere() {
    let surfaces = Surfaces::new();
    let told = surfaces.command(&["files", "src/main.rs"]);
    let sessions: Vec<&Value> = told.iter().map(|one| &one["session"]).collect();
    assert_eq!(sessions, [&json!(FIX)]);
    let page = surfaces.body("/file?path=src/main.rs");
    assert!(page.contains(&format!("/session/{FIX}")), "{page}");
    assert!(!page.contains(&format!("/session/{}", surfaces.clone_id())), "{page}");
}

#[test]
fn sessions_are_listed_the_same_everywhere() {
    let mut surfaces = Surfaces::new();
    let told = surfaces.command(&["ls"]);
    assert_eq!(told.len(), 3, "two sessions and a clone");
    let listed = surfaces.api("sessions")["sessions"].as_array().unwrap().clone();
    assert_agree("sessions", &told, &listed, 21);
    assert_agree("sessions", &told, &surfaces.mcp("list_sessions", json!({})), 21);
    let head = surfaces.api(&format!("sessions/{FIX}"))["session"].clone();
    let own: Vec<Value> = told.into_iter().filter(|row| row["id"] == FIX).collect();
    assert_agree("session", &own, &[head], 21);
    assert_agree("stats", &own, &surfaces.command(&["stats", FIX]), 12);
    let empty = format!("projects/-home-dev-app/{EMPTY}.jsonl");
    surfaces.test.home.write(&empty, "");
    for (arguments, query) in [
        (&["ls", "--project", "docs"] as &[&str], "?project=docs"),
        (&["ls", "--branch", "fix/parser"], "?branch=fix/parser"),
        (&["ls", "--since", "10h"], "?since=10h"),
        (&["ls", "--all"], "?all=true"),
    ] {
        let told = surfaces.command(arguments);
        let listed = surfaces.api(&format!("sessions{query}"))["sessions"].clone();
        assert_agree(query, &told, listed.as_array().unwrap(), 21);
        assert_eq!(told.iter().any(|row| row["id"] == EMPTY), query == "?all=true");
    }
}

#[test]
fn turns_agents_files_and_health_are_the_same_everywhere() {
    let surfaces = Surfaces::new();
    let of = |what: &str| surfaces.api(&format!("sessions/{FIX}{what}"));
    let turns = surfaces.command(&["turns", FIX]);
    assert_agree("turns", &turns, of("/turns")["turns"].as_array().unwrap(), 19);
    assert_agree("outline", &turns, of("")["outline"].as_array().unwrap(), 19);
    let agents = surfaces.command(&["agents", FIX]);
    assert_agree("agents", &agents, of("/agents").as_array().unwrap(), 20);
    let files = surfaces.command(&["files", FIX]);
    assert_agree("files", &files, of("/files").as_array().unwrap(), 7);
    let checked = surfaces.command(&["check", FIX, "--notes"]);
    let reach = checked.iter().find(|row| row["kind"] == "reach").unwrap();
    let reach = reach["reach"].as_array().unwrap();
    assert_agree("reach", reach, of("/health")["reach"].as_array().unwrap(), 12);
}

#[test]
fn what_is_wrong_with_a_session_is_the_same_everywhere() {
    let surfaces = Surfaces::new();
    // A prompt whose parent is lost, a call without a result, and a line that is cut.
    let lost = rewound(FIX)
        .to_string()
        .replace("-0000-4000-8000-000000000002", "-0000-4000-8000-0000000000ff");
    let broken = SessionBuilder::new(FIX, Client::V2_1_29)
        .at(hours_ago(5))
        .prompt("Repair it")
        .answer("Done.")
        .raw(format!("{lost}\n{{\"type\":\"user\",\n"));
    surfaces.test.home.add(&broken, hours_ago(4));
    let told = surfaces.command(&["check", FIX, "--notes"]);
    let is_of_session = |row: &&Value| row["offset"].is_null() && row["kind"] != "reach";
    let told: Vec<Value> = told.iter().filter(is_of_session).cloned().collect();
    let health = surfaces.api(&format!("sessions/{FIX}/health"));
    assert_eq!(health["damaged_lines"], 1);
    let served = health["problems"].as_array().unwrap();
    let mut served: Vec<Value> =
        served.iter().filter(|row| row["kind"] != "damaged-line").cloned().collect();
    // The command tells damage before notes.
    served.sort_by_key(|row| row["severity"] != "damage");
    assert_agree("problems", &told, &served, 4);
}

#[test]
fn branches_are_the_same_everywhere() {
    let surfaces = Surfaces::new();
    let told = surfaces.command(&["branches", DOCS]);
    assert_eq!(told.len(), 2, "{told:?}");
    let head = surfaces.api(&format!("sessions/{DOCS}"));
    assert_agree("branches", &told, head["branches"].as_array().unwrap(), 8);
    let page = surfaces.body(&format!("/session/{DOCS}"));
    for branch in &told {
        let address = format!("?branch={}", branch["tip"].as_str().unwrap());
        assert!(page.contains(&address), "{address}: {page}");
    }
}

#[test]
fn tool_calls_are_counted_the_same_everywhere() {
    let surfaces = Surfaces::new();
    let calls = surfaces.command(&["tools", FIX]);
    let counts = surfaces.api(&format!("sessions/{FIX}"))["counts"].clone();
    assert_eq!(counts["tool_calls"], calls.len());
    let failed = calls.iter().filter(|call| call["state"] == "failed").count();
    assert_eq!((failed, &counts["failed_tool_calls"]), (1, &json!(1)));
    let turns = surfaces.api(&format!("sessions/{FIX}/turns"))["turns"].clone();
    let items = turns.as_array().unwrap().iter().flat_map(|turn| turn["items"].as_array().unwrap());
    let shown: Vec<Value> = items.filter(|item| item.get("input").is_some()).cloned().collect();
    assert_agree("tool calls", &calls, &shown, 4);
    let sums = surfaces.command(&["tools", FIX, "--by", "name"]);
    assert_eq!(sums.iter().map(|tool| tool["calls"].as_u64().unwrap()).sum::<u64>(), 4);
}

#[test]
fn items_are_the_same_everywhere() {
    let surfaces = Surfaces::new();
    for (session, calls, notes) in [(FIX, 4, 2), (DOCS, 0, 0)] {
        let told = surfaces.command(&["show", session, "--meta", "--thinking"]);
        let pages = surfaces.api(&format!("sessions/{session}/turns?count=50"));
        let turns = pages["turns"].as_array().unwrap();
        let served = turns.iter().flat_map(|turn| turn["items"].as_array().unwrap()).cloned();
        // The API gives a result with its call, the command where the log has it.
        let (results, told): (Vec<Value>, Vec<Value>) =
            told.into_iter().partition(|row| row["item"] == "result");
        assert_eq!(results.len(), calls);
        assert_eq!(told.iter().filter(|row| row["item"] == "note").count(), notes);
        let mut served: Vec<Value> = served.collect();
        served.sort_by_key(|row| row["line"].as_u64());
        assert_agree("items", &told, &served, 9);
        let given: Vec<Value> =
            served.iter().filter_map(|row| row.get("result")).cloned().collect();
        if calls > 0 {
            assert_agree("results", &results, &given, 6);
        }
        let document = surfaces.body(&format!("/api/v1/sessions/{session}/export?format=json"));
        // It is sent in one piece, with the length of it before.
        let (start, end) = (document.find('{').unwrap(), document.rfind('}').unwrap());
        let document: Value = serde_json::from_str(&document[start..=end]).unwrap();
        let shown = surfaces.command(&["show", session, "--tools", "full"]);
        assert_eq!(document["items"].as_array().unwrap(), &shown);
    }
}

#[test]
fn the_home_is_the_same_everywhere() {
    let surfaces = Surfaces::new();
    surfaces.test.home.write(&format!("projects/-home-dev-app/{EMPTY}.jsonl"), "");
    let told = surfaces.command(&[]);
    assert_eq!((&told[0]["sessions"], &told[0]["empty"]), (&json!(3), &json!(1)));
    assert_agree("overview", &told, &[surfaces.api("overview")], 7);
}

#[test]
fn grep_and_find_give_the_same_rows() {
    let surfaces = Surfaces::new();
    let mut found = surfaces.command(&["search", "callers"]);
    let mut matched = surfaces.command(&["grep", "callers"]);
    for rows in [&mut found, &mut matched] {
        rows.sort_by_key(|row| (row["path"].to_string(), row["line"].as_u64()));
    }
    assert_agree("hits", &found, &matched, 12);
}

#[test]
fn operations_are_the_same_everywhere() {
    let surfaces = Surfaces::new();
    let told = surfaces.command(&["log"]);
    assert_agree("operations", &told, &surfaces.api_list("operations"), 11);
}

#[test]
fn hits_are_the_same_everywhere() {
    let mut surfaces = Surfaces::new();
    let told = surfaces.command(&["search", "parser"]);
    assert!(told.len() >= 3, "{told:?}");
    let answer = surfaces.api("search?q=parser");
    assert_agree("hits", &told, answer["hits"].as_array().unwrap(), 12);
    assert_agree("hits", &told, &surfaces.mcp("search_sessions", json!({"query": "parser"})), 12);
}

#[test]
fn the_status_of_a_session_is_the_same_everywhere() {
    let mut surfaces = Surfaces::new();
    let told = surfaces.command(&["status", FIX]);
    assert_eq!(told[0]["goal"], "The parser fails on empty lines.");
    assert_eq!(told[0]["last_prompt"], "Thanks!");
    assert_agree("status", &told, &surfaces.api_list(&format!("status?session={FIX}")), 27);
    assert_agree("status", &told, &surfaces.mcp("status", json!({"session": FIX})), 27);
}

#[test]
fn a_session_has_the_same_numbers_everywhere() {
    let mut surfaces = Surfaces::new();
    let told = surfaces.command(&["stats", FIX]);
    assert_agree("stats", &told, &[surfaces.api(&format!("sessions/{FIX}/stats"))], 40);
    assert_agree("stats", &told, &[surfaces.talk.json("stats", json!({"session": FIX}))], 40);
    // What a status and a list say of a session has the same names and values.
    assert_agree("stats", &told, &surfaces.command(&["status", FIX]), 12);
    let agent = surfaces.command(&["stats", "agent-a1b2c3d4e5f60718"]);
    assert_eq!(agent[0]["subagent"], true);
    let path = format!("sessions/{FIX}/agents/a1b2c3d4e5f60718/stats");
    assert_agree("stats", &agent, &[surfaces.api(&path)], 40);
}

#[test]
fn usage_is_the_same_everywhere() {
    let mut surfaces = Surfaces::new();
    for by in ["day", "session", "model", "project"] {
        let told = surfaces.command(&["usage", "--by", by]).remove(0);
        let served = surfaces.api(&format!("usage?by={by}"));
        assert_agree("usage", std::slice::from_ref(&told), &[served], 7);
        let rows = told["rows"].as_array().unwrap().clone();
        let mut agents = surfaces.mcp("usage", json!({"by": by}));
        // An agent gets the newest day first.
        if by == "day" {
            agents.reverse();
        }
        assert_agree("usage", &rows, &agents, 14);
    }
}

#[test]
fn a_title_in_the_log_of_the_next_session_is_the_same_everywhere() {
    let old = "0c0c0c0c-0000-4000-8000-000000000001";
    let next = "0d0d0d0d-0000-4000-8000-000000000001";
    let line = |session: &str, number: u32| {
        json!({
            "type": "user", "uuid": format!("0c0c0c0c-0000-4000-8000-0000000001{number:02}"),
            "parentUuid": null, "sessionId": session, "version": "2.0.50", "cwd": "/home/dev/old",
            "timestamp": "2026-01-01T00:00:00.000Z", "isSidechain": false,
            "message": {"role": "user", "content": "look at it"},
        })
    };
    let summary = json!({
        "type": "summary", "summary": "Look at old logs",
        "leafUuid": "0c0c0c0c-0000-4000-8000-000000000101",
    });
    let mut surfaces = Surfaces::new();
    let write = |id: &str, text: String| {
        surfaces.test.home.write(&format!("projects/-home-dev-old/{id}.jsonl"), &text);
    };
    write(old, format!("{}\n", line(old, 1)));
    write(next, format!("{summary}\n{}\n", line(next, 2)));
    let title = |rows: &[Value]| {
        let row = rows.iter().find(|row| row["id"] == old);
        row.unwrap_or_else(|| panic!("{rows:?}"))["title"].clone()
    };
    let wanted = json!("Look at old logs");
    assert_eq!(title(&surfaces.command(&["ls"])), wanted);
    let listed = surfaces.api("sessions")["sessions"].as_array().unwrap().clone();
    assert_eq!(title(&listed), wanted);
    assert_eq!(title(&surfaces.mcp("list_sessions", json!({}))), wanted);
    assert!(surfaces.test.run(&["show", old]).stdout.contains("Look at old logs"));
    assert!(surfaces.body(&format!("/session/{old}")).contains("Look at old logs"));
}
