//! Images and documents of a log: what they are, and their bytes.

use recto_log::Entry;
use recto_session::Media;
use recto_session::MediaKind;
use recto_session::media;
use recto_session::media_bytes;
use serde::Serialize;

use crate::Reading;
use crate::error::ViewError;

/// How many bytes one may have to be given.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// An image or a document in a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MediaRow {
    /// What its bytes are: `png`, `jpeg`, `gif`, `webp`, `pdf` or `other`; `elsewhere` if the
    /// log has only an address.
    pub kind: &'static str,
    /// How many bytes it has.
    pub bytes: usize,
    /// The width of an image.
    pub width: Option<u32>,
    /// The height of an image.
    pub height: Option<u32>,
    /// Where its bytes are; none if the log does not have them.
    pub address: Option<String>,
    /// Whether it is an image that can be shown.
    #[serde(skip)]
    pub is_image: bool,
}

impl MediaRow {
    fn new(media: &Media, base: &str, line: u64) -> MediaRow {
        let has_bytes = media.kind != MediaKind::Elsewhere && media.bytes <= MOST_BYTES;
        MediaRow {
            kind: media.kind.name(),
            bytes: media.bytes,
            width: media.size.map(|(width, _)| width),
            height: media.size.map(|(_, height)| height),
            address: has_bytes.then(|| format!("{base}/media/{line}/{}", media.number)),
            is_image: media.kind.is_image() && has_bytes,
        }
    }
}

/// The images and documents of a line: those of one call's result, or those of no call.
pub(crate) fn media_rows(
    entry: &Entry<'_>,
    call: Option<&str>,
    base: &str,
    line: u64,
) -> Vec<MediaRow> {
    let found = media(entry);
    let found = found.iter().filter(|media| media.call.as_deref() == call);
    found.map(|media| MediaRow::new(media, base, line)).collect()
}

/// The bytes of an image or a document, and what they are by themselves.
pub fn media_of(
    reading: &Reading,
    line: u64,
    number: usize,
) -> Result<(MediaKind, Vec<u8>), ViewError> {
    let missing = || ViewError::NotFound("the log has no such image or document");
    let session = reading.session();
    let id = session.ids().find(|id| session.node(*id).line == line).ok_or_else(missing)?;
    let read = |entry: &Entry<'_>| media_bytes(entry, number, MOST_BYTES);
    let bytes = reading.loaded.with_entry(id, read).flatten().ok_or_else(missing)?;
    Ok((MediaKind::of(&bytes), bytes))
}
