//! What `recto --version` says beside the version: the commit, the target, the date of prices.

// Cargo reads what a build script prints.
#![allow(clippy::print_stdout)]

use std::env;
use std::fs;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RECTO_COMMIT");
    let target = env::var("TARGET").unwrap_or_else(|_| "unknown target".to_owned());
    println!("cargo:rustc-env=RECTO_TARGET={target}");
    println!("cargo:rustc-env=RECTO_COMMIT={}", commit());
    println!("cargo:rustc-env=RECTO_PRICE_DATE={}", price_date());
}

/// The commit. Only releases ask git: other builds would be made again after each commit.
fn commit() -> String {
    let short = |text: String| text.chars().take(9).collect::<String>();
    if let Ok(given) = env::var("RECTO_COMMIT") {
        return short(given);
    }
    if env::var("PROFILE").as_deref() != Ok("release") {
        return "development build".to_owned();
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "HEAD"]).map_or_else(|| "unknown commit".to_owned(), short)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

/// The date of the built-in prices, which is the end of their `source`.
fn price_date() -> String {
    let path = "../recto-session/data/prices.toml";
    println!("cargo:rerun-if-changed={path}");
    let text = fs::read_to_string(path).unwrap_or_default();
    let source = text.lines().find_map(|line| line.strip_prefix("source = "));
    let date = source.and_then(|source| source.trim_matches('"').rsplit(", ").next());
    date.unwrap_or("unknown date").to_owned()
}
