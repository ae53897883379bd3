//! Tools in a directory of their own.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use recto_agent::tool::Content;
use recto_agent::tool::Host;
use recto_agent::tool::Ids;
use recto_agent::tool::Offer;
use recto_agent::tool::Places;
use recto_agent::tool::Session;
use recto_agent::tool::Tool;
use recto_agent::tool::ToolCall;
use recto_agent::tool::ToolOutcome;
use recto_agent::tool::prepare;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct Place {
    folder: TempDir,
    session: Session,
}

impl Place {
    fn new() -> Place {
        let folder = TempDir::new().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let project = root.join("project");
        fs::create_dir(&project).unwrap();
        let places = Places {
            home: root.join("home"),
            config: root.join("home/.claude"),
            project_key: "-project".to_owned(),
            project,
            session: "session".into(),
            temporary: root.join("temporary"),
            shell: PathBuf::from("/bin/bash"),
        };
        let mut offer = Offer::headless();
        for tool in Tool::ALL {
            offer.add(tool);
        }
        let session = Session::new(places, offer, Host::default(), Ids::counted());
        Place { folder, session }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.session.places.project.join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name).to_string_lossy().into_owned()
    }

    async fn call(&self, name: &str, input: Value) -> ToolOutcome {
        self.cancellable(name, input, &CancellationToken::new()).await
    }

    async fn cancellable(
        &self,
        name: &str,
        input: Value,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let call = ToolCall { id: "toolu_1".into(), name: name.into(), input };
        match prepare(call, &self.session) {
            Ok(prepared) => prepared.run(&self.session, cancel).await,
            Err(outcome) => *outcome,
        }
    }
}

fn text(outcome: &ToolOutcome) -> String {
    match &outcome.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => panic!("{blocks:?}"),
    }
}

