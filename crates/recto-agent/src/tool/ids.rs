//! New ids.
//!
//! Owns: their forms. Random ones come from the system; counted ones are for tests, where
//! two runs must be the same.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// The id of a session. A conversation that starts over gets another one; clones are the same.
#[derive(Debug, Clone)]
pub struct SessionName(Arc<Mutex<String>>);

impl SessionName {
    /// The id now.
    #[must_use]
    pub fn get(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Another id from now on.
    pub fn set(&self, name: impl Into<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = name.into();
    }
}

impl From<String> for SessionName {
    fn from(name: String) -> SessionName {
        SessionName(Arc::new(Mutex::new(name)))
    }
}

impl From<&str> for SessionName {
    fn from(name: &str) -> SessionName {
        SessionName::from(name.to_owned())
    }
}

/// Where ids come from.
#[derive(Debug, Default)]
pub enum Ids {
    /// From the system's random numbers.
    #[default]
    Random,
    /// One after the other, for tests.
    Counted(AtomicU64),
}

impl Ids {
    /// Ids that count from one.
    #[must_use]
    pub fn counted() -> Ids {
        Ids::Counted(AtomicU64::new(0))
    }

    fn bits(&self) -> u128 {
        match self {
            Ids::Random => uuid::Uuid::new_v4().as_u128(),
            // Spread, so that short ids differ in each part.
            Ids::Counted(count) => {
                let next = count.fetch_add(1, Ordering::Relaxed) + 1;
                u128::from(next).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            }
        }
    }

    fn letters(&self, count: usize) -> String {
        const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
        let mut bits = self.bits();
        let mut text = String::with_capacity(count);
        for _ in 0..count {
            let letter = LETTERS.get((bits % 36) as usize).copied().unwrap_or(b'0');
            text.push(char::from(letter));
            bits /= 36;
        }
        text
    }

    /// A background command.
    pub(super) fn task(&self) -> String {
        format!("b{}", self.letters(8))
    }

    /// A subagent.
    pub fn agent(&self) -> String {
        format!("a{:016x}", self.bits() as u64)
    }

    /// A file of output.
    pub(super) fn output(&self) -> String {
        self.letters(9)
    }

    /// A cell of a notebook.
    pub(super) fn cell(&self) -> String {
        format!("{:08x}", self.bits() as u32)
    }

    /// Part of the name of a temporary file.
    pub(super) fn temporary(&self) -> String {
        format!("{:012x}", self.bits() as u64 & 0xffff_ffff_ffff)
    }

    /// A UUID, for names that must never meet.
    pub(super) fn uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.bits().to_be_bytes()).into_uuid().to_string()
    }
}
