//! The pages about many sessions say what is in the logs, and nothing acts.

use recto_session::usage::Grouping;
use recto_session::usage::PriceTable;
use recto_session::usage::Selection;
use recto_session::usage::report;
use recto_store::Home;
use recto_store::UsageScan;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::Truth;
use recto_testkit::generate::generate;

use crate::support::Answer;
use crate::support::OTHER;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::full_home;
use crate::support::hours_ago;
use crate::support::library;

const PAGES: [&str; 8] = [
    "/usage",
    "/usage/explain",
    "/search",
    "/tools",
    "/plans",
    "/files",
    "/file?path=src/main.rs",
    "/health",
];

/// A page, and that it is one that may be shown.
fn page(test: &Test, path: &str) -> String {
    let answer = test.get(path);
    let text = answer.text();
    assert_eq!(answer.status, 200, "{path}: {text}");
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
    // The policy would refuse these; a page that needs them would look broken.
    for inline in [" style=", "<style", " onclick=", "javascript:"] {
        assert!(!text.contains(inline), "{path} has {inline}");
    }
    text
}

/// A page whose figures come in the background, when they are all there.
fn whole_page(test: &Test, path: &str) -> String {
    for _ in 0..600 {
        let text = page(test, path);
        if !text.contains("Looking at all logs") {
            return text;
        }
    }
    panic!("{path} is never done");
}

/// The text of a page without its tags, in one line.
fn plain(markup: &str) -> String {
    let mut text = String::new();
    let mut rest = markup;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        rest = after.split_once('>').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn generated() -> (tempfile::TempDir, Truth, Test) {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { megabytes: 3, seed: 11, shape: Shape::Mixed };
    let truth = generate(&options, directory.path(), &mut |_| {}).unwrap();
    let home = Home::open(directory.path().join(".claude")).unwrap();
    let library = library(home, &directory);
    let test = Test::with(FakeHome::new(), |options| options.library = library);
    (directory, truth, test)
}

fn lines(answer: &Answer) -> Vec<Vec<String>> {
    let text = answer.text();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().map(cells).collect()
}

#[test]
fn figures_are_those_of_the_generator_and_of_the_library() {
    let (directory, truth, test) = generated();
    let answer = test.get("/usage.csv?by=model&period=all");
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"usage.csv\""));
    let rows = lines(&answer);
    assert_eq!(rows[0][..4], ["model", "messages", "input_tokens", "output_tokens"]);
    assert_eq!(rows.len() - 1, truth.tokens.len());
    for row in &rows[1..] {
        let tokens = &truth.tokens[&row[0]].last;
        let numbers: Vec<u64> = row[2..6].iter().map(|cell| cell.parse().unwrap()).collect();
        let expected = [tokens.input, tokens.output, tokens.cache_create, tokens.cache_read];
        assert_eq!(numbers, expected, "{}", row[0]);
    }
    let home = Home::open(directory.path().join(".claude")).unwrap();
    let usage = home.usage(&home.inventory(), &UsageScan::default(), None, &|_, _| {});
    let zone = jiff::tz::TimeZone::UTC;
    let grouping = Grouping { dimensions: Vec::new(), zone };
    let prices = PriceTable::built_in().unwrap();
    let now = jiff::Timestamp::now();
    let total = report(&usage.ledger, &prices, &grouping, &Selection::default(), now).total;
    let shown = plain(&page(&test, "/usage?period=all"));
    let messages = format!("{} messages in", with_commas(total.messages));
    assert!(shown.contains(&messages), "{messages}: {shown}");
    // The explanation has the exact amount, and a message for each that counts.
    let explained = plain(&page(&test, "/usage/explain?period=all"));
    assert!(explained.contains(&format!("${}", total.known_cost)), "{explained}");
    assert!(explained.contains(&format!("1–50 of {} messages", with_commas(total.messages))));
    let tools = plain(&whole_page(&test, "/tools"));
    for (name, calls) in &truth.tool_calls.unique_by_name {
        let row = format!(" {name} {} ", with_commas(*calls));
        assert!(tools.contains(&row), "{row}: {tools}");
    }
    let health = plain(&whole_page(&test, "/health?show=all"));
    let damaged: u64 = truth.lines.malformed_by_kind.values().sum();
    assert!(health.contains("Damaged lines"), "{health}");
    assert_eq!(damaged > 0, !health.contains("Damaged lines 0 "), "{damaged}: {health}");
}

fn with_commas(number: u64) -> String {
    recto_session::with_marks(number)
}

#[test]
fn every_needle_is_found_where_it_is() {
    let (_directory, truth, test) = generated();
    let needle = truth.needles.iter().find(|needle| needle.text.is_ascii()).unwrap();
    let query: String = form_urlencoded::byte_serialize(needle.text.as_bytes()).collect();
    let found = page(&test, &format!("/search?q=%22{query}%22"));
    assert!(found.contains("<mark>"), "{}", plain(&found));
    for hit in &needle.hits {
        let session: String = hit.session_id.chars().take(36).collect();
        assert!(found.contains(&format!("/session/{session}")), "{session}");
    }
}

