//! What every task needs: where things are, and how to tell what happens.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

/// The root of the repository.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |path| root().join(path))
}

/// The cargo that runs this task.
pub fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Prints the title of a step.
pub fn heading(title: &str) {
    say(&format!("\n== {title} =="));
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "a task tells how far it is")]
pub fn say(text: &str) {
    println!("{text}");
}

/// What a page says under a heading, with the heading; nothing if it has none of that name.
pub fn section_of(page: &str, heading: &str) -> String {
    let title = format!("\n## {heading}\n\n");
    let Some(start) = page.find(&title) else { return String::new() };
    let rest = &page[start + title.len()..];
    let end = rest.find("\n## ").unwrap_or(rest.len());
    format!("{title}{}", &rest[..end])
}
