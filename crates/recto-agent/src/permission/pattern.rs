//! Paths in rules: `Read(~/notes/**)`. They match as lines of a `.gitignore` do, from a
//! directory that their beginning names.

use std::path::Path;
use std::path::PathBuf;

use ignore::gitignore::GitignoreBuilder;

use crate::permission::place::Place;
use crate::permission::place::real_path;
use crate::settings::Source;

/// Whether the path of a rule matches a file, as it is spelled or where its links lead.
pub(crate) fn matches(content: &str, source: Source, place: &Place, path: &Path) -> bool {
    matches_spelled(content, source, place, path) || {
        let real = real_path(path);
        real != path && matches_spelled(content, source, place, &real)
    }
}

/// Whether the path of a rule matches a file as it is spelled *and* where its links lead: a
/// rule that allows a link must not allow the file behind it.
pub(crate) fn matches_both(content: &str, source: Source, place: &Place, path: &Path) -> bool {
    let real = real_path(path);
    // Braces are letters for the client, so they allow nothing else.
    let content = &content.replace('{', "\\{").replace('}', "\\}");
    let (root, pattern) = rooted(content, source, place);
    let pattern = anchored(&pattern);
    matches_under(&root, &pattern, path)
        && (real == path
            || matches_under(&root, &pattern, &real)
            || matches_real_root(&root, &pattern, &real))
}

/// `deep/**` allows what is in one place, and forbids what is in every directory of that name.
fn anchored(pattern: &str) -> String {
    match pattern.strip_suffix("/**") {
        Some(directory) if !directory.contains('/') && !directory.is_empty() => {
            format!("/{pattern}")
        }
        _ => pattern.to_owned(),
    }
}

/// The directory of the rule may itself be reached through a link, as `/tmp` is on macOS.
fn matches_real_root(root: &Path, pattern: &str, real: &Path) -> bool {
    let real_root = real_path(root);
    real_root != root && matches_under(&real_root, pattern, real)
}

fn matches_spelled(content: &str, source: Source, place: &Place, path: &Path) -> bool {
    // `./x` forbids `x` at any depth, too.
    let content = content.strip_prefix("./").unwrap_or(content);
    let (root, pattern) = rooted(content, source, place);
    matches_under(&root, &pattern, path)
}

/// The directory that a rule's path starts from, and the rest of it.
fn rooted(content: &str, source: Source, place: &Place) -> (PathBuf, String) {
    if let Some(rest) = content.strip_prefix("//") {
        return ("/".into(), format!("/{rest}"));
    }
    if let Some(rest) = content.strip_prefix("~/") {
        return (place.home.clone(), format!("/{rest}"));
    }
    if content.starts_with('/') {
        // From the place of the settings file: its project, or Claude Code's home directory.
        let root = match source {
            Source::User => place.claude.clone(),
            Source::Managed => "/etc/claude-code".into(),
            _ => place.project.clone(),
        };
        return (root, content.to_owned());
    }
    let rest = content.strip_prefix("./").map(|rest| format!("/{rest}"));
    (place.cwd.clone(), rest.unwrap_or_else(|| content.to_owned()))
}

fn matches_under(root: &Path, pattern: &str, path: &Path) -> bool {
    // `src/**` is about `src` too: listing a directory reads it.
    let pattern = match pattern.strip_suffix("/**") {
        Some("") => "/**",
        Some(directory) => directory,
        None => pattern,
    };
    if path == root {
        return pattern == "/**" || pattern == "**";
    }
    // The matcher panics on a path that is not below its root, so it gets a relative one.
    let Ok(path) = path.strip_prefix(root) else { return false };
    let mut builder = GitignoreBuilder::new(root);
    // The same file under another spelling on many systems.
    if builder.case_insensitive(true).is_err() {
        return false;
    }
    // A leading `!` or `#` has a meaning in `.gitignore` that it does not have here.
    let line = match pattern.as_bytes().first() {
        Some(b'!' | b'#') => format!("\\{pattern}"),
        _ => pattern.to_owned(),
    };
    if builder.add_line(None, &line).is_err() {
        return false;
    }
    let Ok(matcher) = builder.build() else { return false };
    matcher.matched_path_or_any_parents(path, false).is_ignore()
        || matcher.matched_path_or_any_parents(path, true).is_ignore()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place::new("/home/dev/app".into(), "/home/dev".into())
    }

    #[test]
    fn the_beginning_of_a_path_names_the_directory_it_starts_from() {
        let matches = |content: &str, path: &str| {
            super::matches(content, Source::User, &place(), Path::new(path))
        };
        assert!(matches(".env", "/home/dev/app/.env"));
        assert!(matches(".env", "/home/dev/app/a/b/.env"));
        assert!(!matches(".env", "/home/dev/.env"));
        assert!(matches("./secret/**", "/home/dev/app/secret/key.txt"));
        assert!(matches("./secret/**", "/home/dev/app/secret"));
        // A rule that forbids means every directory of that name.
        assert!(matches("./secret/**", "/home/dev/app/a/secret/key.txt"));
        assert!(!matches("/src/main.rs", "/home/dev/app/src/main.rs"));
        assert!(matches("~/other/**", "/home/dev/other/o.txt"));
        assert!(matches("//etc/passwd", "/etc/passwd"));
        assert!(!matches("//etc/passwd", "/etc/passwd-"));
        assert!(matches("*.py", "/home/dev/app/lib/deep/a.py"));
        assert!(matches("docs/**", "/home/dev/app/docs/x.md"));
        assert!(matches("**", "/home/dev/app/x"));
        assert!(matches("//**", "/etc/x"));
        assert!(matches(".env", "/home/dev/app/.ENV"));
        assert!(matches("src/**", "/home/dev/app/SRC/x"));
    }

    #[test]
    fn braces_allow_nothing() {
        let path = Path::new("/home/dev/app/b.md");
        assert!(matches("*.{txt,md}", Source::User, &place(), path));
        assert!(!matches_both("*.{txt,md}", Source::User, &place(), path));
    }

    #[test]
    fn a_rule_of_a_project_starts_from_the_project() {
        let path = Path::new("/home/dev/app/src/main.rs");
        assert!(matches("/src/**", Source::Project, &place(), path));
        assert!(!matches("/src/**", Source::User, &place(), path));
    }
}
