//! Images: their type by their bytes, and how large they are.
//!
//! Images are sent as they are: there is no decoder here to make them smaller, and endpoints
//! do that themselves.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::json;

use super::path;
use crate::tool::outcome::ToolOutcome;

/// What an endpoint takes.
const LARGEST: u64 = 5 * 1024 * 1024 * 3 / 4;

/// The media type of an image, if the bytes begin as one.
pub(in crate::tool) fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// What is said of an image whose size nobody can tell.
pub(in crate::tool) const NO_SIZE: &str = "Unable to resize image — image processing is \
unavailable and dimensions could not be read from the file header. Please convert the image to \
PNG, JPEG, GIF, or WebP.";

/// The media type of an image whose size its head tells.
pub(in crate::tool) fn sized_type(bytes: &[u8]) -> Option<&'static str> {
    media_type(bytes).filter(|_| dimensions(bytes).is_some())
}

/// Width and height, as far as the head of the file tells.
pub(in crate::tool) fn dimensions(bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let little = |at: usize| {
        let bytes = bytes.get(at..at + 2)?;
        Some(u32::from(u16::from_le_bytes([bytes[0], bytes[1]])))
    };
    let byte = |at: usize| bytes.get(at).copied().map(u32::from);
    match media_type(bytes)? {
        "image/png" => Some((big(16)?, big(20)?)),
        "image/gif" => Some((little(6)?, little(8)?)),
        "image/jpeg" => jpeg(bytes),
        _ => match bytes.get(12..16)? {
            b"VP8 " => Some((little(26)? & 0x3fff, little(28)? & 0x3fff)),
            b"VP8L" => {
                let bits = byte(21)? | byte(22)? << 8 | byte(23)? << 16 | byte(24)? << 24;
                Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
            }
            b"VP8X" => {
                let size = |at| Some(1 + (byte(at)? | byte(at + 1)? << 8 | byte(at + 2)? << 16));
                Some((size(24)?, size(27)?))
            }
            _ => None,
        },
    }
}

/// The size in the first frame of a JPEG.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let two = |at: usize| {
        let bytes = bytes.get(at..at + 2)?;
        Some(u32::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    };
    let mut at = 2;
    loop {
        let marker = two(at)?;
        let is_frame =
            matches!(marker, 0xffc0..=0xffcf) && ![0xffc4, 0xffc8, 0xffcc].contains(&marker);
        if is_frame {
            return Some((two(at + 7)?, two(at + 5)?));
        }
        at += 2 + two(at + 2)?.max(2) as usize;
    }
}

pub(in crate::tool) fn block(media_type: &str, data: &str) -> Value {
    json!({
        "type": "image",
        "source": {"type": "base64", "data": data, "media_type": media_type},
    })
}

pub(super) fn read(given: &str, target: &Path) -> ToolOutcome {
    let size = fs::metadata(target).map_or(0, |metadata| metadata.len());
    if size > LARGEST {
        return ToolOutcome::failed(format!(
            "Image file is too large ({}, limit {}): {given}. Make it smaller first.",
            path::size(size),
            path::size(LARGEST)
        ));
    }
    let bytes = match fs::read(target) {
        Ok(bytes) => bytes,
        Err(error) => return ToolOutcome::failed(path::worded(&error, "open", target)),
    };
    if bytes.is_empty() {
        return ToolOutcome::failed(format!("Image file is empty: {}", target.display()));
    }
    let Some(media_type) = media_type(&bytes) else {
        return ToolOutcome::failed(format!(
            "File has an image extension but its content is not a valid PNG/JPEG/GIF/WebP. \
             Detected: {}. This usually means a download saved an \
             error/login page instead of the image. Use `file \"{}\"` to confirm, or read it as \
             text with Bash (e.g. `head -c 500`).",
            detected(&bytes),
            target.display()
        ));
    };
    let Some((width, height)) = dimensions(&bytes) else {
        return ToolOutcome::failed(NO_SIZE);
    };
    let data = BASE64_STANDARD.encode(&bytes);
    let file = json!({
        "base64": data,
        "type": media_type,
        "originalSize": bytes.len(),
        "dimensions": {
            "originalWidth": width,
            "originalHeight": height,
            "displayWidth": width,
            "displayHeight": height,
        },
    });
    ToolOutcome::blocks(vec![block(media_type, &data)], json!({"type": "image", "file": file}))
}

/// What bytes are that should have been an image.
fn detected(bytes: &[u8]) -> String {
    let head = String::from_utf8_lossy(bytes.get(..64).unwrap_or(bytes)).into_owned();
    let start = head.trim_start().to_ascii_lowercase();
    if start.starts_with("<html") || start.starts_with("<!doctype html") {
        let line = head.trim_start().lines().next().unwrap_or_default();
        return format!("HTML document (starts with \"{line}\")");
    }
    let head: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("unrecognized bytes (hex: {})", head.join(" "))
}
