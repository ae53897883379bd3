//! What single lines say: texts, and the calls that are in them.

use std::borrow::Cow;

use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::json::Value;
use recto_log::typed_text;

use crate::command_text;
use crate::task_text;

/// Does something with the input of a call in a line.
pub fn with_call<T>(
    entry: &Entry<'_>,
    wanted: &str,
    work: impl FnOnce(Value<'_>) -> T,
) -> Option<T> {
    let message = entry.message()?;
    let is_wanted = |block: &Block<'_>| {
        matches!(block, Block::ToolUse { .. }) && block.id().is_some_and(|id| id == wanted)
    };
    let call = message.content().blocks().find(is_wanted)?;
    Some(work(call.input()?))
}

/// The text of a user or assistant line; commands as they were typed.
pub fn spoken_text(entry: &Entry<'_>) -> String {
    if let Some(prompt) = entry.attachment().and_then(|attachment| attachment.queued_prompt()) {
        return typed_text(&Content::of(Some(prompt)).text()).into_owned();
    }
    let text = entry.message().map_or(Cow::Borrowed(""), |message| message.content().text());
    match classify_user(entry) {
        UserText::Command | UserText::BashInput => command_text(&text),
        UserText::TaskNotification => task_text(&text),
        UserText::Human | UserText::Picture | UserText::AgentTask => typed_text(&text).into_owned(),
        _ => text.into_owned(),
    }
}
