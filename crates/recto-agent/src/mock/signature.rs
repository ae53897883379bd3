//! Signatures of thinking.
//!
//! A real endpoint proves that thinking is its own and was not changed. The mock does the same
//! for what it said itself; signatures of others are accepted, because nobody here can check
//! them.

use sha2::Digest as _;
use sha2::Sha256;

/// How signatures of the mock begin.
const MARK: &str = "RectoMock";

/// What is to be said of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Ours, for this text.
    Ours,
    /// Of another endpoint.
    Foreign,
    /// Ours, for another text; or damaged.
    Altered,
    /// There is none.
    Empty,
}

/// The signature of a text.
pub(super) fn sign(secret: u64, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(secret.to_le_bytes());
    hash.update(text.as_bytes());
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{MARK}{digits}==")
}

/// Thinking that nobody can read: its own text is in it.
pub(super) fn redact(secret: u64, text: &str) -> String {
    let hidden: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{}.{hidden}", sign(secret, text))
}

/// Checks a signature, or encrypted thinking.
pub(super) fn check(secret: u64, text: &str, proof: &str) -> Verdict {
    if proof.is_empty() {
        return Verdict::Empty;
    }
    if !proof.starts_with(MARK) {
        return Verdict::Foreign;
    }
    let expected = match proof.split_once('.') {
        Some((_, hidden)) => unhidden(hidden).map(|text| redact(secret, &text)),
        None => Some(sign(secret, text)),
    };
    if expected.as_deref() == Some(proof) { Verdict::Ours } else { Verdict::Altered }
}

fn unhidden(digits: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect();
    String::from_utf8(bytes?).ok()
}
