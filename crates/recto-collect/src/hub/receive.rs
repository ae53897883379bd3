//! A body into a segment that may be stored.
//!
//! It goes to a file without a name first and is compared with its digest, then read as a segment:
//! what it contains is what its header says, and its header what its name says. Nothing reaches
//! the store before. Memory is that of a piece, whatever is sent.

use std::io::Seek as _;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use futures_util::StreamExt as _;
use recto_log::json::Value;
use recto_store::keep::Part;
use recto_store::keep::SegmentHeader;
use recto_store::keep::SegmentKey;
use recto_store::keep::SegmentReader;
use sha2::Digest as _;
use sha2::Sha256;
use tokio::io::AsyncWriteExt as _;

use crate::hub::answer::Refusal;
use crate::hub::limits::HubLimits;
use crate::verify::is_named;

/// An event is small.
const LARGEST_EVENT: u64 = 64 * 1024;
/// No segment of a log is that much smaller than its content, except for tiny ones.
const GREATEST_RATIO: u64 = 2_000;
const SMALL: u64 = 64 * 1024 * 1024;

/// A body that was received.
pub(crate) struct Received {
    /// At its beginning.
    pub(crate) file: std::fs::File,
    pub(crate) bytes: u64,
}

/// What a request says of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) bytes: u64,
    pub(crate) sha256: [u8; 32],
}

impl Announced {
    pub(crate) fn read(headers: &HeaderMap, limits: &HubLimits) -> Result<Announced, Refusal> {
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let bytes = length.and_then(|text| text.parse().ok()).ok_or(Refusal::Length)?;
        if bytes > limits.body_bytes {
            return Err(Refusal::TooLarge);
        }
        // A body that is compressed once more could be a bomb.
        if headers.contains_key(header::CONTENT_ENCODING) {
            return Err(Refusal::Body);
        }
        let digest = headers.get("content-digest").and_then(|value| value.to_str().ok());
        let sha256 = digest.and_then(digest_of).ok_or(Refusal::Digest)?;
        Ok(Announced { bytes, sha256 })
    }
}

/// `sha-256=:BASE64:`, as RFC 9530 has it.
fn digest_of(text: &str) -> Option<[u8; 32]> {
    let value = text.trim().strip_prefix("sha-256=:")?.strip_suffix(':')?;
    BASE64_STANDARD.decode(value).ok()?.try_into().ok()
}

/// Receives a body, as fast as it must come.
pub(crate) async fn body(
    body: Body,
    announced: Announced,
    limits: &HubLimits,
) -> Result<Received, Refusal> {
    let longer = Duration::from_secs(announced.bytes / limits.slowest.max(1));
    let receiving = write(body, announced);
    match tokio::time::timeout(limits.body_time + longer, receiving).await {
        Ok(received) => received,
        Err(_) => Err(Refusal::Slow),
    }
}

async fn write(body: Body, announced: Announced) -> Result<Received, Refusal> {
    let file = tempfile::tempfile().map_err(|_| Refusal::Store)?;
    let mut file = tokio::fs::File::from_std(file);
    let mut stream = body.into_data_stream();
    let mut hash = Sha256::new();
    let mut bytes = 0;
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| Refusal::Body)?;
        bytes += piece.len() as u64;
        if bytes > announced.bytes {
            return Err(Refusal::TooLarge);
        }
        hash.update(&piece);
        file.write_all(&piece).await.map_err(|_| Refusal::Store)?;
    }
    file.flush().await.map_err(|_| Refusal::Store)?;
    let digest: [u8; 32] = hash.finalize().into();
    if bytes != announced.bytes || digest != announced.sha256 {
        return Err(Refusal::Digest);
    }
    let mut file = file.into_std().await;
    file.rewind().map_err(|_| Refusal::Store)?;
    Ok(Received { file, bytes })
}

/// Whether a body is what its name says. Reads all of it, and leaves the file at its beginning.
pub(crate) fn check(
    key: &SegmentKey,
    received: &mut Received,
    limits: &HubLimits,
) -> Result<Option<SegmentHeader>, Refusal> {
    let checked = match key.part {
        Part::Gone(_) | Part::Moved(_) => check_event(received).map(|()| None),
        _ => check_segment(key, received, limits).map(Some),
    };
    received.file.rewind().map_err(|_| Refusal::Store)?;
    checked
}

fn check_event(received: &mut Received) -> Result<(), Refusal> {
    if received.bytes > LARGEST_EVENT {
        return Err(Refusal::TooLarge);
    }
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut received.file, &mut text).map_err(|_| Refusal::Store)?;
    let is_event = Value::parse(text.trim_ascii()).is_ok_and(|value| {
        let names = ["path", "to", "life", "end"];
        let is_known =
            |member: recto_log::json::Member<'_>| names.iter().any(|name| member.is(name));
        value.is_object() && value.members().all(is_known)
    });
    if is_event { Ok(()) } else { Err(Refusal::Segment) }
}

fn check_segment(
    key: &SegmentKey,
    received: &mut Received,
    limits: &HubLimits,
) -> Result<SegmentHeader, Refusal> {
    let file = received.file.try_clone().map_err(|_| Refusal::Store)?;
    let name = key.to_string();
    let reader = SegmentReader::of_stranger(file, &name).map_err(|_| Refusal::Segment)?;
    let content = reader.header.content_bytes();
    let most = SMALL.max(received.bytes.saturating_mul(GREATEST_RATIO));
    if content > limits.content_bytes || content > most {
        return Err(Refusal::TooLarge);
    }
    if !is_named(&key.part, &reader.header) {
        return Err(Refusal::Segment);
    }
    // It is given up as soon as there is more than the header says.
    reader.read_all(std::path::Path::new(&name), |_| Ok(())).map_err(|_| Refusal::Segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_as_the_standard_says() {
        let empty = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
        let wanted: [u8; 32] = Sha256::digest(b"").into();
        assert_eq!(digest_of(empty), Some(wanted));
        for wrong in ["", "sha-256=47", "sha-512=:47DE:", "sha-256=:AAAA:"] {
            assert_eq!(digest_of(wrong), None, "{wrong}");
        }
    }
}
