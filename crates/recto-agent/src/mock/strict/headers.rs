//! Headers without which nobody gets an answer.

use super::Refusal;

/// The headers that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// Whether there is a key, of either kind.
    pub has_key: bool,
    /// `anthropic-version`.
    pub version: Option<String>,
    /// The names in `anthropic-beta`.
    pub betas: Vec<String>,
    /// `content-type`, if there is a body.
    pub content_type: Option<String>,
}

const VERSIONS: [&str; 3] = ["2023-01-01", "2023-06-01", "2026-10-21"];

impl Headers {
    /// Checks them.
    pub fn check(&self) -> Option<Refusal> {
        if !self.has_key {
            let message = "x-api-key header is required".into();
            return Some(Refusal { status: 401, kind: "authentication_error", message });
        }
        match self.version.as_deref() {
            None => return Some(Refusal::invalid("anthropic-version: header is required")),
            Some(version) if !VERSIONS.contains(&version) => {
                let message = format!("anthropic-version: \"{version}\" is not a valid version");
                return Some(Refusal::invalid(message));
            }
            Some(_) => {}
        }
        if let Some(beta) = self.betas.iter().find(|beta| !is_beta(beta)) {
            return Some(Refusal::invalid(format!(
                "Unexpected value(s) `{beta}` for the `anthropic-beta` header"
            )));
        }
        match self.content_type.as_deref() {
            Some("application/json") | None => None,
            Some(_) => Some(Refusal::invalid("content-type: must be application/json")),
        }
    }
}

/// Whether a name is spelled as those of betas are: words, then a date.
fn is_beta(name: &str) -> bool {
    let digits = name.bytes().rev().take_while(|byte| byte.is_ascii_digit() || *byte == b'-');
    let digits = digits.filter(u8::is_ascii_digit).count();
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_plain && digits == 8 && name.starts_with(|first: char| first.is_ascii_alphabetic())
}
