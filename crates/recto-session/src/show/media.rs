//! Images and documents that a line contains: what they are by their own bytes, and the bytes.
//!
//! A line says of an image what it likes (`media_type`); only the bytes are believed, because a
//! browser gets the kind from here.

use std::borrow::Cow;

use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Source;
use recto_log::json::Value;

/// How many bytes are looked at to find the kind and the size.
const HEAD: usize = 48 * 1024;

/// An image or a document in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// Its place in the line, from 1.
    pub number: usize,
    /// The call whose result it belongs to.
    pub call: Option<String>,
    /// What its bytes are.
    pub kind: MediaKind,
    /// How many bytes it has.
    pub bytes: usize,
    /// Its width and height, as its head gives them.
    pub size: Option<(u32, u32)>,
}

/// What bytes are, by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// A PNG image.
    Png,
    /// A JPEG image.
    Jpeg,
    /// A GIF image.
    Gif,
    /// A WebP image.
    Webp,
    /// A PDF document.
    Pdf,
    /// Something else.
    Other,
    /// Not in the line: it has only an address, or nothing.
    Elsewhere,
}

impl MediaKind {
    /// The name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            MediaKind::Png => "png",
            MediaKind::Jpeg => "jpeg",
            MediaKind::Gif => "gif",
            MediaKind::Webp => "webp",
            MediaKind::Pdf => "pdf",
            MediaKind::Other => "other",
            MediaKind::Elsewhere => "elsewhere",
        }
    }

    /// Whether every browser shows it, and runs nothing of it.
    pub fn is_image(self) -> bool {
        matches!(self, MediaKind::Png | MediaKind::Jpeg | MediaKind::Gif | MediaKind::Webp)
    }

    /// What bytes are, by their beginning.
    pub fn of(bytes: &[u8]) -> MediaKind {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => MediaKind::Png,
            [0xff, 0xd8, 0xff, ..] => MediaKind::Jpeg,
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => MediaKind::Gif,
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => MediaKind::Webp,
            [b'%', b'P', b'D', b'F', b'-', ..] => MediaKind::Pdf,
            _ => MediaKind::Other,
        }
    }
}

/// The images and documents of a line, in their order.
pub fn media(entry: &Entry<'_>) -> Vec<Media> {
    let mut found = Vec::new();
    each(entry, &mut |call, data| {
        let number = found.len() + 1;
        let call = call.map(Cow::into_owned);
        let Some(text) = data.and_then(Value::as_str) else {
            let kind = MediaKind::Elsewhere;
            found.push(Media { number, call, kind, bytes: 0, size: None });
            return;
        };
        let head = decode_base64(text.as_bytes(), HEAD);
        let kind = MediaKind::of(&head);
        let bytes = decoded_length(text.as_bytes());
        found.push(Media { number, call, kind, bytes, size: size_of(kind, &head) });
    });
    found
}

/// The bytes of one of them; none if the line does not have them, or they are more than `most`.
pub fn media_bytes(entry: &Entry<'_>, number: usize, most: usize) -> Option<Vec<u8>> {
    let mut at = 0;
    let mut bytes = None;
    each(entry, &mut |_, data| {
        at += 1;
        if at == number
            && let Some(text) = data.and_then(Value::as_str)
            && decoded_length(text.as_bytes()) <= most
        {
            bytes = Some(decode_base64(text.as_bytes(), usize::MAX));
        }
    });
    bytes
}

