//! Images of prompts, as files that tools can read.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::session::Session;

impl Session {
    /// Writes an image to a file of the session; nothing if it is none.
    #[must_use]
    pub fn keep_image(&self, media_type: &str, data: &str) -> Option<PathBuf> {
        let end = media_type.strip_prefix("image/")?;
        let is_plain = end.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let bytes = BASE64_STANDARD.decode(data).ok().filter(|_| is_plain)?;
        let folder = self.places.tasks().parent()?.join("images");
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.create(&folder).ok()?;
        let number = 1 + fs::read_dir(&folder).ok()?.count();
        let path = folder.join(format!("{number}.{end}"));
        fs::write(&path, bytes).ok()?;
        Some(path)
    }

    /// The file of the plan.
    #[must_use]
    pub fn plan_file(&self) -> Option<PathBuf> {
        self.state().plan_file.clone()
    }
}
