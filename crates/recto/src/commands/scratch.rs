//! `recto scratch`: a folder for the working files of a session.

use clap::Args;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::scratch_folder;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// Print a folder for a session's notes
///
/// Creates the folder if needed. Its path depends only on the session, so notes in it survive
/// a compaction. It is in recto's data directory ($RECTO_DATA_DIR, else recto in
/// $XDG_DATA_HOME or ~/.local/share), and only you can read it. recto never deletes it.
///
/// In a hook, `recto scratch -` reads the session from the hook's input.
///
/// Examples:
///   recto scratch
///   recto scratch latest
///   cp notes.md "$(recto scratch current)"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ScratchArgs {
    /// The session
    #[arg(default_value = "current")]
    session: String,
}

pub(crate) fn cmd_scratch(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ScratchArgs,
) -> Result<Outcome, CommandError> {
    let session = target::find_session(home, environment, &args.session)?;
    let data = environment.data_directory()?;
    let folder = scratch_folder(&data, session)?;
    let path = folder.to_string_lossy();
    if output.json {
        let session = session.to_string();
        output.json_line(ObjectWriter::new().string("session", &session).string("path", &path))?;
    } else if output.is_terminal {
        output.line(&one_line(&path))?;
    } else {
        // For scripts the path must be what it is.
        output.bytes(folder.as_os_str().as_encoded_bytes())?;
        output.bytes(b"\n")?;
    }
    Ok(Outcome::Done)
}
