//! What tasks of this repository share: where things are, and the programs that tests need.

#![warn(missing_docs)]

pub mod browser;
pub mod programs;
pub mod repository;
