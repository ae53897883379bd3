//! `recto grep`.

use insta::assert_snapshot;

use crate::support::TestHome;

#[test]
fn matches_are_shown_as_hits_of_sessions() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["grep", r"pars\w+", "-n", "2"]).shown(), @"
    Repair the parser
    3f2a1b4c · /home/dev/app · fix/parser
    1  title  2026-11-16 08:00:19 · turn 4
       Repair the parser
    2  summary  2026-11-16 08:00:16 · turn 3
       We repaired the parser.
    --- stderr
    2 of 5 hits in 3 logs; --limit 0 shows all
    --- exit 0
    ");
    assert_snapshot!(test.run(&["grep", "no such text"]).shown(), @"
    --- stderr
    nothing found
    --- exit 1
    ");
    let by_words = test.run(&["search", "parser", "--json"]);
    assert_eq!(test.run(&["grep", "-i", "PARSER", "--json"]).shown(), by_words.shown());
}

#[test]
fn words_find_and_expressions_match_in_the_same_texts() {
    let test = TestHome::with_sessions();
    let places = |arguments: &[&str]| {
        let run = test.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.stderr, "");
        let place = |hit: &serde_json::Value| format!("{}:{}", hit["path"], hit["line"]);
        run.json().iter().map(place).collect::<Vec<_>>()
    };
    let by_words = places(&["search", "parser"]);
    assert!(by_words.len() >= 4);
    assert_eq!(places(&["grep", "-i", "parser"]), by_words);
    let by_user = places(&["search", "parser role:user"]);
    assert!(by_user.len() < by_words.len());
    assert_eq!(places(&["grep", "-i", "parser", "--where", "role:user"]), by_user);
    assert_eq!(
        places(&["grep", "-i", "parser", "--where", "-project:docs role:user"]),
        places(&["search", "parser -project:docs role:user"])
    );
    assert_eq!(places(&["grep", "-i", "parser", "--until", "2020-01-01"]), [""; 0]);
    // Of a project alone, or of what must not be there.
    let docs = places(&["grep", "-i", "parser", "--where", "project:docs"]);
    assert!(!docs.is_empty());
    assert_eq!(places(&["grep", "-i", "parser", "--where", "project:docs -nothing"]), docs);
}

#[test]
fn what_cannot_be_read_is_told_with_a_hint() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["grep", "a("]).shown(), @"
    --- stderr
    error: invalid regular expression: unclosed group
    hint: use -F to look for exactly this text
    --- exit 2
    ");
    assert_snapshot!(test.run(&["grep", ""]).shown(), @"
    --- stderr
    error: the pattern is empty
    hint: `recto show SESSION` shows a whole session
    --- exit 2
    ");
    let query = test.run(&["search", "\"open"]);
    assert_eq!(test.run(&["grep", "a", "--where", "\"open"]).shown(), query.shown());
    assert_eq!(test.run(&["grep", "-F", "a("]).code, 1);
}
