//! Hostile text in every field that a page shows: in a real browser nothing of
//! it runs, and nothing of it asks for anything.
//!
//! Every text of `fixtures/hostile/html.txt` stands in every field, with a word
//! before it that must be seen in a page: otherwise the test would pass on pages
//! that show nothing.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::support::Test;
use crate::support::hours_ago;
use recto_testkit::chromium::Tab;
use recto_testkit::chromium::browser;

const MAIN: &str = "bbbbbbbb-0000-4000-8000-000000000001";

fn texts() -> Vec<String> {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile/html.txt");
    let lines = std::fs::read_to_string(path).unwrap();
    let texts: Vec<String> = lines
        .lines()
        .filter_map(|line| {
            let value = recto_log::json::Value::parse(line.as_bytes()).ok()?;
            value.as_str().map(|text| text.into_owned())
        })
        .collect();
    assert!(texts.len() > 220, "only {} texts", texts.len());
    texts
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// Images and documents whose type, bytes, address, title and name are the text.
fn media(text: &str) -> String {
    let bytes = json(&base64(text));
    let hostile = json(text);
    format!(
        r#"[{{"type":"text","text":{0}}},
        {{"type":"image","source":{{"type":"base64","media_type":{1},"data":{2}}}}},
        {{"type":"image","source":{{"type":"base64","media_type":"image/svg+xml","data":{2}}}}},
        {{"type":"image","source":{{"type":"base64","media_type":"image/png","data":{1}}}}},
        {{"type":"image","source":{{"type":"url","url":{1}}}}},
        {{"type":"document","title":{1},"context":{1},"source":{{"type":"base64","media_type":"text/html","data":{2}}}}},
        {{"type":"document","name":{1},"source":{{"type":"text","media_type":"text/html","data":{1}}}}}]"#,
        json(&format!("w-media{text}")),
        hostile,
        bytes
    )
    .replace('\n', "")
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// A turn with a text in every field of it.
fn turn(log: SessionBuilder, text: &str) -> SessionBuilder {
    let field = |word: &str| format!("{word}{text}");
    let input = |word: &str| {
        format!(
            r#"{{"command":{},"file_path":{},{}:"x","list":[{}]}}"#,
            json(&field(word)),
            json(&format!("/home/{}.rs", field("w-path"))),
            json(&field("w-key")),
            json(&field("w-list"))
        )
    };
    let todos = format!(
        r#"{{"todos":[{{"content":{0},"status":{0},"activeForm":{0}}}]}}"#,
        json(&field("w-todo"))
    );
    let plan = format!(r#"{{"plan":{}}}"#, json(&field("w-plan")));
    let diff = format!(
        r#"{{"filePath":{0},"oldString":"a","newString":{0},"structuredPatch":[{{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":[{1},{2}]}}]}}"#,
        json(&format!("/home/{}", field("w-diff"))),
        json(&format!("-{}", field("w-removed"))),
        json(&format!("+{}", field("w-added")))
    );
    let tag = |name: &str, word: &str| format!("<{name}>{word}{text}</{name}>");
    log.prompt(&field("w-prompt"))
        .user_blocks(&media(text))
        .thinking(&field("w-thinking"))
        .tool(&field("w-tool"), &input("w-input"), &field("w-result"))
        .failed_tool("Bash", &input("w-input2"), &field("w-failure"))
        .tool("TodoWrite", &todos, "ok")
        .tool("ExitPlanMode", &plan, &field("w-agreed"))
        .tool_with_detail("Edit", &input("w-edit"), "done", &diff)
        .model_block(&format!(r#"{{"type":{}}}"#, json(&field("w-block"))))
        .answer(&format!("```rust\nlet x = \"{}\";\n```", field("w-code")))
        .answer(&format!("[{0}]({1}) ![{0}]({1}) <{1}> | {1} |\n|---|\n", field("w-link"), text))
        .answer(&field("w-answer"))
        .user_text(&(tag("command-name", "w-command") + &tag("command-args", "w-arguments")))
        .user_text(&tag("local-command-stdout", "w-output"))
        .user_text(&tag("bash-input", "w-bash"))
        .user_text(&format!("[Request interrupted by user w-stop{text}"))
        .attachment("queued_command", ("prompt", &field("w-queued")))
        .attachment("hook_blocking_error", ("hookName", &field("w-hook")))
        .system("informational", &field("w-remark"))
        .compaction(&field("w-summary"))
}

fn session_id(number: usize) -> String {
    format!("cccccccc-0000-4000-8000-{number:012}")
}

/// How many texts stand in one session.
const TOGETHER: usize = 40;

fn many_id(number: usize) -> String {
    format!("dddddddd-0000-4000-8000-{number:012}")
}

/// A home in which every text stands in every field of a turn.
fn home_of_turns(texts: &[String]) -> FakeHome {
    let home = FakeHome::new();
    for (number, part) in texts.chunks(TOGETHER).enumerate() {
        let log = SessionBuilder::new(&many_id(number), Client::V2_1_325);
        home.add(&part.iter().fold(log, |log, text| turn(log, text)), hours_ago(2));
    }
    home
}

/// A home in which every text stands in every field that a session has once.
fn hostile_home(texts: &[String]) -> FakeHome {
    let home = FakeHome::new();
    home.add(&turn(SessionBuilder::new(MAIN, Client::V2_1_325), &texts[0]), hours_ago(2));
    // The fields that a session has once: a session for each text.
    for (number, text) in texts.iter().enumerate() {
        let id = session_id(number);
        let log = SessionBuilder::new(&id, Client::V2_1_325)
            .cwd(&format!("/home/dev/w-cwd{}", text.replace(['/', '\n'], " ")))
            .branch(&format!("w-branch{text}"))
            .version(&format!("w-version{text}"))
            .model(&format!("w-model{text}"))
            .prompt("Hello")
            .answer("Hello")
            .custom_title(&format!("w-title{text}"));
        home.add(&log, hours_ago(3));
    }
    let folder = "projects/-home-dev-app";
    for (number, text) in texts.iter().enumerate() {
        let agent = format!("a{number:07x}");
        let log = SessionBuilder::agent(MAIN, &agent, Client::V2_1_325)
            .prompt(&format!("w-task{text}"))
            .answer(&format!("w-said{text}"));
        if number < 40 {
            home.add(&log, hours_ago(2));
            let meta = format!(
                r#"{{"agentType":{0},"description":{0}}}"#,
                json(&format!("w-agent{text}"))
            );
            home.write(&format!("{folder}/{MAIN}/subagents/agent-{agent}.meta.json"), meta);
        }
        home.write(&format!("plans/plan-{number}.md"), format!("# w-planfile{text}\n"));
    }
    home.announce(MAIN, "busy");
    let announced = format!(
        r#"{{"pid":{},"sessionId":"{}","cwd":{2},"version":{2},"kind":{2},"status":{2},"waitingFor":{2}}}"#,
        std::process::id(),
        session_id(1),
        json(&format!("w-status{}", texts[0]))
    );
    home.write("sessions/1.json", announced);
    home
}

/// Puts the texts into everything that a person can note.
fn mark_all(test: &Test, texts: &[String]) {
    let cut = |text: &str, most: usize| text.chars().take(most).collect::<String>();
    for (number, text) in texts.iter().enumerate() {
        let tag = json(&format!("w-tag{}", cut(text, 30)));
        let note = json(&format!("w-note{}", cut(text, 900)));
        let body = format!(r#"{{"starred":true,"tags":[{tag}],"note":{note}}}"#);
        let address = format!("/api/v1/sessions/{}/marks", session_id(number));
        assert_eq!(test.change(&address, &body).status, 200, "{text}");
        if number < 90 {
            let name = json(&format!("w-saved{}", cut(text, 60)));
            let query = json(&format!("w-query{}", cut(text, 900)));
            let body = format!(r#"{{"name":{name},"query":{query}}}"#);
            assert_eq!(test.change("/api/v1/searches", &body).status, 200, "{text}");
        }
    }
}

/// Sees that words are in a page.
fn assert_shows(tab: &mut Tab, address: &str, words: &[&str]) {
    let text = tab.text("document.documentElement.textContent");
    for word in words {
        assert!(text.contains(word), "{address} does not show {word}");
    }
}

/// Sees that the tab has met nothing but text, and no element that pages do not make.
fn assert_harmless(tab: &mut Tab, test: &Test, address: &str) {
    let strange = tab.text(
        "[...new Set([...document.querySelectorAll('*')].map((e) => e.localName))].filter((name) => \
         ['iframe', 'object', 'embed', 'base', 'video', 'audio', 'math', 'frame', 'frameset', \
          'applet', 'style', 'marquee', 'portal', 'foreignObject', 'animate', 'set', 'use'].includes(name)).join()",
    );
    assert_eq!(strange, "", "{address}");
    // Images are those of the log, which this server sends.
    let images = tab.text(
        "[...document.querySelectorAll('img')].map((image) => image.getAttribute('src')) \
         .filter((address) => !/^\\/api\\/v1\\/sessions\\/[0-9a-f-]{36}\\/(agents\\/[\\w-]+\\/)?media\\/\\d+\\/\\d+$/.test(address)).join()",
    );
    assert_eq!(images, "", "{address}");
    let acting = tab.text(
        "[...document.querySelectorAll('*')].flatMap((e) => [...e.attributes].filter((a) => \
         /^on/i.test(a.name) || a.name === 'style' || a.name === 'srcdoc' || \
         (/^(href|src|action|formaction|xlink:href)$/i.test(a.name) && \
          !/^(\\/|#|https?:\\/\\/|mailto:|\\?)/i.test(a.value))) \
         .map((a) => e.localName + ' ' + a.name + '=' + a.value)).join('\\n')",
    );
    assert_eq!(acting, "", "{address}");
    assert_eq!(tab.number("document.querySelectorAll('head meta').length"), 3.0, "{address}");
    assert_eq!(tab.signs(&test.server.base_url()), [""; 0], "{address}");
}

#[test]
#[ignore = "needs a browser"]
fn hostile_text_in_every_field_of_a_turn_neither_runs_nor_loads() {
    let browser = browser();
    let texts = texts();
    let test = Test::new(home_of_turns(&texts));
    let mut tab = browser.tab();
    tab.open(&test.server.login_url());
    let base = test.server.base_url();
    let mut seen = 0;
    for number in 0..texts.len().div_ceil(TOGETHER) {
        let address = format!("/session/{}", many_id(number));
        tab.open(&format!("{base}{address}"));
        tab.wait("document.querySelector('#facts .context-bar')");
        // Code is coloured when it comes into view, and further turns are loaded:
        // what is open is longer.
        // Turns that are far away leave the page, so what is there is looked at after each part.
        let more = "document.querySelector('#turns > a.more:not(.earlier)')";
        let last = "Number([...document.querySelectorAll('#turns > .turn')].at(-1).dataset.turn)";
        tab.value("window.seen = new Set(); window.shown = ''");
        loop {
            tab.value(
                "document.querySelectorAll('#turns details').forEach((e) => { e.open = true; })",
            );
            tab.value("document.querySelectorAll('#turns .answer').forEach((e) => window.seen.add(e.closest('.turn').dataset.turn + e.textContent)); window.shown += document.documentElement.textContent");
            assert_harmless(&mut tab, &test, &address);
            if tab.value(&format!("{more} !== null")) == false {
                break;
            }
            let turn = tab.number(last);
            tab.value(&format!("{more}.scrollIntoView({{ behavior: 'instant' }})"));
            tab.value(&format!("{more}?.click()"));
            tab.wait(&format!("{last} > {turn} || !{more}"));
        }
        seen += tab.number("window.seen.size") as usize;
        let words = [
            "w-prompt",
            "w-media",
            "w-thinking",
            "w-tool",
            "w-input",
            "w-result",
            "w-failure",
            "w-todo",
            "w-plan",
            "w-removed",
            "w-added",
            "w-code",
            "w-link",
            "w-answer",
            "w-command",
            "w-output",
            "w-bash",
            "w-stop",
            "w-queued",
            "w-remark",
            "w-summary",
            "w-key",
            "w-list",
            "w-path",
        ];
        let shown = tab.text("window.shown");
        for word in words {
            assert!(shown.contains(word), "{address} does not show {word}");
        }
    }
    assert!(seen >= texts.len(), "only {seen} answers were seen");
}

#[test]
#[ignore = "needs a browser"]
fn hostile_names_neither_run_nor_load_on_any_page() {
    let browser = browser();
    let texts = texts();
    let test = Test::new(hostile_home(&texts));
    mark_all(&test, &texts);
    let mut tab = browser.tab();
    tab.open(&test.server.login_url());
    let base = test.server.base_url();
    assert_shows(&mut tab, "/", &["w-title"]);
    for (address, words) in pages() {
        tab.open(&format!("{base}{address}"));
        tab.wait("document.querySelector('#side-list a.row')");
        assert_shows(&mut tab, &address, words);
        assert_harmless(&mut tab, &test, &address);
    }
    // The list is shown a part at a time, here and at the side.
    tab.open(&format!("{base}/sessions"));
    let mut parts = 0;
    while tab.value("document.querySelector('a[rel=next]') !== null") == true {
        parts += 1;
        let next = tab.text("document.querySelector('a[rel=next]').href");
        tab.open(&next);
        tab.wait("document.querySelector('#side-list a.row')");
        assert_harmless(&mut tab, &test, &next);
    }
    assert!(parts >= texts.len() / 100, "{parts}");
    while tab.value("document.querySelector('a.side-more[data-more]') !== null") == true {
        let rows = tab.number("document.querySelectorAll('#side-list a.row').length");
        tab.value("document.querySelector('a.side-more[data-more]').click()");
        tab.wait(&format!("document.querySelectorAll('#side-list a.row').length > {rows}"));
    }
    assert!(
        tab.number("document.querySelectorAll('#side-list a.row').length") as usize > texts.len()
    );
    assert_harmless(&mut tab, &test, "the list at the side");
    tab.press_control("k");
    tab.type_text("w-title");
    tab.wait("document.querySelectorAll('#palette-list li').length > 5");
    assert_harmless(&mut tab, &test, "the palette");
}

#[test]
#[ignore = "needs a browser"]
fn hostile_heads_of_sessions_neither_run_nor_load() {
    let browser = browser();
    let texts = texts();
    let test = Test::new(hostile_home(&texts));
    mark_all(&test, &texts);
    let mut tab = browser.tab();
    tab.open(&test.server.login_url());
    let base = test.server.base_url();
    // Lists show all of them; each page of a session takes a while to open.
    for number in (0..texts.len()).step_by(9) {
        let address = format!("/session/{}", session_id(number));
        tab.open(&format!("{base}{address}"));
        assert_shows(
            &mut tab,
            &address,
            &["w-title", "w-branch", "w-cwd", "w-version", "w-model", "w-tag", "w-note"],
        );
        assert_harmless(&mut tab, &test, &address);
    }
    for number in 0..10 {
        let address = format!("/session/{MAIN}/agent/a{number:07x}");
        tab.open(&format!("{base}{address}"));
        assert_shows(&mut tab, &address, &["w-task", "w-said"]);
        assert_harmless(&mut tab, &test, &address);
    }
}

/// All pages but that of a session, with words that they must show.
fn pages() -> Vec<(String, &'static [&'static str])> {
    let pages: [(&str, &[&str]); 24] = [
        ("/insights?period=all", &["w-title"]),
        ("/insights/quality?period=all", &["w-tool"]),
        ("/insights/quality?period=all&by=model", &["w-model"]),
        ("/insights/cache?period=all&by=model", &["w-model"]),
        ("/insights/context?period=all", &["w-title"]),
        ("/usage/groups?group=tool&period=all", &["w-tool"]),
        ("/usage/groups?group=agent&period=all", &[]),
        (
            "/usage/compare?left_model=%3Cimg%20src=x%20onerror=alert(1)%3E&right_project=%22%3E%3Cscript%3E",
            &[],
        ),
        ("/sessions?sort=cost", &["w-title"]),
        ("/sessions?starred=true", &["w-title", "w-tag"]),
        ("/search?q=hello&sort=best", &["w-saved"]),
        ("/usage?period=all", &["w-model"]),
        ("/usage/explain?period=all", &["w-model"]),
        ("/tools?period=all", &["w-tool", "w-failure"]),
        ("/plans", &["w-plan"]),
        ("/files?period=all", &["w-diff"]),
        ("/file?path=%3Cscript%3Ealert(1)%3C/script%3E", &[]),
        ("/health", &["w-title"]),
        ("/search?q=hello", &[]),
        ("/search?q=%3Cscript%3Ealert(1)%3C/script%3E", &[]),
        ("/search?q=%3Cimg%20src=x%20onerror=alert(1)%3E", &[]),
        ("/", &["w-title", "w-cwd"]),
        ("/sessions", &["w-title", "w-branch", "w-model", "w-cwd"]),
        (
            "/sessions?q=%3Cscript%3Ealert(1)%3C/script%3E&project=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
            &[],
        ),
    ];
    pages.map(|(address, words)| (address.to_owned(), words)).to_vec()
}
