//! `THIRD-PARTY.md` names everything that recto contains. `RECTO_BLESS=1` writes it again.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::TestHome;
use crate::support::repository;

/// Data that others made, and the texts of their licences.
const HEAD: &str = "# What recto contains\n\n\
recto is MIT or Apache-2.0, at your choice. It contains the work of others:\n\n\
<!-- Written by the test `the_list_of_licences_is_that_of_the_dependencies`. -->\n\n\
## Data\n\n\
- Model prices: facts from the price list of litellm (MIT), https://github.com/BerriAI/litellm\n\
- Rules for secrets: from the default configuration of gitleaks (MIT, Copyright (c) 2019 Zachary\n\
  Rice), https://github.com/gitleaks/gitleaks, changed; the text of the licence is below\n\
- Syntaxes for colours in code: from two-face and bat, https://github.com/CosmicHorrorDev/two-face,\n\
  each under the licence that its acknowledgements name\n\
- Grammar of bash: tree-sitter-bash (MIT), https://github.com/tree-sitter/tree-sitter-bash\n\
- SQLite: public domain, https://sqlite.org\n\n\
## Crates\n\n";

/// The packages that the program is linked from on Linux, by name, with version and licence.
fn packages() -> BTreeMap<(String, String), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        // As it is released.
        .args(["--features", "recto/lake"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let packages: HashMap<String, Value> =
        list(&metadata["packages"]).into_iter().map(|one| (text(&one["id"]), one)).collect();
    let nodes: HashMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let root = packages.values().find(|one| one["name"] == "recto").unwrap();
    let (mut waiting, mut seen) = (vec![text(&root["id"])], HashSet::new());
    let mut found = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let package = &packages[&id];
        if !package["source"].is_null() {
            let key = (text(&package["name"]), text(&package["version"]));
            found.insert(key, text(&package["license"]));
        }
        for dependency in list(&nodes[&id]["deps"]) {
            // Those of tests and build scripts are not in the program.
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                waiting.push(text(&dependency["pkg"]));
            }
        }
    }
    found
}

#[test]
fn the_list_of_licences_is_that_of_the_dependencies() {
    let mut page = HEAD.to_owned();
    for ((name, version), licence) in packages() {
        assert!(!licence.is_empty(), "{name} has no licence");
        page.push_str(&format!("- {name} {version}: {licence}\n"));
    }
    let data = repository().join("crates/recto-session/data/README.md");
    let data = fs::read_to_string(data).unwrap();
    let mit = data.split_once("### Licence of gitleaks").unwrap().1;
    page.push_str(&format!("\n## Licence of gitleaks\n{}\n", mit.trim_end()));
    let path = repository().join("crates/recto/THIRD-PARTY.md");
    if std::env::var_os("RECTO_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let found = fs::read_to_string(path).unwrap();
    assert!(found == page, "hint: RECTO_BLESS=1 cargo test -p recto --test runner licences");
}

#[test]
fn licences_and_the_version_need_no_home() {
    let test = TestHome::empty();
    fs::remove_dir_all(test.home.path()).unwrap();
    let run = test.run(&["licenses"]);
    assert!(run.code == 0 && run.stdout.contains("\n- serde_json "), "{}", run.shown());
    let version = test.run(&["--version"]).stdout;
    let (name, rest) = version.split_once(" (").unwrap();
    assert_eq!(name, format!("recto {}", env!("CARGO_PKG_VERSION")));
    let parts: Vec<&str> = rest.trim_end().trim_end_matches(')').split(", ").collect();
    let [_, target, prices] = parts[..] else { panic!("{version}") };
    assert!(target.contains('-'), "{version}");
    let date = prices.strip_prefix("prices from ").unwrap();
    assert!(date.parse::<jiff::civil::Date>().is_ok(), "{version}");
}
