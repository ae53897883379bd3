//! Whether the write-ahead log beside the index is what SQLite wrote.
//!
//! SQLite reads a log as far as its sums agree, and takes the rest for what another process
//! had begun. If pages from behind that place are in the file already, the two are of different
//! times, and nobody would know. So the log is looked at before SQLite does: it may end early,
//! because a process may end at any time, but it may not go on behind a frame that is wrong.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::IndexError;
use super::page_sums::PAGE;
use crate::StoreError;
use crate::place::open::open_known;
use crate::place::platform;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
const FRAME: usize = FRAME_HEADER + PAGE;

/// The beginning of a log; the last bit says in which order the bytes of its sums are.
const MAGIC: u32 = 0x377f_0682;

/// How many frames are read at once.
const AT_ONCE: usize = 64;

/// A writer may be in the middle of a frame. What is still wrong after so many looks is damage.
const LOOKS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(15);

/// Looks at the log beside an index, if there is one.
pub(super) fn check(index: &Path) -> Result<(), StoreError> {
    let mut name = index.as_os_str().to_owned();
    name.push("-wal");
    let path = Path::new(&name);
    if !fs_err::metadata(path).is_ok_and(|metadata| metadata.len() > 0) {
        return Ok(());
    }
    for look in 0..LOOKS {
        let Ok(file) = open_known(path) else { return Ok(()) };
        if is_sound(&file)? {
            return Ok(());
        }
        if look + 1 < LOOKS {
            std::thread::sleep(PAUSE);
        }
    }
    let why = "its write-ahead log is damaged".into();
    Err(IndexError::Damaged { why }.into())
}

fn is_sound(file: &File) -> io::Result<bool> {
    let header = platform::read_up_to(file, 0, HEADER as u64)?;
    if header.len() < HEADER {
        return Ok(true);
    }
    let magic = word(&header, 0);
    let mut sums = Sums { pair: (0, 0), is_big_endian: magic & 1 == 1 };
    sums.add(&header[..24]);
    let is_ours = magic & !1 == MAGIC && word(&header, 8) as usize == PAGE;
    if !is_ours || sums.pair != (word(&header, 24), word(&header, 28)) {
        return Ok(false);
    }
    let salts = &header[16..24];
    // Behind the last frame may be frames of an older log, which have other salts.
    let mut has_ended = false;
    let mut offset = HEADER as u64;
    loop {
        let bytes = platform::read_up_to(file, offset, (FRAME * AT_ONCE) as u64)?;
        for frame in bytes.chunks_exact(FRAME) {
            let has_salts = &frame[8..16] == salts;
            if has_ended {
                if has_salts {
                    return Ok(false);
                }
                continue;
            }
            sums.add(&frame[..8]);
            sums.add(&frame[FRAME_HEADER..]);
            let has_sums = sums.pair == (word(frame, 16), word(frame, 20));
            let is_empty = frame[..FRAME_HEADER].iter().all(|byte| *byte == 0);
            if has_salts != has_sums || is_empty {
                return Ok(false);
            }
            has_ended = !has_salts;
        }
        if bytes.len() < FRAME * AT_ONCE {
            return Ok(true);
        }
        offset += bytes.len() as u64;
    }
}

/// The number at a place, as logs have it.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |four| number(four, /* is_big_endian */ true))
}

fn number(four: &[u8], is_big_endian: bool) -> u32 {
    let four = <[u8; 4]>::try_from(four).unwrap_or_default();
    if is_big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

/// The running sums of a log, as its format describes them.
struct Sums {
    pair: (u32, u32),
    is_big_endian: bool,
}

impl Sums {
    fn add(&mut self, bytes: &[u8]) {
        let (mut a, mut b) = self.pair;
        for eight in bytes.chunks_exact(8) {
            a = a.wrapping_add(number(&eight[..4], self.is_big_endian)).wrapping_add(b);
            b = b.wrapping_add(number(&eight[4..], self.is_big_endian)).wrapping_add(a);
        }
        self.pair = (a, b);
    }
}
