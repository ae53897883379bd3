//! `recto lake` in a program that is built without it.

use recto_lake::LakeError;
use recto_serve::TeamSource;

use crate::commands::lake::LakeArgs;
use crate::commands::query::Asked;
use crate::commands::query::StoreQuery;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

pub(crate) fn cmd_lake(
    _: &Environment,
    _: &mut Output,
    _: &LakeArgs,
) -> Result<Outcome, CommandError> {
    Err(LakeError::NotBuilt.into())
}

pub(crate) fn ask_store(
    _: &Environment,
    _: &mut Output,
    _: &StoreQuery<'_>,
) -> Result<Asked, CommandError> {
    Err(LakeError::NotBuilt.into())
}

pub(crate) fn team_source(_: &Environment, _: &str) -> Result<TeamSource, CommandError> {
    Err(LakeError::NotBuilt.into())
}
