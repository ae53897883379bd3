//! The browser in which pages and exported documents are opened by the tests.

use std::env;
use std::path::PathBuf;

use crate::programs;

/// Finds a browser: `$CHROME`, one that is installed, or (as root on a system
/// with Debian's packages) one that is installed now.
pub fn find() -> Option<PathBuf> {
    if let Some(path) = env::var_os("CHROME").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    programs::find(&["chromium", "chromium-browser", "google-chrome", "chrome"], "chromium")
}
