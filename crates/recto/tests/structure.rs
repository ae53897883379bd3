//! Rules about the code and the documents that no compiler holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use recto_log::Kind;
use recto_log::ProblemKind;
use recto_log::Severity;
use recto_session::health::ProblemClass;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::session::working;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::hours_ago;
use crate::support::repository;

/// Which crates of the workspace a crate may use. The order is that of the
/// layers: nothing may use what stands below it.
const MAY_USE: [(&str, &[&str]); 12] = [
    ("recto-log", &[]),
    ("recto-session", &["recto-log"]),
    ("recto-store", &["recto-log", "recto-session"]),
    ("recto-view", &["recto-log", "recto-session", "recto-store"]),
    ("recto-serve", &["recto-log", "recto-session", "recto-store", "recto-view"]),
    ("recto-agent", &["recto-log", "recto-session", "recto-store"]),
    ("recto-collect", &["recto-log", "recto-session", "recto-store", "recto-view"]),
    ("recto-lake", &["recto-log", "recto-session", "recto-store", "recto-view", "recto-collect"]),
    (
        "recto",
        &[
            "recto-log",
            "recto-session",
            "recto-store",
            "recto-view",
            "recto-serve",
            "recto-agent",
            "recto-collect",
            "recto-lake",
        ],
    ),
    ("recto-testkit", &["recto-log"]),
    ("gate", &[]),
    (
        "xtask",
        &[
            "gate",
            "recto-log",
            "recto-session",
            "recto-store",
            "recto-agent",
            "recto-collect",
            "recto-testkit",
        ],
    ),
];

/// Crates that compute and do nothing else, with all they use of others.
const PURE: [(&str, &[&str]); 2] = [
    ("recto-log", &["jiff", "memchr"]),
    (
        "recto-session",
        &[
            "aho-corasick",
            "anstyle-parse",
            "foldhash",
            "hashbrown",
            "jiff",
            "memchr",
            "pulldown-cmark",
            "regex",
            "regex-syntax",
            "sha2",
            "toml",
        ],
    ),
];

/// Files of more than 500 lines, which should be cut soon.
const LARGE: [&str; 5] = [
    "crates/recto-agent/src/permission/bash.rs",
    "crates/recto-agent/src/permission/shell/script.rs",
    "crates/recto-agent/src/tool.rs",
    "crates/recto-agent/src/tool/bash.rs",
    "crates/recto-collect/src/send.rs",
];

/// The dependencies of each crate of the workspace, those of tests left out.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(repository())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let used = package["dependencies"].as_array().unwrap().iter();
            let used = used.filter(|used| used["kind"].is_null()).map(|used| text(&used["name"]));
            (text(&package["name"]), used.collect())
        })
        .collect()
}

#[test]
fn crates_use_only_what_stands_above_them() {
    let dependencies = dependencies();
    for (name, used) in &dependencies {
        let allowed = MAY_USE.iter().find(|(known, _)| known == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{name} has no place in MAY_USE"));
        for one in used.iter().filter(|one| dependencies.contains_key(*one)) {
            assert!(allowed.contains(&one.as_str()), "{name} must not use {one}");
        }
    }
    assert_eq!(dependencies.len(), MAY_USE.len());
}

#[test]
fn pure_crates_use_few_others() {
    let dependencies = dependencies();
    for (name, allowed) in PURE {
        let mut used = dependencies[name].clone();
        used.retain(|one| !dependencies.contains_key(one));
        assert_eq!(used, allowed, "{name}");
    }
}

/// A file of production code, and its text. Lines of tests are empty in it.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) code: String,
}

/// The production code below a directory of the repository.
pub(crate) fn sources(directory: &str) -> Vec<Source> {
    let root = repository();
    let mut found = Vec::new();
    let mut waiting = vec![root.join(directory)];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !["tests", "benches", "target"].contains(&name.as_str()) {
                    waiting.push(path);
                }
            } else if name.ends_with(".rs") && !name.ends_with("_tests.rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = without_tests(&text);
                let path = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
                found.push(Source { path, code });
            }
        }
    }
    assert!(!found.is_empty(), "no code in {directory}");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The text with every item that only tests have as empty lines, so that the numbers of
/// the other lines stay.
fn without_tests(text: &str) -> String {
    let mut is_test = false;
    let mut code = String::with_capacity(text.len());
    for line in text.lines() {
        is_test |= line == "#[cfg(test)]";
        if !is_test {
            code.push_str(line);
        }
        code.push('\n');
        // An item is one line, or ends with a brace at the margin.
        let is_item = !line.starts_with([' ', '#']);
        is_test &= !(is_item && line.ends_with([';', '}']));
    }
    code
}

