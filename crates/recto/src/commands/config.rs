//! `recto config`: the settings in force, and where they are from.

use clap::Args;
use serde::Serialize;

use crate::config::SETTINGS;
use crate::config::Setting;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::one_line;

/// Show the settings in force
///
/// With the origin of each: an option, a variable, `config.toml` in recto's settings directory
/// ($XDG_CONFIG_HOME/recto, else ~/.config/recto), or the default. Options override variables,
/// and variables override the file.
///
/// Example:
///   recto config
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ConfigArgs {}

/// A setting, as `--json` tells it.
#[derive(Debug, Serialize)]
struct SettingRow<'a> {
    name: &'static str,
    value: Option<&'a str>,
    origin: &'static str,
    about: &'static str,
}

pub(crate) fn cmd_config(
    environment: &Environment,
    settings: &[Setting],
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let about =
        |name: &str| SETTINGS.iter().find(|(known, _)| *known == name).map_or("", |one| one.1);
    let rows = settings.iter().map(|setting| SettingRow {
        name: setting.name,
        value: Some(setting.value.as_str()).filter(|value| !value.is_empty()),
        origin: setting.origin.name(),
        about: about(setting.name),
    });
    if output.json {
        output.rows(&rows.collect::<Vec<_>>())?;
        return Ok(Outcome::Done);
    }
    let columns = [Column::Left, Column::Path, Column::Detail, Column::Spare];
    let mut table = Table::new(&columns);
    for row in rows {
        let value = row.value.map_or_else(|| "-".to_owned(), one_line);
        table.row([row.name.to_owned(), value, row.origin.to_owned(), row.about.to_owned()]);
    }
    for cells in table.layout(output.width) {
        output.line(cells.join(output.gap()).trim_end())?;
    }
    if let Some(path) = environment.settings_file("config.toml") {
        output.remark(&format!("the file is {}", path.display()));
    }
    Ok(Outcome::Done)
}
