//! `Read`: a file, or a part of it.
//!
//! Owns: which kind of file it is, and text files: numbering, limits, the partial view.
//! Images, notebooks and PDFs have files of their own below.

pub(super) mod image;
mod json_error;
pub(super) mod notebook;
mod pdf;

use std::fs;
use std::fs::File;
use std::io;
use std::io::BufRead as _;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;

use serde_json::json;
use sha2::Digest as _;

use super::context::Call;
use super::outcome::Note;
use super::outcome::ToolOutcome;
use super::path;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::session::Seen;
use super::session::Session;
use super::text_file::TextFile;
use super::text_file::Undecodable;

pub(super) const ABOUT: &str = "Reads a file: text with line numbers, images, PDFs, notebooks. \
Pass offset and limit to read part of a long file.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("file_path", Kind::String, "The absolute path of the file"),
    Field::optional("offset", Kind::Integer, "The first line, from 1"),
    Field::optional("limit", Kind::Integer, "How many lines"),
    Field::optional("pages", Kind::String, "Pages of a PDF: 3, or 1-5"),
    Field::optional("allow_large", Kind::Boolean, "Read it even if it is large"),
]);

/// Files up to this size are read without a limit of lines.
const LARGEST: u64 = 256 * 1024;

/// Results up to this many tokens are whole.
const MOST_TOKENS: u64 = 25_000;

/// What is read of a file at most, whatever the limits say.
const MOST_BYTES: usize = 16 * 1024 * 1024;

const HINT: &str = "Use offset and limit parameters to read specific portions of the file, or \
search for specific content instead of reading the whole file. ";

const ANYWAY: &str = "To read it anyway, up to what still fits in your context, call Read again \
with allow_large: true — only if you genuinely need all of it or the user asked for the whole \
file.";

/// Extensions of files that are no text, whatever is in them.
const BINARY: &str = " bmp ico tiff tif heic avif mp4 mov avi mkv webm wmv flv m4v mpeg mpg mp3 \
wav ogg flac aac m4a wma aiff opus zip tar gz bz2 7z rar xz z tgz iso dmg zst lz4 exe dll so \
dylib bin o a obj lib app msi deb rpm doc docx xls xlsx ppt pptx odt ods odp ttf otf woff woff2 \
eot pyc pyo class jar war ear node wasm rlib sqlite sqlite3 db mdb idx psd ai eps sketch fig xd \
blend 3ds max swf fla lockb dat data parquet npy npz pickle apk whl heif epub numbers feather ";

/// Extensions of files that are shown as what they are.
const SHOWN: [&str; 7] = ["png", "jpg", "jpeg", "gif", "webp", "pdf", "ipynb"];

fn extension(path: &Path) -> String {
    path.extension().map(|end| end.to_string_lossy().to_lowercase()).unwrap_or_default()
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    let given = call.text("file_path");
    path::check_no_nul("Read", "file_path", given)?;
    path::check_length("Read", given)?;
    let target = path::expand(given, call.session);
    if let Some(pages) = pdf::wanted(call) {
        pdf::pages(pages).map_err(ToolOutcome::refused)?;
    }
    if let Some(end) = binary_end(&target) {
        return Err(ToolOutcome::refused(format!(
            "This tool cannot read binary files. The file appears to be a binary {end} file. \
             Use a skill for this file type if one is available, or a shell command or script \
             that can read the format."
        )));
    }
    if is_device(&target) && target.exists() { Err(not_read(given)) } else { Ok(()) }
}

/// How the name of a file that is no text ends. A file may have nothing but its extension for a
/// name; there is nothing to say of it then, and it is shown as what it is in no case.
fn binary_end(target: &Path) -> Option<String> {
    let end = extension(target);
    if !end.is_empty() {
        return BINARY.contains(&format!(" {end} ")).then(|| format!(".{end}"));
    }
    let name = target.file_name()?.to_string_lossy().to_lowercase();
    let name = name.strip_prefix('.').filter(|name| !name.is_empty() && !name.contains(' '))?;
    let is_binary =
        BINARY.contains(&format!(" {name} ")) || (SHOWN.contains(&name) && name != "ipynb");
    is_binary.then(String::new)
}

