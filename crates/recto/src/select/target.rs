//! From what the user typed to a file.

use std::io;
use std::io::Read;
use std::path::PathBuf;

use recto_log::SessionId;
use recto_log::json::Value;
use recto_store::Choice;
use recto_store::Digest;
use recto_store::Home;
use recto_store::HomeSource;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_store::Selector;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::global::Global;
use crate::select::file_path;
use crate::select::session_context::session_from_context;
use crate::select::session_context::session_from_hook;
use crate::terminal::output::Output;
use crate::terminal::text::fit;

/// Opens the home that the user means.
pub(crate) fn open_home(global: &Global, environment: &Environment) -> Result<Home, CommandError> {
    let home = Home::open(home_path(global, environment)?)?;
    // Without directories of its own, recto has no archive.
    let (Ok(data), Ok(cache)) = (environment.data_directory(), environment.cache_directory())
    else {
        return Ok(home);
    };
    let home = home.with_archive(&data.root().join("archive"), &cache);
    Ok(if global.no_archive { home.without_archive() } else { home })
}

/// Opens the home that the user means, and makes it if nothing has used it yet.
pub(crate) fn open_or_make_home(
    global: &Global,
    environment: &Environment,
) -> Result<Home, CommandError> {
    recto_store::make_home(&home_path(global, environment)?)?;
    open_home(global, environment)
}

fn home_path(global: &Global, environment: &Environment) -> Result<PathBuf, CommandError> {
    let source = HomeSource {
        explicit: global.home.clone(),
        config_dir: environment.config_dir.clone(),
        user_home: environment.user_home.clone(),
        in_test: environment.in_test,
    };
    Ok(source.path()?)
}

/// The home, where a client that is started like any other would use another one.
pub(crate) fn home_to_name(home: &Home, environment: &Environment) -> Option<PathBuf> {
    let source = HomeSource {
        explicit: None,
        config_dir: environment.config_dir.clone(),
        user_home: environment.user_home.clone(),
        in_test: environment.in_test,
    };
    let usual = source.path().ok().and_then(|path| Home::open(path).ok());
    if usual.is_some_and(|usual| usual.is_same(home)) {
        return None;
    }
    // The client is started in the directory of the session.
    let from = environment.working_directory.as_ref();
    Some(from.map_or(home.root().to_owned(), |from| from.join(home.root())))
}

/// Finds the log that the user means: as the home lists it, or the file that was named.
pub(crate) fn find(
    home: &Home,
    inventory: &Inventory,
    environment: &Environment,
    text: &str,
) -> Result<LogFile, CommandError> {
    find_named(home, inventory, &name(environment, text)?)
}

/// The same for commands that change or delete: a part of a title is not enough, because the
/// session that it matches today may be another one tomorrow.
pub(crate) fn find_to_change(
    home: &Home,
    inventory: &Inventory,
    environment: &Environment,
    text: &str,
) -> Result<LogFile, CommandError> {
    let text = name(environment, text)?;
    let found = find_named(home, inventory, &text)?;
    let Selector::Text(typed) = selector(&text) else { return Ok(found) };
    let id = found.session.map(|id| id.to_string()).unwrap_or_default();
    if id.starts_with(&typed.to_ascii_lowercase()) {
        return Ok(found);
    }
    let title = Digest::read(&found.path, false)?.title.map(|(title, _)| title);
    if title.as_ref().is_some_and(|title| title.to_lowercase() == typed.to_lowercase()) {
        return Ok(found);
    }
    let message = format!("`{}` is only part of a title", fit(&typed, 60));
    let error = CommandError::user("not-exact", message);
    let candidates: Vec<_> = found.session.map(|id| (id, title)).into_iter().collect();
    Err(with_candidates(error, &candidates)
        .with_hint("to change a session, use its id, its first characters, or its whole title"))
}

/// What a session is called, where the user named it in some other way.
fn name(environment: &Environment, text: &str) -> Result<String, CommandError> {
    match text {
        "-" => from_standard_input(),
        "current" => Ok(current(environment)?.to_string()),
        other => Ok(other.to_owned()),
    }
}

