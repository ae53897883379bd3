//! Signatures of thinking.
//!
//! A real endpoint proves that thinking is its own and was not changed. Mocks do the same for
//! what any of them said, whatever its seed: a session may go on after the mock was started
//! again. Signatures of others are accepted, because nobody here can check them.

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

/// How many digits of a signature are the seed.
const SEED_DIGITS: usize = 16;

/// The signature of a text.
pub(super) fn sign(seed: u64, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(seed.to_le_bytes());
    hash.update(text.as_bytes());
    let digits: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{MARK}{seed:0SEED_DIGITS$x}{digits}==")
}

/// Thinking that nobody can read: its own text is in it.
pub(super) fn redact(seed: u64, text: &str) -> String {
    let hidden: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{}.{hidden}", sign(seed, text))
}

/// Checks a signature, or encrypted thinking.
pub(super) fn check(text: &str, proof: &str) -> Verdict {
    if proof.is_empty() {
        return Verdict::Empty;
    }
    let Some(rest) = proof.strip_prefix(MARK) else { return Verdict::Foreign };
    let seed = rest.get(..SEED_DIGITS).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let expected = seed.and_then(|seed| match proof.split_once('.') {
        Some((_, hidden)) => unhidden(hidden).map(|text| redact(seed, &text)),
        None => Some(sign(seed, text)),
    });
    if expected.as_deref() == Some(proof) { Verdict::Ours } else { Verdict::Altered }
}

fn unhidden(digits: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok())
        .collect();
    String::from_utf8(bytes?).ok()
}
