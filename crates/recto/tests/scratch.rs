//! `recto scratch`.

use insta::assert_snapshot;

use crate::support::FIX;
use crate::support::TestHome;

#[test]
fn the_folder_of_a_session_is_made_and_stays() {
    let test = TestHome::with_sessions();
    let expected = format!("[user]/.local/share/recto/scratch/{FIX}\n");
    assert_eq!(test.run(&["scratch", "3f2a"]).stdout, expected);
    let folder = test.user.path().join(".local/share/recto/scratch").join(FIX);
    std::fs::write(folder.join("notes.md"), "x").unwrap();
    let mut command = test.command(&["scratch"]);
    command.env("SESSION_CONTEXT", format!("session_id={FIX}"));
    assert_eq!(test.finish(&mut command).stdout, expected);
    assert!(folder.join("notes.md").exists());
    assert_snapshot!(test.run(&["scratch", "latest", "--json"]).shown(), @r#"
    {"session":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","path":"[user]/.local/share/recto/scratch/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718"}
    --- exit 0
    "#);
}

#[test]
fn a_hook_names_a_session_that_has_no_log_yet() {
    let test = TestHome::empty();
    let id = "aaaaaaaa-0000-4000-8000-000000000001";
    let run = test.run_with_input(&["scratch", "-"], &format!(r#"{{"session_id":"{id}"}}"#));
    assert_eq!(run.stdout, format!("[user]/.local/share/recto/scratch/{id}\n"));
}

#[test]
fn the_variable_says_where_data_is_if_it_is_absolute() {
    let test = TestHome::with_sessions();
    let mut command = test.command(&["scratch", "3f2a"]);
    command.env("XDG_DATA_HOME", test.work.path().join("data"));
    let run = test.finish(&mut command);
    assert_eq!(run.stdout, format!("[work]/data/recto/scratch/{FIX}\n"));
    let mut command = test.command(&["scratch", "3f2a"]);
    command.env("XDG_DATA_HOME", "data").env_remove("RECTO_TEST_HOME_GUARD");
    assert!(test.finish(&mut command).stdout.starts_with("[user]/"));
    let mut command = test.command(&["scratch", "3f2a"]);
    command.env("RECTO_DATA_DIR", test.work.path().join("own"));
    assert_eq!(test.finish(&mut command).stdout, format!("[work]/own/scratch/{FIX}\n"));
}

#[test]
fn a_test_that_names_no_data_directory_is_refused() {
    let test = TestHome::with_sessions();
    let mut command = test.command(&["scratch", "3f2a"]);
    assert_snapshot!(test.finish(command.env_remove("XDG_DATA_HOME")).shown(), @"
    --- stderr
    error: a test asked for the data directory without naming one
    hint: set RECTO_DATA_DIR to a directory of the test's own
    --- exit 2
    ");
    assert!(!test.user.path().join(".local").exists());
}

#[test]
fn no_folder_is_made_for_what_is_no_session() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["scratch"]).shown(), @"
    --- stderr
    error: SESSION_CONTEXT names no session
    hint: in a hook, give its JSON on standard input: `recto show -`
    hint: or name a session; `recto ls` lists them
    --- exit 2
    ");
    assert_snapshot!(test.run(&["scratch", "agent-a1b2c3d4e5f60718"]).shown(), @"
    --- stderr
    error: `agent-a1b2c3d4e5f60718` is not a session of this home
    --- exit 2
    ");
    assert_snapshot!(test.run(&["scratch", "../../x"]).shown(), @"
    --- stderr
    error: there is no file ../../x
    --- exit 1
    ");
    assert_eq!(test.run_with_input(&["scratch", "-"], r#"{"session_id":"../x"}"#).code, 1);
    let mut command = test.command(&["scratch", "3f2a"]);
    command.env_remove("XDG_DATA_HOME").env_remove("RECTO_TEST_HOME_GUARD");
    assert_snapshot!(test.finish(command.env_remove("HOME")).shown(), @"
    --- stderr
    error: no data directory is set
    hint: set RECTO_DATA_DIR, XDG_DATA_HOME or HOME to an absolute path
    --- exit 2
    ");
    assert!(!test.user.path().join(".local").exists());
}
