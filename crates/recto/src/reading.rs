//! The log that a command about one session works on.

use std::ops::Deref;

use recto_store::Home;
use recto_store::Inventory;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::select::target;
use crate::select::target::Target;

/// A log that was read, and what the user called it.
pub(crate) struct Reading {
    pub(crate) target: Target,
    pub(crate) inventory: Inventory,
    log: recto_view::Reading,
}

impl Reading {
    /// Reads the log that the user means.
    pub(crate) fn open(
        home: &Home,
        environment: &Environment,
        text: &str,
    ) -> Result<Reading, CommandError> {
        let inventory = home.inventory();
        let target = target::find(home, &inventory, environment, text)?;
        Reading::of(target, inventory)
    }

    /// Reads a log that was found.
    pub(crate) fn of(target: Target, inventory: Inventory) -> Result<Reading, CommandError> {
        let log = recto_view::Reading::open(target.log())?;
        Ok(Reading { target, inventory, log })
    }
}

impl Deref for Reading {
    type Target = recto_view::Reading;

    fn deref(&self) -> &recto_view::Reading {
        &self.log
    }
}
