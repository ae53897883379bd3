//! The number of an operation.

use std::fmt;
use std::str::FromStr;

/// The number of an operation. Numbers grow; none that was recorded comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(pub(crate) u64);

impl OperationId {
    /// The number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl From<u64> for OperationId {
    fn from(number: u64) -> OperationId {
        OperationId(number)
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for OperationId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<OperationId, std::num::ParseIntError> {
        text.parse().map(OperationId)
    }
}