#[test]
fn code_that_follows_tests_is_code() {
    let text = "use a;\n#[cfg(test)]\n#[path = \"x.rs\"]\nmod x;\n\nfn a() {}\n\
        #[cfg(test)]\nimpl A {\n    fn b() {\n        c();\n    }\n}\nfn d() {}\n\
        #[cfg(test)]\nmod tests {\n    use e;\n}\n";
    let code: Vec<String> = without_tests(text).split_inclusive('\n').map(str::to_owned).collect();
    assert_eq!(code.len(), text.lines().count());
    assert_eq!(code.concat().replace('\n', ""), "use a;fn a() {}fn d() {}");
}

#[test]
fn files_are_small() {
    let mut large = Vec::new();
    for source in ["crates", "gate", "xtask"].into_iter().flat_map(sources) {
        let lines = source.code.trim_end().lines().count();
        assert!(lines <= 800, "{} has {lines} lines of code, more than 800", source.path);
        if lines > 500 {
            large.push(source.path);
        }
    }
    assert_eq!(large, LARGE, "files of more than 500 lines are not those that LARGE names");
}

/// No code may hold one of the words, but in the files named.
fn assert_absent(directory: &str, words: &[&str], but_in: &[&str]) {
    for source in sources(directory) {
        if but_in.iter().any(|name| source.path.ends_with(name)) {
            continue;
        }
        for (at, line) in source.code.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            let word = words.iter().find(|word| line.contains(**word));
            if let Some(word) = word.filter(|_| !is_comment) {
                panic!("{}:{} uses {word}", source.path, at + 1);
            }
        }
    }
}

#[test]
fn what_is_unsafe_is_in_two_files() {
    let words = ["unsafe {", "unsafe extern", "unsafe fn", "unsafe impl", "(unsafe_code"];
    // One call to the C library, and the functions that SQLite calls to read and write pages.
    let platform = "crates/recto-store/src/place/platform.rs";
    let page_sums = "crates/recto-store/src/search/index/page_sums.rs";
    assert_absent("crates", &words, &[platform, page_sums]);
    assert_absent("gate", &words, &[]);
    assert_absent("xtask", &words, &[]);
    let platform = fs::read_to_string(repository().join(platform)).unwrap();
    assert_eq!(platform.matches("(unsafe_code").count(), 1);
    let page_sums = fs::read_to_string(repository().join(page_sums)).unwrap();
    assert!(page_sums.lines().count() < 250, "it has nothing else in it");
    assert!(page_sums.matches("// SAFETY: ").count() >= page_sums.matches("unsafe {").count());
}

#[test]
fn pure_crates_do_no_input_and_output() {
    let words = ["std::fs", "std::env", "std::net", "std::process", "SystemTime", "::now()"];
    for (name, _) in PURE {
        assert_absent(&format!("crates/{name}/src"), &words, &[]);
    }
}

#[test]
fn the_environment_is_read_in_one_place() {
    let words = ["env::var", "std::env", "env::current_dir", "env::home_dir"];
    assert_absent("crates/recto/src", &words, &["src/environment.rs"]);
    assert_absent("crates/recto-store/src", &words, &[]);
    assert_absent("crates/recto-view/src", &words, &[]);
    assert_absent("crates/recto-serve/src", &words, &[]);
    assert_absent("crates/recto-collect/src", &words, &[]);
}

#[test]
fn files_are_opened_through_the_store() {
    // The type of an open file is no way to open one.
    let words =
        ["std::fs::read", "std::fs::write", "std::fs::metadata", "File::open", "std::fs::{"];
    assert_absent("crates/recto-store/src", &words, &["src/place/platform.rs"]);
    let words = [
        "std::fs",
        "fs_err",
        "File::open",
        ".exists()",
        ".try_exists()",
        ".canonicalize()",
        ".is_dir()",
        ".is_file()",
        ".is_symlink()",
        ".metadata()",
        ".symlink_metadata()",
        ".read_dir()",
        ".read_link()",
    ];
    let others = [
        // Writes the sample.
        "src/commands/demo.rs",
        // Writes the service file of the user.
        "src/commands/collect_service.rs",
        // Write documents where the user wants them.
        "src/commands/export.rs",
        "src/terminal/document_file.rs",
        // Looks at paths that a user typed, which need not be in a home.
        "src/select/file_path.rs",
    ];
    assert_absent("crates/recto/src", &words, &others);
    assert_absent("crates/recto-view/src", &words, &[]);
    assert_absent("crates/recto-serve/src", &words, &[]);
}

pub(crate) fn page(name: &str) -> String {
    let path: PathBuf = repository().join("docs/reference").join(name);
    fs::read_to_string(path).unwrap()
}

