//! Fuzz target: whatever an archive says of itself, it is a manifest that leads nowhere but
//! into its own folders, or an error.

use std::path::Component;

use recto_testkit::fuzz::fuzz;

use super::Manifest;

const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

const WORDS: [&str; 20] = [
    "..",
    "/",
    "\\",
    "\\u0000",
    "../../x",
    "/etc/passwd",
    "C:\\\\x",
    "null",
    "[]",
    "{}",
    "-1",
    "1e99",
    "18446744073709551616",
    "\"log\"",
    "\"folder\"",
    "\"agent\"",
    "\"todos\"",
    ".credentials.json",
    "CON",
    "\\ud800",
];

fn manifest() -> String {
    let hash = "0".repeat(64);
    let file = |role: &str, name: &str, path: &str| {
        format!(
            r#"{{"role":"{role}","name":"{name}","path":"{path}","bytes":5,"sha256":"{hash}","modified":"2026-11-16T00:00:00Z"}}"#
        )
    };
    let files = [
        file("log", &format!("{ID}.jsonl"), &format!("{ID}/log/{ID}.jsonl")),
        file(
            "folder",
            "subagents/agent-a1.jsonl",
            &format!("{ID}/folder/subagents/agent-a1.jsonl"),
        ),
        file("todos", &format!("{ID}-agent-{ID}.json"), &format!("{ID}/todos/1")),
    ];
    format!(
        r#"{{"format":1,"recto":"0.1.0","created":"2026-11-16T00:00:00Z","sessions":[{{"id":"{ID}","title":"x","cwd":"/w/app","project":"-w-app","files":[{}]}}]}}"#,
        files.join(",")
    )
}

#[test]
fn any_bytes_are_a_manifest_that_stays_inside_or_an_error() {
    let seed = manifest();
    let mut understood = 0u64;
    assert_eq!(Manifest::read(seed.as_bytes()).map(|manifest| manifest.file_count()), Ok(3));
    fuzz(&[&seed], &WORDS, 30_000, |input| {
        let Ok(manifest) = Manifest::read(input) else { return };
        understood += 1;
        for session in &manifest.sessions {
            for file in &session.files {
                let place = session.place(file);
                let is_inside = place.components().all(|part| matches!(part, Component::Normal(_)));
                assert!(is_inside, "{}", place.display());
            }
        }
        // What was read is written as it was read.
        let again = Manifest::read(&manifest.write()).unwrap();
        assert_eq!(again, manifest);
    });
    assert!(understood > 0);
}