#[test]
fn a_drill_down_has_the_sum_of_its_row() {
    let (_directory, _, test) = generated();
    let by_project = lines(&test.get("/usage.csv?by=project&period=all"));
    let shown = page(&test, "/usage?period=all");
    let mut looked = 0;
    for part in shown.split("/usage?period=all&amp;project=").skip(1) {
        let key = part.split('"').next().unwrap();
        if key.contains('&') {
            continue;
        }
        let one = lines(&test.get(&format!("/usage.csv?by=project&period=all&project={key}")));
        assert_eq!(one.len(), 2, "{key}");
        assert!(by_project.contains(&one[1]), "{:?}", one[1]);
        looked += 1;
    }
    assert!(looked > 1);
}

#[test]
fn empty_homes_have_pages_that_say_so() {
    let test = Test::new(FakeHome::new());
    let empty = [
        ("/usage", "No usage in this period"),
        ("/usage/explain", "No messages"),
        ("/search", "Search syntax"),
        ("/search?q=word", "Nothing was found"),
        ("/tools", "No calls"),
        ("/plans", "No plans"),
        ("/files", "No files"),
        ("/file?path=src/main.rs", "No session used this file"),
        ("/health", "No sessions"),
    ];
    for (path, text) in empty {
        let shown = plain(&whole_page(&test, path));
        assert!(shown.contains(text), "{path}: {shown}");
    }
    let rows = lines(&test.get("/usage.csv"));
    assert_eq!(rows.len(), 1);
}

#[test]
fn what_is_not_understood_is_refused_in_words() {
    let test = Test::new(full_home());
    let bad = [
        "/usage?period=8d",
        "/usage?from=yesterday",
        "/usage?from=2026-11-02&to=2026-11-01",
        "/usage?by=mood",
        "/usage?show=all",
        "/usage?left=mood:x",
        "/usage?perriod=7d",
        "/usage.csv?by=day,day",
        "/usage/explain?page=0",
        "/search?q=%22open",
        "/search?q=x&since=soon",
        "/search?q=x&sort=worst",
        "/tools?period=week",
        "/files?page=x",
        "/file",
        "/file?path=//",
        "/file?path=a&reads=maybe",
        "/plans?page=-1",
        "/health?show=some",
    ];
    for path in bad {
        let answer = test.get(path);
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text().len() > 40, "{path}: {}", answer.text());
    }
    assert_eq!(test.get("/plans?plan=0000000000000000").status, 404);
}

