//! Looks at everything that a line can be asked.

use std::fmt::Debug;
use std::hint::black_box;

use recto_log::Attachment;
use recto_log::Block;
use recto_log::Content;
use recto_log::Drift;
use recto_log::Entry;
use recto_log::FileHistory;
use recto_log::LastPrompt;
use recto_log::Message;
use recto_log::QueueOperation;
use recto_log::RequestRecord;
use recto_log::Source;
use recto_log::System;
use recto_log::ToolResult;
use recto_log::classify_user;
use recto_log::json::Value;

/// Asks every view of an entry for all it has.
pub(crate) fn look_at_everything(entry: &Entry<'_>, drift: &mut Drift) {
    envelope(entry);
    if let Some(message) = entry.message() {
        look_at_message(&message);
    }
    for tool in [None, Some("Bash"), Some("TaskUpdate")] {
        if let Some(result) = entry.tool_result(tool) {
            tool_result(&result);
        }
    }
    if let Some(System::LocalCommand { content } | System::Informational { content }) =
        black_box(entry.system())
    {
        text(content);
    }
    if let Some(attachment) = entry.attachment() {
        look_at_attachment(attachment);
    }
    outside_the_chain(entry);
    black_box(classify_user(entry));
    drift.add(entry);
}

fn envelope(entry: &Entry<'_>) {
    black_box((entry.kind(), entry.opaque_reason(), entry.line(), entry.object().duplicate_key()));
    black_box((entry.type_name(), entry.subtype(), entry.progress(), entry.version()));
    black_box((entry.uuid(), entry.parent_uuid(), entry.session_id(), entry.timestamp()));
    black_box((entry.cwd(), entry.git_branch(), entry.agent_id(), entry.request_id()));
    black_box((entry.is_sidechain(), entry.is_meta(), entry.is_compact_summary()));
    black_box(entry.is_api_error());
}

fn look_at_message(message: &Message<'_>) {
    black_box((message.role(), message.id(), message.model(), message.is_synthetic()));
    black_box((message.stop_reason(), message.usage(), message.object().duplicate_key()));
    content(message.content());
}

fn content(of: Content<'_>) {
    black_box(of.text());
    for block in of.blocks() {
        black_box((block.id(), block.name(), block.text()));
        match block {
            Block::Text { text: value } => text(Some(value)),
            Block::Thinking { thinking, signature } => {
                [thinking, signature].into_iter().for_each(text)
            }
            Block::RedactedThinking { data } => text(data),
            Block::ToolUse { id, name, input } | Block::ServerToolUse { id, name, input } => {
                [id, name, input].into_iter().for_each(text)
            }
            Block::ToolResult { content: inner, .. }
            | Block::WebSearchToolResult { content: inner, .. } => inner_content(inner),
            Block::Image { source } | Block::Document { source } => match source {
                Source::Base64 { media_type, data } => {
                    [media_type, data].into_iter().for_each(text)
                }
                Source::Url { url } => text(url),
                Source::Other(value) => text(value),
            },
            Block::Unknown { value } => text(Some(value)),
        }
    }
}

/// One level is enough: results hold no results, and a hostile one may nest without end.
fn inner_content(of: Content<'_>) {
    black_box(of.text());
    black_box(of.blocks().count());
}

fn tool_result(result: &ToolResult<'_>) {
    black_box(result);
    if let ToolResult::Edit { patch, .. } | ToolResult::Write { patch, .. } = result {
        black_box((patch.hunks().count(), patch.line_counts()));
    }
}

fn look_at_attachment(attachment: Attachment<'_>) {
    black_box(attachment.name());
    text(attachment.queued_prompt());
    for rendered in attachment.rendered() {
        text(rendered.content);
    }
}

fn outside_the_chain(entry: &Entry<'_>) {
    black_box((entry.title(), entry.cost_state()));
    if let Some(LastPrompt { prompt, leaf, .. }) = entry.last_prompt() {
        black_box((prompt, leaf.map(|leaf| leaf.to_string())));
    }
    if let Some(QueueOperation::Enqueue(content) | QueueOperation::Remove(content)) =
        entry.queue_operation()
    {
        text(content);
    }
    if let Some(RequestRecord::Request { tail, .. }) = entry.request_record() {
        text(tail);
    }
    if let Some(FileHistory::Snapshot { files, .. } | FileHistory::Delta { backup: files, .. }) =
        entry.file_history()
    {
        text(files);
    }
}

/// Reads a value in every way there is.
fn text(value: Option<Value<'_>>) {
    let Some(value) = value else { return };
    black_box((value.as_str(), value.as_u64(), value.as_f64(), value.as_bool()));
    black_box((value.members().count(), value.elements().count()));
    black_box(value.as_object().map(|object| object.members().len()));
}

/// The debug form of an entry is for people who look for bugs; it must not be one.
pub(crate) fn debug_form(value: &impl Debug) -> usize {
    format!("{value:?}").len()
}
