//! Paths as calls give them, and how errors about them are worded.

use std::io;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use super::outcome::Denial;
use super::outcome::ToolOutcome;
use super::session::Session;

/// The absolute path that a text means: `~` is the home, what is relative is below the
/// working directory, and nothing at all is that directory itself.
pub(super) fn expand(given: &str, session: &Session) -> PathBuf {
    let given = given.trim();
    let cwd = session.cwd();
    let path = match given.strip_prefix('~') {
        Some("") => session.places.home.clone(),
        Some(rest) if rest.starts_with('/') => {
            session.places.home.join(rest.trim_start_matches('/'))
        }
        _ => cwd.join(given),
    };
    normal(&path)
}

/// Refuses a path that no system takes.
pub(super) fn check_length(tool: &str, given: &str) -> Result<(), ToolOutcome> {
    const LONGEST: usize = 4096;
    let length = given.encode_utf16().count();
    if length <= LONGEST {
        return Ok(());
    }
    Err(ToolOutcome::refused(format!(
        "{tool} file_path has {length} characters, and {tool} takes at most {LONGEST}. Resolve \
         any \"./\" and \"../\" parts, drop any white space around the path, and send it again."
    )))
}

/// The path without `.` and `..`, by its text alone.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// A path as lists show it: relative inside the working directory, else as it is.
pub(super) fn shown(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.to_string_lossy().into_owned(),
        _ => path.to_string_lossy().into_owned(),
    }
}

/// The way from a directory to a path.
pub(super) fn relative(path: &Path, from: &Path) -> String {
    let common = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(common)).collect();
    way.to_string_lossy().into_owned()
}

/// The sentence about a file that is not there, with a path that may have been meant.
pub(super) fn missing(noun: &str, path: &Path, session: &Session) -> String {
    let meant = below_cwd(path, &session.cwd()).or_else(|| other_extension(path));
    not_there(noun, meant, session)
}

/// The same about a place to search, where names that are alike are no help.
pub(super) fn missing_place(noun: &str, path: &Path, session: &Session) -> String {
    not_there(noun, below_cwd(path, &session.cwd()), session)
}

fn not_there(noun: &str, meant: Option<String>, session: &Session) -> String {
    let cwd = session.cwd();
    let note = format!("{noun}. Note: your current working directory is {}.", cwd.display());
    match meant {
        Some(meant) => format!("{note} Did you mean {meant}?"),
        None => note,
    }
}

/// The path with the last directory of the working directory put in, if that is a file.
fn below_cwd(path: &Path, cwd: &Path) -> Option<String> {
    if path.starts_with(cwd) {
        return None;
    }
    let meant = cwd.join(path.strip_prefix(cwd.parent()?).ok()?);
    meant.exists().then(|| meant.to_string_lossy().into_owned())
}

/// A file beside it that differs in its extension only.
fn other_extension(path: &Path) -> Option<String> {
    let stem = path.file_stem()?;
    let entries = std::fs::read_dir(path.parent()?).ok()?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut alike: Vec<String> = names
        .filter(|name| {
            Path::new(name).file_stem() == Some(stem) && Some(name.as_os_str()) != path.file_name()
        })
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    alike.sort_unstable();
    alike.into_iter().next()
}

/// Whether links lead in a circle.
pub(super) fn is_loop(error: &io::Error) -> bool {
    const ELOOP: i32 = 40;
    error.raw_os_error() == Some(ELOOP)
}

/// Says no to a path of which nobody knows where it leads.
pub(super) fn unresolved(path: &Path) -> ToolOutcome {
    ToolOutcome::denied(
        format!(
            "Refusing to read {}: where it leads on disk could not be determined (a link on the \
             way could not be examined, or the links do not resolve).",
            path.display()
        ),
        Denial::Rule,
    )
}

