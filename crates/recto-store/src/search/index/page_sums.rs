//! A sum in every page of the index, which is checked whenever SQLite reads the page.
//!
//! SQLite trusts what it reads: flipped bits and pages in each other's place give fewer hits
//! or other ones, without an error. So the last bytes of each page, which SQLite is told to
//! leave free, contain a sum of the page and its place. It is put there when a page is written
//! to the file, and compared when it is read. A page that differs is an error, and the index
//! is rebuilt.
//!
//! SQLite has no safe interface for this: its files are tables of C functions. This module
//! takes the table of the system's files and replaces four entries: to open, to read, to write,
//! and what a file can do; everything else, locks above all, stays with SQLite. It is the only module of this
//! crate with code that the compiler cannot check, and has nothing else in it.
//!
//! Frames of the write-ahead log have sums of SQLite's own: see `write_ahead`.

#![expect(unsafe_code, reason = "SQLite takes a table of C functions and nothing else")]

use std::ffi::c_int;
use std::ffi::c_void;
use std::path::Path;
use std::ptr;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering;

use rusqlite::Connection;
use rusqlite::OpenFlags;
use rusqlite::ffi;

/// The size of a page, and of the sum at its end.
pub(super) const PAGE: usize = 4096;
pub(super) const SUM: usize = 8;

/// The least that SQLite reads of a page; it reads less of a header.
const LEAST_PAGE: c_int = 512;

const NAME: &std::ffi::CStr = c"recto-page-sums";

/// SQLite's own way to open files.
static SYSTEM: AtomicPtr<ffi::sqlite3_vfs> = AtomicPtr::new(ptr::null_mut());

/// The tables that were made, one for each of the system's.
static TABLES: Mutex<Vec<&'static Table>> = Mutex::new(Vec::new());

/// What SQLite calls for an open file. It sees the first field.
#[repr(C)]
struct Table {
    own: ffi::sqlite3_io_methods,
    system: &'static ffi::sqlite3_io_methods,
}

