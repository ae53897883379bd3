use std::fs;

use recto_store::Home;

use super::*;

fn home(user: &str, project: &str, local: &str) -> (tempfile::TempDir, Home, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let claude = directory.path().join("home/.claude");
    let app = directory.path().join("app");
    fs::create_dir_all(app.join(".claude")).unwrap();
    fs::create_dir_all(claude.join("projects")).unwrap();
    for (path, text) in [
        (claude.join("settings.json"), user),
        (app.join(".claude/settings.json"), project),
        (app.join(".claude/settings.local.json"), local),
    ] {
        if !text.is_empty() {
            fs::write(path, text).unwrap();
        }
    }
    let home = Home::open(claude).unwrap();
    (directory, home, app)
}

#[test]
fn lists_are_joined_and_single_values_come_from_the_winning_layer() {
    let (_directory, home, app) = home(
        r#"{"model":"a","permissions":{"deny":["Bash(x)"],"defaultMode":"plan"},"env":{"A":"1","B":2}}"#,
        r#"{"model":"b","permissions":{"deny":["Bash(y)"]},"env":{"A":"3"}}"#,
        "",
    );
    let settings = Settings::read(&home, &app, Wanted::default(), None).unwrap();
    assert_eq!(settings.model(), Some("b"));
    assert_eq!(settings.value_in("permissions", "defaultMode").unwrap().1, Source::User);
    let rules: Vec<_> = settings.strings_in("permissions", "deny").collect();
    assert_eq!(rules, [("Bash(x)", Source::User), ("Bash(y)", Source::Project)]);
    let environment = settings.environment();
    assert_eq!(environment, [("B".into(), "2".into()), ("A".into(), "3".into())]);
}

#[test]
fn a_broken_file_sets_nothing_and_is_reported() {
    let (_directory, home, app) = home("{\"model\":", "[1]", r#"{"model":"c"}"#);
    let settings = Settings::read(&home, &app, Wanted::default(), None).unwrap();
    assert_eq!(settings.model(), Some("c"));
    assert_eq!(settings.problems().len(), 2);
    assert_eq!(settings.problems()[1].message, "not a JSON object");
}

#[test]
fn sources_can_be_chosen_and_the_command_line_wins_over_files() {
    let (_directory, home, app) = home(r#"{"model":"u"}"#, r#"{"model":"p"}"#, r#"{"model":"l"}"#);
    let model = |wanted: &str, flag: Option<&str>| {
        let wanted = Wanted::parse(wanted).unwrap();
        let settings = Settings::read(&home, &app, wanted, flag).unwrap();
        settings.model().map(str::to_owned)
    };
    assert_eq!(model("user,project,local", None).as_deref(), Some("l"));
    assert_eq!(model("user, project", None).as_deref(), Some("p"));
    assert_eq!(model("", None), None);
    assert_eq!(model("local", Some(r#"{"model":"f"}"#)).as_deref(), Some("f"));
    assert_eq!(Wanted::parse("all"), Err(SettingsError::UnknownSource("all".into())));
    let missing = Settings::read(&home, &app, Wanted::default(), Some("no.json")).unwrap_err();
    assert!(missing.to_string().starts_with("Settings file not found: "));
}

#[test]
fn what_holds_in_the_end_is_all_layers_together() {
    let (_directory, home, app) = home(
        r#"{"model":"a","env":{"X":"1"},"permissions":{"deny":["Bash"]}}"#,
        "",
        r#"{"model":"b","env":{"Y":"2"},"permissions":{"deny":["Write","Bash"]}}"#,
    );
    let settings = Settings::read(&home, &app, Wanted::default(), None).unwrap();
    let merged = serde_json::json!({
        "model": "b",
        "env": {"X": "1", "Y": "2"},
        "permissions": {"deny": ["Bash", "Write"]},
    });
    assert_eq!(settings.merged(), merged);
}

#[test]
fn hooks_that_are_none_make_their_file_set_nothing() {
    let bad = r#"{"model":"u","hooks":{"Stop":[{"hooks":[{"type":"command"}]}]}}"#;
    let (_directory, home, app) = home(bad, r#"{"model":"p"}"#, "");
    let settings = Settings::read(&home, &app, Wanted::default(), Some(bad)).unwrap();
    assert_eq!(settings.model(), Some("p"));
    let problems: Vec<&str> =
        settings.problems().iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(problems, ["hooks.Stop.0.hooks.0.command: not a string"; 2]);
}
