//! Which session goes on.

use std::path::PathBuf;

use recto_agent::turn::Cut;
use recto_agent::turn::Resumed;
use recto_log::Lines;
use recto_log::ProjectKey;
use recto_log::SessionId;
use recto_session::edit::Rewrite;
use recto_store::Home;
use recto_store::SessionFile;
use recto_store::new_session_id;

use super::Refused;
use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::select::target;

/// The session to work on.
pub(super) struct Chosen {
    pub(super) session: SessionId,
    /// Its log, if there is one.
    pub(super) log: Option<PathBuf>,
    pub(super) resumed: Option<Resumed>,
    /// Lines that a copy begins with.
    pub(super) copied: Vec<Vec<u8>>,
}

pub(super) fn choose(
    home: &Home,
    environment: &Environment,
    options: &RunOptions,
    model: Option<&str>,
) -> Result<Chosen, Refused> {
    let named = match &options.session_id {
        Some(text) => Some(text.parse::<SessionId>().map_err(|_| {
            Refused::Usage("Error: Invalid session ID. Must be a valid UUID.".to_owned())
        })?),
        None => None,
    };
    let goes_on = options.goes_on || options.resume.is_some();
    if named.is_some() && goes_on && !options.fork_session {
        let text = "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.";
        return Err(Refused::Usage(text.to_owned()));
    }
    let source = match &options.resume {
        Some(text) => Some(find(home, environment, text)?),
        None if options.goes_on => newest(home, environment),
        None => None,
    };
    let Some(source) = source else {
        let session = named.unwrap_or_else(new_session_id);
        is_free(home, environment, session)?;
        return Ok(Chosen { session, log: None, resumed: None, copied: Vec::new() });
    };
    let model = model.map(recto_agent::turn::model_named);
    let drops = options.resume_drops_turn.clone();
    let at = options.resume_session_at.clone().map(|at| Cut { at, drops });
    let mut resumed = Resumed::read(&source.path, model.as_deref(), at.as_ref())
        .map_err(|error| Refused::Session(error.to_string()))?;
    if let Some(tokens) = options.fit {
        resumed.fit(tokens);
    }
    if options.fork_session {
        let session = named.unwrap_or_else(new_session_id);
        let copied = copy(&source, session, options.resume_session_at.as_deref())?;
        return Ok(Chosen { session, log: None, resumed: Some(resumed), copied });
    }
    is_alone(home, &source)?;
    let log = Some(source.path.clone());
    Ok(Chosen { session: source.id, log, resumed: Some(resumed), copied: Vec::new() })
}

/// A session by its id, its title, or as recto finds it.
fn find(home: &Home, environment: &Environment, text: &str) -> Result<SessionFile, Refused> {
    let inventory = home.inventory();
    let found = target::find(home, &inventory, environment, text).ok().and_then(|log| log.main());
    found.ok_or_else(|| {
        Refused::Session(match text.parse::<SessionId>() {
            Ok(_) => format!("No conversation found with session ID: {text}"),
            Err(_) => format!(
                "Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p --resume <session-id|title>. Provided value \"{text}\" is not a UUID and does not match any session title."
            ),
        })
    })
}

/// The session of this directory that was written last.
fn newest(home: &Home, environment: &Environment) -> Option<SessionFile> {
    let directory = environment.working_directory.as_ref()?;
    let folder = home.project(&ProjectKey::of_path(&directory.to_string_lossy()));
    let sessions = home.inventory().sessions;
    let here = sessions.into_iter().filter(|session| session.path.parent() == Some(&folder));
    here.max_by_key(|session| session.modified())
}

/// A new session must not write into a log that is there.
fn is_free(home: &Home, environment: &Environment, session: SessionId) -> Result<(), Refused> {
    let Some(directory) = &environment.working_directory else { return Ok(()) };
    let folder = home.project(&ProjectKey::of_path(&directory.to_string_lossy()));
    let log = folder.join(format!("{session}.jsonl"));
    if crate::select::file_path::exists(&log) {
        return Err(Refused::Usage(format!("Error: Session ID {session} is already in use.")));
    }
    Ok(())
}

/// Two clients must not write into one session.
fn is_alone(home: &Home, source: &SessionFile) -> Result<(), Refused> {
    let own = std::process::id();
    let live = home.live_sessions_now();
    let other =
        live.iter().find(|client| client.session == source.id && client.alive && client.pid != own);
    match other {
        Some(client) => {
            let message = format!("the session is running elsewhere (process {})", client.pid);
            let error = CommandError::user("live-session", message);
            Err(Refused::Command(error.with_hint("add --fork-session to continue in a copy")))
        }
        None => Ok(()),
    }
}

/// The conversation of a session under another id.
fn copy(
    source: &SessionFile,
    session: SessionId,
    last: Option<&str>,
) -> Result<Vec<Vec<u8>>, Refused> {
    let bytes = recto_store::read_chosen(&source.path)?;
    let rewrite = Rewrite::session(source.id, session);
    let mut copied = Vec::new();
    for line in Lines::new(&bytes) {
        let (entry, _) = recto_log::decode(line);
        let is_chain = matches!(
            entry.kind(),
            recto_log::Kind::User
                | recto_log::Kind::Assistant
                | recto_log::Kind::System
                | recto_log::Kind::Attachment
                | recto_log::Kind::Progress
        );
        if is_chain {
            copied.push(rewrite.apply(line.bytes.to_vec()));
            // What came after it is not part of the copy.
            if last.is_some() && entry.object().str("uuid").as_deref() == last {
                break;
            }
        }
    }
    Ok(copied)
}
