//! No spelling of an address reads a file that is not meant.

use crate::support::SESSION;
use crate::support::Test;
use crate::support::working_home;

/// What must never come out.
const SECRET: &str = "the-secret-of-the-neighbour";

#[test]
fn no_spelling_of_an_address_leads_out_of_the_home() {
    let home = working_home();
    // Beside the logs, in the home, and outside of it.
    home.write("projects/-home-dev-app/secret.txt", SECRET);
    home.write("settings.json", format!("{{\"x\":\"{SECRET}\"}}"));
    home.write(".credentials.json", format!("{{\"x\":\"{SECRET}\"}}"));
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("outside.txt"), SECRET).unwrap();
    let outside = outside.path().join("outside.txt").to_string_lossy().into_owned();
    let test = Test::new(home);
    let dots = [
        "..",
        "%2e%2e",
        "%2E%2E",
        ".%2e",
        "%2e.",
        "%252e%252e",
        "..%00",
        "%c0%ae%c0%ae",
        "%e0%80%ae%e0%80%ae",
        "....",
        "..;",
        "%uff0e%uff0e",
    ];
    let slashes = ["/", "%2f", "%2F", "\\", "%5c", "%252f", "%c0%af", "%ef%bc%8f"];
    let targets =
        ["settings.json", ".credentials.json", "projects/-home-dev-app/secret.txt", "etc/passwd"];
    let mut spellings = Vec::new();
    for dot in dots {
        for slash in slashes {
            for (depth, target) in [1, 2, 4, 8].into_iter().zip(targets) {
                let target = target.replace('/', slash);
                spellings.push(format!("{}{target}", format!("{dot}{slash}").repeat(depth)));
            }
        }
    }
    for absolute in [outside.clone(), outside.replace('/', "%2f"), format!("file:%2f%2f{outside}")]
    {
        spellings.push(absolute);
    }
    for odd in ["secret.txt", "..", ".", "%00", "*", "%25", SESSION, "-", "latest", "agent-..", "~"]
    {
        spellings.push(odd.to_owned());
    }
    assert!(spellings.len() >= 200, "{}", spellings.len());
    let places = |spelling: &str| {
        [
            format!("/{spelling}"),
            format!("/assets/{spelling}"),
            format!("/api/v1/sessions/{spelling}"),
            format!("/api/v1/sessions/{spelling}/turns"),
            format!("/api/v1/sessions/{spelling}/export"),
            format!("/api/v1/sessions/{SESSION}/results/{spelling}"),
            format!("/api/v1/sessions/{SESSION}/lines/{spelling}"),
            format!("/api/v1/sessions/{SESSION}/agents/{spelling}/turns"),
            format!("/api/v1/sessions?project={spelling}"),
        ]
    };
    for spelling in &spellings {
        for place in places(spelling) {
            // What a client would not even send is an error of its own.
            let Some(answer) = test.try_get(&place) else { continue };
            let text = String::from_utf8_lossy(&answer.body);
            assert!(!text.contains(SECRET) && !text.contains("root:"), "{place}: {text}");
            let is_list = place.starts_with("/api/v1/sessions?");
            let is_session = place.contains(&format!("sessions/{SESSION}"))
                && !place.contains("/results/")
                && !place.contains("/lines/")
                && !place.contains("/agents/");
            // A path that leads up may name another route, never a file.
            let is_route = answer.header("content-type").is_some_and(|kind| {
                kind.starts_with("application/json") || kind.starts_with("text/html")
            });
            assert!(
                is_list || is_session || matches!(answer.status, 400 | 404 | 405) || is_route,
                "{place}: {} {text}",
                answer.status
            );
        }
    }
}
