//! The generated home is what its truth says, and the same wherever it is written.

#![expect(clippy::unwrap_used, reason = "a test may stop")]

mod recount;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use recount::recount;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::Truth;
use recto_testkit::generate::generate;
use serde_json::Value;

const SHAPES: [Shape; 3] = [Shape::Old, Shape::New, Shape::Mixed];

fn home(shape: Shape, seed: u64) -> (tempfile::TempDir, Truth) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { megabytes: 3, seed, shape };
    let truth = generate(&options, directory.path(), &mut |_| {}).unwrap();
    (directory, truth)
}

#[test]
fn every_number_can_be_counted_again() {
    for shape in SHAPES {
        for seed in [1, 2] {
            let (directory, truth) = home(shape, seed);
            let counted = recount(directory.path(), &truth);
            assert_eq!(counted.files, truth.files, "{shape:?} {seed}");
            assert_eq!(counted.projects, truth.projects, "{shape:?} {seed}");
            assert_eq!(counted.bytes_jsonl, truth.bytes_jsonl, "{shape:?} {seed}");
            assert_eq!(counted.lines, truth.lines, "{shape:?} {seed}");
            assert_eq!(counted.human_turns, truth.human_turns, "{shape:?} {seed}");
            assert_eq!(counted.history_lines, truth.history_lines, "{shape:?} {seed}");
            assert_eq!(counted.compactions, truth.compactions, "{shape:?} {seed}");
            assert_eq!(counted.tool_calls, truth.tool_calls, "{shape:?} {seed}");
            assert_eq!(counted.tokens, truth.tokens, "{shape:?} {seed}");
            assert_eq!(counted.largest_session, truth.largest_session, "{shape:?} {seed}");
            assert_eq!(by_name(&counted), by_name(&truth), "{shape:?} {seed}");
            assert_eq!(by_path(&counted), by_path(&truth), "{shape:?} {seed}");
        }
    }
}

fn by_path(truth: &Truth) -> BTreeMap<&str, &recto_testkit::generate::SessionRow> {
    truth.sessions.iter().map(|row| (row.path.as_str(), row)).collect()
}

fn by_name(truth: &Truth) -> BTreeMap<&str, Vec<(&str, u64, &str, &str)>> {
    truth
        .needles
        .iter()
        .map(|needle| {
            let mut places = Vec::new();
            for hit in &needle.hits {
                places.push((
                    hit.path.as_str(),
                    hit.line,
                    hit.uuid.as_str(),
                    hit.session_id.as_str(),
                ));
            }
            places.sort_unstable();
            (needle.name.as_str(), places)
        })
        .collect()
}

#[test]
fn small_homes_have_every_trap() {
    for shape in SHAPES {
        let (directory, truth) = home(shape, 3);
        let files = &truth.files;
        assert!(files.main_empty > 0 && files.main_fork > 0 && files.agent > 1, "{files:?}");
        assert!(truth.lines.malformed_by_kind.len() >= 4, "{:?}", truth.lines);
        assert!(truth.lines.blank > 0 && truth.lines.lone_surrogate > 0, "{:?}", truth.lines);
        assert!(truth.compactions > 0 && truth.history_lines > 0);
        assert!(truth.human_turns.lines > truth.human_turns.unique, "forks copy prompts");
        let tokens = truth.all_tokens();
        assert!(tokens.naive.total() > tokens.last.total());
        assert!(truth.sessions.iter().any(|row| row.reachable_lines < row.chain_lines));
        assert!(truth.sessions.iter().any(|row| row.walk_lines < row.reachable_lines));
        assert!(directory.path().join(".claude/plans").exists());
        let found = truth.needles.iter().filter(|needle| !needle.hits.is_empty()).count();
        assert!(found >= 7, "{found} needles");
    }
}

#[test]
fn tool_results_are_most_user_lines() {
    let (_, truth) = home(Shape::Mixed, 4);
    let users = truth.lines.by_type["user"];
    let share = truth.tool_calls.result_lines * 100 / users;
    assert!((75..=92).contains(&share), "{share} %");
}

#[test]
fn requests_and_attachments_are_most_of_a_new_home() {
    let (directory, truth) = home(Shape::New, 1);
    let mut bytes = 0;
    recount::each_line(directory.path(), &mut |line| {
        let kind = line.value.as_ref().and_then(|value| value["type"].as_str());
        if kind.is_some_and(|kind| kind == "attachment" || kind.starts_with("api-request")) {
            bytes += line.bytes.len() as u64;
        }
    });
    assert!(bytes * 2 > truth.bytes_jsonl, "{bytes} of {}", truth.bytes_jsonl);
}

#[test]
fn the_content_depends_on_the_options_only() {
    for shape in SHAPES {
        let (first, second) = (home(shape, 5), home(shape, 5));
        let (one, two) = (tree(first.0.path()), tree(second.0.path()));
        assert!(one.keys().eq(two.keys()));
        for (path, content) in &one {
            assert!(content == &two[path], "{path} differs");
        }
        assert_eq!(first.1, second.1);
        assert_ne!(tree(home(shape, 6).0.path()), one);
    }
}

fn tree(root: &Path) -> BTreeMap<String, (SystemTime, Vec<u8>)> {
    let mut files = BTreeMap::new();
    for path in recount::files(root) {
        let relative = path.strip_prefix(root).unwrap().display().to_string();
        let time = match relative == "truth.json" {
            true => SystemTime::UNIX_EPOCH,
            false => std::fs::metadata(&path).unwrap().modified().unwrap(),
        };
        files.insert(relative, (time, std::fs::read(&path).unwrap()));
    }
    files
}

#[test]
fn truth_json_says_what_the_struct_says() {
    let (directory, truth) = home(Shape::Mixed, 7);
    let text = std::fs::read_to_string(directory.path().join("truth.json")).unwrap();
    assert_eq!(text, truth.to_json());
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["mb"], 3);
    assert_eq!(json["shape"], "mixed");
    assert_eq!(json["lines"]["total"], truth.lines.total);
    assert_eq!(json["tokens"]["ALL"]["final"]["total"], truth.all_tokens().last.total());
    assert_eq!(json["sessions"].as_array().unwrap().len(), truth.sessions.len());
    assert_eq!(json["needles"][0]["count"], truth.needles[0].hits.len());
    assert_eq!(json["append"]["line"], truth.append.line);
}

#[test]
fn the_line_to_append_continues_its_session() {
    for shape in SHAPES {
        let (_, truth) = home(shape, 8);
        let line: Value = serde_json::from_str(&truth.append.line).unwrap();
        let row = truth.sessions.iter().find(|row| row.path == truth.append.path).unwrap();
        assert_eq!(line["parentUuid"], row.leaf);
        assert_eq!(line["sessionId"], row.id);
        assert_eq!(line["message"]["model"], truth.append.model);
        assert_eq!(recount::usage_of(&line["message"]["usage"]), truth.append.usage);
    }
}

#[test]
fn an_existing_home_is_left_alone() {
    let (directory, truth) = home(Shape::Old, 9);
    let options = Options { megabytes: 1, seed: 9, shape: Shape::Old };
    assert!(generate(&options, directory.path(), &mut |_| {}).is_err());
    let text = std::fs::read_to_string(directory.path().join("truth.json")).unwrap();
    assert_eq!(text, truth.to_json());
}

#[test]
fn cost_state_is_the_sum_of_the_messages_so_far() {
    let (directory, truth) = home(Shape::New, 10);
    let checked = recount::check_costs(directory.path(), &truth);
    assert!(checked > 0);
}
