//! Lines to items: what each line says, and in which role.

use std::borrow::Cow;

use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::ArrayWriter;
use recto_log::json::Value;

use super::Addition;
use super::DropReason;
use super::Dropped;
use super::Generation;
use super::Sent;
use super::SentLine;
use super::UnreadableLine;
use super::attachment;
use super::attachment::Told;
use super::client_text::CONTINUE;
use super::client_text::NO_RESPONSE;
use super::client_text::NOTIFICATION;
use super::client_text::NOTIFICATION_MORE;
use super::client_text::REFERENCES_GONE;
use super::client_text::REFERENCES_OFF;
use super::client_text::unwrap;
use super::client_text::wrap;
use super::lines;
use super::model::AskedModel;
use super::piece::Piece;
use super::piece::PieceKind;
use super::piece::is_reference;
use crate::LineSource;
use crate::NameId;
use crate::Session;

/// What the rendering depends on beside the lines.
pub(super) struct Rules {
    pub(super) generation: Generation,
    pub(super) model: AskedModel,
}

impl Rules {
    /// The rules for a model, which by default is the one that answered last.
    pub(super) fn new(
        session: &Session,
        generation: Generation,
        sent: &[Sent],
        model: Option<&str>,
    ) -> Rules {
        Rules { generation, model: AskedModel::new(session, generation, sent, model) }
    }
}

/// Whose answer a block belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerId {
    /// The API message with this id.
    Named(NameId),
    /// A line that does not say.
    Unnamed,
    /// The client itself.
    MadeUp,
}

/// What a line says.
#[derive(Debug)]
pub(super) enum Item {
    /// Part of a user's turn. It may go on the part before, as if one.
    User { pieces: Vec<Piece>, joins: bool },
    /// Told by the client inside a user's turn.
    Reminder { pieces: Vec<Piece>, folds: bool },
    /// Told by the client in a message of the system.
    System(String),
    /// Part of an answer.
    Answer { id: AnswerId, pieces: Vec<Piece> },
}

/// Whose words are told in passing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    User,
    Client,
    /// The client's, and never told inside a result.
    ClientAlone,
}

/// All that is said, and the lines that say nothing.
#[derive(Default)]
pub(super) struct Rendered {
    pub(super) items: Vec<Item>,
    pub(super) not_sent: Vec<Dropped>,
    pub(super) unreadable: Vec<UnreadableLine>,
    /// Results whose truncation the log tells of itself.
    noticed: Vec<String>,
}

/// Reads the lines that are sent.
pub(super) fn render(
    session: &Session,
    rules: &Rules,
    sent: &[Sent],
    log: &dyn LineSource,
) -> Rendered {
    let mut rendered =
        Rendered { noticed: noticed(session, rules, sent, log), ..Rendered::default() };
    for sent in sent {
        match sent {
            Sent::Line(line) => rendered.line(session, rules, line, log),
            Sent::Added(addition) => rendered.items.push(made_up(session, addition)),
        }
    }
    rendered
}

/// The results of which a notice in the log says that they are cut.
fn noticed(session: &Session, rules: &Rules, sent: &[Sent], log: &dyn LineSource) -> Vec<String> {
    if rules.generation < Generation::V2_1_300 {
        return Vec::new();
    }
    let notices = sent.iter().filter_map(|sent| {
        let Sent::Line(line) = sent else { return None };
        let node = session.node(line.node);
        let is_notice = |name| session.name(name) == "read_truncation_notice";
        node.subtype.is_some_and(is_notice).then_some(node)
    });
    // A notice that cannot be read is reported when it is rendered.
    let bytes = notices.filter_map(|node| log.line(node.span()).ok()).map(valid_text);
    let id = |bytes: Cow<'_, [u8]>| {
        let (entry, _) = decode(RawLine::alone(&bytes));
        Some(entry.get("attachment")?.str("toolUseID")?.into_owned())
    };
    bytes.filter_map(id).collect()
}

