//! What addresses call a session: its id, or one of several logs that have the same id.

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use recto_log::SessionId;
use recto_store::Inventory;
use recto_store::SessionFile;

/// Names a session. Two projects can have logs of the same id, for example after a directory was
/// copied; a name with a place means one of them, a name without one the log written last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionName {
    /// The id.
    pub id: SessionId,
    /// The project, as a number: names of directories can contain anything.
    place: Option<u32>,
}

/// What separates the id from the place. Neither contains it, and addresses keep it as it is.
const SEPARATOR: char = '~';

impl SessionName {
    /// Whether it means this log.
    pub(crate) fn means(self, file: &SessionFile) -> bool {
        self.id == file.id && self.place.is_none_or(|place| place == place_of(&file.project.key))
    }

    /// The log of an id in a project.
    fn in_project(id: SessionId, project: &str) -> SessionName {
        SessionName { id, place: Some(place_of(project)) }
    }
}

impl From<SessionId> for SessionName {
    fn from(id: SessionId) -> SessionName {
        SessionName { id, place: None }
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(formatter, "{}{SEPARATOR}{place:08x}", self.id),
            None => self.id.fmt(formatter),
        }
    }
}

/// The text is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAName;

impl FromStr for SessionName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<SessionName, NotAName> {
        let (id, place) = match text.split_once(SEPARATOR) {
            Some((id, place)) => (id, Some(place)),
            None => (text, None),
        };
        let id = id.parse().map_err(|_| NotAName)?;
        let is_place =
            |place: &&str| place.len() == 8 && place.bytes().all(|b| b.is_ascii_hexdigit());
        let place = match place {
            Some(place) => Some(Some(place).filter(is_place).ok_or(NotAName)?),
            None => None,
        };
        let place = place.map(|place| u32::from_str_radix(place, 16)).transpose();
        Ok(SessionName { id, place: place.map_err(|_| NotAName)? })
    }
}

/// A number for a project (FNV-1a): the same in every process, so that addresses can be kept.
fn place_of(project: &str) -> u32 {
    project
        .bytes()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The names of the sessions of a home: ids, except where several logs have one.
#[derive(Debug, Default)]
pub struct SessionNames {
    shared: HashSet<SessionId>,
}

impl SessionNames {
    /// Looks for ids that occur more than once.
    pub fn of(inventory: &Inventory) -> SessionNames {
        let mut seen = HashSet::with_capacity(inventory.sessions.len());
        let repeated = inventory.sessions.iter().filter(|file| !seen.insert(file.id));
        SessionNames { shared: repeated.map(|file| file.id).collect() }
    }

    /// The name of the log of an id in a project.
    pub fn name(&self, id: SessionId, project: &str) -> SessionName {
        match self.shared.contains(&id) {
            true => SessionName::in_project(id, project),
            false => id.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    #[test]
    fn a_name_is_read_as_it_was_written() {
        let id: SessionId = ID.parse().unwrap();
        for name in [SessionName::from(id), SessionName::in_project(id, "-home-dev-app")] {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        assert_ne!(SessionName::in_project(id, "-a"), SessionName::in_project(id, "-b"));
        for bad in ["", "x", "~", &format!("{ID}~"), &format!("{ID}~+0000001"), &format!("{ID}~1")]
        {
            assert_eq!(bad.parse::<SessionName>(), Err(NotAName), "{bad}");
        }
    }
}