fn not_read(given: &str) -> ToolOutcome {
    ToolOutcome::refused(format!(
        "Cannot read '{given}': this path names a device or process file that this tool does not \
         read."
    ))
}

/// Whether reading it would never end, or would read this process.
fn is_device(target: &Path) -> bool {
    let text = target.to_string_lossy();
    let of_a_process = text.strip_prefix("/proc/");
    let is_process = of_a_process
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(name, _)| name.ends_with("self") || name.parse::<u32>().is_ok());
    let is_device = text.strip_prefix("/dev/").is_some_and(|rest| {
        let name = rest.split('/').next().unwrap_or_default();
        ["zero", "random", "urandom", "full", "stdin", "stdout", "stderr", "tty", "console", "fd"]
            .contains(&name)
    });
    is_process || is_device
}

pub(super) async fn run(call: &Call<'_>) -> ToolOutcome {
    let given = call.text("file_path");
    let target = path::expand(given, call.session);
    let metadata = match fs::metadata(&target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return ToolOutcome::failed(path::missing(
                "File does not exist",
                &target,
                call.session,
            ));
        }
        Err(error) if path::is_loop(&error) => return path::unresolved(&target),
        Err(error) => return ToolOutcome::failed(path::worded(&error, "open", &target)),
    };
    if metadata.is_dir() && SHOWN.contains(&extension(&target).as_str()) {
        return ToolOutcome::failed("EISDIR: illegal operation on a directory, read");
    }
    if metadata.is_dir() {
        // The slash that was given is said again.
        let is_slashed = given.len() > 1 && given.starts_with('/') && given.ends_with('/');
        let slashes = if is_slashed { "//" } else { "" };
        return ToolOutcome::failed(format!(
            "EISDIR: illegal operation on a directory, read '{}{slashes}'",
            target.display()
        ));
    }
    // Reading a pipe or a terminal might never end.
    if !metadata.is_file() && target != Path::new("/dev/null") {
        return not_read(given);
    }
    let outcome = match extension(&target).as_str() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" => image::read(given, &target),
        "ipynb" => notebook::read(given, &target, call.session),
        "pdf" => pdf::read(call, given, &target).await,
        _ => text(call, given, &target, metadata.len()).await,
    };
    if outcome.is_error { outcome } else { with_memory(outcome, &target, call.session) }
}

/// The lines of a file that a call asked for.
struct Part {
    lines: Vec<String>,
    total: usize,
    hash: [u8; 32],
    problem: Option<Undecodable>,
    /// Whether a CR at the end of the file is not among the lines.
    has_lost_end: bool,
}

async fn text(call: &Call<'_>, given: &str, target: &Path, size: u64) -> ToolOutcome {
    let number = |name: &str| call.number(name).map(|number| number as i64);
    let offset = number("offset").filter(|offset| *offset >= 0);
    let limit = number("limit").filter(|limit| *limit > 0);
    let is_large_allowed = call.is("allow_large");
    if size > LARGEST && limit.is_none() && !is_large_allowed {
        return ToolOutcome::failed(format!(
            "File content ({}) exceeds maximum allowed size (256KB). {HINT}{ANYWAY}",
            path::size(size)
        ));
    }
    let skip = usize::try_from(offset.unwrap_or(1)).unwrap_or(usize::MAX).saturating_sub(1);
    let count = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let part = match part(target, size, skip, count) {
        Ok(part) => part,
        Err(error) => return ToolOutcome::failed(path::worded(&error, "open", target)),
    };
    let start = offset.unwrap_or(1);
    let view = View { given, target, start, part, limit };
    let has_all_lines = skip == 0 && view.part.lines.len() == view.part.total;
    let is_whole = has_all_lines && !view.part.has_lost_end;
    match capped(call.session, &view, is_large_allowed).await {
        Ok(partial) => {
            let is_whole = is_whole && partial.is_none();
            note_seen(call.session, target, view.part.hash, is_whole);
            shown(&view, partial)
        }
        Err(tokens) => ToolOutcome::failed(format!(
            "File content ({tokens} tokens) exceeds maximum allowed tokens ({MOST_TOKENS}). \
             {HINT}{ANYWAY}"
        )),
    }
}

struct View<'a> {
    given: &'a str,
    target: &'a Path,
    /// The number of the first line.
    start: i64,
    part: Part,
    limit: Option<i64>,
}

