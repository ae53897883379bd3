//! A place that is to be replaced.

use std::borrow::Cow;
use std::ops::Range;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) range: Range<usize>,
    pub(super) rule: Cow<'static, str>,
    pub(super) rank: Rank,
}

/// Which of two hits at one place counts: the first of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Of a text or a pattern that was asked for.
    Known,
    /// Of a rule for a known form.
    Form,
    /// Of the rule for all others.
    Generic,
}
