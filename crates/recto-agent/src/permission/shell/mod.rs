//! Shell commands: what they are made of, and what they would do.

mod flags;
pub(crate) mod forms;
pub(crate) mod operands;
pub(crate) mod read_only;
pub(crate) mod rules;
pub(crate) mod script;
pub(crate) mod sed;
mod torn;
pub(crate) mod word;

mod read_only_git;
