//! What becomes of lines and texts with secrets. No secret is written out here:
//! each is put together when the test runs.

use super::*;

/// A token of a known form.
fn token() -> String {
    format!("ghp_{}", "x9Kq2LmZ7vR4tW8yB3nH6cJ1fD5gS0aPuEoi")
}

/// A secret that is known by its name only.
fn plain() -> String {
    ["q7Zk2mVx9Lp4", "Rt8Wn3Ys6Bd1", "Hf5Jg0Cu"].concat()
}

fn redactor() -> Redactor {
    Redactor::new(Options::default()).unwrap()
}

/// The line with its placeholders; their hashes are `#`.
fn shown(redactor: &Redactor, line: &str) -> String {
    match redactor.line(line.as_bytes()) {
        Outcome::Unchanged => "unchanged".into(),
        Outcome::Changed(change) => without_hashes(&String::from_utf8(change.bytes).unwrap()),
    }
}

fn without_hashes(text: &str) -> String {
    let hash = regex::Regex::new(r"(\[REDACTED:[a-z0-9-]+:)[0-9a-f]{8}\]").unwrap();
    hash.replace_all(text, "$1#]").into_owned()
}

fn change(redactor: &Redactor, line: &str) -> Change {
    match redactor.line(line.as_bytes()) {
        Outcome::Unchanged => panic!("unchanged: {line}"),
        Outcome::Changed(change) => change,
    }
}

