//! What the lines of a session repeat, and where a line is in the chain.

use jiff::Timestamp;

use crate::AgentId;
use crate::Entry;
use crate::EntryUuid;
use crate::Generation;
use crate::SessionId;
use crate::json::ObjectWriter;

/// What every line of a session says about the session and its client.
///
/// Fields that are `None` are left out of the lines: no client needs them to
/// resume. A change of directory or branch is a change of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Envelope {
    /// Whose order of fields is written.
    pub generation: Generation,
    /// The session; of a subagent, that of its parent.
    pub session: Option<SessionId>,
    /// The subagent. Its lines are a side chain.
    pub agent: Option<AgentId>,
    /// `external` for everybody who does not make the client.
    pub user_type: Option<String>,
    /// How the client was started, such as `cli` or `sdk-cli` (from 2.1.100).
    pub entrypoint: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The version of the client.
    pub version: Option<String>,
    /// The git branch.
    pub branch: Option<String>,
    /// The three words that name a session once it has a plan or a compaction.
    pub slug: Option<String>,
}

impl Envelope {
    /// The envelope of a client that says nothing yet.
    pub fn new(generation: Generation) -> Envelope {
        Envelope {
            generation,
            session: None,
            agent: None,
            user_type: None,
            entrypoint: None,
            cwd: None,
            version: None,
            branch: None,
            slug: None,
        }
    }

    /// An envelope that names a session, which is enough for lines beside the
    /// chain.
    pub fn of_session(session: impl Into<Option<SessionId>>) -> Envelope {
        Envelope { session: session.into(), ..Envelope::new(Generation::latest()) }
    }

    /// The envelope that a line has. The newest clients can read every order of
    /// fields, so theirs is taken where the line names no version.
    pub fn of(entry: &Entry<'_>) -> Envelope {
        let text = |name| entry.str(name).map(|text| text.into_owned());
        let version = text("version");
        let generation = version.as_deref().and_then(Generation::of_version);
        Envelope {
            generation: generation.unwrap_or(Generation::latest()),
            session: entry.session_id().and_then(|id| id.parse().ok()),
            agent: entry.agent_id(),
            user_type: text("userType"),
            entrypoint: text("entrypoint"),
            cwd: text("cwd"),
            version,
            branch: text("gitBranch"),
            slug: text("slug"),
        }
    }

    /// Whether the client writes the envelope before the fields of the line's
    /// kind; newer clients write it after them.
    fn leads(&self) -> bool {
        self.generation < Generation::V2_1_100
    }

    /// A line of the chain: `body` adds the fields of its kind.
    pub(super) fn chained(
        &self,
        head: Head<'_>,
        body: impl FnOnce(ObjectWriter) -> ObjectWriter,
    ) -> Vec<u8> {
        let mut line = ObjectWriter::new().id_or_null("parentUuid", head.position.parent.as_ref());
        line = line
            .id_if_any("logicalParentUuid", head.logical_parent)
            .boolean("isSidechain", self.agent.is_some());
        let agent = self.agent.as_ref();
        let slug = self.slug.as_deref();
        if self.leads() {
            line = self.repeated(line).id_if_any("agentId", agent).string_if_any("slug", slug);
            return body(line).finish();
        }
        line = line.string_if_any("promptId", head.prompt).id_if_any("agentId", agent);
        line = body(line).id_if_any("session_id", head.position.session.as_ref());
        self.repeated(line).string_if_any("slug", slug).finish()
    }

    fn repeated(&self, line: ObjectWriter) -> ObjectWriter {
        line.string_if_any("userType", self.user_type.as_deref())
            .string_if_any("entrypoint", self.entrypoint.as_deref())
            .string_if_any("cwd", self.cwd.as_deref())
            .id_if_any("sessionId", self.session.as_ref())
            .string_if_any("version", self.version.as_deref())
            .string_if_any("gitBranch", self.branch.as_deref())
    }
}

/// Where a line is in the chain, and when it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The line before; `None` for the first one and for a compaction.
    pub parent: Option<EntryUuid>,
    /// The line itself.
    pub uuid: EntryUuid,
    /// When it was written.
    pub time: Timestamp,
    /// The `session_id` that 2.1.325 adds to lines of turns in the terminal. A
    /// fork keeps the one of its source.
    pub session: Option<SessionId>,
}

impl Position {
    /// The first line of a chain.
    pub fn root(uuid: EntryUuid, time: Timestamp) -> Position {
        Position { parent: None, uuid, time, session: None }
    }

    /// A line after another one.
    pub fn after(parent: EntryUuid, uuid: EntryUuid, time: Timestamp) -> Position {
        Position { parent: Some(parent), uuid, time, session: None }
    }
}

/// What comes before the fields of a line's kind, beside the envelope.
pub(super) struct Head<'a> {
    pub(super) position: &'a Position,
    pub(super) logical_parent: Option<&'a EntryUuid>,
    pub(super) prompt: Option<&'a str>,
}

impl<'a> Head<'a> {
    pub(super) fn of(position: &'a Position) -> Head<'a> {
        Head { position, logical_parent: None, prompt: None }
    }
}