#[test]
fn every_environment_variable_is_documented() {
    let code = fs::read_to_string(repository().join("crates/recto/src/environment.rs")).unwrap();
    let is_name = |word: &&str| {
        word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let names: Vec<&str> = code.split('"').skip(1).step_by(2).filter(is_name).collect();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        assert!(page("environment.md").contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn every_problem_is_documented() {
    for kind in ProblemKind::ALL {
        let severity = match kind.severity() {
            Severity::Damage => "damage",
            Severity::Note => "note",
        };
        let row = format!("| `{kind}` | {severity} |");
        assert!(page("problems.md").contains(&row), "problems.md has no row {row}");
    }
    for class in ProblemClass::ALL {
        let row = format!("| `{}` | ", class.name());
        // Damaged lines have kinds of their own.
        let is_told = class == ProblemClass::DamagedLine || page("problems.md").contains(&row);
        assert!(is_told, "problems.md has no row {row}");
    }
}

#[test]
fn every_kind_subtype_and_block_is_documented() {
    let page = page("format.md");
    for kind in Kind::all() {
        assert!(page.contains(&format!("\n| `{}` |", kind.name())), "{}", kind.name());
    }
    let schema = fs::read_to_string(repository().join("crates/recto-log/src/schema.rs")).unwrap();
    for list in ["SYSTEM_SUBTYPES", "ATTACHMENTS", "PROGRESS", "QUEUE", "BLOCKS"] {
        let text = schema.split_once(&format!("const {list}: &str =")).unwrap().1;
        let words = text.split('"').nth(1).unwrap().replace('\\', " ");
        assert!(words.split_whitespace().count() >= 3, "{list}: {words}");
        for word in words.split_whitespace() {
            assert!(page.contains(&format!("| `{word}` |")), "format.md has no `{word}` of {list}");
        }
    }
}

#[test]
fn every_kind_of_error_is_documented() {
    let page = page("exit-codes.md");
    let mut kinds = Vec::new();
    for source in sources("crates/recto/src") {
        for call in source.code.split("CommandError::user(").skip(1) {
            let argument = call.trim_start();
            if let Some(text) = argument.strip_prefix('"') {
                kinds.push(text.split('"').next().unwrap().to_owned());
            }
        }
    }
    let mut rooms = 0;
    for source in sources("crates/recto-store/src") {
        if source.path.ends_with("error.rs")
            && let Some((_, store)) = source.code.split_once("pub fn kind(")
        {
            rooms += 1;
            kinds.extend(store.split('"').skip(1).step_by(2).map(str::to_owned));
        }
    }
    assert!(rooms >= 5 && kinds.len() >= 30, "{rooms} rooms: {kinds:?}");
    for kind in kinds {
        assert!(page.contains(&format!("| `{kind}` |")), "exit-codes.md has no `{kind}`");
    }
}

#[test]
fn every_field_of_json_output_is_documented() {
    let test = working();
    test.home.announce(FIX, "busy");
    let docs = SessionBuilder::new(DOCS, Client::V2_1_325).prompt("Hello").answer("Hello");
    let docs = docs.prompt("More").answer("That is all.");
    test.home.add(&docs, hours_ago(1000));
    let damaged = test.home.write("damaged.jsonl", "{torn\n");
    let unknown = test.home.write("unknown.jsonl", "{\"type\":\"hologram\"}\n");
    test.home.write("plans/loose.md", "# A plan\n");
    let page = page("json.md");
    let written = test.home.write("written.rs", "fn main() {}\n");
    let files = test.run(&["files", FIX, "--json"]).json();
    let file = files[0]["path"].as_str().unwrap();
    for (heading, arguments) in [
        ("recto files PATH", &["files", file, "--json"][..]),
        ("recto blame", &["blame", "--json", written.to_str().unwrap()]),
        ("recto scratch", &["scratch", FIX, "--json"]),
        ("Edits", &["fork", DOCS, "--at", "1", "--json"]),
        ("Edits", &["strip", DOCS, "--turns", "1", "--dry-run", "--json"]),
        ("recto", &["--json"]),
        ("recto ls", &["ls", "--json"]),
        ("recto pack", &["pack", FIX, "-o", "x.recto", "--json"]),
        ("recto unpack --list", &["unpack", "x.recto", "--list", "--json"]),
        ("recto home", &["home", "--json", "--within", "100"]),
        ("recto collect", &["collect", "--json"]),
        ("recto collect status", &["collect", "status", "--json"]),
        ("recto collect verify", &["collect", "verify", "--json"]),
        ("recto collect prune", &["collect", "prune", "--json"]),
        ("recto restore", &["restore", "--all", "--dry-run", "--json"]),
        ("recto search", &["find", "parser", "--json"]),
        ("recto search", &["grep", "parser", "--json"]),
        ("recto query", &["query", "--list", "--json"]),
        ("recto index", &["index", "--json"]),
        ("recto plans", &["plans", "--json"]),
        ("recto check", &["check", "--json", damaged.to_str().unwrap()]),
        ("recto check", &["check", "--json", "--notes", FIX]),
        ("recto request", &["request", "--json", FIX]),
        ("recto replay", &["replay", "--json", FIX]),
        ("recto drift", &["drift", "--json", unknown.to_str().unwrap()]),
        ("recto show", &["show", FIX, "--json"]),
        ("recto stats SESSION", &["stats", FIX, "--json"]),
        ("recto stats", &["stats", "--json"]),
        ("recto context", &["context", FIX, "--json"]),
        ("recto usage", &["usage", "--json"]),
        ("recto usage --explain", &["usage", "--explain", "--json"]),
        ("recto prices", &["prices", "--json"]),
        ("recto turns", &["turns", FIX, "--json"]),
        ("recto branches", &["branches", FIX, "--json"]),
        ("recto tools", &["tools", FIX, "--json"]),
        ("recto files", &["files", FIX, "--json"]),
        ("recto agents", &["agents", FIX, "--json"]),
        ("recto status", &["status", "--json", "--all"]),
        ("recto history", &["history", "--json"]),
        ("recto index verify", &["index", "verify", "--json"]),
        ("recto rename", &["rename", DOCS, "New", "--json"]),
        ("recto rm", &["rm", DOCS, "--yes", "--json"]),
        ("recto log", &["log", "--json"]),
        ("recto undo", &["undo", "--json"]),
        ("recto log prune", &["log", "prune", "--older-than", "1d", "--json"]),
    ] {
        let section = page.split_once(&format!("\n## {heading}\n")).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let mut names = Vec::new();
        for line in test.run(arguments).json() {
            collect_names(&line, "", &mut names);
        }
        // What is inside a message is the API's.
        names.retain(|name| !name.starts_with("messages[]"));
        assert!(names.len() >= 2, "{heading}: {names:?}");
        for name in names {
            assert!(section.contains(&format!("\n| `{name}` |")), "{heading} has no `{name}`");
        }
    }
}

/// The names of all fields, with those around them.
pub(crate) fn collect_names(value: &serde_json::Value, path: &str, names: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                let name = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                // The input of a call is the tool's own.
                if name != "input" {
                    collect_names(value, &name, names);
                }
                names.push(name);
            }
        }
        serde_json::Value::Array(items) => {
            for item in items {
                collect_names(item, &format!("{path}[]"), names);
            }
        }
        _ => {}
    }
}

