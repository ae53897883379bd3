//! What test binaries need to know of themselves: their files, and programs that they run.

use std::fs;
use std::path::Path;

/// Holds that every file of a crate's `tests` folder is a module of `runner.rs`, which has
/// this text. A file that is in no binary would never run.
///
/// # Panics
/// If a file is not listed.
#[expect(clippy::unwrap_used, reason = "a test that cannot read its own folder has failed")]
pub fn assert_all_listed(manifest_directory: &str, runner: &str) {
    for file in fs::read_dir(Path::new(manifest_directory).join("tests")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs").filter(|module| *module != "runner") else {
            continue;
        };
        assert!(runner.contains(&format!("\nmod {module};")), "{name} is in no test binary");
    }
}

/// The program that a variable names.
///
/// # Panics
/// If it names none: whoever runs a test that is ignored for want of the program must say
/// where it is.
pub fn tool(variable: &str) -> String {
    let program = std::env::var(variable).ok().filter(|path| !path.is_empty());
    program.unwrap_or_else(|| panic!("{variable} names no program"))
}