fn files_home() -> FakeHome {
    let home = FakeHome::new();
    let edit = |path: &str| {
        format!(
            r#"{{"filePath":"{path}","oldString":"x","newString":"y","structuredPatch":[{{"oldStart":1,"oldLines":1,"newStart":1,"newLines":2,"lines":["-x","+y","+z"]}}]}}"#
        )
    };
    let input = |path: &str| format!(r#"{{"file_path":"{path}"}}"#);
    let (main, other) = ("/home/dev/app/src/main.rs", "/home/dev/docs/src/main.rs");
    let first = SessionBuilder::new(SESSION, Client::V2_1_325)
        .prompt("Mend the parser")
        .tool_with_detail("Edit", &input(main), "ok", &edit(main))
        .failed_tool("Bash", r#"{"command":"cargo test"}"#, "error: it does not build")
        .answer("Done")
        .custom_title("The parser");
    let second = SessionBuilder::new(OTHER, Client::V2_1_325)
        .prompt("Write the guide")
        .tool_with_detail("Edit", &input(other), "ok", &edit(other))
        .tool_with_detail("Edit", &input(main), "ok", &edit(main))
        .answer("Done");
    home.add(&first, hours_ago(3));
    home.add(&second, hours_ago(1));
    home
}

#[test]
fn a_file_is_followed_across_sessions() {
    let test = Test::new(files_home());
    let files = plain(&whole_page(&test, "/files"));
    assert!(files.contains("main.rs /home/dev/app/src 2 +4 −2 2"), "{files}");
    let one = page(&test, "/file?path=/home/dev/app/src/main.rs");
    let text = plain(&one);
    assert!(text.contains("Sessions 2") && text.contains("Lines added 4"), "{text}");
    assert!(text.contains("edited Edit +2 −1") && text.contains("Mend the parser"), "{text}");
    for session in [SESSION, OTHER] {
        assert!(one.contains(&format!("/session/{session}#turn-1")), "{one}");
    }
    let ending = plain(&page(&test, "/file?path=src/main.rs"));
    assert!(ending.contains("Several files end like this") && ending.contains("Sessions 2"));
    // A path is compared with what logs say; it is never opened.
    for path in ["/etc/passwd", "../../../../etc/passwd", "%2e%2e%2fmain.rs", "main.rs%00"] {
        let text = plain(&page(&test, &format!("/file?path={path}")));
        assert!(text.contains("No session used this file"), "{path}: {text}");
        assert!(!text.contains("root:"), "{path}");
    }
}

#[test]
fn failures_lead_to_their_turns() {
    let test = Test::new(files_home());
    let shown = whole_page(&test, "/tools?tool=Bash");
    let text = plain(&shown);
    assert!(text.contains("Bash 1 1 100 %"), "{text}");
    assert!(text.contains("cargo test error: it does not build"), "{text}");
    assert!(shown.contains(&format!("href=\"/session/{SESSION}#turn-1\"")), "{shown}");
    let other = plain(&whole_page(&test, "/tools?tool=Edit"));
    assert!(other.contains("No failures"), "{other}");
}

#[test]
fn health_names_problems_and_what_mends_them() {
    let home = FakeHome::new();
    let whole = SessionBuilder::new(SESSION, Client::V2_1_325).prompt("One").answer("Two");
    let broken = whole.clone().raw("{\"type\":\"user\",\"uui\n").prompt("Three").answer("Four");
    home.add(&broken, hours_ago(1));
    let fine = SessionBuilder::new(OTHER, Client::V2_1_325).prompt("Fine").answer("Yes");
    home.add(&fine, hours_ago(1));
    let test = Test::new(home);
    let text = plain(&whole_page(&test, "/health"));
    assert!(text.contains("With problems 1") && text.contains("damaged-line"), "{text}");
    assert!(text.contains(&format!("recto repair {SESSION} --dry-run")), "{text}");
    assert!(!text.contains(&OTHER[..8]), "{text}");
    let all = plain(&whole_page(&test, "/health?show=all"));
    assert!(all.contains(&OTHER[..8]) && all.contains("latest 100 %"), "{all}");
    // What is mended is seen again.
    test.home.add(&fine_again(), hours_ago(0));
    let is_well = |text: &String| text.contains("With problems 0") && text.contains("All is well");
    // A list of files is shared by the requests of a moment.
    let mut texts = (0..2000).map(|_| plain(&whole_page(&test, "/health")));
    assert!(texts.any(|text| is_well(&text)));
}

fn fine_again() -> SessionBuilder {
    SessionBuilder::new(SESSION, Client::V2_1_325).prompt("One").answer("Two")
}

#[test]
fn hostile_names_stay_text_on_every_page() {
    let hostile = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</title><svg onload=alert(1)>",
        "' autofocus onfocus=alert(1) x='",
        "a\u{202e}b\u{0}c",
    ];
    let home = FakeHome::new();
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let mut session = SessionBuilder::new(SESSION, Client::V2_1_325);
    for text in hostile {
        let path = format!("/home/dev/{text}");
        let input = format!(r#"{{"command":{0},"file_path":{1}}}"#, quoted(text), quoted(&path));
        let detail = format!(
            r#"{{"filePath":{0},"structuredPatch":[{{"lines":["+{1}"]}}]}}"#,
            quoted(&path),
            "y"
        );
        let plan = format!(r#"{{"plan":{}}}"#, quoted(&format!("# {text}\n- {text}")));
        session = session
            .cwd(&path)
            .branch(text)
            .model(text)
            .prompt(text)
            .tool_with_detail("Edit", &input, text, &detail)
            .failed_tool(text, &input, text)
            .tool("ExitPlanMode", &plan, text)
            .answer(text);
    }
    home.add(&session.custom_title(hostile[0]), hours_ago(1));
    let test = Test::new(home);
    let word: String = form_urlencoded::byte_serialize(hostile[1].as_bytes()).collect();
    let more = [
        "/search?q=%22%3Cimg+src%3Dx%3E%22".to_owned(),
        "/search?q=alert".to_owned(),
        format!("/usage?project={word}&model={word}&session={word}"),
        format!("/file?path={word}"),
        format!("/files?q={word}"),
        format!("/tools?tool={word}"),
        "/usage?period=year&by=model&show=tokens".to_owned(),
        "/health?show=all".to_owned(),
    ];
    for path in PAGES.into_iter().map(str::to_owned).chain(more) {
        let shown = whole_page(&test, &path);
        // `app.js` and `theme.js` are the only scripts, and both are files.
        let scripts = shown.matches("<script").count();
        assert_eq!(scripts, shown.matches("src=\"/assets/").count(), "{path}");
        // What a form sends back must be what it was; nobody sees it.
        let mut seen = String::new();
        for (at, part) in shown.split(" value=\"").enumerate() {
            let after = part.split_once('"').map_or(part, |(_, after)| after);
            seen.push_str(if at == 0 { part } else { after });
        }
        for bad in ["<img", "<svg onload", "\" onerror", "\" onfocus", "\u{202e}", "\u{0}"] {
            assert!(!seen.contains(bad), "{path}: {bad:?}");
        }
        assert!(!shown.contains("<script>alert"), "{path}");
    }
}