fn made_up(session: &Session, addition: &Addition) -> Item {
    match addition {
        Addition::Interrupted { calls } => Item::User {
            pieces: calls.iter().map(|id| Piece::interrupted(session.name(*id))).collect(),
            joins: false,
        },
        Addition::Continue => Item::User { pieces: vec![Piece::text(CONTINUE)], joins: false },
        Addition::NoResponse => {
            Item::Answer { id: AnswerId::MadeUp, pieces: vec![Piece::text(NO_RESPONSE)] }
        }
    }
}

impl Rendered {
    fn line(&mut self, session: &Session, rules: &Rules, line: &SentLine, log: &dyn LineSource) {
        let node = session.node(line.node);
        let before = self.items.len();
        // What only the client reads need not be fetched.
        let is_for_model = match node.kind {
            Kind::User | Kind::Assistant | Kind::Attachment => true,
            Kind::System => {
                let is = |name| session.name(name) == "local_command";
                rules.generation >= Generation::V2_1_100 && node.subtype.is_some_and(is)
            }
            _ => false,
        };
        if is_for_model {
            match log.line(node.span()).map(valid_text) {
                Ok(bytes) => {
                    let (entry, _) = decode(RawLine::alone(&bytes));
                    self.entry(&entry, rules, line, node.message);
                }
                Err(error) => {
                    let error = error.to_string();
                    self.unreadable.push(UnreadableLine { line: node.line, error });
                }
            }
        }
        if self.items.len() == before {
            let reason = match node.kind {
                Kind::Assistant if lines::is_blank_answer(node) => DropReason::BlankAnswer,
                Kind::Assistant => DropReason::ForeignThinking,
                _ => DropReason::NotForModel,
            };
            self.not_sent.push(Dropped { line: node.line, reason });
        }
    }

    fn entry(
        &mut self,
        entry: &Entry<'_>,
        rules: &Rules,
        line: &SentLine,
        message: Option<NameId>,
    ) {
        match entry.kind() {
            Kind::User => {
                let pieces = user_pieces(entry, rules);
                self.items.push(Item::User { pieces, joins: line.joins_previous });
                if rules.generation == Generation::V2_1_300 {
                    self.truncation(entry, rules);
                }
            }
            Kind::Assistant => {
                let id = message.map_or(AnswerId::Unnamed, AnswerId::Named);
                if let Some(pieces) = answer_pieces(entry, rules, &line.left_out) {
                    self.items.push(Item::Answer { id, pieces });
                }
            }
            Kind::System => {
                let is_hidden = rules.generation == Generation::V2_1_300
                    && entry.object().is_true("isDisplayOnly");
                if !is_hidden {
                    let pieces = pieces_of(Content::of(entry.get("content")));
                    self.items.push(Item::User { pieces, joins: false });
                }
            }
            Kind::Attachment => self.attachment(entry, rules),
            _ => {}
        }
    }

    fn attachment(&mut self, entry: &Entry<'_>, rules: &Rules) {
        let human_turn = entry.get("attachment").and_then(|value| value.get("humanTurn"));
        let is_human = rules.generation == Generation::V2_1_300
            && human_turn.and_then(Value::as_bool) == Some(true);
        // What commits are to say about the client stays by itself.
        let is_alone = entry.subtype().is_some_and(|name| name == "remote_session_change");
        let whose = match (is_human, is_alone) {
            (true, _) => Whose::User,
            (false, true) => Whose::ClientAlone,
            (false, false) => Whose::Client,
        };
        self.tell(rules, attachment::texts(entry, rules), whose);
    }

    /// The note that a file was not read to its end, which newer clients make
    /// up for older logs.
    fn truncation(&mut self, entry: &Entry<'_>, rules: &Rules) {
        let Content::Blocks(blocks) = content_of(entry) else { return };
        let mut ids = blocks.elements().filter_map(|block| block.str("tool_use_id"));
        let is_noticed = ids.any(|id| self.noticed.iter().any(|known| *known == id));
        let told = attachment::truncation(entry).filter(|_| !is_noticed);
        self.tell(rules, told.into_iter().collect(), Whose::Client);
    }

