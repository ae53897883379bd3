use recto_log::Lines;
use recto_log::decode;

use super::*;
use crate::items;

const LOG: &str = concat!(
    r#"{"type":"user","uuid":"p","timestamp":"2026-11-16T00:00:00.000Z","message":{"content":"fix <it> & go"}}"#,
    "\n",
    r##"{"type":"assistant","uuid":"a","message":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"# Plan\n\n**Sure** <script>x</script> [l](javascript:x) ![i](http://pwned.invalid/x)"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls -l"}}]}}"##,
    "\n",
    r#"{"type":"user","uuid":"r","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"a```b\nc","is_error":true}]}}"#,
    "\n",
    r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":9}}"#,
    "\n",
);

fn written(format: Format, log: &str) -> String {
    let head = Head {
        id: "id".into(),
        title: "A \"title\" <b>".into(),
        facts: vec![("directory", "/w".into())],
    };
    let mut out = String::new();
    let mut document = Document::begin(format, &head, &mut out);
    for line in Lines::new(log.as_bytes()) {
        let (entry, _) = decode(line);
        let origin = Origin::of(&entry);
        for item in items(&entry) {
            document.add(Placed { turn: 1, origin: &origin, item: &item }, &mut out);
        }
    }
    document.end(&mut out);
    out
}

#[test]
fn text_is_plain() {
    assert_eq!(
        written(Format::Text, LOG),
        "A \"title\" <b>\ndirectory: /w\n\n[1] You:\n  fix <it> & go\n\nClaude:\n  # Plan\n\n  **Sure** <script>x</script> [l](javascript:x) ![i](http://pwned.invalid/x)\n\n> Bash ls -l\n(failed)\n  a```b\n  c\n\n(conversation compacted (auto), 9 tokens before)\n"
            .replace("# Plan\n\n", "# Plan\n  \n")
    );
}

#[test]
fn markdown_fences_hold_whatever_is_inside() {
    let text = written(Format::Markdown, LOG);
    assert!(text.contains("\n````\na```b\nc\n````\n"), "{text}");
    assert!(text.contains("> fix <it> & go"));
    assert!(text.contains("**Bash** `ls -l`"));
}

#[test]
fn xml_is_well_formed_and_names_what_it_has_said() {
    let long = "x".repeat(300);
    let result = format!(
        "{{\"type\":\"user\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"{long}\"}}]}}}}\n"
    );
    let text = written(Format::Xml, &format!("{LOG}{result}{result}"));
    assert!(text.starts_with("<session id=\"id\" title=\"A &quot;title&quot; &lt;b&gt;\" directory=\"/w\">\n<turn n=\"1\">\n<user>fix &lt;it&gt; &amp; go</user>\n"), "{text}");
    assert!(text.contains("<call tool=\"Bash\">{&quot;command&quot;:&quot;ls -l&quot;}</call>\n<failed>a```b\nc</failed>\n"));
    assert!(text.contains("<result n=\"2\">"));
    assert!(text.contains("<result same-as=\"2\"/>\n</turn>\n</session>\n"));
    assert!(!text.contains("hm"), "thinking is dropped");
}

#[test]
fn an_index_leads_to_its_documents() {
    let rows = [IndexRow { title: "A <b>[x]".into(), file: "a.html".into(), time: "now".into() }];
    let (name, page) = index_page(Format::Html, &rows);
    assert_eq!(name, "index.html");
    assert!(
        page.contains("<li><a href=\"a.html\">A &lt;b&gt;[x]</a> <small>now</small></li>"),
        "{page}"
    );
    let (name, page) = index_page(Format::Text, &rows);
    assert_eq!((name, page.as_str()), ("index.md", "# 1 sessions\n\n- [A  b  x ](a.html) now\n"));
}

#[test]
fn html_lets_nothing_of_the_log_act() {
    let text = written(Format::Html, LOG);
    assert!(text.contains("<div class=\"prompt\">fix &lt;it&gt; &amp; go</div>"));
    assert!(text.contains("<strong>Sure</strong> &lt;script&gt;"));
    assert!(text.contains("<a>l</a>"));
    assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("javascript:"));
    assert!(text.contains("id=\"turn-1\""));
}

#[test]
fn hostile_strings_stay_text_in_every_format() {
    let hostile = include_str!("../../../../fixtures/hostile/html.txt");
    let mut tried = 0;
    for line in hostile.lines().filter(|line| !line.is_empty()) {
        let log = LOG
            .replace("\"fix <it> & go\"", line)
            .replace("\"hm\"", line)
            .replace("\"ls -l\"", line);
        let answer = format!(
            "{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":{line}}}]}}}}\n"
        );
        let text = written(Format::Html, &format!("{log}{answer}"));
        let tags = tags_of(&text);
        for tag in tags {
            let known = KNOWN_TAGS
                .iter()
                .any(|known| tag == *known || tag.starts_with(&format!("{known} ")));
            assert!(known, "<{tag}> from {line}");
            assert!(
                !tag.to_lowercase().contains(" on") && !tag.contains("javascript:"),
                "<{tag}> from {line}"
            );
        }
        tried += 1;
    }
    assert!(tried > 200, "{tried}");
}

const KNOWN_TAGS: [&str; 41] = [
    "!doctype",
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "header",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "dl",
    "div",
    "dt",
    "dd",
    "main",
    "section",
    "a",
    "p",
    "b",
    "strong",
    "em",
    "del",
    "code",
    "pre",
    "details",
    "summary",
    "small",
    "span",
    "ul",
    "ol",
    "li",
    "blockquote",
    "table",
    "hr",
    "br",
    "thead",
    "tbody",
];

/// What stands between `<` and `>`, closing tags without their slash.
fn tags_of(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    for part in html.split('<').skip(1) {
        let tag = part.split('>').next().unwrap_or_default();
        let tag = tag.trim_start_matches('/').trim_end_matches('/').trim();
        if matches!(tag, "tr" | "th" | "td")
            || tag.starts_with("th ")
            || tag.starts_with("td ")
            || tag.starts_with("input ")
        {
            continue;
        }
        tags.push(tag.to_owned());
    }
    tags
}
