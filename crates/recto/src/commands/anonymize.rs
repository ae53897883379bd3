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

/// Write a log with its shape and without its content, for a bug report
///
/// Every text becomes filler of about the same length; ids, times and names are
/// replaced by others, the same by the same. What is needed to see how the client
/// would read the log stays: kinds of lines and blocks, links, tags of the client, names
/// of models and tools, fields of built-in tools, numbers of tokens. Read the result
/// before you give it away. The path of a log needs no home.
///
/// Examples:
///   recto anonymize 3f2a --out report.jsonl
///   recto anonymize latest | head -3
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct AnonymizeArgs {
    /// The session, or the log of a subagent
    session: String,
    /// Where to write it; without it, to standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The same filler for the same number. Keep it to yourself: who knows it can try
    /// words. Without it, a random one is taken
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
    let Some(path) = &args.out else {
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