/// The processes that run a command with a word in it.
fn processes_with(word: &str) -> Vec<u32> {
    let has_word = |pid: &u32| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_zombie = state.rsplit(')').next().is_some_and(|rest| rest.starts_with(" Z"));
        String::from_utf8_lossy(&command).contains(word) && !is_zombie
    };
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id()).filter(has_word).collect()
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_is_cancelled_leaves_no_process_behind() {
    let place = Place::new();
    let cancel = CancellationToken::new();
    // A child, a grandchild, one in a group of its own, and one that its parent left.
    let word = "7319.25";
    let command = format!(
        "sleep {word} & (sleep {word} & wait) & setsid sleep {word} & (setsid sleep {word} &) ; \
         trap '' TERM; sleep {word}; sleep {word}"
    );
    let running = place.cancellable("Bash", json!({"command": command}), &cancel);
    let stop = async {
        until(|| processes_with(word).len() >= 5).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, stop);
    assert!(outcome.is_error, "{outcome:?}");
    assert_eq!(processes_with(word), Vec::<u32>::new());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_background_task_is_stopped_with_all_that_it_started() {
    let place = Place::new();
    let word = "7319.75";
    let command = format!("setsid sleep {word} & sleep {word}");
    let input = json!({"command": command, "run_in_background": true});
    let started = place.call("Bash", input).await;
    let id = started.structured["backgroundTaskId"].as_str().unwrap().to_owned();
    until(|| processes_with(word).len() >= 2).await;
    let stopped = place.call("TaskStop", json!({"task_id": id})).await;
    assert!(!stopped.is_error, "{stopped:?}");
    assert_eq!(processes_with(word), Vec::<u32>::new());
    let again = place.call("TaskStop", json!({"task_id": id})).await;
    assert!(again.is_error);
}

#[tokio::test]
async fn a_background_command_with_a_timeout_is_ended_by_it() {
    let place = Place::new();
    let input = json!({"command": "echo hi; sleep 60", "run_in_background": true, "timeout": 300});
    let started = place.call("Bash", input).await;
    let id = started.structured["backgroundTaskId"].as_str().unwrap().to_owned();
    let mut told = Vec::new();
    while told.is_empty() {
        told = place.session.take_notices();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let [notice] = told.as_slice() else { panic!("{told:?}") };
    let notice = &notice.text;
    assert!(notice.contains("<status>killed</status>"), "{notice}");
    let output = place.session.places.tasks().join(format!("{id}.output"));
    assert_eq!(fs::read_to_string(output).unwrap(), "hi\n\n[killed]\n");
    let stopped = place.call("TaskStop", json!({"task_id": id, "shell_id": "other"})).await;
    assert!(stopped.content.text().contains("No task found with ID: b"), "{stopped:?}");
}

#[tokio::test]
async fn the_end_of_a_background_command_is_told_once() {
    let place = Place::new();
    let input = json!({"command": "echo hi; exit 3", "run_in_background": true});
    let started = place.call("Bash", input).await;
    let id = started.structured["backgroundTaskId"].as_str().unwrap().to_owned();
    let mut told = Vec::new();
    while told.is_empty() {
        told = place.session.take_notices();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let [notice] = told.as_slice() else { panic!("{told:?}") };
    let notice = &notice.text;
    assert!(notice.contains(&format!("<task-id>{id}</task-id>")), "{notice}");
    assert!(notice.contains("failed with exit code 3"), "{notice}");
    assert!(place.session.take_notices().is_empty());
    let output = place.session.places.tasks().join(format!("{id}.output"));
    assert_eq!(fs::read_to_string(output).unwrap(), "hi\n\n[exited with code 3]\n");
}

#[tokio::test]
async fn the_working_directory_persists_and_nothing_else_does() {
    let place = Place::new();
    place.call("Bash", json!({"command": "mkdir sub && cd sub && export A=1"})).await;
    let outcome = place.call("Bash", json!({"command": "pwd; echo [$A]"})).await;
    assert_eq!(text(&outcome), format!("{}\n[]", place.path("sub").display()));
    let outside = place.call("Bash", json!({"command": "cd /"})).await;
    let project = place.session.places.project.display().to_string();
    assert_eq!(text(&outside), format!("Shell cwd was reset to {project}"));
}

#[tokio::test]
async fn large_output_is_a_file_and_a_short_result() {
    let place = Place::new();
    let command = "head -c 50000000 /dev/zero | tr '\\0' 'x'";
    let outcome = place.call("Bash", json!({"command": command})).await;
    assert!(text(&outcome).len() < 3000);
    assert_eq!(outcome.structured["persistedOutputSize"], 50_000_000);
    let kept = outcome.structured["persistedOutputPath"].as_str().unwrap();
    assert_eq!(fs::metadata(kept).unwrap().len(), 50_000_000);
}

#[tokio::test]
async fn inputs_of_any_shape_get_an_answer() {
    let place = Place::new();
    let shapes = [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({"file_path": 1, "command": [], "pattern": {}, "todos": "x", "questions": [[]]}),
        json!({"file_path": "", "old_string": "", "new_string": "x", "command": "", "pattern": ""}),
        json!({"file_path": "\u{0}", "notebook_path": "\u{0}", "path": "\u{0}", "pattern": "\u{0}"}),
    ];
    for tool in Tool::ALL {
        for shape in &shapes {
            let outcome = place.call(tool.name(), shape.clone()).await;
            assert!(!outcome.content.text().is_empty() || !outcome.is_error, "{tool:?} {shape}");
        }
    }
}

#[test]
fn every_tool_declares_itself_in_words_of_its_own() {
    for tool in Tool::ALL {
        let declared = tool.declaration();
        assert_eq!(declared["name"], tool.name());
        let about = declared["description"].as_str().unwrap();
        assert!((20..500).contains(&about.len()), "{}: {about}", tool.name());
        assert_eq!(declared["input_schema"]["type"], "object");
        assert_eq!(Tool::named(tool.name()), Some(tool));
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_lines_that_are_read_are_the_lines_of_the_file(
        lines in proptest::collection::vec("[^\r\n\u{feff}\0]{0,12}", 1..20),
        offset in 1..25_usize, limit in 1..25_usize,
    ) {
        let place = Place::new();
        let file = place.write("a.txt", lines.join("\n"));
        let input = json!({"file_path": file, "offset": offset, "limit": limit});
        let outcome = run(place.call("Read", input));
        prop_assert!(!outcome.is_error);
        let shown: Vec<&String> = lines.iter().skip(offset - 1).take(limit).collect();
        let numbered: Vec<String> =
            shown.iter().enumerate().map(|(at, line)| format!("{}\t{line}", offset + at)).collect();
        let is_empty_file = lines.len() == 1 && lines[0].is_empty();
        if !shown.is_empty() && !is_empty_file {
            prop_assert_eq!(text(&outcome), numbered.join("\n"));
        }
        prop_assert_eq!(&outcome.structured["file"]["totalLines"], lines.len());
    }

    #[test]
    fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let place = Place::new();
        for name in ["a.txt", "a.png", "a.ipynb", "a.pdf"] {
            let file = place.write(name, &bytes);
            let outcome = run(place.call("Read", json!({"file_path": file})));
            prop_assert!(outcome.is_error || outcome.structured.is_object());
        }
    }

    #[test]
    fn what_is_written_is_read_back(content in "[^\r\0\u{feff}]{1,200}") {
        let place = Place::new();
        // Of other files blanks at the ends of lines are cut.
        let file = place.path("new/a.md").to_string_lossy().into_owned();
        let input = json!({"file_path": file, "content": content});
        prop_assert!(!run(place.call("Write", input)).is_error);
        prop_assert_eq!(fs::read_to_string(&file).unwrap(), content.clone());
        let read = run(place.call("Read", json!({"file_path": file})));
        prop_assert_eq!(&read.structured["file"]["content"], &content);
    }

    #[test]
    fn an_edit_changes_what_it_names_and_can_be_taken_back(
        before in "[a-z\n]{0,60}", after in "[a-z\n]{0,60}",
        old in "[A-Z]{1,9}", new in "[0-9]{1,9}", is_crlf: bool,
    ) {
        let place = Place::new();
        let end = if is_crlf { "\r\n" } else { "\n" };
        let original = format!("{before}{old}{after}").replace('\n', end);
        let file = place.write("a.txt", &original);
        let edit = |old: &str, new: &str| json!({"file_path": file, "old_string": old, "new_string": new});
        prop_assert!(!run(place.call("Edit", edit(&old, &new))).is_error);
        let changed = format!("{before}{new}{after}").replace('\n', end);
        prop_assert_eq!(fs::read_to_string(&file).unwrap(), changed);
        prop_assert!(!run(place.call("Edit", edit(&new, &old))).is_error);
        prop_assert_eq!(fs::read_to_string(&file).unwrap(), original);
    }
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_not_overwritten() {
    let place = Place::new();
    let file = place.write("a.txt", "one\n");
    place.call("Read", json!({"file_path": file})).await;
    fs::write(&file, "two\n").unwrap();
    let outcome = place.call("Write", json!({"file_path": file, "content": "mine\n"})).await;
    assert!(outcome.is_error);
    assert_eq!(fs::read_to_string(&file).unwrap(), "two\n");
    assert!(place.folder.path().exists());
}

#[tokio::test]
async fn a_large_file_is_read_in_parts_without_being_held() {
    let place = Place::new();
    let line = "x".repeat(99);
    let content: String = (1..=200_000).map(|at| format!("{at} {line}\n")).collect();
    let file = place.write("large.txt", &content);
    let input = json!({"file_path": file, "offset": 150_000, "limit": 2});
    let outcome = place.call("Read", input).await;
    assert_eq!(
        text_lines(&outcome),
        [format!("150000\t150000 {line}"), format!("150001\t150001 {line}")]
    );
    assert_eq!(outcome.structured["file"]["totalLines"], 200_001);
    let all = place.call("Read", json!({"file_path": file})).await;
    assert!(all.is_error && text(&all).contains("exceeds maximum allowed size"));
}

fn text_lines(outcome: &ToolOutcome) -> Vec<String> {
    text(outcome).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn lines_of_a_binary_file_are_shown_where_it_is_asked_for_by_name() {
    let place = Place::new();
    let file = place.write("x.bin", b"needle one\nz\0\nneedle two\nneedle\0\n");
    let shown = json!({"pattern": "needle", "output_mode": "content"});
    assert_eq!(text(&place.call("Grep", shown.clone()).await), "No matches found");
    let mut named = shown;
    named["path"] = json!(file);
    let told =
        "1:needle one\n3:needle two\nbinary file matches (found \"\\0\" byte around offset 12)";
    assert_eq!(text(&place.call("Grep", named).await), told);
}

#[tokio::test]
async fn options_of_the_program_are_read_as_parameters_and_told() {
    let place = Place::new();
    place.write("a.txt", "needle\n");
    place.write("b.txt", "needle\n");
    place.write(".rgignore", "b.txt\n");
    let found = place.call("Grep", json!({"pattern": "needle", "-l": true, "-r": true})).await;
    let note = "`-r` was ignored: Grep always searches a directory recursively.";
    assert!(text(&found).starts_with("Found 1 file\na.txt\n\nNote: `-l`"), "{}", text(&found));
    assert!(text(&found).ends_with(note));
    let both = json!({"pattern": "x", "-l": true, "output_mode": "content"});
    assert!(place.call("Grep", both).await.is_error);
}

#[tokio::test]
async fn searches_leave_out_what_may_not_be_read() {
    let mut place = Place::new();
    place.write("a.txt", "needle\n");
    place.write("secret.txt", "needle\n");
    let is_secret = |path: &Path| path.file_name().is_some_and(|name| name == "secret.txt");
    place.session.is_hidden = Some(std::sync::Arc::new(is_secret));
    let grep = place.call("Grep", json!({"pattern": "needle"})).await;
    assert_eq!(grep.structured["filenames"], json!(["a.txt"]));
    let glob = place.call("Glob", json!({"pattern": "*.txt"})).await;
    assert_eq!(glob.structured["filenames"], json!(["a.txt"]));
}
