//! An agent that lives in the logs of Claude Code: it talks to a Messages API, runs tools, and
//! appends what happened to the same files.
//!
//! Rooms, each added with its first code:
//!
//! | room | owns |
//! |---|---|
//! | `wire` | messages, blocks and stream events as the API spells them; unknown ones survive |
//! | `api` | the HTTP client: keys, streaming, retries, what an endpoint can do |
//! | `mock` | a strict server of the same API, for tests of this crate and of others |
//! | `replay` | recorded sessions as answers, and as tests |
//! | `tool` | one file for each tool: input in, effect and result out |
//! | `permission` | rules, modes, and what a shell command would do |
//! | `sandbox` | commands confined to the working directories, without secrets and network |
//! | `hook` | commands of the user that run at events |
//! | `settings` | settings files in their order |
//! | `memory` | instructions in `CLAUDE.md` files, and facts about the machine and the project |
//! | `turn` | the loop: prompt, request, stream, blocks, tools, results |
//! | `control` | the link to a program that started the session: requests both ways |
//! | `mcp` | servers of tools: a client of the Model Context Protocol |
//! | `headless` | what `-p` reads and prints: a JSON stream, one result, text |
//!
//! It knows neither the server nor the rows of `recto-view`, and prints nothing.

#![warn(missing_docs)]

pub mod api;
pub mod control;
pub mod headless;
pub mod hook;
pub mod mcp;
pub mod memory;
pub mod mock;
pub mod permission;
pub mod replay;
pub mod sandbox;
pub mod settings;
pub mod tool;
pub mod turn;
pub mod wire;
