//! What lies in a folder, to compare before and after.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

/// Contents and times of files, by their path in a folder.
pub type Tree = BTreeMap<PathBuf, (Vec<u8>, SystemTime)>;

/// All files of a folder and of those below it.
#[expect(clippy::unwrap_used, reason = "a test that cannot read what was made has failed")]
pub fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else {
                let time = fs::metadata(&path).unwrap().modified().unwrap();
                let inside = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(inside, (fs::read(&path).unwrap(), time));
            }
        }
    }
    found
}

/// The same without the times.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    tree(folder).into_iter().map(|(path, (content, _))| (path, content)).collect()
}
