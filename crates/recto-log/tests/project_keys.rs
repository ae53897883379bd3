//! Names of project directories, against those that the clients really made.

use recto_log::project_key_candidates;

use crate::corpus::logs;

#[test]
fn every_recorded_directory_is_among_the_candidates() {
    let mut seen = 0;
    for log in logs().iter().filter(|log| log.path.ends_with("keys.jsonl")) {
        for line in log.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line: serde_json::Value = serde_json::from_slice(line).unwrap();
            let cwd = line["cwd"].as_str().unwrap();
            // Where the client did not start there is no directory.
            let Some(key) = line["dir"].as_str() else { continue };
            // `link` was a symbolic link to `plain`, and the client resolves those.
            let candidates = project_key_candidates(&cwd.replace("/w/link", "/w/plain"));
            assert!(candidates.iter().any(|candidate| candidate.as_str() == key), "{cwd}: {key}");
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} directories");
}