fn find_named(home: &Home, inventory: &Inventory, text: &str) -> Result<LogFile, CommandError> {
    match home.choose(inventory, &selector(text)) {
        Choice::Session(session) => Ok((*session).clone()),
        Choice::Agent(agent) => Ok(agent),
        Choice::File(path) => {
            file_path::require(&path)?;
            Ok(LogFile::alone(path, None))
        }
        Choice::Ambiguous(several) => {
            let message = format!("`{}` matches more than one session:", fit(text, 60));
            let error = CommandError::user("ambiguous", message);
            Err(with_candidates(error, &several).with_hint("type more of the id"))
        }
        Choice::NotFound(nearest) => {
            if text == "latest" {
                let error = CommandError::user("not-found", "this home has no sessions yet");
                return Err(error.with_hint("`recto demo` shows recto on a sample"));
            }
            let message = format!("no session matches `{}`", fit(text, 60));
            let message = match nearest.is_empty() {
                true => message,
                false => format!("{message}; did you mean:"),
            };
            let error = with_candidates(CommandError::user("not-found", message), &nearest);
            Err(error.with_hint("`recto ls` lists the sessions"))
        }
    }
}

/// What a text means. The name of a file that is here, with its ending, is that file and no
/// part of a title.
fn selector(text: &str) -> Selector {
    match Selector::parse(text) {
        Selector::Text(name) if name.contains('.') && file_path::is_file(name.as_ref()) => {
            Selector::Path(name.into())
        }
        other => other,
    }
}

/// The file that a text names by its path, if it exists. No home is needed to see that.
pub(crate) fn file_named(text: &str) -> Option<PathBuf> {
    match selector(text) {
        Selector::Path(path) if file_path::is_file(&path) => Some(path),
        _ => None,
    }
}

/// Finds the session that the user means. One that a hook or the environment
/// names by its whole id need not have a log yet.
pub(crate) fn find_session(
    home: &Home,
    environment: &Environment,
    text: &str,
) -> Result<SessionId, CommandError> {
    let named = match text {
        "-" => from_standard_input()?,
        "current" => {
            let hint = "or name a session; `recto ls` lists them";
            return current(environment).map_err(|error| error.with_hint(hint));
        }
        other => other.to_owned(),
    };
    if let (true, Ok(id)) = (text == "-", named.parse()) {
        return Ok(id);
    }
    let target = find(home, &home.inventory(), environment, &named)?;
    target.main().map(|session| session.id).ok_or_else(|| {
        CommandError::user(
            "no-session",
            format!("`{}` is not a session of this home", fit(&named, 60)),
        )
    })
}

/// Says what was not looked at: a listing must not seem complete when it is not.
pub(crate) fn tell_skipped(inventory: &Inventory, output: &Output) {
    for skipped in &inventory.skipped {
        output.remark(&skipped.to_string());
    }
}

fn with_candidates(
    mut error: CommandError,
    candidates: &[(SessionId, Option<String>)],
) -> CommandError {
    for (id, title) in candidates {
        let title = title.as_deref().map_or(String::new(), |title| format!("  {}", fit(title, 60)));
        error = error.with_candidate(format!("{id}{title}"));
    }
    error
}

fn current(environment: &Environment) -> Result<SessionId, CommandError> {
    let named = environment.session_context.as_deref().and_then(session_from_context);
    named.ok_or_else(|| {
        CommandError::user("no-current-session", "SESSION_CONTEXT names no session")
            .with_hint("in a hook, give its JSON on standard input: `recto show -`")
    })
}

/// What a hook gets, a line of `recto ls --json`, or a plain name.
fn from_standard_input() -> Result<String, CommandError> {
    const MOST: u64 = 1024 * 1024;
    let mut bytes = Vec::new();
    io::stdin().take(MOST).read_to_end(&mut bytes)?;
    if let Some(id) = session_from_hook(&bytes) {
        return Ok(id.to_string());
    }
    let text = String::from_utf8_lossy(&bytes);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let listed = Value::parse(first.as_bytes()).ok().and_then(|value| value.str("id"));
    let name = listed.map_or_else(|| first.to_owned(), |id| id.into_owned());
    if name.is_empty() {
        return Err(CommandError::user("no-input", "standard input names no session"));
    }
    Ok(name)
}
