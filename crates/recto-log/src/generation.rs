//! Clients by how they read and write a log.
//!
//! Releases come every few days and most treat a log alike. A generation is a
//! range of versions that do; its rules were observed on one version of it.

use std::fmt;

/// A range of client versions that read and write logs alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// Up to 2.0.75.
    V2_0_0,
    /// 2.0.76 and the rest of 2.0.
    V2_0_76,
    /// 2.1.0 to 2.1.99: plain walk from the newest line.
    V2_1_0,
    /// 2.1.100 to 2.1.199: parallel calls are found again, broken links healed.
    V2_1_100,
    /// 2.1.200 to 2.1.299: the leaf is named by the log.
    V2_1_200,
    /// From 2.1.300.
    V2_1_300,
}

impl Generation {
    /// All generations, the oldest first.
    pub const ALL: [Generation; 6] = [
        Generation::V2_0_0,
        Generation::V2_0_76,
        Generation::V2_1_0,
        Generation::V2_1_100,
        Generation::V2_1_200,
        Generation::V2_1_300,
    ];

    /// The generation of the newest clients.
    pub fn latest() -> Generation {
        Generation::V2_1_300
    }

    /// The generation of a version such as `2.1.29`, or of `latest`. `None` if
    /// the text is no version.
    pub fn of_version(version: &str) -> Option<Generation> {
        if version == "latest" {
            return Some(Generation::latest());
        }
        let mut parts = version.trim_start_matches('v').split('.').map(leading_number);
        let version = (parts.next()??, parts.next().flatten()?, parts.next().flatten()?);
        Some(match version {
            _ if version < (2, 0, 76) => Generation::V2_0_0,
            _ if version < (2, 1, 0) => Generation::V2_0_76,
            _ if version < (2, 1, 100) => Generation::V2_1_0,
            _ if version < (2, 1, 200) => Generation::V2_1_100,
            _ if version < (2, 1, 300) => Generation::V2_1_200,
            _ => Generation::V2_1_300,
        })
    }

    /// The version on which the rules of the generation were observed.
    pub fn observed(self) -> &'static str {
        match self {
            Generation::V2_0_0 => "2.0.50",
            Generation::V2_0_76 => "2.0.76",
            Generation::V2_1_0 => "2.1.29",
            Generation::V2_1_100 => "2.1.100",
            Generation::V2_1_200 => "2.1.200",
            Generation::V2_1_300 => "2.1.325",
        }
    }

    /// The versions it stands for, in words.
    pub fn name(self) -> &'static str {
        match self {
            Generation::V2_0_0 => "up to 2.0.75",
            Generation::V2_0_76 => "2.0.76 to 2.0.x",
            Generation::V2_1_0 => "2.1.0 to 2.1.99",
            Generation::V2_1_100 => "2.1.100 to 2.1.199",
            Generation::V2_1_200 => "2.1.200 to 2.1.299",
            Generation::V2_1_300 => "from 2.1.300",
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The number at the start of a text, such as that of `325-beta.1`.
fn leading_number(text: &str) -> Option<u64> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_has_a_generation() {
        for generation in Generation::ALL {
            assert_eq!(Generation::of_version(generation.observed()), Some(generation));
        }
        let of = Generation::of_version;
        assert_eq!(of("1.0.33"), Some(Generation::V2_0_0));
        assert_eq!(of("2.0.75"), Some(Generation::V2_0_0));
        assert_eq!(of("2.0.99"), Some(Generation::V2_0_76));
        assert_eq!(of("2.1.99"), Some(Generation::V2_1_0));
        assert_eq!(of("2.1.300-beta.2"), Some(Generation::V2_1_300));
        assert_eq!(of("v3.0.0"), Some(Generation::V2_1_300));
        assert_eq!(of("latest"), Some(Generation::latest()));
        for bad in ["", "2", "2.1", "new", "2.x.1"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
