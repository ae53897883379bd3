//! `recto licenses`: what recto is made of, and under which licences.

use clap::Args;

use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

/// Made by the test `the_list_of_licences_is_that_of_the_dependencies`.
const THIRD_PARTY: &str = include_str!("../../THIRD-PARTY.md");

/// Print the licences of recto and its parts
///
/// Example:
///   recto licenses
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LicensesArgs {}

pub(crate) fn cmd_licenses(output: &mut Output) -> Result<Outcome, CommandError> {
    output.page();
    // A remark for those who work on recto, and the line after it, are of no use here.
    let (before, after) = THIRD_PARTY.split_once("<!--").unwrap_or((THIRD_PARTY, ""));
    let after = after.split_once("-->\n\n").map_or("", |(_, after)| after);
    for line in before.lines().chain(after.lines()) {
        output.line(line)?;
    }
    Ok(Outcome::Done)
}
