//! The settings of the user: `config.toml` in recto's settings directory.
//!
//! An option is stronger than a variable, and a variable than the file. What the file says is
//! put into the options and the environment once, and nothing else knows it.

use std::path::Path;
use std::path::PathBuf;

use anstyle::Style;
use clap::ValueEnum;
use recto_store::distance;
use recto_store::read_chosen;
use toml::Table;
use toml::Value;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::global::ColorChoice;
use crate::global::Global;
use crate::select::file_path;
use crate::terminal::keymap::Keymap;
use crate::terminal::output::Look;
use crate::terminal::palette;
use crate::terminal::palette::LOOKS;

/// Where a value is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Option,
    Variable(&'static str),
    File,
    Default,
}

impl Origin {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Origin::Option => "option",
            Origin::Variable(name) => name,
            Origin::File => "config.toml",
            Origin::Default => "default",
        }
    }
}

/// A setting as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) origin: Origin,
}

/// The names of settings, and what they mean.
pub(crate) const SETTINGS: [(&str, &str); 10] = [
    ("home", "Claude Code's home directory"),
    ("color", "when to use colour: auto, always or never"),
    ("pager", "the program that shows long text"),
    ("client", "the program that resumes sessions"),
    ("resume_with", "which program resumes sessions: claude or recto"),
    ("console_keys", "console editing keys: emacs or vi"),
    ("prices", "a price file"),
    ("search_bytes", "how many bytes of unindexed text a search reads before it answers"),
    ("keys", "browser and board keys, by command"),
    ("colors", "text colours, by role"),
];

const COLOUR_HINT: &str = "name one of strong, faint, user, model, tool, good, bad, warning, \
    keyword, literal, constant, name, match; write a colour such as \"bold cyan\", \"208\" or \
    \"#ff8800\"";

/// Reads the file, and puts what it says where an option or a variable does not. Gives every
/// setting with its origin.
pub(crate) fn apply(
    global: &mut Global,
    environment: &mut Environment,
) -> Result<Vec<Setting>, CommandError> {
    let file = match environment.settings_file("config.toml") {
        Some(path) if file_path::exists(&path) => File::read(path)?,
        _ => File::default(),
    };
    let mut settings = Vec::new();
    let mut note = |name, value: Option<String>, origin| {
        let origin = if value.is_some() { origin } else { Origin::Default };
        settings.push(Setting { name, value: value.unwrap_or_default(), origin });
    };
    let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());

    let origin = match (&global.home, &environment.config_dir) {
        (Some(_), _) => Origin::Option,
        (None, Some(_)) => Origin::Variable("CLAUDE_CONFIG_DIR"),
        (None, None) => {
            // As an option: Claude Code would not use this home by itself.
            global.home = file.path("home", environment)?;
            Origin::File
        }
    };
    note("home", shown(&global.home).or_else(|| shown(&environment.config_dir)), origin);

    let mut colour = (global.color != ColorChoice::Auto).then_some(Origin::Option);
    if colour.is_none()
        && let Some(text) = file.text("color")?
    {
        global.color = ColorChoice::from_str(&text, /* ignores case */ true)
            .map_err(|_| file.bad("color", "use auto, always or never"))?;
        colour = Some(Origin::File);
    }
    let name = global.color.to_possible_value().map(|value| value.get_name().to_owned());
    note("color", name.filter(|_| colour.is_some()), colour.unwrap_or(Origin::Default));

    let origin = origin_of(environment.pager.is_some(), "RECTO_PAGER, PAGER");
    environment.pager = environment.pager.take().or(file.text("pager")?);
    note("pager", environment.pager.clone(), origin);

    let origin = origin_of(environment.client.is_some(), "RECTO_CLIENT");
    environment.client = environment.client.take().or(file.text("client")?);
    note("client", environment.client.clone(), origin);

    let resume_with = file.text("resume_with")?;
    environment.resumes_itself = match resume_with.as_deref() {
        None | Some("claude") => false,
        Some("recto") => true,
        Some(_) => return Err(file.bad("resume_with", "write \"claude\" or \"recto\"")),
    };
    note("resume_with", resume_with, Origin::File);

    let console_keys = file.text("console_keys")?;
    environment.has_vi_keys = match console_keys.as_deref() {
        None | Some("emacs") => false,
        Some("vi") => true,
        Some(_) => return Err(file.bad("console_keys", "write \"emacs\" or \"vi\"")),
    };
    note("console_keys", console_keys, Origin::File);

    let origin = origin_of(environment.prices.is_some(), "RECTO_PRICES");
    let prices = file.path("prices", environment)?;
    environment.prices = environment.prices.take().or(prices);
    note("prices", shown(&environment.prices), origin);

    let origin = origin_of(environment.search_bytes.is_some(), "RECTO_SEARCH_BYTES");
    environment.search_bytes = environment.search_bytes.or(file.number("search_bytes")?);
    note("search_bytes", environment.search_bytes.map(|bytes| bytes.to_string()), origin);

    let keys = file.pairs("keys")?;
    environment.keymap = Keymap::read(&keys)
        .map_err(|(command, hint)| file.bad(&format!("keys.{command}"), &hint))?;
    note("keys", shown_pairs(&keys), Origin::File);

    let colours = file.pairs("colors")?;
    let styles = read_styles(&colours);
    palette::choose(styles.map_err(|name| file.bad(&format!("colors.{name}"), COLOUR_HINT))?);
    note("colors", shown_pairs(&colours), Origin::File);
    Ok(settings)
}