#[test]
fn tests_that_documents_name_exist() {
    let pages = ["ARCHITECTURE.md", "docs/concepts/safety.md"];
    let pages = pages.map(|page| fs::read_to_string(repository().join(page)).unwrap());
    let mut tests = String::new();
    for directory in ["crates", "gate", "xtask"] {
        let mut waiting = vec![repository().join(directory)];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    tests.push_str(&fs::read_to_string(path).unwrap());
                }
            }
        }
    }
    for page in pages {
        let words = page.split('`').skip(1).step_by(2);
        // Tests have names of several words.
        let is_test = |word: &str| {
            let is_name = |c: char| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit();
            word.matches('_').count() >= 3 && word.chars().all(is_name)
        };
        let named: Vec<&str> = words.filter(|word| is_test(word)).collect();
        assert!(named.len() >= 10, "{named:?}");
        for name in named {
            assert!(tests.contains(&format!("fn {name}(")), "there is no test {name}");
        }
    }
}

#[test]
fn what_ci_runs_is_the_command_of_the_readme() {
    let ci = fs::read_to_string(repository().join(".ci/run")).unwrap();
    let command = ci.trim_end().lines().last().unwrap();
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(readme.lines().any(|line| line.starts_with(command)), "README.md lacks `{command}`");
}

#[test]
fn the_first_pages_are_short() {
    for name in ["README.md", "ARCHITECTURE.md"] {
        let lines = fs::read_to_string(repository().join(name)).unwrap().lines().count();
        assert!((50..=200).contains(&lines), "{name} has {lines} lines");
    }
}

#[test]
fn every_page_is_in_the_index() {
    let docs = repository().join("docs");
    let index = fs::read_to_string(docs.join("README.md")).unwrap();
    for folder in ["guides", "concepts", "reference"] {
        for entry in fs::read_dir(docs.join(folder)).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let link = Path::new(folder).join(path.file_name().unwrap());
            assert!(
                index.contains(&format!("({})", link.display())),
                "{} is not in it",
                link.display()
            );
        }
    }
}
