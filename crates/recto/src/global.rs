//! Options that every command has.

use std::path::PathBuf;

use clap::Args;
use clap::ValueEnum;

/// Options of every command.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Claude Code's home directory [default: $CLAUDE_CONFIG_DIR, else ~/.claude]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Hide sessions that are only in the archive of `recto collect`
    #[arg(long, global = true)]
    pub(crate) no_archive: bool,
    /// Write JSON, one line per item; with `--json=id,title` only these fields
    #[arg(
        long,
        global = true,
        value_name = "FIELDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = ""
    )]
    pub(crate) json: Option<String>,
    /// Write each item as text, such as '{id} {title}'; `--json` shows the fields
    #[arg(long, global = true, value_name = "TEMPLATE")]
    pub(crate) format: Option<String>,
    /// Print no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
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