/// The first lines or characters of a part that has too many tokens.
struct Partial {
    lines: Vec<String>,
    note: String,
}

/// How often fewer lines are tried before an excerpt is taken.
const TRIES: usize = 3;

/// As many lines as fit. Their share of the tokens is a first guess, which long lines make wrong.
async fn fitting(session: &Session, lines: &[String], share: f64) -> usize {
    let mut count = (lines.len() as f64 * share) as usize;
    for _ in 0..TRIES {
        let content = lines.get(..count).unwrap_or_default().join("\n");
        let is_short = content.len() as u64 <= MOST_TOKENS;
        if is_short || session.count_tokens(&content).await <= MOST_TOKENS {
            return count;
        }
        count = (count as f64 * 0.7) as usize;
    }
    0
}

/// What is left of a view when tokens are counted. `Err` is the count that is too much.
async fn capped(
    session: &Session,
    view: &View<'_>,
    is_large_allowed: bool,
) -> Result<Option<Partial>, u64> {
    let content = view.part.lines.join("\n");
    // A token has a byte at least, and mostly about four.
    if is_large_allowed || content.len() as u64 <= MOST_TOKENS {
        return Ok(None);
    }
    let tokens = session.count_tokens(&content).await;
    if tokens <= MOST_TOKENS {
        return Ok(None);
    }
    if view.limit.is_some() || view.start > 1 {
        return Err(tokens);
    }
    let share = MOST_TOKENS as f64 / tokens as f64 * 0.85;
    let path = view.target.display();
    let lines = fitting(session, &view.part.lines, share).await;
    let tail = if lines > 0 { "page" } else { "excerpt" };
    let place = if lines > 0 { "further" } else { "elsewhere" };
    let do_not = format!(
        "{ANYWAY} Do NOT answer from this {tail} alone if the answer may be {place} in the file.]"
    );
    if lines == 0 {
        let all = content.encode_utf16().count();
        let count = (all as f64 * share) as usize;
        let cut = String::from_utf16_lossy(&content.encode_utf16().take(count).collect::<Vec<_>>());
        let note = format!(
            "[Truncated: PARTIAL view — {path}: showing the first {count} of {all} characters \
             ({tokens} tokens, cap {MOST_TOKENS}); this file has very long lines and cannot be \
             paginated by line. Use Grep to find a specific section, or Read with offset/limit \
             to page through it. {do_not}"
        );
        return Ok(Some(Partial { lines: vec![cut], note }));
    }
    let first = view.start.max(1);
    let last = first + lines as i64 - 1;
    let note = format!(
        "[Truncated: PARTIAL view — {path}: showing lines {first}-{last} of {} total ({tokens} \
         tokens, cap {MOST_TOKENS}). Call Read with offset={} limit={lines} for the next page, \
         or Grep to find a specific section. {do_not}",
        view.part.total,
        last + 1
    );
    let lines = view.part.lines.iter().take(lines).cloned().collect();
    Ok(Some(Partial { lines, note }))
}

fn shown(view: &View<'_>, partial: Option<Partial>) -> ToolOutcome {
    let lines = partial.as_ref().map_or(&view.part.lines, |partial| &partial.lines);
    let total = view.part.total;
    let content = lines.join("\n");
    let mut file = json!({
        "filePath": view.given,
        "content": content,
        "numLines": lines.len(),
        "startLine": view.start,
        "totalLines": total,
    });
    let warning = |text: String| {
        format!("<system-reminder>Warning: the file exists but {text}</system-reminder>")
    };
    let mut text = if lines.is_empty() {
        warning(format!(
            "is shorter than the provided offset ({}). The file has {total} lines.",
            view.start
        ))
    } else if content.is_empty() && total == 1 {
        warning("the contents are empty.".to_owned())
    } else {
        // A CR before the end of a line is not shown.
        let shown = lines.iter().map(|line| line.strip_suffix('\r').unwrap_or(line));
        let numbered = shown.zip(view.start..).map(|(line, at)| format!("{at}\t{line}"));
        numbered.collect::<Vec<_>>().join("\n")
    };
    if let Some(problem) = view.part.problem {
        text += &problem.note();
    }
    if partial.is_some()
        && let Some(file) = file.as_object_mut()
    {
        file.insert("truncatedByTokenCap".into(), json!(true));
    }
    let outcome = ToolOutcome::text(text, json!({"type": "text", "file": file}));
    match partial {
        Some(partial) => outcome.with_note(Note::System(partial.note)),
        None => outcome,
    }
}

