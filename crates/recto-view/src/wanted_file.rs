//! A file that a user names, as text to be compared with the paths in logs. It is never looked for
//! on the disk here.

use std::path::PathBuf;

/// A file that a user names.
#[derive(Debug, Clone)]
pub struct WantedFile {
    /// The parts of its whole path; several, if links lead to it.
    whole: Vec<Vec<String>>,
    /// The parts that the end of a path must have to match too.
    ending: Vec<String>,
}

impl WantedFile {
    /// Exactly the file at a path; several paths, if links lead to it.
    pub fn at(paths: impl IntoIterator<Item = PathBuf>) -> WantedFile {
        let whole = paths.into_iter().map(|path| parts(&path.to_string_lossy())).collect();
        WantedFile { whole, ending: Vec::new() }
    }

    /// Every file whose path ends with the text too.
    pub fn or_ending_with(self, text: &str) -> WantedFile {
        WantedFile { ending: parts(text), ..self }
    }

    /// The file at an absolute path, or every file whose path ends with the text. None if the
    /// text names no file.
    pub fn named(text: &str) -> Option<WantedFile> {
        let has_drive = text.get(1..3).is_some_and(|drive| [":\\", ":/"].contains(&drive));
        let wanted = match text.starts_with(['/', '\\']) || has_drive {
            true => WantedFile { whole: vec![parts(text)], ending: Vec::new() },
            false => WantedFile { whole: Vec::new(), ending: parts(text) },
        };
        let is_file = wanted.names().next().is_some();
        is_file.then_some(wanted)
    }

    /// Whether a path in a log is this file.
    pub fn fits(&self, logged: &str) -> bool {
        let logged = parts(logged);
        self.whole.contains(&logged) || (!self.ending.is_empty() && logged.ends_with(&self.ending))
    }

    /// A word that every log which names the file has in its bytes: the longest part of the
    /// file's name that no writer of JSON would escape. Empty if there is none.
    pub fn word(&self) -> &str {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+@".contains(c);
        let runs = self.names().next().unwrap_or_default().split(|c| !is_plain(c));
        // All forms of the path must have it, and a link can have another name.
        let is_common = |run: &&str| self.names().all(|name| name.contains(run));
        runs.filter(is_common).max_by_key(|run| run.len()).unwrap_or_default()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let paths = self.whole.iter().chain(std::iter::once(&self.ending));
        paths.filter_map(|path| path.last()).map(String::as_str)
    }
}

/// The parts of a path of any system.
fn parts(path: &str) -> Vec<String> {
    path.split(['/', '\\']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_compared_by_whole_parts() {
        let end = WantedFile::named("src/main.rs").unwrap();
        assert!(end.fits("/home/dev/app/src/main.rs") && end.fits(r"C:\app\src\main.rs"));
        assert!(!end.fits("/home/dev/mysrc/main.rs") && !end.fits("/src/main.rs.bak"));
        let whole = WantedFile::named("/app/main.rs").unwrap();
        assert!(whole.fits("/app/main.rs") && !whole.fits("/x/app/main.rs"));
        assert!(!WantedFile::named(r"C:\app\a.rs").unwrap().fits(r"D:\C:\app\a.rs"));
        assert!(WantedFile::named("").is_none() && WantedFile::named("//").is_none());
    }

    #[test]
    fn the_word_is_never_escaped_in_json() {
        let word = |name: &str| WantedFile::named(name).unwrap().word().to_owned();
        assert_eq!(word("a/my \"big\" file.txt"), "file.txt");
        assert_eq!(word("größe.md"), "e.md");
        assert_eq!(word("日本"), "");
        let linked = WantedFile::at(["/a/old-name.rs".into(), "/b/name.rs".into()]);
        assert_eq!(linked.word(), "");
    }
}
