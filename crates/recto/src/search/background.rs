//! The index, built beside whoever searches.

use std::process::Command;
use std::process::Stdio;

use recto_store::Home;
use recto_store::Inventory;

use crate::environment::Environment;

/// So many bytes take a second or two to read, on an ordinary machine.
const SEARCH_BYTES: u64 = 256 * 1024 * 1024;
/// If more than this is not in the index, it is built before anything is looked for.
const WORTH_BUILDING: u64 = 64 * 1024 * 1024;

/// How much is read for an answer if the index is not built yet.
pub(crate) fn most_read(environment: &Environment) -> u64 {
    environment.search_bytes.unwrap_or(SEARCH_BYTES)
}

/// Builds the index if much of it is missing, so that it is there when somebody searches.
pub(crate) fn build_if_missing(home: &Home, inventory: &Inventory, environment: &Environment) {
    build(home, inventory, environment, WORTH_BUILDING);
}

/// Builds the index, unless somebody does so already.
pub(crate) fn build_unless_built(home: &Home, inventory: &Inventory, environment: &Environment) {
    build(home, inventory, environment, 0);
}

fn build(home: &Home, inventory: &Inventory, environment: &Environment, least: u64) {
    let Ok(cache) = environment.cache_directory() else { return };
    let all: u64 = inventory.sessions.iter().map(|session| session.bytes()).sum();
    // An index that cannot be read is rebuilt by who searches.
    let Ok(status) = home.index_status(inventory, &cache) else { return };
    if !status.is_being_built && all.saturating_sub(status.log_bytes) > least {
        build_index(home);
    }
}

/// Lets another process build the index, which goes on after this one has answered. If one
/// builds it already, the new one ends at once.
pub(crate) fn build_index(home: &Home) {
    let Ok(program) = Environment::program() else { return };
    let mut command = Command::new(program);
    command.arg("--home").arg(home.root()).args(["index", "update"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C ends what is in the foreground only.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Without it, the next search reads the logs again: slower, and as right.
    let _ = command.spawn();
}
