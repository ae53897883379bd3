//! A file that a reader names, as text to be compared with the paths in logs. It
//! is never looked for on the disk.

/// A file that a reader names.
#[derive(Debug, Clone)]
pub(crate) struct WantedFile {
    parts: Vec<String>,
    /// Whether it must be the whole path and not its end.
    is_whole: bool,
}

impl WantedFile {
    /// Nothing if the text names no file.
    pub(crate) fn of(text: &str) -> Option<WantedFile> {
        let parts = parts(text);
        let has_drive = text.get(1..3).is_some_and(|drive| [":\\", ":/"].contains(&drive));
        let is_whole = text.starts_with(['/', '\\']) || has_drive;
        (!parts.is_empty()).then_some(WantedFile { parts, is_whole })
    }

    /// Whether a path in a log is this file.
    pub(crate) fn fits(&self, logged: &str) -> bool {
        let logged = parts(logged);
        if self.is_whole { logged == self.parts } else { logged.ends_with(&self.parts) }
    }

    /// The longest part of the name that every writer of JSON leaves as it is.
    pub(crate) fn word(&self) -> &str {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+@".contains(c);
        let name = self.parts.last().map_or("", String::as_str);
        name.split(|c| !is_plain(c)).max_by_key(|run| run.len()).unwrap_or_default()
    }
}

fn parts(path: &str) -> Vec<String> {
    path.split(['/', '\\']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_compared_by_whole_parts() {
        let end = WantedFile::of("src/main.rs").unwrap();
        assert!(end.fits("/home/dev/app/src/main.rs") && end.fits(r"C:\app\src\main.rs"));
        assert!(!end.fits("/home/dev/mysrc/main.rs") && !end.fits("/src/main.rs.bak"));
        let whole = WantedFile::of("/app/main.rs").unwrap();
        assert!(whole.fits("/app/main.rs") && !whole.fits("/x/app/main.rs"));
        assert!(!WantedFile::of(r"C:\app\a.rs").unwrap().fits(r"D:\C:\app\a.rs"));
        assert!(WantedFile::of("").is_none() && WantedFile::of("//").is_none());
        assert_eq!(WantedFile::of("a/my \"big\" file.txt").unwrap().word(), "file.txt");
    }
}
