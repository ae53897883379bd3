use fs_err as fs;

use super::*;

fn digest(log: &str, is_agent: bool) -> Digest {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.jsonl");
    fs::write(&path, log).unwrap();
    Digest::read(&path, is_agent).unwrap()
}

fn prompt(text: &str, more: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"u1\",\"timestamp\":\"2026-11-16T00:00:00.000Z\",\"cwd\":\"/w\"{more},\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
    )
}

const ANSWER: &str = "{\"type\":\"assistant\",\"uuid\":\"u2\",\"timestamp\":\"2026-11-16T00:00:09.000Z\",\"version\":\"2.1.325\",\"gitBranch\":\"main\",\"message\":{\"model\":\"claude-x\",\"content\":[]}}\n";

#[test]
fn files_without_a_conversation_are_recognised() {
    assert_eq!(digest("", false).kind, FileKind::Empty);
    let snapshot = "{\"type\":\"file-history-snapshot\",\"snapshot\":{}}\n";
    assert_eq!(digest(snapshot, false).kind, FileKind::Stub);
    assert_eq!(digest("nonsense", false).kind, FileKind::Stub);
    assert_eq!(digest(&prompt("Warmup", ""), true).kind, FileKind::Warmup);
    assert_eq!(digest(&format!("{}{ANSWER}", prompt("Warmup", "")), true).kind, FileKind::Warmup);
    assert_eq!(digest(ANSWER, true).kind, FileKind::Warmup, "2.0.50 writes only the answer");
    assert_eq!(digest(&format!("{ANSWER}{ANSWER}"), true).kind, FileKind::Agent);
    assert_eq!(digest(&format!("{}{ANSWER}", prompt("find", "")), true).kind, FileKind::Agent);
    assert_eq!(digest(ANSWER, false).kind, FileKind::Session);
}

#[test]
fn a_small_log_says_everything() {
    let log = format!("{}{ANSWER}", prompt("  fix\\n the   bug ", ""));
    let digest = digest(&log, false);
    assert_eq!(digest.kind, FileKind::Session);
    assert_eq!(digest.first_prompt.as_deref(), Some("fix the bug"));
    assert_eq!(digest.title, Some(("fix the bug".into(), TitleSource::FirstPrompt)));
    assert_eq!(digest.cwd.as_deref(), Some("/w"));
    assert_eq!(digest.model.as_deref(), Some("claude-x"));
    assert_eq!(digest.branch.as_deref(), Some("main"));
    assert_eq!(digest.version.as_deref(), Some("2.1.325"));
    assert_eq!(digest.started.unwrap().to_string(), "2026-11-16T00:00:00Z");
    assert_eq!(digest.ended.unwrap().to_string(), "2026-11-16T00:00:09Z");
}

#[test]
fn a_request_at_the_end_does_not_hide_the_branch() {
    let request = "{\"type\":\"api-request\",\"version\":\"2.1.325\",\"params\":{}}\n";
    let log = format!("{}{ANSWER}{request}", prompt("fix", ""));
    assert_eq!(digest(&log, false).branch.as_deref(), Some("main"));
    let outside = ANSWER.replace("\"main\"", "\"\"");
    assert_eq!(digest(&format!("{log}{outside}{request}"), false).branch, None);
}

#[test]
fn a_command_stands_in_for_a_prompt() {
    let command = prompt("<command-name>/fix</command-name><command-args>it</command-args>", "");
    assert_eq!(
        digest(&format!("{command}{ANSWER}"), false).first_prompt.as_deref(),
        Some("/fix it")
    );
    let both = format!("{command}{ANSWER}{}", prompt("and then", ""));
    assert_eq!(digest(&both, false).first_prompt.as_deref(), Some("and then"));
}

#[test]
fn the_task_of_a_subagent_inside_a_session_is_not_its_first_prompt() {
    let task = prompt("look around", ",\"isSidechain\":true");
    let log = format!("{task}{ANSWER}{}", prompt("fix it", ""));
    assert_eq!(digest(&log, false).first_prompt.as_deref(), Some("fix it"));
    assert_eq!(digest(&log, true).first_prompt.as_deref(), Some("look around"));
    assert_eq!(digest(&task, false).first_prompt.as_deref(), Some("look around"));
}

#[test]
fn notes_of_an_editor_are_no_part_of_a_title() {
    let note = "<ide_opened_file>The user opened a.rs.</ide_opened_file>";
    let log = format!("{}{}{ANSWER}", prompt(note, ""), prompt(&format!("{note}fix it"), ""));
    assert_eq!(digest(&log, false).title, Some(("fix it".into(), TitleSource::FirstPrompt)));
}