    fn tell(&mut self, rules: &Rules, told: Vec<Told>, whose: Whose) {
        let mut pieces = Vec::new();
        for told in told {
            if rules.model.has_system_turns() && whose == Whose::User {
                pieces.push(Piece::text(unwrap(&told.text)));
            } else if rules.model.has_system_turns() && told.is_for_system {
                self.items.push(Item::System(unwrap(&told.text).to_owned()));
            } else {
                pieces.push(Piece::text(&told.text));
            }
        }
        if !pieces.is_empty() {
            self.items.push(Item::Reminder { pieces, folds: whose == Whose::Client });
        }
    }
}

/// Bytes that are no UTF-8 are U+FFFD to a client.
fn valid_text(bytes: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match std::str::from_utf8(&bytes) {
        Ok(_) => bytes,
        Err(_) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned().into_bytes()),
    }
}

fn content_of<'a>(entry: &Entry<'a>) -> Content<'a> {
    entry.message().map_or(Content::Missing, |message| message.content())
}

fn pieces_of(content: Content<'_>) -> Vec<Piece> {
    match content {
        Content::Text(text) => vec![Piece::around(text)],
        Content::Blocks(blocks) => {
            blocks.elements().filter(|block| block.is_object()).map(Piece::read).collect()
        }
        Content::Missing | Content::Other(_) => Vec::new(),
    }
}

fn user_pieces(entry: &Entry<'_>, rules: &Rules) -> Vec<Piece> {
    let content = content_of(entry);
    let origin = entry.get("origin").and_then(|origin| origin.str("kind"));
    match content {
        Content::Text(text)
            if rules.generation == Generation::V2_1_300
                && origin.is_some_and(|kind| kind == "task-notification") =>
        {
            let text = text.as_str().unwrap_or_default();
            let text = [NOTIFICATION, NOTIFICATION_MORE, "\n", &text].concat();
            vec![Piece::text(&wrap(&text))]
        }
        _ => {
            let mut pieces = pieces_of(content);
            for piece in pieces.iter_mut().filter(|piece| piece.is_result()) {
                if piece.has_reference() {
                    keep_known_references(piece, rules);
                }
                if rules.generation >= Generation::V2_1_200
                    && piece.get("is_error").is_some_and(is_true)
                {
                    keep_texts(piece);
                }
            }
            pieces
        }
    }
}

fn is_true(value: Value<'_>) -> bool {
    value.as_bool() == Some(true)
}

/// Takes pictures out of a result: the API takes only text of a call that failed.
fn keep_texts(piece: &mut Piece) {
    if !piece.get("content").is_some_and(|content| content.is_array()) {
        return;
    }
    piece.named_tools = piece.has_reference();
    let Some(content) = piece.get("content") else { return };
    let is_text = |block: &Value<'_>| block.str("type").is_some_and(|kind| kind == "text");
    let texts = content.elements().filter(is_text);
    let texts = texts.fold(ArrayWriter::new(), |array, block| array.json(block.bytes())).finish();
    piece.set("content", &texts);
}

/// Tools that the newest clients load when they are asked for.
const LOADED_ON_DEMAND: [&str; 11] = [
    "CronCreate",
    "CronDelete",
    "CronList",
    "EnterWorktree",
    "ExitWorktree",
    "Monitor",
    "NotebookEdit",
    "SendMessage",
    "TaskStop",
    "WebFetch",
    "WebSearch",
];

/// Tools that only models without system turns are given.
const LOADED_FOR_OLDER_MODELS: [&str; 4] = ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"];

