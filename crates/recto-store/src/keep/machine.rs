//! Which machine and home segments are from.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::OnceLock;

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

/// What only this machine knows, and knows again when everything that recto remembers is lost.
#[derive(Clone)]
pub struct MachineSecret([u8; 32]);

impl MachineSecret {
    /// Of this machine and a home on it.
    pub fn of(home: &Home) -> MachineSecret {
        let mut known = machine_name();
        known.push(b'\n');
        known.extend_from_slice(home.real_root().as_os_str().as_encoded_bytes());
        MachineSecret::derived(&known)
    }

    pub(super) fn derived(known: &[u8]) -> MachineSecret {
        MachineSecret(blake3::derive_key("recto 2026-11 names in stores beyond a machine", known))
    }

    /// The beginning of a hash that others cannot compute.
    pub fn hash<const LENGTH: usize>(&self, what: &[u8], bytes: &[u8]) -> [u8; LENGTH] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&(what.len() as u64).to_le_bytes()).update(what).update(bytes);
        let mut hash = [0; LENGTH];
        hasher.finalize_xof().fill(&mut hash);
        hash
    }
}

impl fmt::Debug for MachineSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("MachineSecret(…)")
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
/// system has neither.
fn machine_name() -> Vec<u8> {
    static NAME: OnceLock<Vec<u8>> = OnceLock::new();
    NAME.get_or_init(|| platform_uuid().unwrap_or_else(name_in_file)).clone()
}

/// The number of the hardware, which macOS has in no file.
#[cfg(target_os = "macos")]
fn platform_uuid() -> Option<Vec<u8>> {
    let mut command = std::process::Command::new("/usr/sbin/ioreg");
    let output = command.args(["-rd1", "-c", "IOPlatformExpertDevice"]).output().ok()?;
    uuid_in(&String::from_utf8_lossy(&output.stdout))
}

#[cfg(not(target_os = "macos"))]
fn platform_uuid() -> Option<Vec<u8>> {
    None
}

/// The number in a listing of macOS's registry of devices.
#[cfg(any(target_os = "macos", test))]
fn uuid_in(listing: &str) -> Option<Vec<u8>> {
    let line = listing.lines().find(|line| line.contains("\"IOPlatformUUID\""))?;
    let (_, value) = line.split_once('=')?;
    let uuid = value.trim().trim_matches('"');
    (!uuid.is_empty()).then(|| uuid.as_bytes().to_vec())
}

fn name_in_file() -> Vec<u8> {
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

    #[test]
    fn the_number_of_a_mac_is_read_from_its_registry() {
        let listing = "+-o J316sAP  <class IOPlatformExpertDevice>\n    {\n      \
            \"IOPlatformSerialNumber\" = \"X\"\n      \
            \"IOPlatformUUID\" = \"0A1B2C3D-4E5F-5071-8293-A4B5C6D7E8F9\"\n    }\n";
        let uuid = b"0A1B2C3D-4E5F-5071-8293-A4B5C6D7E8F9".to_vec();
        assert_eq!(uuid_in(listing), Some(uuid));
        assert_eq!(uuid_in("\"IOPlatformUUID\" = \"\""), None);
        assert_eq!(uuid_in(""), None);
    }
}
