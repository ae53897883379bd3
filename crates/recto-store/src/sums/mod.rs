//! What many logs add up to, from the index where it has them as they are.

pub(crate) mod digests;
pub(crate) mod kept_lines;
pub(crate) mod statistics;
pub(crate) mod usage;

#[cfg(test)]
mod rollup_tests;
