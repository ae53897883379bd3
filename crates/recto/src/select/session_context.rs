//! The current session, as hooks and their environment tell it.

use recto_log::SessionId;
use recto_log::json::Value;

/// The session named by a variable such as `SESSION_CONTEXT="session_id=…"`.
pub(crate) fn session_from_context(text: &str) -> Option<SessionId> {
    let pairs = text.split([' ', ';', ',', '\n', '\t']);
    pairs
        .filter_map(|pair| pair.trim().strip_prefix("session_id="))
        .find_map(|id| id.trim_matches(['"', '\'']).parse().ok())
}

/// The session named by the JSON that the client gives a hook on its input.
pub(crate) fn session_from_hook(json: &[u8]) -> Option<SessionId> {
    let value = Value::parse(json).ok()?;
    value.str("session_id").or_else(|| value.str("sessionId"))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn the_session_is_read_from_both() {
        let id = ID.parse().ok();
        assert_eq!(session_from_context(&format!("session_id={ID}")), id);
        assert_eq!(session_from_context(&format!("a=b; session_id=\"{ID}\"")), id);
        assert_eq!(session_from_context("session_id=../../x"), None);
        assert_eq!(session_from_hook(format!(r#"{{"session_id":"{ID}"}}"#).as_bytes()), id);
        assert_eq!(session_from_hook(b"{}"), None);
        assert_eq!(session_from_hook(b"not json"), None);
    }
}
