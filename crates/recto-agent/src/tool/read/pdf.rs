//! PDFs: whole, as a document, or some pages as images.

use std::fs;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use serde_json::json;
use tokio::process::Command;

use super::image;
use super::path;
use crate::tool::context::Call;
use crate::tool::outcome::ToolOutcome;

/// What an endpoint takes.
const LARGEST: u64 = 20 * 1024 * 1024;

/// Pages of one call.
const MOST_PAGES: u32 = 20;

/// Pages of a PDF that is read as a whole.
const MOST_WHOLE: u32 = 10;

const BROKEN: &str = "PDF file is corrupted or invalid.";

/// The pages that a call asks for. A blank text is no wish.
pub(super) fn wanted<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    call.optional("pages").filter(|pages| !pages.trim().is_empty())
}

/// The first and the last page of `3` or `1-5`.
pub(super) fn pages(text: &str) -> Result<(u32, u32), String> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|page| *page > 0);
    let range = match text.split_once('-') {
        // To the end, wherever that is.
        Some((first, "")) => number(first).map(|first| (first, u32::MAX)),
        Some((first, last)) => number(first).zip(number(last)),
        None => number(text).map(|page| (page, page)),
    };
    let Some((first, last)) = range.filter(|(first, last)| first <= last) else {
        return Err(format!(
            "Invalid pages parameter: \"{text}\". Give one page (\"3\") or one range (\"1-5\"), \
             not a list. To read several pages or ranges, read each one separately. Pages are \
             1-indexed."
        ));
    };
    if last - first >= MOST_PAGES {
        return Err(format!(
            "Page range \"{text}\" exceeds maximum of {MOST_PAGES} pages per request. Please use \
             a smaller range."
        ));
    }
    Ok((first, last))
}

pub(super) async fn read(call: &Call<'_>, given: &str, target: &Path) -> ToolOutcome {
    let size = fs::metadata(target).map_or(0, |metadata| metadata.len());
    if size == 0 {
        return ToolOutcome::failed(format!("PDF file is empty: {}", target.display()));
    }
    if size > LARGEST {
        return ToolOutcome::failed(format!(
            "PDF file exceeds maximum allowed size of {}: {}",
            path::size(LARGEST),
            target.display()
        ));
    }
    let bytes = match fs::read(target) {
        Ok(bytes) => bytes,
        Err(error) => return ToolOutcome::failed(path::worded(&error, "open", target)),
    };
    if !bytes.starts_with(b"%PDF-") && wanted(call).is_none() {
        return ToolOutcome::failed(format!(
            "File is not a valid PDF (missing %PDF- header): {}",
            target.display()
        ));
    }
    match wanted(call).map(pages) {
        Some(Ok(range)) => some_pages(call, given, target, size, range).await,
        Some(Err(text)) => ToolOutcome::refused(text),
        None => match page_count(target).await.filter(|count| *count > MOST_WHOLE) {
            Some(count) => ToolOutcome::failed(format!(
                "This PDF has {count} pages, which is too many to read at once. Use the pages \
                 parameter to read specific page ranges (e.g., pages: \"1-5\"). Maximum \
                 {MOST_PAGES} pages per request."
            )),
            None => whole(given, target, &bytes),
        },
    }
}

/// How many pages it has, if there is a program that counts them.
async fn page_count(target: &Path) -> Option<u32> {
    const LONGEST: Duration = Duration::from_secs(10);
    let mut command = Command::new("pdfinfo");
    command.arg(target).kill_on_drop(true);
    let output = tokio::time::timeout(LONGEST, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let count = text.lines().find_map(|line| line.strip_prefix("Pages:"))?;
    count.trim().parse().ok()
}

fn whole(given: &str, target: &Path, bytes: &[u8]) -> ToolOutcome {
    let data = BASE64_STANDARD.encode(bytes);
    let size = path::size(bytes.len() as u64);
    let blocks = vec![
        json!({"type": "text", "text": format!("PDF file read: {} ({size})", target.display())}),
        json!({
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": data},
        }),
    ];
    let file = json!({"filePath": given, "base64": data, "originalSize": bytes.len()});
    ToolOutcome::blocks(blocks, json!({"type": "pdf", "file": file}))
}

async fn some_pages(
    call: &Call<'_>,
    given: &str,
    target: &Path,
    size: u64,
    (first, last): (u32, u32),
) -> ToolOutcome {
    let session = call.session;
    let directory = session.places.results().join(format!("pdf-{}", session.ids.uuid()));
    if let Err(error) = fs::create_dir_all(&directory) {
        return ToolOutcome::failed(path::worded(&error, "mkdir", &directory));
    }
    let mut command = Command::new("pdftoppm");
    command.args(["-jpeg", "-r", "100", "-f", &first.to_string(), "-l", &last.to_string()]);
    command.arg(target).arg(directory.join("page")).kill_on_drop(true);
    let output = tokio::select! {
        output = command.output() => output,
        () = call.cancel.cancelled() => return ToolOutcome::failed("Interrupted."),
    };
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            // What the program says of a file that is no PDF inside.
            let is_broken = ["Couldn't find trailer", "Couldn't read xref", "May not be a PDF"]
                .iter()
                .any(|sign| text.contains(sign));
            return ToolOutcome::failed(match is_broken {
                true => BROKEN.to_owned(),
                false => format!("pdftoppm failed: {}", text.trim()),
            });
        }
        Err(_) => {
            return ToolOutcome::failed(
                "pdftoppm is not installed. Install poppler-utils (e.g. `brew install poppler` or \
                 `apt-get install poppler-utils`) to enable PDF page rendering.",
            );
        }
    }
    let images = page_images(&directory);
    let text = format!(
        "PDF pages extracted: {} page(s) from {} ({})",
        images.len(),
        target.display(),
        path::size(size)
    );
    let mut blocks = vec![json!({"type": "text", "text": text})];
    let structured = json!({
        "type": "parts",
        "file": {
            "filePath": given,
            "originalSize": size,
            "outputDir": directory.display().to_string(),
            "count": images.len(),
        },
        "firstPage": first,
    });
    blocks.extend(images);
    ToolOutcome::blocks(blocks, structured)
}

fn page_images(directory: &Path) -> Vec<Value> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort_unstable();
    let bytes = files.iter().filter_map(|file| fs::read(file).ok());
    bytes.map(|bytes| image::block("image/jpeg", &BASE64_STANDARD.encode(bytes))).collect()
}
