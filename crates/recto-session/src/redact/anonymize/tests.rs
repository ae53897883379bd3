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
