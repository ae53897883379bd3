//! The secret of one start.

use std::fmt;

use crate::ServeError;

/// What a client must know to be answered.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new one, of 244 random bits.
    pub(crate) fn random() -> Token {
        let (one, other) = (uuid::Uuid::new_v4(), uuid::Uuid::new_v4());
        Token(format!("{}{}", one.simple(), other.simple()))
    }

    /// One that the user has made.
    pub fn given(text: &str) -> Result<Token, ServeError> {
        let text = text.trim();
        // What a cookie can hold as it is.
        let is_plain = text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || b"!#$%&'()*+-./:<=>?@[]^_`{|}~".contains(&byte)
        });
        if !(32..=512).contains(&text.len()) || !is_plain {
            return Err(ServeError::WeakToken { length: text.len() });
        }
        Ok(Token(text.to_owned()))
    }

    /// Compares in a time that depends on the lengths only.
    pub(crate) fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let mut differs = u8::from(own.len() != given.len());
        for (at, byte) in given.iter().enumerate() {
            differs |= byte ^ own[at % own.len()];
        }
        std::hint::black_box(differs) == 0
    }

    /// The token itself, for the cookie.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Nothing that is printed may hold it.
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_is_the_token() {
        let token = Token::random();
        assert_eq!(token.text().len(), 64);
        let same = token.text().to_owned();
        assert!(token.is(&same));
        for wrong in ["", "x", &token.text()[1..], &format!("{}{}", token.text(), token.text())] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert!(!token.is(Token::random().text()));
        assert!(!format!("{token:?}").contains(token.text()));
    }

    #[test]
    fn tokens_of_users_are_long_and_plain() {
        assert!(Token::given(&format!("{}\n", "a".repeat(32))).is_ok());
        for weak in ["", "short", &"a ".repeat(20), &"é".repeat(20), &"a;".repeat(20)] {
            assert!(Token::given(weak).is_err(), "{weak}");
        }
    }
}