#[test]
fn only_the_bytes_of_the_secret_change() {
    let secret = token();
    let line =
        format!(r#" {{"z":1e5 ,"t" : "\ud83d {secret}\u0041\n", "n":12345678901234567890}} "#);
    assert_eq!(
        shown(&redactor(), &line),
        r#" {"z":1e5 ,"t" : "\ud83d [REDACTED:github-pat:#]\u0041\n", "n":12345678901234567890} "#
    );
}

#[test]
fn the_same_secret_has_the_same_placeholder() {
    let (redactor, secret) = (redactor(), token());
    let line = format!(r#"{{"a":"{secret}","b":["x {secret} {secret}"]}}"#);
    let change = change(&redactor, &line);
    let placeholders: Vec<String> = change.findings.iter().map(Finding::placeholder).collect();
    assert_eq!(placeholders.len(), 3);
    assert!(placeholders.iter().all(|one| *one == placeholders[0]), "{placeholders:?}");
    assert_eq!(redactor.text(&secret).text, placeholders[0]);
    let salted = Redactor::new(Options { salt: b"salt".to_vec(), ..Options::default() }).unwrap();
    assert_ne!(salted.text(&secret).text, placeholders[0]);
}

#[test]
fn a_redacted_line_is_not_changed_again() {
    let redactor = redactor();
    let line = format!(r#"{{"t":"API_KEY={} and {}"}}"#, plain(), token());
    let once = change(&redactor, &line).bytes;
    assert_eq!(redactor.line(&once), Outcome::Unchanged, "{}", String::from_utf8_lossy(&once));
}

#[test]
fn a_secret_that_was_seen_is_replaced_where_it_stands_alone() {
    let secret = plain();
    let first = format!(r#"{{"t":"API_KEY={secret}"}}"#);
    let second = format!(r#"{{"t":"what is {secret} for?"}}"#);
    assert_eq!(shown(&redactor(), &second), "unchanged");
    let mut collector = redactor().collector();
    collector.line(first.as_bytes());
    collector.line(second.as_bytes());
    assert!(!collector.is_full());
    let redactor = collector.finish().unwrap();
    assert_eq!(shown(&redactor, &second), r#"{"t":"what is [REDACTED:generic-api-key:#] for?"}"#);
    let (one, other) = (change(&redactor, &first), change(&redactor, &second));
    assert_eq!(one.findings[0].placeholder(), other.findings[0].placeholder());
    // What was learned stays when more is shown.
    let mut collector = redactor.collector();
    collector.text("nothing here");
    assert_ne!(shown(&collector.finish().unwrap(), &second), "unchanged");
}

#[test]
fn a_seen_secret_with_quotes_is_found_in_json() {
    let password = [r#"he"y\"#, "Zk2mVx9Lp4Rt8"].concat();
    let pattern = Pattern { name: "pin".into(), regex: "PIN<([^>]+)>".into() };
    let options = Options { patterns: vec![pattern], ..Options::default() };
    let mut collector = Redactor::new(options).unwrap().collector();
    collector.text(&format!("PIN<{password}>"));
    let redactor = collector.finish().unwrap();
    let mut line = b"{\"t\":".to_vec();
    recto_log::json::write_string(&mut line, &format!("it is {password}"));
    line.push(b'}');
    let line = String::from_utf8(line).unwrap();
    assert_eq!(shown(&redactor, &line), r#"{"t":"it is [REDACTED:pin:#]"}"#);
}

#[test]
fn the_name_of_a_member_says_what_it_holds() {
    let secret = plain();
    let line = format!(r#"{{"m":{{"input":{{"api_key":"{secret}","file":"{secret}"}}}}}}"#);
    assert_eq!(
        shown(&redactor(), &line),
        format!(
            r#"{{"m":{{"input":{{"api_key":"[REDACTED:generic-api-key:#]","file":"{secret}"}}}}}}"#
        )
    );
}

#[test]
fn keys_of_members_and_torn_lines_are_looked_at_too() {
    let secret = token();
    assert_eq!(
        shown(&redactor(), &format!(r#"{{"{secret}":1}}"#)),
        r#"{"[REDACTED:github-pat:#]":1}"#
    );
    assert_eq!(
        shown(&redactor(), &format!(r#"{{"t":"{secret}"#)),
        r#"{"t":"[REDACTED:github-pat:#]"#
    );
}

#[test]
fn what_stands_around_a_token_does_not_hide_it() {
    let secret = token();
    for text in [
        format!("({secret})"),
        format!("https://x.test/?t={secret}&u=1"),
        format!("{{\\\"t\\\":\\\"{secret}\\\"}}"),
        format!("tätä{secret}ä"),
        format!("\u{1b}[0m{secret}\u{1b}[0m"),
    ] {
        let redacted = redactor().text(&text);
        assert!(!redacted.text.contains(&secret), "{text}");
        let mut json = Vec::new();
        recto_log::json::write_string(&mut json, &text);
        let line = format!(r#"{{"t":{}}}"#, String::from_utf8(json).unwrap());
        assert!(!shown(&redactor(), &line).contains(&secret), "{line}");
    }
}

#[test]
fn headers_and_addresses_give_their_password_away() {
    let secret = plain();
    let check = |text: &str, expected: &str| {
        assert_eq!(without_hashes(&redactor().text(text).text), expected);
    };
    check(
        &format!("Authorization: Bearer {secret}"),
        "Authorization: Bearer [REDACTED:authorization-header:#]",
    );
    check(
        &format!("postgres://app:{secret}@db/app"),
        "postgres://app:[REDACTED:url-password:#]@db/app",
    );
}

#[test]
fn patterns_paths_and_names_of_the_user_are_replaced() {
    let options = Options {
        patterns: vec![Pattern { name: "ticket".into(), regex: r"\bÄC-\d+".into() }],
        paths: vec!["/home/alice/".into()],
        names: vec!["alice".into()],
        ..Options::default()
    };
    let redactor = Redactor::new(options).unwrap();
    let line = r#"{"cwd":"/home/alice/app","t":"ÄC-12 of alice, not malice","k":{"/home/alice":1},"d":"-home-alice-app","o":"/home/alice2"}"#;
    assert_eq!(
        shown(&redactor, line),
        r#"{"cwd":"[REDACTED:path:#]/app","t":"[REDACTED:ticket:#] of [REDACTED:name:#], not malice","k":{"[REDACTED:path:#]":1},"d":"[REDACTED:path:#]-app","o":"/home/alice2"}"#
    );
    let findings = change(&redactor, line).findings;
    let hash = |at: usize| findings[at].hash.clone();
    assert_eq!(hash(0), hash(4), "both spellings of a directory are the same directory");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let refused = |options: Options| Redactor::new(options).err().map(|error| error.to_string());
    let pattern = |name: &str, regex: &str| Options {
        patterns: vec![Pattern { name: name.into(), regex: regex.into() }],
        ..Options::default()
    };
    assert_eq!(
        refused(pattern("a b", "x")).unwrap(),
        "the name of a pattern has letters, digits and `-` only, not `a b`"
    );
    assert!(refused(pattern("a", "(")).unwrap().starts_with("invalid pattern a: "));
    let path = Options { paths: vec!["/".into()], ..Options::default() };
    assert_eq!(refused(path).unwrap(), "`` is too short to be replaced");
}

#[test]
fn thinking_with_a_secret_is_removed_because_it_is_signed() {
    let secret = token();
    let with = |policy| Redactor::new(Options { thinking: policy, ..Options::default() }).unwrap();
    let two = format!(
        r#"{{"message":{{"content":[{{"type":"thinking","thinking":"use {secret}","signature":"s"}},{{"type":"text","text":"ok"}}]}}}}"#
    );
    let found = change(&with(ThinkingPolicy::DropBlock), &two);
    assert_eq!(found.bytes, br#"{"message":{"content":[{"type":"text","text":"ok"}]}}"#);
    assert_eq!(found.thinking, ThinkingChange::Dropped(1));
    assert!(found.findings[0].is_in_thinking);

    let one = format!(
        r#"{{"message":{{"content":[{{"type":"thinking","thinking":"use {secret}","signature":"s"}}]}}}}"#
    );
    let found = change(&with(ThinkingPolicy::DropBlock), &one);
    assert_eq!(found.thinking, ThinkingChange::RemoveLine);
    assert!(!String::from_utf8(found.bytes).unwrap().contains(&secret));

    let found = change(&with(ThinkingPolicy::Replace), &two);
    assert_eq!(found.thinking, ThinkingChange::Replaced);
    assert!(!String::from_utf8(found.bytes).unwrap().contains(&secret));

    let found = change(&with(ThinkingPolicy::Leave), &two);
    assert_eq!((found.thinking, found.bytes.as_slice()), (ThinkingChange::Left, two.as_bytes()));
}

#[test]
fn a_key_of_many_lines_is_one_secret_even_when_cut() {
    let body = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"].concat();
    let begin = ["-----BEGIN RSA PRIVATE", " KEY-----"].concat();
    let end = ["-----END RSA PRIVATE", " KEY-----"].concat();
    let whole = format!("x\n{begin}\n{body}\n{body}\n{end}\ny");
    assert_eq!(without_hashes(&redactor().text(&whole).text), "x\n[REDACTED:private-key:#]\ny");
    let cut = format!("x\n{begin}\n{body}\n{body}\n");
    assert_eq!(without_hashes(&redactor().text(&cut).text), "x\n[REDACTED:private-key:#]\n");
}