#[test]
fn titles_have_their_precedence_and_the_last_one_counts() {
    let title = |lines: &str| digest(&format!("{}{lines}", prompt("p", "")), false).title.unwrap();
    let custom = "{\"type\":\"custom-title\",\"customTitle\":\"mine\"}\n";
    let ai = "{\"type\":\"ai-title\",\"aiTitle\":\"old\"}\n{\"type\":\"ai-title\",\"aiTitle\":\"new\"}\n";
    assert_eq!(title(ai), ("new".into(), TitleSource::Ai));
    assert_eq!(title(&format!("{custom}{ai}")), ("mine".into(), TitleSource::Custom));
    let taken_back = "{\"type\":\"custom-title\",\"customTitle\":\"\"}\n";
    assert_eq!(title(&format!("{custom}{taken_back}{ai}")).1, TitleSource::Ai);
    let tags = "{\"type\":\"ai-title\",\"aiTitle\":\"<ide_opened_file>a.rs\"}\n";
    assert_eq!(title(&format!("{ai}{tags}")), ("new".into(), TitleSource::Ai));
    let own = "{\"type\":\"summary\",\"summary\":\"own\",\"leafUuid\":\"u1\"}\n";
    let other = "{\"type\":\"summary\",\"summary\":\"other\",\"leafUuid\":\"x9\"}\n";
    assert_eq!(title(&format!("{own}{other}")), ("own".into(), TitleSource::Summary));
    assert_eq!(title(other), ("p".into(), TitleSource::FirstPrompt));
}

#[test]
fn of_a_large_log_only_the_head_and_the_tail_are_read() {
    let filler = format!(
        "{{\"type\":\"attachment\",\"attachment\":{{\"type\":\"file\",\"content\":\"{}\"}}}}\n",
        "x".repeat(300_000)
    );
    let log = format!(
        "{}{filler}{}{filler}{}{ANSWER}",
        prompt("first", ""),
        "{\"type\":\"custom-title\",\"customTitle\":\"in the middle\"}\n",
        "{\"type\":\"ai-title\",\"aiTitle\":\"at the end\"}\n"
    );
    let digest = digest(&log, false);
    assert_eq!(digest.title, Some(("at the end".into(), TitleSource::Ai)));
    assert_eq!(digest.first_prompt.as_deref(), Some("first"));
    assert_eq!(digest.model.as_deref(), Some("claude-x"));
}

#[test]
fn a_first_line_of_megabytes_still_tells_its_directory() {
    let log = prompt(&"y".repeat(3_000_000), "");
    let digest = digest(&log, false);
    assert_eq!(digest.cwd.as_deref(), Some("/w"));
    assert_eq!(digest.kind, FileKind::Session);
}

#[test]
fn long_texts_are_cut_between_characters() {
    let text = format!("{} {}", "wort".repeat(20), "é".repeat(1000));
    let short = shortened(&text);
    assert!(short.len() <= TEXT_MOST + 8 && short.ends_with('…'), "{}", short.len());
}

/// A log of an old client, by the number of its only line.
fn old_log(number: u32) -> String {
    prompt("p", ",\"version\":\"2.0.50\"")
        .replace("\"u1\"", &format!("\"00000000-0000-4000-8000-{number:012x}\""))
}

fn summary(title: &str, number: u32) -> String {
    format!(
        "{{\"type\":\"summary\",\"summary\":\"{title}\",\"leafUuid\":\"00000000-0000-4000-8000-{number:012x}\"}}\n"
    )
}

#[test]
fn the_title_of_a_session_in_the_log_of_the_next_one_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let title = |name: &str| Digest::read(&path(name), false).unwrap().title.unwrap();
    fs::write(path("a.jsonl"), old_log(1)).unwrap();
    assert_eq!(title("a.jsonl"), ("p".into(), TitleSource::FirstPrompt));
    // The next session has it, before all else, with titles of others.
    let titles = [summary("of another", 9), summary("of the first", 1)].concat();
    fs::write(path("b.jsonl"), format!("{titles}{}", old_log(2))).unwrap();
    assert_eq!(title("a.jsonl"), ("of the first".into(), TitleSource::Summary));
    assert_eq!(title("b.jsonl"), ("p".into(), TitleSource::FirstPrompt));
    // A line that only names the other one as its parent is not its own.
    let child = old_log(3)
        .replace("\"uuid\"", "\"parentUuid\":\"00000000-0000-4000-8000-000000000001\",\"uuid\"");
    fs::write(path("c.jsonl"), child).unwrap();
    assert_eq!(title("c.jsonl").1, TitleSource::FirstPrompt);
    // What the user named keeps its name.
    let named = "{\"type\":\"custom-title\",\"customTitle\":\"mine\"}\n";
    fs::write(path("a.jsonl"), format!("{}{named}", old_log(1))).unwrap();
    assert_eq!(title("a.jsonl"), ("mine".into(), TitleSource::Custom));
}
