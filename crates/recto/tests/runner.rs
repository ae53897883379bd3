//! The tests of the command, which run the real program.
//!
//! | module | what it holds the program to |
//! |---|---|
//! | `edition` | edits of sessions: copies, forks, what they share |
//! | `moving`, `packing`, `merging` | sessions in other directories and homes, and two in one |
//! | `editing` | what commands that change files do, refuse and take back |
//! | `crash`, `crash_collecting` | killed at any call to the system, an edit or a collector is whole |
//! | `archived` | sessions that only the archive has are the same on every surface |
//! | `overview`, `ls`, `show`, `show_follow`, `session`, `home`, `drift`, `check`, `demo`, `files`, `plans`, `blame`, `scratch`, `request`, `mock`, `resuming`, `branches`, `todos`, `overflow`, `queued`, `stats`, `context`, `serve`, `status`, `statusline`, `usage`, `find` | what each command prints, in a few snapshots |
//! | `query`, `lake` | SQL about sessions; the tables of a team, also when builders are killed |
//! | `completing` | sessions that shells offer |
//! | `sharing` | what is given away has no secrets, and edits that find nothing to do say so |
//! | `surface` | words in any order, errors that say what to do, one exit code for one thing |
//! | `surfaces` | the terminal, the API, pages and MCP give the same answers |
//! | `mcp` | what agents are told over the Model Context Protocol |
//! | `sdk` | the public Agent SDK lists the same sessions |
//! | `bad_input` | a clear message and the right exit code for what cannot be done |
//! | `hostile`, `wide` | no character of a log acts on the terminal, and no text is too wide |
//! | `memory` | commands under a limit of memory, on logs that are made to be large |
//! | `small_print` | what was typed in errors, modes of files, one log of many that is unreadable |
//! | `never_opened`, `secrets_left` | keys and credentials are not opened; redacted secrets are gone |
//! | `browse`, `watch` | the browser and the board on a real terminal: start, end, resume, hostile text |
//! | `run`, `run_again`, `run_ends`, `run_options`, `checklist` | sessions of our own: as scripts start them, resumed, interrupted and killed, with every option, and in the older way of writing |
//! | `console`, `console_commands`, `console_elsewhere`, `console_terminal`, `sandbox` | conversations on a real terminal: commands, other surfaces, signals and odd terminals; commands that try to get out |
//! | `browser` | nothing of a log acts in an exported page |
//! | `terminal` | width, colour, pager and safety where a person looks |
//! | `reference` | the generated pages of `docs/reference` are those of the program |
//! | `documents` | what the documents show is what the program prints; their links lead somewhere |
//! | `words` | help, messages and documents use the words that people use |
//! | `layout` | every listing at 80, 100 and 200 columns |
//! | `licences` | `THIRD-PARTY.md` names what the program contains |
//! | `import_cycles` | how large the import cycles of a crate may be |
//! | `structure` | crates, file sizes and documents are as the rules say |
//!
//! `support` is their tool. Every run of the program has an environment of its
//! own: no variable of the caller's, a home that the test made, a fixed clock.
//!
//! `RECTO_BLESS=1` writes the generated pages again instead of comparing them.

// Clippy takes the helpers of a test binary for ordinary code.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod archived;
mod bad_input;
mod blame;
mod branches;
#[cfg(unix)]
mod browse;
mod browser;
mod check;
mod checklist;
mod collecting;
#[cfg(unix)]
mod completing;
#[cfg(target_os = "linux")]
mod console;
#[cfg(target_os = "linux")]
mod console_commands;
#[cfg(target_os = "linux")]
mod console_elsewhere;
#[cfg(target_os = "linux")]
mod console_terminal;
mod context;
mod crash;
mod crash_collecting;
mod demo;
mod documents;
mod drift;
mod editing;
mod edition;
mod files;
mod find;
mod fleet;
mod grep;
mod home;
mod hostile;
mod hub;
mod import_cycles;
#[cfg(feature = "lake")]
mod lake;
mod layout;
mod licences;
mod ls;
mod mcp;
#[cfg(target_os = "linux")]
mod memory;
mod merging;
mod mock;
mod moving;
#[cfg(unix)]
mod never_opened;
mod otlp;
mod overflow;
mod overview;
mod packing;
mod plans;
mod query;
mod queued;
mod reference;
mod request;
mod resuming;
mod run;
mod run_again;
#[cfg(unix)]
mod run_ends;
#[cfg(unix)]
mod run_options;
#[cfg(target_os = "linux")]
mod sandbox;
mod scratch;
mod sdk;
mod secrets_left;
mod serve;
mod session;
mod sharing;
mod show;
mod show_follow;
#[cfg(unix)]
mod small_print;
mod stats;
mod status;
mod statusline;
mod structure;
mod support;
mod surface;
mod surfaces;
#[cfg(unix)]
mod terminal;
mod todos;
mod usage;
#[cfg(unix)]
mod watch;
#[cfg(unix)]
mod wide;
mod words;

/// A file that is not listed above would be left out without a word.
#[test]
fn every_file_of_this_folder_is_part_of_the_binary() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
