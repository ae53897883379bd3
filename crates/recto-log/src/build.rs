//! New lines, in the shape that every client loads.

use jiff::Timestamp;

use crate::json::ObjectWriter;

/// Builds one new line. All lines that recto writes are made here.
///
/// The fields come out in the order in which they are given, after the ones
/// that every line of the kind has.
///
/// ```
/// use recto_log::EntryBuilder;
///
/// let line = EntryBuilder::custom_title("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", "Fix the parser")
///     .finish();
/// assert_eq!(
///     line,
///     br#"{"type":"custom-title","customTitle":"Fix the parser","sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718"}"#
/// );
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct EntryBuilder {
    object: ObjectWriter,
}

impl EntryBuilder {
    /// A line of any type, with nothing in it yet.
    pub fn of_type(name: &str) -> EntryBuilder {
        EntryBuilder { object: ObjectWriter::new().string("type", name) }
    }

    /// A line of the chain: its parent, type, id and time, which are what a
    /// client needs to load it.
    pub fn chained(name: &str, parent: Option<&str>, uuid: &str, time: Timestamp) -> EntryBuilder {
        let object = ObjectWriter::new()
            .string_or_null("parentUuid", parent)
            .boolean("isSidechain", false)
            .string("type", name)
            .string("uuid", uuid)
            .string("timestamp", &iso(time));
        EntryBuilder { object }
    }

    /// A title given by the user.
    pub fn custom_title(session: &str, title: &str) -> EntryBuilder {
        EntryBuilder::of_type("custom-title")
            .string("customTitle", title)
            .string("sessionId", session)
    }

    /// The title again, as the name under which clients 2.1.200 and later run it.
    pub fn agent_name(session: &str, title: &str) -> EntryBuilder {
        EntryBuilder::of_type("agent-name").string("agentName", title).string("sessionId", session)
    }

    /// The leaf from which clients 2.1.200 and later resume.
    pub fn last_prompt(session: &str, prompt: &str, leaf: &str) -> EntryBuilder {
        EntryBuilder::of_type("last-prompt")
            .string("lastPrompt", prompt)
            .string("leafUuid", leaf)
            .string("sessionId", session)
    }

    /// The start of a compacted part. Its parent is always `null`.
    pub fn compact_boundary(
        logical_parent: &str,
        uuid: &str,
        time: Timestamp,
        tokens_before: u64,
    ) -> EntryBuilder {
        let metadata =
            ObjectWriter::new().string("trigger", "manual").number("preTokens", tokens_before);
        EntryBuilder::chained("system", None, uuid, time)
            .string("logicalParentUuid", logical_parent)
            .string("subtype", "compact_boundary")
            .string("content", "Conversation compacted")
            .boolean("isMeta", false)
            .string("level", "info")
            .json("compactMetadata", &metadata.finish())
    }

    /// Adds the message of a user line, as a string.
    pub fn user_text(self, text: &str) -> EntryBuilder {
        let message = ObjectWriter::new().string("role", "user").string("content", text);
        self.json("message", &message.finish())
    }

    /// Adds the message of a user line, as blocks (JSON text of an array).
    pub fn user_blocks(self, blocks: &[u8]) -> EntryBuilder {
        let message = ObjectWriter::new().string("role", "user").json("content", blocks);
        self.json("message", &message.finish())
    }

    /// Adds the message of an assistant line (JSON text of an array, and of the
    /// usage). `id` is shared by all lines of one message.
    pub fn assistant_blocks(
        self,
        id: &str,
        model: &str,
        blocks: &[u8],
        usage: &[u8],
    ) -> EntryBuilder {
        let message = ObjectWriter::new()
            .string("id", id)
            .string("type", "message")
            .string("role", "assistant")
            .string("model", model)
            .json("content", blocks)
            .json("stop_reason", b"null")
            .json("stop_sequence", b"null")
            .json("usage", usage);
        self.json("message", &message.finish())
    }

    /// Adds what every line of a session repeats.
    pub fn session(self, session: &str, cwd: &str, version: &str, branch: &str) -> EntryBuilder {
        self.string("userType", "external")
            .string("cwd", cwd)
            .string("sessionId", session)
            .string("version", version)
            .string("gitBranch", branch)
    }

    /// Adds a string.
    pub fn string(self, key: &str, text: &str) -> EntryBuilder {
        EntryBuilder { object: self.object.string(key, text) }
    }

    /// Adds a boolean.
    pub fn boolean(self, key: &str, value: bool) -> EntryBuilder {
        EntryBuilder { object: self.object.boolean(key, value) }
    }

    /// Adds JSON text as it is. The caller answers for its form.
    pub fn json(self, key: &str, text: &[u8]) -> EntryBuilder {
        EntryBuilder { object: self.object.json(key, text) }
    }

    /// The line, without a line end.
    pub fn finish(self) -> Vec<u8> {
        self.object.finish()
    }
}

/// The time as the client writes it: UTC, milliseconds.
fn iso(time: Timestamp) -> String {
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use crate::Kind;
    use crate::RawLine;
    use crate::System;
    use crate::UserText;
    use crate::classify_user;
    use crate::decode;

    use super::*;

    #[test]
    fn built_lines_read_back() {
        let time: Timestamp = "2026-11-16T00:16:12.1Z".parse().unwrap();
        let line = EntryBuilder::chained("user", Some("p"), "u", time)
            .user_text("hi \"you\"\n")
            .session("s", "/w", "2.1.325", "main")
            .finish();
        let (entry, problems) = decode(RawLine::alone(&line));
        assert_eq!(problems, []);
        assert_eq!(classify_user(&entry), UserText::Human);
        assert_eq!(entry.str("timestamp").unwrap(), "2026-11-16T00:16:12.100Z");
        assert_eq!(entry.message().unwrap().content().text(), "hi \"you\"\n");

        let line = EntryBuilder::compact_boundary("before", "b", time, 9).finish();
        let (entry, problems) = decode(RawLine::alone(&line));
        assert_eq!(problems, []);
        assert_eq!(entry.kind(), Kind::System);
        assert!(entry.get("parentUuid").unwrap().is_null());
        let Some(System::CompactBoundary(metadata)) = entry.system() else { panic!() };
        assert_eq!(metadata.tokens_before, Some(9));
    }
}