/// Names with their values, on one line.
fn shown_pairs(pairs: &[(String, String)]) -> Option<String> {
    let shown = pairs.iter().map(|(name, value)| format!("{name}={value}"));
    (!pairs.is_empty()).then(|| shown.collect::<Vec<_>>().join(" "))
}

/// Reads the colours. Gives the name that is wrong.
fn read_styles(pairs: &[(String, String)]) -> Result<Vec<(Look, Style)>, String> {
    let mut styles = Vec::new();
    for (name, value) in pairs {
        let look = LOOKS.iter().find(|(known, _)| known == name).map(|(_, look)| *look);
        styles.push(look.zip(palette::parse(value)).ok_or_else(|| name.clone())?);
    }
    Ok(styles)
}

fn origin_of(is_set: bool, variable: &'static str) -> Origin {
    if is_set { Origin::Variable(variable) } else { Origin::File }
}

/// What the file says.
#[derive(Debug, Default)]
struct File {
    path: PathBuf,
    table: Table,
}

impl File {
    fn read(path: PathBuf) -> Result<File, CommandError> {
        let bytes = read_chosen(&path)?;
        let text = String::from_utf8_lossy(&bytes);
        let bad = |message: &str| {
            CommandError::user("bad-config", format!("{}: {message}", path.display()))
        };
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            bad(error.message()).with_hint("the file is TOML, such as: pager = \"less\"")
        })?;
        let known = || SETTINGS.iter().map(|(name, _)| *name);
        if let Some(name) = table.keys().find(|name| !known().any(|other| other == *name)) {
            let error = bad(&format!("unknown setting `{name}`"));
            let near = known().min_by_key(|other| distance(other, name));
            let near = near.filter(|other| distance(other, name) <= name.len().div_ceil(3));
            let names = known().collect::<Vec<_>>().join(", ");
            return Err(match near {
                Some(near) => error.with_hint(format!("did you mean `{near}`?")),
                None => error.with_hint(format!("the settings are {names}")),
            });
        }
        Ok(File { path, table })
    }

    fn bad(&self, name: &str, hint: &str) -> CommandError {
        let message = format!("{}: invalid value for `{name}`", self.path.display());
        CommandError::user("bad-config", message).with_hint(hint)
    }

    fn text(&self, name: &str) -> Result<Option<String>, CommandError> {
        match self.table.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.clone())),
            Some(_) => Err(self.bad(name, "write the value in quotes")),
        }
    }

    /// A table of texts.
    fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, CommandError> {
        let bad = || self.bad(name, &format!("write a table, such as: [{name}]"));
        let Some(value) = self.table.get(name) else { return Ok(Vec::new()) };
        let pairs = value.as_table().ok_or_else(bad)?.iter();
        let pairs = pairs.map(|(key, value)| {
            let text = value
                .as_str()
                .ok_or_else(|| self.bad(&format!("{name}.{key}"), "write the value in quotes"))?;
            Ok((key.clone(), text.to_owned()))
        });
        pairs.collect()
    }

    fn number(&self, name: &str) -> Result<Option<u64>, CommandError> {
        match self.table.get(name) {
            None => Ok(None),
            Some(value) => {
                let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
                number.map(Some).ok_or_else(|| self.bad(name, "write a number, in bytes"))
            }
        }
    }

    /// A path; `~` is the user's home.
    fn path(&self, name: &str, environment: &Environment) -> Result<Option<PathBuf>, CommandError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let rest = text.strip_prefix("~/").or((text == "~").then_some(""));
        let path = match (rest, &environment.user_home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        };
        match Path::is_absolute(&path) {
            true => Ok(Some(path)),
            false => Err(self.bad(name, "write an absolute path, or one that begins with ~/")),
        }
    }
}
