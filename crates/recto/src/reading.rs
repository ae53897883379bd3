//! The log that a command about one session works on.

use std::ops::Deref;

use recto_store::Home;
use recto_store::Inventory;
use recto_store::LogFile;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::select::target;

/// A log that was read, and the home's list of files at that time.
pub(crate) struct Reading {
    pub(crate) inventory: Inventory,
    reading: recto_view::Reading,
}

impl Reading {
    /// Reads the log that the user means.
    pub(crate) fn open(
        home: &Home,
        environment: &Environment,
        text: &str,
    ) -> Result<Reading, CommandError> {
        let inventory = home.inventory();
        let log = target::find(home, &inventory, environment, text)?;
        Reading::of(log, inventory)
    }

    /// Reads a log that was found.
    pub(crate) fn of(log: LogFile, inventory: Inventory) -> Result<Reading, CommandError> {
        Ok(Reading { inventory, reading: recto_view::Reading::open(log)? })
    }
}

impl Deref for Reading {
    type Target = recto_view::Reading;

    fn deref(&self) -> &recto_view::Reading {
        &self.reading
    }
}