/// Calls for each image and document: the call that it belongs to, and its base64 text.
fn each<'a>(entry: &Entry<'a>, visit: &mut dyn FnMut(Option<Cow<'a, str>>, Option<Value<'a>>)) {
    if let Some(message) = entry.message() {
        for block in message.content().blocks() {
            match block {
                Block::Image { source } | Block::Document { source } => visit(None, data(source)),
                Block::ToolResult { content, .. } => {
                    for inner in content.blocks() {
                        if let Block::Image { source } | Block::Document { source } = inner {
                            visit(block.id(), data(source));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    let Some(attachment) = entry.attachment() else { return };
    if let Some(prompt) = attachment.queued_prompt() {
        for block in Content::of(Some(prompt)).blocks() {
            if let Block::Image { source } | Block::Document { source } = block {
                visit(None, data(source));
            }
        }
        return;
    }
    // A file that was attached is what the tool that reads files would give.
    let file = attachment.get("content").and_then(|content| content.get("file"));
    if let Some(text) = file.and_then(|file| file.get("base64")).filter(|text| text.is_string()) {
        visit(None, Some(text));
    }
}

fn data(source: Source<'_>) -> Option<Value<'_>> {
    match source {
        Source::Base64 { data, .. } => data,
        Source::Url { .. } | Source::Other(_) => None,
    }
}

/// How many bytes a base64 text stands for.
fn decoded_length(text: &[u8]) -> usize {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    (text.len() - padding.min(text.len())) / 4 * 3
        + [0, 0, 1, 2][(text.len() - padding.min(text.len())) % 4]
}

/// The bytes of a base64 text, `most` at most. What is not base64 is passed over.
fn decode_base64(text: &[u8], most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(decoded_length(text).min(most.saturating_add(3)));
    let (mut held, mut bits) = (0u32, 0);
    for byte in text {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        held = (held << 6) | u32::from(six);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
            if bytes.len() >= most {
                break;
            }
        }
    }
    bytes
}

/// The width and height that the head of an image gives.
fn size_of(kind: MediaKind, head: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let little =
        |at: usize| Some(u32::from(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?)));
    let size = match kind {
        MediaKind::Png => (big(16)?, big(20)?),
        MediaKind::Gif => (little(6)?, little(8)?),
        MediaKind::Jpeg => jpeg_size(head)?,
        MediaKind::Webp => webp_size(head)?,
        MediaKind::Pdf | MediaKind::Other | MediaKind::Elsewhere => return None,
    };
    let is_sane = |length: u32| (1..=100_000).contains(&length);
    (is_sane(size.0) && is_sane(size.1)).then_some(size)
}

/// Goes from marker to marker to the frame, which has the size.
fn jpeg_size(head: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let (marker, length) = (*head.get(at + 1)?, head.get(at + 2..at + 4)?);
        let length = usize::from(u16::from_be_bytes(length.try_into().ok()?));
        if *head.get(at)? != 0xff || length < 2 {
            return None;
        }
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let number = |at: usize| {
                Some(u32::from(u16::from_be_bytes(head.get(at..at + 2)?.try_into().ok()?)))
            };
            return Some((number(at + 7)?, number(at + 5)?));
        }
        at += 2 + length;
    }
}

fn webp_size(head: &[u8]) -> Option<(u32, u32)> {
    let number =
        |at: usize| Some(u32::from(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?)));
    match head.get(12..16)? {
        b"VP8 " => Some((number(26)? & 0x3fff, number(28)? & 0x3fff)),
        b"VP8L" => {
            let bits = u32::from_le_bytes(head.get(21..25)?.try_into().ok()?);
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8X" => {
            let three = |at: usize| Some(number(at)? | (u32::from(*head.get(at + 2)?) << 16));
            Some((three(24)? + 1, three(27)? + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use recto_log::RawLine;
    use recto_log::decode;

    use super::*;

    /// A GIF of 3 by 2 points, its head only.
    const GIF: &str = "R0lGODlhAwACAIAAAP///wAAACwAAAAAAwACAAACAkQBADs=";

    fn found(line: &str) -> Vec<Media> {
        media(&decode(RawLine::alone(line.as_bytes())).0)
    }

    #[test]
    fn the_bytes_say_what_an_image_is_and_the_line_does_not() {
        let image = |data: &str| {
            format!(
                r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
            )
        };
        let svg = "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+";
        let line = format!(
            r#"{{"type":"user","message":{{"role":"user","content":[{},{},{{"type":"tool_result","tool_use_id":"t","content":[{}]}},{{"type":"document","source":{{"type":"url","url":"http://x/"}}}}]}}}}"#,
            image(GIF),
            image(svg),
            image("JVBERi0xLjQ=")
        );
        let found = found(&line);
        let kinds: Vec<&str> = found.iter().map(|media| media.kind.name()).collect();
        assert_eq!(kinds, ["gif", "other", "pdf", "elsewhere"]);
        assert_eq!(found[0].size, Some((3, 2)));
        assert_eq!(found[2].call.as_deref(), Some("t"));
        let entry = decode(RawLine::alone(line.as_bytes())).0;
        assert_eq!(media_bytes(&entry, 3, 100).unwrap(), b"%PDF-1.4");
        assert_eq!(media_bytes(&entry, 3, 4), None, "more than is wanted");
        assert_eq!(media_bytes(&entry, 4, 100), None);
        assert_eq!(media_bytes(&entry, 0, 100), None);
        assert_eq!(found[2].bytes, 8);
    }

    #[test]
    fn heads_of_images_give_their_size() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";
        assert_eq!(size_of(MediaKind::of(png), png), Some((640, 480)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x11\x08\0\x10\0\x20";
        assert_eq!(size_of(MediaKind::of(jpeg), jpeg), Some((32, 16)));
        let webp = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x1f\0\0\x0f\0\0";
        assert_eq!(size_of(MediaKind::of(webp), webp), Some((32, 16)));
        // What is cut or wrong has no size, and nothing fails.
        for kind in [MediaKind::Png, MediaKind::Jpeg, MediaKind::Gif, MediaKind::Webp] {
            for end in 0..jpeg.len() {
                let _ = size_of(kind, &jpeg[..end]);
            }
        }
    }

    #[test]
    fn an_image_that_was_attached_is_found() {
        let line = format!(
            r#"{{"type":"attachment","attachment":{{"type":"file","content":{{"type":"image","file":{{"base64":"{GIF}","type":"image/gif"}}}}}}}}"#
        );
        assert_eq!(found(&line)[0].kind, MediaKind::Gif);
        let line =
            r#"{"type":"attachment","attachment":{"type":"file","content":{"type":"text"}}}"#;
        assert_eq!(found(line), []);
    }
}
