use super::*;

fn line(text: &str) -> String {
    String::from_utf8(Anonymizer::new(7).line(text.as_bytes())).unwrap()
}

#[test]
fn words_go_and_the_shape_stays() {
    let anonymizer = Anonymizer::new(7);
    let text = "Fix the Tide table:\n  - `stations/cuxhaven.toml` line 12, the TIDE\n";
    let other = anonymizer.text(text);
    let shape = |text: &str| -> String {
        text.chars().map(|c| if c.is_alphanumeric() { 'x' } else { c }).collect()
    };
    assert_eq!(shape(&other), shape(text));
    assert!(other.contains(".toml"));
    for word in ["Tide", "table", "stations", "cuxhaven", "TIDE"] {
        assert!(!other.contains(word), "{other}");
    }
    assert_eq!(anonymizer.text(text), other, "the same seed gives the same text");
    assert_ne!(Anonymizer::new(8).text(text), other);
}

#[test]
fn what_was_equal_stays_equal() {
    let anonymizer = Anonymizer::new(7);
    let id = "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214";
    let other = anonymizer.text(id);
    assert_ne!(other, id);
    assert!(words_are_hex(&other), "{other}");
    assert_eq!(
        anonymizer.text(&format!("/x/{id}.jsonl")).split('/').nth(2),
        Some(&*format!("{other}.jsonl"))
    );
    let call = anonymizer.text("toolu_01AbC9");
    assert!(call.starts_with("toolu_") && call != "toolu_01AbC9", "{call}");
}

fn words_are_hex(text: &str) -> bool {
    text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[test]
fn what_a_line_is_stays_and_what_it_says_goes() {
    let before = r#"{"type":"assistant","version":"2.1.325","message":{"role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","name":"Read","input":{"file_path":"/home/anna/secret.py","mystery":"person"}},{"type":"tool_use","name":"mcp__bank__transfer","input":{}}],"usage":{"output_tokens":77}},"novel":"person"}"#;
    let after = line(before);
    for kept in [
        r#"{"type":"assistant","version":"2.1.325","message":{"role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","name":"Read","input":{"file_path":"/"#,
        r#""name":"mcp__"#,
        r#""usage":{"output_tokens":77}},"novel":""#,
        ".py\"",
    ] {
        assert!(after.contains(kept), "{kept} in {after}");
    }
    for gone in ["anna", "secret", "mystery", "person", "bank", "transfer"] {
        assert!(!after.contains(gone), "{gone} in {after}");
    }
}

#[test]
fn times_move_by_one_span() {
    let time = |text: &str| -> jiff::Timestamp {
        let after = line(&format!(r#"{{"timestamp":"{text}"}}"#));
        after.split('"').nth(3).unwrap().parse().unwrap()
    };
    let (one, other) = (time("2026-11-14T09:12:24.000Z"), time("2026-11-14T09:13:54.500Z"));
    assert_eq!(other.duration_since(one), SignedDuration::from_millis(90_500));
    assert!(one < "2025-11-14T00:00:00Z".parse().unwrap());
}

#[test]
fn a_torn_line_stays_torn_without_its_words() {
    let after = line(r#"{"type":"user","message":{"content":"please rem"#);
    assert!(after.starts_with("{\"") && !after.contains("please"), "{after}");
    assert!(Value::parse(after.as_bytes()).is_err());
}

#[test]
fn a_damaged_line_keeps_its_keys_and_the_words_of_json() {
    let after = line(
        r#"{"type":"user","isMeta":true,"n":12,"parentUuid":null,"message":{"role":"user","content":"please remove"},garbage here"#,
    );
    let kept = r#"{"type":"user","isMeta":true,"n":12,"parentUuid":null,"message":{"role":"user","content":""#;
    assert!(after.starts_with(kept), "{after}");
    for gone in ["please", "remove", "garbage", "here"] {
        assert!(!after.contains(gone), "{gone} in {after}");
    }
}

#[test]
fn ids_with_a_short_counter_stay_different() {
    let anonymizer = Anonymizer::new(7);
    for start in ["toolu_", "call_", "agent-", "task"] {
        let others: std::collections::BTreeSet<String> =
            (0..1000).map(|number| anonymizer.text(&format!("{start}{number}"))).collect();
        assert_eq!(others.len(), 1000, "{start}");
    }
    let padded: std::collections::BTreeSet<String> =
        (0..100).map(|number| anonymizer.text(&format!("msg_{number:02}"))).collect();
    assert_eq!(padded.len(), 100);
}

#[test]
fn tags_of_the_client_stay_and_others_go() {
    let anonymizer = Anonymizer::new(7);
    for tag in [
        "ide_opened_file",
        "ide_selection",
        "tool_use_error",
        "status",
        "task-notification",
        "system-reminder",
    ] {
        let other = anonymizer.text(&format!("<{tag}>secret words</{tag}>"));
        assert!(
            other.starts_with(&format!("<{tag}>")) && other.ends_with(&format!("</{tag}>")),
            "{other}"
        );
        assert!(!other.contains("secret"), "{other}");
    }
    let other = anonymizer.text("<teammate-message teammate_id=\"anna\">");
    assert!(
        other.starts_with("<teammate-message teammate_id=\"") && !other.contains("anna"),
        "{other}"
    );
    assert!(!anonymizer.text("<customer>x</customer>").contains("customer"));
    assert!(!anonymizer.text("the status page").contains("status"), "a word and no tag");
}

#[test]
fn names_of_any_model_and_fields_of_built_in_tools_stay() {
    let after = line(
        r#"{"type":"assistant","message":{"model":"glm-4.7","content":[{"type":"tool_use","name":"SendMessage","input":{"recipient":"anna","summary":"x"}}]}}"#,
    );
    for kept in
        [r#""model":"glm-4.7""#, r#""name":"SendMessage","input":{"recipient":""#, r#""summary":""#]
    {
        assert!(after.contains(kept), "{kept} in {after}");
    }
    assert!(!after.contains("anna"), "{after}");
}

#[test]
fn a_word_of_four_megabytes_is_replaced_in_one_go() {
    let word = "deadbeef0x".repeat(400_000);
    let other = Anonymizer::new(7).text(&word);
    assert_eq!(other.len(), word.len());
    assert_ne!(other[..1000], word[..1000]);
}
