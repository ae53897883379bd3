//! Options that every command has.

use std::path::PathBuf;

use clap::Args;
use clap::ValueEnum;

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The client's home [default: $CLAUDE_CONFIG_DIR, else ~/.claude]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Leave out sessions that are only in the archive of `recto collect`
    #[arg(long, global = true)]
    pub(crate) no_archive: bool,
    /// Write JSON (a line per item where there are many)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    /// Do not send long text through a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}
