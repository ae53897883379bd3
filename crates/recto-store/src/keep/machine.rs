//! Which machine and home segments are from.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use fs_err as fs;

use crate::Home;
use crate::keep::key::Hex;
use crate::keep::key::hex;

/// A home on a machine. It is derived from what the system calls the machine and from the path
/// of the home, so that it stays the same when everything that recto remembers is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MachineId([u8; 8]);

impl MachineId {
    /// Of a home on this machine.
    pub fn of(home: &Home) -> MachineId {
        MachineId::derived(&machine_name(), home.real_root())
    }

    fn derived(machine: &[u8], home: &Path) -> MachineId {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"recto machine 1\n").update(&(machine.len() as u64).to_le_bytes());
        hasher.update(machine).update(home.as_os_str().as_encoded_bytes());
        let mut id = [0; 8];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        MachineId(id)
    }
}

impl fmt::Display for MachineId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", Hex(&self.0))
    }
}

impl FromStr for MachineId {
    type Err = ();

    fn from_str(text: &str) -> Result<MachineId, ()> {
        hex(text).map(MachineId).ok_or(())
    }
}

/// What the system calls this machine: a number that stays, or else its name; nothing where the
/// system has neither in a file.
fn machine_name() -> Vec<u8> {
    let paths = [
        "/etc/machine-id",
        "/var/lib/dbus/machine-id",
        "/proc/sys/kernel/hostname",
        "/etc/hostname",
    ];
    for path in paths {
        match fs::read(path) {
            Ok(id) if !id.trim_ascii().is_empty() => return id.trim_ascii().to_vec(),
            Ok(_) | Err(_) => {}
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_or_another_home_has_another_id() {
        let id = MachineId::derived(b"box", Path::new("/home/dev/.claude"));
        assert_eq!(id, MachineId::derived(b"box", Path::new("/home/dev/.claude")));
        assert_ne!(id, MachineId::derived(b"box2", Path::new("/home/dev/.claude")));
        assert_ne!(id, MachineId::derived(b"box", Path::new("/home/dev/.claude2")));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("box".parse::<MachineId>(), Err(()));
    }
}