/// Opens a file whose pages have sums. A new one gets room for them.
pub(crate) fn open(path: &Path, flags: OpenFlags) -> Result<Connection, rusqlite::Error> {
    static REGISTERED: OnceLock<c_int> = OnceLock::new();
    let code = *REGISTERED.get_or_init(register);
    if code != ffi::SQLITE_OK {
        return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    }
    let connection = Connection::open_with_flags_and_vfs(path, flags, NAME)?;
    let mut room = SUM as c_int;
    // SAFETY: the connection is open, and this operation takes the address of a C int. A file
    // that has pages already keeps their form.
    let code = unsafe {
        let room = ptr::from_mut(&mut room).cast::<c_void>();
        let operation = ffi::SQLITE_FCNTL_RESERVE_BYTES;
        ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), operation, room)
    };
    match code {
        ffi::SQLITE_OK => Ok(connection),
        _ => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// The sum of a page at a place of its file.
fn sum(page: &[u8], offset: i64) -> [u8; SUM] {
    let hash = blake3::hash(&page[..PAGE - SUM]);
    let mut sum = [0; SUM];
    sum.copy_from_slice(&hash.as_bytes()[..SUM]);
    // A whole page in place of another one has the sum of another place.
    let place = offset.cast_unsigned().wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (u64::from_le_bytes(sum) ^ place).to_le_bytes()
}

/// Tells SQLite of this way to open files.
fn register() -> c_int {
    // SAFETY: without a name this gives the system's entry, or none. Entries are never freed,
    // neither by SQLite nor here, so that the copy and what it points to stay.
    unsafe {
        let system = ffi::sqlite3_vfs_find(ptr::null());
        if system.is_null() {
            return ffi::SQLITE_ERROR;
        }
        SYSTEM.store(system, Ordering::Release);
        let mut own = ptr::read(system);
        own.pNext = ptr::null_mut();
        own.zName = NAME.as_ptr();
        own.xOpen = Some(open_file);
        ffi::sqlite3_vfs_register(Box::into_raw(Box::new(own)), 0)
    }
}

/// Opens a file as the system does. Of the index itself, pages are checked.
unsafe extern "C" fn open_file(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    opened: *mut c_int,
) -> c_int {
    let system = SYSTEM.load(Ordering::Acquire);
    // SAFETY: SQLite calls this with what `xOpen` takes; the room for the file is as large as
    // the system's entry says, because the copy says the same. The methods of the system's
    // files are constants of SQLite.
    unsafe {
        let Some(open) = (*system).xOpen else { return ffi::SQLITE_CANTOPEN };
        let code = open(system, name, file, flags, opened);
        let is_index = flags & ffi::SQLITE_OPEN_MAIN_DB != 0;
        if code == ffi::SQLITE_OK && is_index && !(*file).pMethods.is_null() {
            (*file).pMethods = &raw const table_for(&*(*file).pMethods).own;
        }
        code
    }
}

/// The system's methods with ours in place of three.
fn table_for(system: &'static ffi::sqlite3_io_methods) -> &'static Table {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = tables.iter().find(|known| ptr::eq(known.system, system)) {
        return known;
    }
    let mut own = *system;
    own.xRead = Some(read);
    own.xWrite = Some(write);
    own.xDeviceCharacteristics = Some(abilities);
    // Pages that are mapped into memory are not read; this version has no such call.
    own.iVersion = own.iVersion.min(2);
    let table: &'static Table = Box::leak(Box::new(Table { own, system }));
    tables.push(table);
    table
}

/// The methods of the system for a file of ours.
///
/// # Safety
/// The file was opened by `open_file` and got its methods from `table_for`.
unsafe fn system_of(file: *mut ffi::sqlite3_file) -> &'static ffi::sqlite3_io_methods {
    // SAFETY: the methods are the first field of a `Table`, which is never freed.
    unsafe { (*(*file).pMethods.cast::<Table>()).system }
}

/// What the system's files can do, but for parts of pages: SQLite would read these without
/// the sum at the end.
unsafe extern "C" fn abilities(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: only files of `open_file` have this method.
    let abilities = unsafe { system_of(file).xDeviceCharacteristics.map_or(0, |ask| ask(file)) };
    abilities & !ffi::SQLITE_IOCAP_SUBPAGE_READ
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    // SAFETY: only files of `open_file` have this method, and SQLite gives a buffer of the
    // amount that it asks for, which the system's method has filled.
    let page = unsafe {
        let Some(read) = system_of(file).xRead else { return ffi::SQLITE_IOERR_READ };
        let code = read(file, buffer, amount, offset);
        let is_end = code == ffi::SQLITE_IOERR_SHORT_READ;
        if amount < LEAST_PAGE || (code != ffi::SQLITE_OK && !is_end) {
            return code;
        }
        // A page that ends before its end, or of another size, is damage, too.
        if is_end || amount != PAGE as c_int {
            return ffi::SQLITE_IOERR_DATA;
        }
        std::slice::from_raw_parts(buffer.cast::<u8>(), PAGE)
    };
    match page[PAGE - SUM..] == sum(page, offset) {
        true => ffi::SQLITE_OK,
        false => ffi::SQLITE_IOERR_DATA,
    }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let mut page = [0; PAGE];
    // SAFETY: only files of `open_file` have this method, and SQLite gives a buffer of the
    // amount that it asks to write. It stays as it is: others may be reading it.
    unsafe {
        let Some(write) = system_of(file).xWrite else { return ffi::SQLITE_IOERR_WRITE };
        if amount != PAGE as c_int {
            return write(file, buffer, amount, offset);
        }
        page.copy_from_slice(std::slice::from_raw_parts(buffer.cast::<u8>(), PAGE));
        let sum = sum(&page, offset);
        page[PAGE - SUM..].copy_from_slice(&sum);
        write(file, page.as_ptr().cast::<c_void>(), amount, offset)
    }
}
