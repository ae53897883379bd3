//! Text files: their encodings and line ends.
//!
//! Owns: which bytes are text that tools can write back, and writing without a moment in
//! which the file is half there.

use std::fs;
use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use sha2::Digest as _;

use super::path;
use super::session::Session;

/// How far NUL bytes are looked for.
const HEAD: usize = 8 * 1024;

/// The encodings that are written back as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    /// With its byte-order mark.
    Utf16Le,
}

/// Why a file cannot be written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Undecodable {
    HasNul,
    NotUtf8,
    Utf16Be,
}

impl Undecodable {
    /// What is wrong, after `This file` or `File`.
    fn what(self) -> &'static str {
        match self {
            Undecodable::HasNul => {
                "has NUL bytes in its first 8 KB: binary data, UTF-16/UTF-32 without a byte-order \
                 mark, or text with embedded NULs."
            }
            Undecodable::NotUtf8 => {
                "is not valid UTF-8: it uses a legacy encoding such as Windows-1252, Shift-JIS or \
                 GBK, or it is binary."
            }
            Undecodable::Utf16Be => {
                "is UTF-16 big-endian (it starts FE FF), which these tools cannot write."
            }
        }
    }

    /// What follows the text of such a file.
    pub(super) fn note(self) -> String {
        let shown = match self {
            Undecodable::NotUtf8 => " Its undecodable bytes show above as U+FFFD.",
            Undecodable::HasNul | Undecodable::Utf16Be => "",
        };
        format!(
            "\n\n[This file {}{shown} Edit and Write will refuse it: change it with a shell \
             command that keeps its encoding, or ask the user whether to convert it to UTF-8.]",
            self.what()
        )
    }

    /// Why it is not written.
    pub(super) fn refusal(self) -> String {
        format!(
            "File {} These tools write UTF-8 (or UTF-16LE behind its byte-order mark) and never \
             convert a file's encoding on their own, so nothing was written. If the file is text, \
             make the change with a shell command that reads and writes it in its own encoding \
             (iconv, or PowerShell Get-Content/Set-Content -Encoding), or ask the user whether to \
             convert it to UTF-8 first. To replace the whole file with new UTF-8 text anyway, \
             delete it first, then Write it.",
            self.what()
        )
    }
}

/// A file as text.
#[derive(Debug, Clone)]
pub(super) struct TextFile {
    /// With its byte-order mark, if it has one; line ends as they are.
    pub(super) text: String,
    pub(super) encoding: Encoding,
    pub(super) problem: Option<Undecodable>,
    pub(super) hash: [u8; 32],
}

impl TextFile {
    /// The text of bytes. Never fails: what cannot be decoded is U+FFFD.
    pub(super) fn decode(bytes: &[u8]) -> TextFile {
        let hash = sha2::Sha256::digest(bytes).into();
        if let Some(units) = bytes.strip_prefix(&[0xff, 0xfe]) {
            let units: Vec<u16> =
                units.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
            let text = format!("\u{feff}{}", String::from_utf16_lossy(&units));
            return TextFile { text, encoding: Encoding::Utf16Le, problem: None, hash };
        }
        let has_nul = bytes.get(..HEAD).unwrap_or(bytes).contains(&0);
        let decoded = String::from_utf8_lossy(bytes);
        let problem = if bytes.starts_with(&[0xfe, 0xff]) {
            Some(Undecodable::Utf16Be)
        } else if has_nul {
            Some(Undecodable::HasNul)
        } else if matches!(decoded, std::borrow::Cow::Owned(_)) {
            Some(Undecodable::NotUtf8)
        } else {
            None
        };
        TextFile { text: decoded.into_owned(), encoding: Encoding::Utf8, problem, hash }
    }

    /// Whether most of its lines end in CR and LF.
    pub(super) fn is_crlf(&self) -> bool {
        let both = self.text.matches("\r\n").count();
        let all = self.text.matches('\n').count();
        both > all - both
    }

    /// The text with LF alone at the ends of lines.
    pub(super) fn unix_text(&self) -> String {
        self.text.replace("\r\n", "\n")
    }
}

/// Whether a file keeps blanks at the ends of lines, where they mean something.
pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension()
        .is_some_and(|end| end.eq_ignore_ascii_case("md") || end.eq_ignore_ascii_case("mdx"))
}

/// What the client takes for white space: a byte-order mark is, NEL is not.
pub(super) fn is_blank(c: char) -> bool {
    (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}'
}

/// The text without blanks at the ends of its lines. A line may end in CR alone.
pub(super) fn without_trailing_blanks(text: &str) -> String {
    text.split_inclusive(['\n', '\r'])
        .map(|line| {
            let end = line.trim_end_matches(['\n', '\r']).len();
            let (line, end) = line.split_at(end);
            format!("{}{end}", line.trim_end_matches(is_blank))
        })
        .collect()
}

/// The bytes of a text in an encoding. A byte-order mark is part of the text.
pub(super) fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf8 => text.as_bytes().to_vec(),
        Encoding::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
    }
}

/// Writes a file in one step: others see the old bytes or the new ones. Directories are made,
/// the mode stays. Where the directory takes no new file, the old one is written over.
///
/// # Errors
///
/// The sentence for the model.
pub(super) fn replace(target: &Path, bytes: &[u8], session: &Session) -> Result<(), String> {
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(|error| path::worded(&error, "mkdir", parent))?;
    }
    let temporary = temporary_name(target, session);
    let written = write_then_rename(target, &temporary, bytes);
    let Err(error) = &written else { return Ok(()) };
    fs::remove_file(&temporary).ok();
    if error.kind() == io::ErrorKind::PermissionDenied && write_over(target, bytes).is_ok() {
        return Ok(());
    }
    written.map_err(|error| path::worded(&error, "open", &temporary))
}

fn temporary_name(target: &Path, session: &Session) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(format!(".tmp.{}.{}", std::process::id(), session.ids.temporary()));
    PathBuf::from(name)
}

fn write_then_rename(target: &Path, temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(temporary)?;
    file.write_all(bytes)?;
    if let Ok(old) = fs::metadata(target) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    drop(file);
    fs::rename(temporary, target)
}

fn write_over(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).truncate(true).open(target)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn blanks_at_the_ends_of_lines_are_cut_and_line_ends_stay() {
        let cut = without_trailing_blanks("a \r b\t\r\nc\u{a0}\n\nd\u{feff}\ne\u{85}\n f ");
        assert_eq!(cut, "a\r b\r\nc\n\nd\ne\u{85}\n f");
    }

    proptest! {
        #[test]
        fn any_text_comes_back_from_its_bytes(text in ".*") {
            // Rust strings may hold a byte-order mark anywhere; only the first is one.
            for encoding in [Encoding::Utf8, Encoding::Utf16Le] {
                let marked = format!("\u{feff}{text}");
                let bytes = encode(&marked, encoding);
                let decoded = TextFile::decode(&bytes);
                prop_assert_eq!(&decoded.text, &marked);
                prop_assert_eq!(encode(&decoded.text, decoded.encoding), bytes);
            }
        }

        #[test]
        fn any_bytes_are_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let file = TextFile::decode(&bytes);
            let is_same = encode(&file.text, file.encoding) == bytes;
            // What would not come back is told; an odd byte at the end of UTF-16 is cut.
            prop_assert!(is_same || file.problem.is_some() || file.encoding == Encoding::Utf16Le);
        }
    }
}
