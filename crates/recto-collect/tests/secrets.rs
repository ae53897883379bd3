//! What must not leave a machine does not.

use recto_testkit::FakeS3;

use crate::edge::Edge;
use crate::samples::Random;
use crate::samples::public_rules;
use crate::samples::true_positive;

const LOG: &str = "projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl";
const PRIVATE: &str = "projects/-home-dev-private/5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214.jsonl";

/// Secrets as they are in logs, results of tools, prompts, to-dos and memory.
const SECRETS: [&str; 6] = [
    "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5",
    "AKIAQ4T7Z2X5W6V3B7N5",
    "hunter2-correct-horse",
    "xoxb-123456789012-123456789012-aBcDeFgHiJkLmNoPqRsTuVwX",
    "glpat-aB3dE5fG7hI9jK1lM3nO",
    "ACME-TICKET-4711",
];

fn plant(edge: &Edge) {
    let [github, aws, password, slack, gitlab, ticket] = SECRETS;
    edge.write(
        LOG,
        format!(
            "{{\"type\":\"user\",\"cwd\":\"/home/dev/app\",\"message\":{{\"role\":\"user\",\"content\":\"use {github} and {ticket}\"}}}}\n\
             {{\"type\":\"user\",\"cwd\":\"/home/dev/app\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"aws_access_key_id = {aws}\\nDB_PASSWORD={password}\"}}]}},\"toolUseResult\":{{\"stdout\":\"PGPASSWORD={password} psql\"}}}}\n\
             {{\"type\":\"assistant\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"it was {password}\"}}],\"usage\":{{\"input_tokens\":7}}}}}}\n"
        ),
    );
    edge.write(
        "projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/tool-results/t1.txt",
        format!("token: {slack}\n"),
    );
    edge.write(
        "history.jsonl",
        format!(
            "{{\"display\":\"login with {gitlab}\",\"project\":\"/home/dev/app\"}}\n\
             {{\"display\":\"about my diary\",\"project\":\"/home/dev/private\"}}\n"
        ),
    );
    edge.write("todos/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718-agent-3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.json", format!("[{{\"content\":\"rotate {github}\"}}]"));
    edge.write("projects/-home-dev-app/memory/MEMORY.md", format!("The key is {aws}.\n"));
    edge.write(PRIVATE, "{\"type\":\"user\",\"cwd\":\"/home/dev/private\",\"message\":{\"content\":\"dear diary\"}}\n");
}

/// Everything that is in the store, plain.
fn bucket(edge: &Edge) -> String {
    let mut all = String::new();
    for (key, bytes) in edge.store.objects() {
        all.push_str(&key);
        all.push_str(&String::from_utf8_lossy(&bytes));
    }
    for (path, text) in edge.stored() {
        all.push_str(&path);
        all.push_str(&text);
    }
    all
}

#[test]
fn planted_secrets_do_not_reach_the_store() {
    let mut edge = Edge::new(&FakeS3::start());
    edge.policy = "[[pattern]]\nname = \"ticket\"\nregex = \"ACME-TICKET-[0-9]+\"".to_owned();
    plant(&edge);
    edge.send();
    let bucket = bucket(&edge);
    for secret in SECRETS {
        assert!(!bucket.contains(secret), "{secret} is in the store");
    }
    assert!(bucket.contains("[REDACTED:"));
    assert!(bucket.contains("dear diary"));
    // The archive of the machine itself has everything.
    let archive = recto_store::keep::Archive::open(edge.archive(), edge.machine()).unwrap();
    let kept = crate::edge::given_back(&archive);
    assert!(kept[LOG].contains(SECRETS[0]));
}

#[test]
fn the_names_in_a_store_do_not_confirm_a_guess() {
    let edge = Edge::new(&FakeS3::start());
    plant(&edge);
    edge.send();
    let local: Vec<String> = recto_testkit::contents(&edge.archive())
        .into_keys()
        .map(|path| path.to_string_lossy().into_owned())
        .filter(|path| path.contains("gen=") || path.contains("whole"))
        .map(|path| path.rsplit("file=").next().unwrap().to_owned())
        .collect();
    assert!(!local.is_empty());
    for name in edge.store.keys("fleet/raw") {
        let name = name.rsplit("file=").next().unwrap().to_owned();
        assert!(!local.contains(&name), "{name}");
    }
}

#[test]
fn projects_that_are_not_chosen_stay() {
    let mut edge = Edge::new(&FakeS3::start());
    edge.policy = "exclude = [\"/home/dev/private\"]".to_owned();
    plant(&edge);
    edge.write("projects/-home-dev-private/memory/MEMORY.md", "my diary\n");
    edge.write("plans/one.md", "a plan about the diary\n");
    let report = edge.send();
    assert_eq!(report.withheld.get("project"), Some(&2), "{report:?}");
    assert_eq!(report.withheld.get("mixed"), Some(&1), "{report:?}");
    let bucket = bucket(&edge);
    assert!(!bucket.contains("diary"), "{bucket}");
    assert!(bucket.contains("login with"));
}

