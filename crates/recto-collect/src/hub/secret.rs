//! Codes and tokens: how they are written, and what is kept of them.
//!
//! Both are an id, which is no secret, and a secret with at least 100 random bits. What is kept is
//! an Argon2id hash, so that who reads the store cannot write into it through a hub.

use argon2::Algorithm;
use argon2::Argon2;
use argon2::Params;
use argon2::Version;
use serde::Deserialize;
use serde::Serialize;
use sha2::Digest as _;
use sha2::Sha256;

/// Letters and digits that nobody takes for others.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// How many of them are the id of a code.
const ID: usize = 8;
/// How many of them are its secret.
const SECRET: usize = 20;
/// What one hash takes. Secrets are random, so this is a second wall and not the only one.
const MEMORY_KIB: u32 = 7 * 1024;
const PASSES: u32 = 5;

/// A code that lets one machine in, once.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Code {
    pub(crate) id: String,
    pub(crate) secret: String,
}

impl Code {
    pub(crate) fn random() -> Code {
        let digits: Vec<u8> = random().iter().map(|byte| DIGITS[usize::from(byte % 32)]).collect();
        let text = String::from_utf8_lossy(&digits).into_owned();
        Code { id: text[..ID].to_owned(), secret: text[ID..ID + SECRET].to_owned() }
    }

    /// Reads what a person typed.
    pub(crate) fn read(text: &str) -> Option<Code> {
        let mut digits = String::new();
        for letter in text.chars().filter(|letter| !matches!(letter, '-' | ' ')) {
            let letter = match letter.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                letter => letter,
            };
            if !letter.is_ascii() || !DIGITS.contains(&(letter as u8)) {
                return None;
            }
            digits.push(letter);
        }
        (digits.len() == ID + SECRET)
            .then(|| Code { id: digits[..ID].to_owned(), secret: digits[ID..].to_owned() })
    }

    /// As a person reads it.
    pub(crate) fn text(&self) -> String {
        let digits = format!("{}{}", self.id, self.secret);
        let groups: Vec<&str> =
            (0..digits.len()).step_by(4).map(|at| &digits[at..at + 4]).collect();
        groups.join("-")
    }
}

/// Whether this is the id of a code, and so of a token: it becomes a name in the store.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == ID && text.bytes().all(|byte| DIGITS.contains(&byte))
}

/// Random bytes.
fn random() -> [u8; 32] {
    let mut hash = Sha256::new();
    for _ in 0..3 {
        hash.update(uuid::Uuid::new_v4().as_bytes());
    }
    hash.finalize().into()
}

/// What is kept of a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The name of the function.
    kind: String,
    memory_kib: u32,
    passes: u32,
    salt: String,
    hash: String,
}

impl Kept {
    /// Hashes a secret. It takes some milliseconds and some megabytes.
    pub(crate) fn of(secret: &str) -> Option<Kept> {
        let salt = hex(&random()[..16]);
        let hash = hashed(secret, &salt, MEMORY_KIB, PASSES)?;
        let kind = "argon2id".to_owned();
        Some(Kept { kind, memory_kib: MEMORY_KIB, passes: PASSES, salt, hash })
    }

    /// Whether a secret is the one that was kept.
    pub(crate) fn is(&self, secret: &str) -> bool {
        // What a record asks for is bounded, whoever wrote it.
        let is_known = self.kind == "argon2id" && self.memory_kib <= 64 * 1024 && self.passes <= 16;
        let hash = is_known.then(|| hashed(secret, &self.salt, self.memory_kib, self.passes));
        hash.flatten().is_some_and(|hash| is_equal(hash.as_bytes(), self.hash.as_bytes()))
    }
}

fn hashed(secret: &str, salt: &str, memory_kib: u32, passes: u32) -> Option<String> {
    let parameters = Params::new(memory_kib, passes, 1, Some(32)).ok()?;
    let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
    let mut hash = [0; 32];
    argon.hash_password_into(secret.as_bytes(), salt.as_bytes(), &mut hash).ok()?;
    Some(hex(&hash))
}

/// Compares in a time that depends on the lengths only.
pub(crate) fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differs = one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other));
    std::hint::black_box(differs) == 0 && one.len() == other.len()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_however_a_person_types_it() {
        let code = Code::random();
        assert_eq!(code.text().len(), 28 + 6);
        assert!(Code::read(&code.text()) == Some(code.clone()));
        let typed = code.text().to_lowercase().replace('-', " ").replace('0', "o");
        assert!(Code::read(&typed) == Some(code.clone()));
        assert!(is_id(&code.id) && !is_id("../../AB") && !is_id("abcdefgh"));
        for wrong in ["", "ABCD", &format!("{}A", code.text()), "é"] {
            assert!(Code::read(wrong).is_none(), "{wrong}");
        }
        assert!(Code::random() != code);
    }

    #[test]
    fn only_the_same_secret_is_the_one_that_was_kept() {
        let kept = Kept::of("secret").unwrap();
        assert!(kept.is("secret") && !kept.is("Secret") && !kept.is(""));
        assert!(!serde_json::to_string(&kept).unwrap().contains("secret\""));
        // A salt of its own: the same secret is kept as something else.
        assert_ne!(kept, Kept::of("secret").unwrap());
        let greedy = Kept { memory_kib: 4 * 1024 * 1024, ..kept };
        assert!(!greedy.is("secret"));
    }
}
