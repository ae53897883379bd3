//! Images and documents of logs: what is sent of them, and how a page shows them.

use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use crate::pages::assert_quiet;
use crate::pages::opened;
use crate::support::SESSION;
use crate::support::Test;
use crate::support::hours_ago;

/// A red PNG of 64 by 48 points.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAEAAAAAwCAIAAAAuKetIAAAAQ0lEQVR42u3PQQkAAAgEsEtiEvtjLCv4FQYrsEz1axEQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQuFpe1ZjEdALEewAAAABJRU5ErkJggg==";

/// `<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"/>`
const SVG: &str =
    "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0id2luZG93LnB3bmVkPTEiLz4=";

/// `<script>window.pwned=1</script>`
const HTML: &str = "PHNjcmlwdD53aW5kb3cucHduZWQ9MTwvc2NyaXB0Pg==";

/// `%PDF-1.4`
const PDF: &str = "JVBERi0xLjQ=";

fn block(kind: &str, data: &str) -> String {
    format!(
        r#"{{"type":"{kind}","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
    )
}

/// A home with a session whose prompt and whose result have images.
pub(crate) fn home_with_media() -> FakeHome {
    let log = SessionBuilder::new(SESSION, Client::V2_1_325)
        .prompt("PROMPT-MEDIA")
        .tool("Read", r#"{"file_path":"/home/dev/app/shot.png"}"#, "RESULT-MEDIA")
        .answer("A red area.");
    let blocks =
        [block("image", PNG), block("image", SVG), block("image", HTML), block("document", PDF)];
    let elsewhere = r#"{"type":"image","source":{"type":"url","url":"http://192.0.2.1/x.png"}}"#;
    let prompt =
        format!(r#"[{{"type":"text","text":"What is this?"}},{},{elsewhere}]"#, blocks.join(","));
    let result = format!("[{}]", block("image", PNG));
    let text = String::from_utf8(log.bytes().to_vec()).unwrap();
    let lines = text.lines().map(|line| match line.contains(r#""type":"user""#) {
        true => line
            .replace(r#""content":"PROMPT-MEDIA""#, &format!(r#""content":{prompt}"#))
            .replace(r#""content":"RESULT-MEDIA""#, &format!(r#""content":{result}"#)),
        false => line.to_owned(),
    });
    let lines: Vec<String> = lines.collect();
    let home = FakeHome::new();
    let log = SessionBuilder::new(SESSION, Client::V2_1_325).raw(lines.join("\n") + "\n");
    home.add(&log, hours_ago(1));
    home
}

#[test]
fn images_are_sent_as_what_their_bytes_are_and_all_else_is_a_file_to_keep() {
    let test = Test::new(home_with_media());
    let turns = test.get(&format!("/api/v1/sessions/{SESSION}/turns")).json();
    let items = turns["turns"][0]["items"].as_array().unwrap();
    let media = items[0]["media"].as_array().unwrap();
    let kinds: Vec<&str> = media.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["png", "other", "other", "pdf", "elsewhere"], "{items:?}");
    assert_eq!((&media[0]["width"], &media[0]["height"]), (&64.into(), &48.into()));
    assert!(media[4]["address"].is_null());
    let expected = [
        ("image/png", None),
        ("application/octet-stream", Some("bin")),
        ("application/octet-stream", Some("bin")),
        ("application/pdf", Some("pdf")),
    ];
    for (one, (kind, end)) in media.iter().zip(expected) {
        let answer = test.get(one["address"].as_str().unwrap());
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some(kind));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'; sandbox"), "{policy}");
        let disposition = answer.header("content-disposition");
        assert_eq!(disposition.is_some(), end.is_some(), "{kind}");
        if let Some(end) = end {
            let value = disposition.unwrap();
            assert!(value.starts_with("attachment;") && value.ends_with(&format!(".{end}\"")));
        }
        assert_eq!(answer.body.len() as u64, one["bytes"].as_u64().unwrap());
    }
    let call = items.iter().find(|item| item["item"] == "call").unwrap();
    let result = call["media"][0]["address"].as_str().unwrap();
    assert_eq!(test.get(result).header("content-type"), Some("image/png"));
    for missing in ["media/1/1", "media/2/9", "media/2/0", "media/x/1", "media/99999/1"] {
        assert_eq!(test.get(&format!("/api/v1/sessions/{SESSION}/{missing}")).status, 404);
    }
}

#[test]
fn a_page_shows_images_in_their_place_and_reads_without_scripts() {
    let test = Test::new(home_with_media());
    let page = test.get(&format!("/session/{SESSION}")).text();
    assert_eq!(page.matches("<img ").count(), 2, "{page}");
    assert_eq!(page.matches("loading=\"lazy\"").count(), 2);
    assert!(page.contains("width=\"64\" height=\"48\""));
    assert!(page.contains("PDF document") && page.contains("Attached file"));
    assert!(!page.contains("192.0.2.1"));
}

#[test]
#[ignore = "needs a browser"]
fn an_image_is_enlarged_by_a_key_and_closed_by_another() {
    let test = Test::new(home_with_media());
    let mut tab = opened(&test);
    tab.open(&format!("{}/session/{SESSION}", test.server.base_url()));
    tab.wait("[...document.querySelectorAll('.picture img')].every((i) => i.naturalWidth === 64)");
    tab.value("document.querySelector('.picture a').focus()");
    tab.press("Enter");
    tab.wait("document.querySelector('.lightbox[open] img')?.naturalWidth === 64");
    tab.press("Escape");
    tab.wait("!document.querySelector('.lightbox')");
    assert_eq!(tab.value("document.activeElement.matches('.picture a')"), true);
    tab.click(".picture a");
    tab.wait("document.querySelector('.lightbox[open]')");
    tab.click(".lightbox img");
    tab.wait("!document.querySelector('.lightbox')");
    assert_quiet(&mut tab, &test);
}
