//! `cargo xtask bench lines [REVISION…]`: how many lines of source the product has.
//!
//! The files of revisions and of the working tree, without tests: neither `tests/`, nor files and
//! parts that only tests compile, nor the crates that only tests use.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;
use std::process::ExitCode;

use anyhow::Context as _;
use anyhow::bail;

use crate::repository::root;
use crate::repository::say;

/// Lines, and those of them that are neither empty nor comments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lines {
    all: usize,
    code: usize,
}

/// The lines of each crate.
type Crates = BTreeMap<String, Lines>;

/// Runs the task with the words after `lines`.
pub(super) fn run(revisions: &[String]) -> anyhow::Result<ExitCode> {
    let mut columns = Vec::new();
    for revision in revisions {
        columns.push((
            revision.clone(),
            count(&listed(&["ls-tree", "-r", "--name-only", revision])?, |path| {
                git(&["show", &format!("{revision}:{path}")])
            })?,
        ));
    }
    let files = listed(&["ls-files", "--cached", "--others", "--exclude-standard"])?;
    let here =
        count(&files, |path| Ok(std::fs::read_to_string(root().join(path)).unwrap_or_default()))?;
    columns.push(("working tree".to_owned(), here));
    say(&render(&columns)?);
    Ok(ExitCode::SUCCESS)
}

fn git(words: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").args(words).current_dir(root()).output()?;
    if !output.status.success() {
        bail!("git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).context("git said something that is not text")
}

/// The source files among those that a git command lists.
fn listed(words: &[&str]) -> anyhow::Result<Vec<String>> {
    let all = git(words)?;
    let is_source = |path: &&str| {
        path.starts_with("crates/")
            && path.contains("/src/")
            && path.ends_with(".rs")
            && !path.starts_with("crates/recto-testkit/")
    };
    Ok(all.lines().filter(is_source).map(str::to_owned).collect())
}

fn count(
    paths: &[String],
    read: impl Fn(&str) -> anyhow::Result<String>,
) -> anyhow::Result<Crates> {
    let mut texts = Vec::new();
    for path in paths {
        texts.push((path.as_str(), read(path)?));
    }
    let only_tests: Vec<String> =
        texts.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    let mut crates = Crates::new();
    for (path, text) in &texts {
        let stem = path.trim_end_matches(".rs").trim_end_matches("/mod");
        if only_tests.iter().any(|module| stem == module || stem.starts_with(&format!("{module}/")))
        {
            continue;
        }
        let name = path.split('/').nth(1).unwrap_or_default().to_owned();
        let lines = crates.entry(name).or_default();
        for line in production(text) {
            lines.all += 1;
            let line = line.trim();
            lines.code += usize::from(!line.is_empty() && !line.starts_with("//"));
        }
    }
    Ok(crates)
}

/// The modules in files of their own that only tests compile, as paths without their ending.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    let own = match file.trim_end_matches(".rs") {
        "mod" | "lib" | "main" => directory.to_owned(),
        stem => format!("{directory}/{stem}"),
    };
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line != "#[cfg(test)]" {
            continue;
        }
        let mut named = None;
        while let Some(attribute) = lines.next_if(|line| line.starts_with("#[")) {
            let quoted =
                attribute.strip_prefix("#[path = \"").and_then(|rest| rest.split_once('"'));
            named = quoted.map(|(name, _)| format!("{directory}/{}", name.trim_end_matches(".rs")));
        }
        let module = lines.peek().and_then(|line| {
            let name = line.trim_start_matches("pub(crate) ").strip_prefix("mod ")?;
            name.strip_suffix(';')
        });
        found.extend(module.map(|module| named.unwrap_or_else(|| format!("{own}/{module}"))));
    }
    found
}

/// The lines that are not only for tests: neither an item below `#[cfg(test)]` nor that line.
fn production(text: &str) -> Vec<&str> {
    let mut kept = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push(line);
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        for line in lines.by_ref() {
            let is_attribute = line.trim_start().starts_with("#[");
            if line == end
                || !is_attribute
                    && line.starts_with(indent)
                    && line.ends_with(';')
                    && !line[indent.len()..].starts_with(' ')
            {
                break;
            }
        }
    }
    kept
}

fn render(columns: &[(String, Crates)]) -> anyhow::Result<String> {
    let mut text = String::from("| crate |");
    for (name, _) in columns {
        write!(text, " {name}: lines | code |")?;
    }
    write!(text, "\n|---|{}", "---|---|".repeat(columns.len()))?;
    let mut names: Vec<&String> = columns.iter().flat_map(|(_, crates)| crates.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        write!(text, "\n| {name} |")?;
        for (_, crates) in columns {
            let lines = crates.get(name).copied().unwrap_or_default();
            write!(text, " {} | {} |", lines.all, lines.code)?;
        }
    }
    text.push_str("\n| all |");
    for (_, crates) in columns {
        let all: usize = crates.values().map(|lines| lines.all).sum();
        let code: usize = crates.values().map(|lines| lines.code).sum();
        write!(text, " {all} | {code} |")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_tests_compile_does_not_count() {
        let text = "//! Doc.\nuse a;\n\n#[cfg(test)]\nuse b;\nfn c() {}\n#[cfg(test)]\n\
            #[path = \"x_tests.rs\"]\nmod tests;\nimpl A {\n    #[cfg(test)]\n    fn d() {\n        e();\n    }\n\
            }\n#[cfg(test)]\nmod more {\n    fn f() {}\n}\n";
        assert_eq!(production(text), ["//! Doc.", "use a;", "", "fn c() {}", "impl A {", "}"]);
        assert_eq!(test_modules("crates/a/src/lib.rs", text), ["crates/a/src/x_tests"]);
        let paths = ["crates/a/src/lib.rs", "crates/a/src/x_tests.rs"].map(str::to_owned);
        let found = count(&paths, |_| Ok(text.to_owned())).unwrap();
        assert_eq!(found["a"], Lines { all: 6, code: 4 });
    }
}
