//! `recto anonymize`: a log without its content, for a bug report.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use recto_log::LineReader;
use recto_session::Anonymizer;
use recto_store::Home;
use recto_store::new_session_id;
use recto_store::open_file;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::document_file::DocumentFile;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Output;
use crate::terminal::text::json_for_terminal;

/// Write a log without its content
///
/// For bug reports. Replaces every text with filler of about the same length, and ids, times
/// and names consistently with others. Everything that decides how Claude Code reads the log
/// stays: kinds of lines and blocks, links, tags, names of models and tools, fields of
/// built-in tools, token counts. Read the result before you share it. Given the path of a log,
/// this command needs no home.
///
/// Examples:
///   recto anonymize 3f2a --output report.jsonl
///   recto anonymize latest | head -3
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AnonymizeArgs {
    /// The session, or the log of a subagent
    session: String,
    /// The file to write [default: standard output]
    #[arg(long, short, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use the same filler for the same number. Keep it secret: anyone who has it can
    /// guess the original words [default: a random one]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
}

pub(crate) fn cmd_anonymize(
    home: impl FnOnce() -> Result<Home, CommandError>,
    environment: &Environment,
    output: &mut Output,
    args: &AnonymizeArgs,
) -> Result<Outcome, CommandError> {
    let log = match target::file_named(&args.session) {
        Some(path) => path,
        None => {
            let home = home()?;
            target::find(&home, &home.inventory(), environment, &args.session)?.path
        }
    };
    let seed = args.seed.unwrap_or_else(|| new_session_id().bits() as u64);
    let Some(path) = &args.output else {
        let is_terminal = output.is_terminal;
        anonymize(&log, seed, &mut |line| {
            if is_terminal {
                output.bytes(json_for_terminal(line).as_bytes())
            } else {
                output.bytes(line)
            }
        })?;
        return Ok(Outcome::Done);
    };
    let mut file = DocumentFile::begin(path, Existing::Keep { hint: "name another file" })?;
    anonymize(&log, seed, &mut |line| Ok(file.write_all(line)?))?;
    file.finish()?;
    output.remark(&format!("wrote {}", path.display()));
    Ok(Outcome::Done)
}

fn anonymize(
    path: &Path,
    seed: u64,
    write: &mut dyn FnMut(&[u8]) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let anonymizer = Anonymizer::new(seed);
    let mut lines = LineReader::new(open_file(path)?);
    while let Some(line) = lines.next_line()? {
        let mut bytes = anonymizer.line(line.bytes);
        if line.terminated {
            bytes.push(b'\n');
        }
        write(&bytes)?;
    }
    Ok(())
}