/// Takes tools out of a result that the client does not have. Clients before 2.1.0 do not
/// look.
fn keep_known_references(piece: &mut Piece, rules: &Rules) {
    let instead = match rules.generation {
        Generation::V2_0_0 | Generation::V2_0_76 => return,
        Generation::V2_1_100 | Generation::V2_1_200 => REFERENCES_OFF,
        Generation::V2_1_0 | Generation::V2_1_300 => REFERENCES_GONE,
    };
    let is_known = |block: Value<'_>| {
        let name = block.str("tool_name").unwrap_or_default();
        let is_one_of = |names: &[&str]| names.iter().any(|known| *known == name);
        rules.generation == Generation::V2_1_300
            && (is_one_of(&LOADED_ON_DEMAND)
                || (is_one_of(&LOADED_FOR_OLDER_MODELS) && !rules.model.has_system_turns()))
    };
    let Some(content) = piece.get("content") else { return };
    let kept = content.elements().filter(|block| !is_reference(*block) || is_known(*block));
    let kept = kept.fold((0u32, ArrayWriter::new()), |(count, array), block| {
        (count + 1, array.json(block.bytes()))
    });
    let content = match kept {
        (0, array) => array.json(&Piece::text(instead).json).finish(),
        (_, array) => array.finish(),
    };
    piece.set("content", &content);
}

/// What an answer says; `None` if it is nothing but thinking that the model which is
/// asked does not take.
fn answer_pieces(entry: &Entry<'_>, rules: &Rules, left_out: &[u32]) -> Option<Vec<Piece>> {
    let mut pieces = pieces_of(content_of(entry));
    let mut place = 0u32..;
    pieces.retain(|_| place.next().is_none_or(|place| left_out.binary_search(&place).is_err()));
    let was_empty = pieces.is_empty();
    let model = entry.message().and_then(|message| message.model()).unwrap_or_default();
    if !rules.model.takes_thinking_of(&model) {
        pieces.retain(|piece| !piece.is_signed_thinking());
    }
    if pieces.is_empty() && !was_empty {
        return None;
    }
    // 2.1.200 keeps a line of empty text where the message has others, not one of white space.
    let is_blank = |piece: &Piece| matches!(piece.kind, PieceKind::Text { is_blank: true });
    let is_white = |piece: &Piece| !piece.text_inside().is_empty();
    if rules.generation == Generation::V2_1_200
        && pieces.iter().all(is_blank)
        && pieces.iter().any(is_white)
    {
        return None;
    }
    for piece in &mut pieces {
        if !matches!(piece.kind, PieceKind::ToolUse { .. }) {
            continue;
        }
        let name = piece.get("name").and_then(Value::as_str).unwrap_or_default().into_owned();
        // The plan is not sent back; what newer clients put beside it is.
        if rules.generation == Generation::V2_1_0 && name == "ExitPlanMode" {
            piece.remove(&["input", "plan"]);
        }
        if rules.generation < Generation::V2_1_300 {
            piece.remove(&["caller"]);
        } else if name == "SendMessage" {
            keep_own_fields_of_message(piece);
        }
        if let Some(name) = name_of_today(rules.generation, &name) {
            piece.set("name", format!("\"{name}\"").as_bytes());
        }
    }
    Some(pieces)
}

/// The client adds the older names of a message's fields for hooks, and does not send them.
fn keep_own_fields_of_message(piece: &mut Piece) {
    if piece.get("input").is_some_and(|input| input.get("to").is_some()) {
        for name in ["type", "recipient", "content", "request_id", "approve"] {
            piece.remove(&["input", name]);
        }
    }
}

/// The name that a tool has by now. Clients that load tools when they are asked
/// for know the old names only of those that they always have.
fn name_of_today(generation: Generation, name: &str) -> Option<&'static str> {
    let is_between = matches!(generation, Generation::V2_1_100 | Generation::V2_1_200);
    match name {
        "Task" if generation >= Generation::V2_1_100 => Some("Agent"),
        "KillShell" if is_between => Some("TaskStop"),
        "AgentOutputTool" | "BashOutputTool" if is_between => Some("TaskOutput"),
        "KillBash" if generation == Generation::V2_1_200 => Some("TaskStop"),
        "BashOutput" if generation == Generation::V2_1_200 => Some("TaskOutput"),
        _ => None,
    }
}
