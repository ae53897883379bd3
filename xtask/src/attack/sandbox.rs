//! Commands that try to get out of the sandbox: every attempt of `fixtures/sandbox` once, and
//! again as a user without privileges if root runs this.

use std::time::Duration;

use super::arena::Arena;
use super::report::Figures;
use crate::repository;
use crate::repository::say;

/// Who attacks, and the names of the figures by kind of attempt.
#[cfg(target_os = "linux")]
const SELF: [(&str, &str); 5] = [
    ("write", "sandbox: writes outside"),
    ("link", "sandbox: writes and reads through links and races"),
    ("secret", "sandbox: secrets read"),
    ("network", "sandbox: packets and connections out, DNS"),
    ("system", "sandbox: /proc, tracing, namespaces, devices, setuid, git hooks, signals"),
];
#[cfg(target_os = "linux")]
const NOBODY: [(&str, &str); 5] = [
    ("write", "sandbox as nobody: writes outside"),
    ("link", "sandbox as nobody: writes and reads through links and races"),
    ("secret", "sandbox as nobody: secrets read"),
    ("network", "sandbox as nobody: packets and connections out, DNS"),
    (
        "system",
        "sandbox as nobody: /proc, tracing, namespaces, devices, setuid, git hooks, signals",
    ),
];

/// Tries every attempt.
#[cfg(target_os = "linux")]
pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let attacks =
        recto_testkit::attacks(&repository::root().join("fixtures/sandbox/attacks.jsonl"));
    let mut users = vec![(None, SELF)];
    if rustix::process::geteuid().is_root() {
        users.push((Some(recto_testkit::NOBODY), NOBODY));
    }
    for (user, names) in users {
        let Some(mut jail) = recto_testkit::Jail::of_user(&arena.recto, user) else {
            say("sandbox: this machine cannot confine commands wholly; nothing was tried");
            return Ok(());
        };
        for attack in &attacks {
            let kind = attack.name.split(':').next().unwrap_or_default();
            let known = names.iter().find(|(name, _)| *name == kind).map(|(_, figure)| *figure);
            let figure = known.ok_or_else(|| anyhow::anyhow!("no such kind: {}", attack.name))?;
            figures.tried(figure, jail.attack(attack));
        }
        // What was left behind has its time to act.
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}

/// Other systems have no sandbox yet.
#[cfg(not(target_os = "linux"))]
pub(super) fn attack(_arena: &mut Arena, _figures: &mut Figures) -> anyhow::Result<()> {
    say("sandbox: on Linux only");
    Ok(())
}