pub(super) fn note_seen(session: &Session, target: &Path, hash: [u8; 32], is_whole: bool) {
    session.state().seen.insert(target.to_owned(), Seen { hash, is_whole, is_read: true });
}

fn part(target: &Path, size: u64, skip: usize, count: usize) -> io::Result<Part> {
    if size > MOST_BYTES as u64 {
        return part_of_large(target, skip, count);
    }
    let file = TextFile::decode(&fs::read(target)?);
    let text = file.unix_text();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // A line may end in CR at the end of the file as well.
    let (text, has_lost_end) = match text.strip_suffix('\r') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let total = text.split('\n').count();
    let lines = text.split('\n').skip(skip).take(count).map(str::to_owned).collect();
    Ok(Part { lines, total, hash: file.hash, problem: file.problem, has_lost_end })
}

/// The same for a file that is not held in memory: one pass, and the lines that are asked for.
fn part_of_large(target: &Path, skip: usize, count: usize) -> io::Result<Part> {
    let mut reader = BufReader::with_capacity(1024 * 1024, File::open(target)?);
    let mut hash = sha2::Sha256::new();
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let (mut at, mut held) = (0, 0);
    let mut current: Vec<u8> = Vec::new();
    let mut head: Vec<u8> = Vec::new();
    let is_wanted = |at: usize| at >= skip && at - skip < count;
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        hash.update(bytes);
        if head.is_empty() {
            head = bytes.get(..8 * 1024).unwrap_or(bytes).to_vec();
        }
        let mut pieces = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(piece) = pieces.next() {
            if is_wanted(at) && held < MOST_BYTES {
                held += piece.len();
                current.extend_from_slice(piece);
            }
            if pieces.peek().is_some() {
                if is_wanted(at) && held < MOST_BYTES {
                    lines.push(std::mem::take(&mut current));
                }
                at += 1;
            }
        }
        let length = bytes.len();
        reader.consume(length);
    }
    if is_wanted(at) && held < MOST_BYTES {
        lines.push(current);
    }
    let has_lost_end = lines.last().is_some_and(|line| line.ends_with(b"\r"));
    let lines: Vec<String> = lines.iter().map(|line| large_line(line)).collect();
    let is_valid = lines.iter().all(|line| !line.contains('\u{fffd}'));
    let problem = if head.contains(&0) {
        Some(Undecodable::HasNul)
    } else {
        (!is_valid).then_some(Undecodable::NotUtf8)
    };
    Ok(Part { lines, total: at + 1, hash: hash.finalize().into(), problem, has_lost_end })
}

fn large_line(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    String::from_utf8_lossy(line).into_owned()
}

/// Adds memory files of the directories between the project and the file, once each.
fn with_memory(mut outcome: ToolOutcome, target: &Path, session: &Session) -> ToolOutcome {
    let project = &session.places.project;
    let Ok(inside) = target.strip_prefix(project) else { return outcome };
    let mut directory = project.clone();
    let mut files: Vec<PathBuf> = Vec::new();
    for part in inside.parent().into_iter().flat_map(Path::components) {
        directory.push(part);
        for name in ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"] {
            files.push(directory.join(name));
        }
    }
    for file in files.iter().filter(|file| file.as_path() != target) {
        if session.state().memory_told.contains(file) {
            continue;
        }
        let Ok(text) = fs::read_to_string(file) else { continue };
        session.state().memory_told.insert(file.clone());
        let path = file.display().to_string();
        let shown = file.strip_prefix(project).unwrap_or(file).display().to_string();
        let attachment = json!({
            "type": "nested_memory",
            "path": path,
            "content": {
                "path": path,
                "type": if file.ends_with("CLAUDE.local.md") { "Local" } else { "Project" },
                "content": text,
                "contentDiffersFromDisk": false,
            },
            "displayPath": shown,
        });
        let told = format!("Contents of {path}:\n\n{}\n", text.trim_end_matches('\n'));
        outcome = outcome.with_note(Note::Attached(attachment, Some((told, "user"))));
    }
    outcome
}
