//! The name of a project's directory.
//!
//! The client makes it from the working directory: every UTF-16 unit that is
//! no ASCII letter or digit becomes `-`. The way back does not exist (`a.b`,
//! `a_b` and `a-b` share a directory): the true path is in the `cwd` of the
//! lines.

use std::fmt;

/// Names longer than this many units are cut and given a hash (2.1.200 and later).
const LONGEST_KEY: usize = 200;

/// The name of a directory under `projects/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectKey(String);

impl ProjectKey {
    /// The key of a working directory, as the newest client writes it. The
    /// path should be free of symbolic links: the client resolves them first.
    pub fn of_path(path: &str) -> ProjectKey {
        let mut key = plain_key(path);
        if key.len() > LONGEST_KEY {
            key.truncate(LONGEST_KEY);
            key.push('-');
            key.push_str(&base36(path_hash(path).unsigned_abs()));
        }
        ProjectKey(key)
    }

    /// The name of the directory.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// All names under which a client may keep the logs of a working directory,
/// the newest client's first: old ones (2.1.29 and before) never cut it.
pub fn project_key_candidates(path: &str) -> Vec<ProjectKey> {
    let newest = ProjectKey::of_path(path);
    let plain = ProjectKey(plain_key(path));
    if newest == plain { vec![newest] } else { vec![newest, plain] }
}

/// One ASCII character for each UTF-16 unit of the path.
fn plain_key(path: &str) -> String {
    path.encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => char::from(byte),
            _ => '-',
        })
        .collect()
}

/// The hash that Java's `String.hashCode` made popular, over the whole path.
fn path_hash(path: &str) -> i32 {
    path.encode_utf16().fold(0i32, |hash, unit| {
        hash.wrapping_shl(5).wrapping_sub(hash).wrapping_add(i32::from(unit))
    })
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize]);
        number /= 36;
        if number == 0 {
            break;
        }
    }
    digits.iter().rev().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_unit_becomes_a_dash() {
        let check = |path: &str, key: &str| assert_eq!(ProjectKey::of_path(path).as_str(), key);
        check("/home/dev/app", "-home-dev-app");
        check("/home/dev/w/with space", "-home-dev-w-with-space");
        check("/a.b_c-d+e@~(%):\\'\t", "-a-b-c-d-e---------");
        check("/é", "--");
        check("/emoji-😀x", "-emoji---x");
        check("/a\u{301}combining", "-a-combining");
        check("C:\\Users\\Dev", "C--Users-Dev");
        check("", "");
    }

    #[test]
    fn a_long_key_is_cut_and_hashed() {
        let path = format!("/{}", "x".repeat(300));
        let candidates = project_key_candidates(&path);
        assert_eq!(candidates.len(), 2);
        assert_eq!(
            candidates[0].as_str().len(),
            200 + 1 + base36(path_hash(&path).unsigned_abs()).len()
        );
        assert_eq!(candidates[1].as_str().len(), 301);
        assert_eq!(project_key_candidates(&format!("/{}", "x".repeat(199))).len(), 1);
    }

    #[test]
    fn the_smallest_hash_has_an_absolute_value() {
        assert_eq!(base36(i32::MIN.unsigned_abs()), "zik0zk");
        assert_eq!(base36(0), "0");
    }
}