/// Opens what is to be searched, to know that it can be. Nothing there is no error here.
///
/// # Errors
///
/// What the model is told.
pub(super) fn check_searchable(path: &Path) -> Result<(), ToolOutcome> {
    // Opening a pipe would wait for somebody at its other end.
    let is_plain = std::fs::metadata(path).map(|found| found.is_file() || found.is_dir());
    let error = match is_plain.and_then(|is_plain| match is_plain {
        true => std::fs::File::open(path).map(drop),
        false => Ok(()),
    }) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => error,
    };
    if is_loop(&error) {
        return Err(unresolved(path));
    }
    let (code, _) = named(&error);
    Err(ToolOutcome::failed(format!(
        "Refusing to search {}: it could not be opened ({code}) — it is unreadable, or is being \
         replaced concurrently.",
        path.display()
    )))
}

/// Refuses texts with a byte that no path and no pattern has.
///
/// # Errors
///
/// What the model is told.
pub(super) fn check_no_nul(tool: &str, name: &str, text: &str) -> Result<(), ToolOutcome> {
    if !text.contains('\0') {
        return Ok(());
    }
    Err(ToolOutcome::refused(format!(
        "{tool} {name} cannot contain null bytes (\\0). Remove the null byte and try again."
    )))
}

/// An error of the system as the models know it: `EACCES: permission denied, open '/x'`.
pub(super) fn worded(error: &io::Error, operation: &str, path: &Path) -> String {
    let (code, meaning) = named(error);
    format!("{code}: {meaning}, {operation} '{}'", path.display())
}

/// The name and the meaning of an error of the system.
pub(super) fn named(error: &io::Error) -> (String, String) {
    const NAMES: [(i32, &str, &str); 14] = [
        (1, "EPERM", "operation not permitted"),
        (2, "ENOENT", "no such file or directory"),
        (5, "EIO", "i/o error"),
        (13, "EACCES", "permission denied"),
        (16, "EBUSY", "resource busy or locked"),
        (17, "EEXIST", "file already exists"),
        (20, "ENOTDIR", "not a directory"),
        (21, "EISDIR", "illegal operation on a directory"),
        (24, "EMFILE", "too many open files"),
        (26, "ETXTBSY", "text file is busy"),
        (28, "ENOSPC", "no space left on device"),
        (30, "EROFS", "read-only file system"),
        (36, "ENAMETOOLONG", "name too long"),
        (40, "ELOOP", "too many symbolic links encountered"),
    ];
    let number = error.raw_os_error().unwrap_or_default();
    match NAMES.iter().find(|(known, _, _)| *known == number) {
        Some((_, code, meaning)) => ((*code).to_owned(), (*meaning).to_owned()),
        None => ("EIO".to_owned(), error.to_string()),
    }
}

/// A size for people: `545 bytes`, `29.3KB`, `256KB`.
pub(super) fn size(bytes: u64) -> String {
    let cut = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{}{unit}", text.strip_suffix(".0").unwrap_or(&text))
    };
    let bytes_f = bytes as f64;
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => cut(bytes_f / 1024.0, "KB"),
        1_048_576..1_073_741_824 => cut(bytes_f / 1_048_576.0, "MB"),
        _ => cut(bytes_f / 1_073_741_824.0, "GB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_digit_behind_the_point_or_none() {
        let sizes = [0, 545, 1171, 30_001, 262_145, 1_048_576, 3 << 30];
        let texts = ["0 bytes", "545 bytes", "1.1KB", "29.3KB", "256KB", "1MB", "3GB"];
        assert_eq!(sizes.map(size), texts);
    }

    #[test]
    fn the_way_to_a_path_leads_up_and_down() {
        let way = |path: &str| relative(Path::new(path), Path::new("/a/b"));
        assert_eq!(way("/a/b/c/d"), "c/d");
        assert_eq!(way("/a/x/y"), "../x/y");
        assert_eq!(way("/z"), "../../z");
    }

    #[test]
    fn dots_are_resolved_by_the_text_of_a_path() {
        assert_eq!(normal(Path::new("/a/./b/../c/")), Path::new("/a/c"));
        assert_eq!(normal(Path::new("/../..")), Path::new("/"));
    }
}