#[test]
fn levels_of_content_are_kept_to() {
    for (level, absent, present) in [
        ("no-tool-results", vec!["DB_PASSWORD", "psql"], vec!["it was", "dear diary"]),
        (
            "metadata",
            vec!["DB_PASSWORD", "it was", "diary", "rotate", "login"],
            vec!["\"input_tokens\":7"],
        ),
    ] {
        let mut edge = Edge::new(&FakeS3::start());
        edge.policy = format!("content = \"{level}\"");
        plant(&edge);
        let report = edge.send();
        assert!(report.withheld.contains_key("content"), "{level}: {report:?}");
        let bucket = bucket(&edge);
        for word in absent {
            assert!(!bucket.contains(word), "{level}: {word}");
        }
        for word in present {
            assert!(bucket.contains(word), "{level}: {word}");
        }
    }
}

#[test]
fn what_would_be_sent_is_told_before() {
    let mut edge = Edge::new(&FakeS3::start());
    edge.policy = "include = [\"/home/dev/app\"]".to_owned();
    plant(&edge);
    edge.collect();
    let archive = recto_store::keep::Archive::open(edge.archive(), edge.machine()).unwrap();
    let sender = edge.sender(recto_collect::SendOptions::default());
    let outlook = recto_collect::Outlook::of(&archive, sender.policy()).unwrap();
    assert_eq!(outlook.files, outlook.would_send + 1);
    assert_eq!(outlook.kept_back.len(), 1);
    assert_eq!(outlook.kept_back[0].0, PRIVATE);
    assert!(outlook.redacted.iter().any(|(path, count)| path == LOG && *count >= 3));
    assert_eq!(edge.store.objects().len(), 0);
}

#[test]
fn of_the_secrets_of_the_public_rules_one_of_100_reaches_the_store_at_most() {
    let edge = Edge::new(&FakeS3::start());
    let mut random = Random(24);
    let (mut secrets, mut log) = (Vec::new(), String::new());
    for rule in public_rules() {
        for _ in 0..3 {
            let (text, secret) = true_positive(&rule, &mut random);
            let text = serde_json::to_string(&text).unwrap();
            // As a person types it, and as a tool prints it.
            log.push_str(&match random.below(2) {
                0 => format!(
                    "{{\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{text}}}}}\n"
                ),
                _ => format!(
                    "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":{text}}}]}},\"toolUseResult\":{{\"stdout\":{text}}}}}\n"
                ),
            });
            secrets.push((rule.name, secret));
        }
    }
    edge.write(LOG, &log);
    edge.send();
    let bucket = bucket(&edge);
    assert!(bucket.contains("[REDACTED:"));
    let spelled = |secret: &str| {
        let json = serde_json::to_string(secret).unwrap();
        json[1..json.len() - 1].to_owned()
    };
    let is_there = |secret: &&(&str, String)| bucket.contains(&spelled(&secret.1));
    let left: Vec<&(&str, String)> = secrets.iter().filter(is_there).collect();
    assert!(secrets.len() > 500, "{}", secrets.len());
    assert!(left.len() * 100 <= secrets.len(), "{} of {}: {left:?}", left.len(), secrets.len());
}

/// An end of a log without a line end, that has been so for a while.
fn write_end(edge: &Edge, below: &str, text: &str) {
    edge.write(below, text);
    let file = std::fs::File::options().append(true).open(edge.home().root().join(below)).unwrap();
    let before = std::time::SystemTime::now() - std::time::Duration::from_secs(600);
    file.set_modified(before).unwrap();
}

#[test]
fn an_end_without_a_line_end_leaves_the_machine_like_a_line() {
    let prompt =
        r#"{"type":"user","uuid":"u1","cwd":"/w","message":{"role":"user","content":"PRIVATE"}}"#;
    let result = r#"{"type":"user","uuid":"u2","cwd":"/w","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"PRIVATE"}]}}"#;
    for (content, end) in [
        ("metadata", prompt),
        ("metadata", &prompt[..prompt.len() - 4]),
        ("no-tool-results", result),
        ("no-tool-results", &result[..result.len() - 4]),
    ] {
        for redact in ["strict", "off"] {
            for before in ["", "{\"type\":\"user\",\"cwd\":\"/w\"}\n"] {
                let mut edge = Edge::new(&FakeS3::start());
                edge.policy = format!("content = \"{content}\"\nredact = \"{redact}\"");
                write_end(&edge, LOG, &format!("{before}{end}"));
                edge.send();
                let stored = &edge.stored()[LOG];
                assert!(!stored.contains("PRIVATE"), "{content} {redact} {end}: {stored}");
                assert!(stored.starts_with(before) && stored.len() > before.len(), "{stored}");
                assert!(!stored.ends_with('\n'), "it is still the end of a file: {stored}");
            }
        }
    }
}

#[test]
fn the_last_prompt_of_another_project_stays_on_the_machine() {
    let end = r#"{"display":"PRIVATE","project":"/private"}"#;
    for redact in ["strict", "off"] {
        let mut edge = Edge::new(&FakeS3::start());
        edge.policy = format!("include = [\"/w\"]\nredact = \"{redact}\"");
        let kept = "{\"display\":\"kept\",\"project\":\"/w\"}\n";
        write_end(&edge, "history.jsonl", &format!("{kept}{end}"));
        edge.send();
        assert_eq!(edge.stored()["history.jsonl"], kept);
    }
}
