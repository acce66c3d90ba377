//! Databases, connections, statements and their rows, each ended with its owner.
//!
//! Uses unsafe code: it calls the library with handles that the library gave, each by one owner.
#![allow(unsafe_code, reason = "the library is called by its C API")]

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::library::{Count, DONE, Functions, Handle, RawResult, library, text_of};

/// An error of the library, in its words.
pub(super) type Failure = String;

/// A file that is open in this process.
pub(super) struct Database {
    functions: &'static Functions,
    handle: Handle,
    path: PathBuf,
    settings: Settings,
}

/// The settings of a database, by name.
pub(super) type Settings = BTreeMap<String, String>;

// SAFETY: the library locks what the connections of a database share.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

/// The files that are open: the library keeps other processes from opening a file that it writes, but not this one.
static OPEN: Mutex<BTreeMap<PathBuf, Weak<Database>>> = Mutex::new(BTreeMap::new());
/// A file was closed.
static CLOSED: Condvar = Condvar::new();
/// Time that somebody who closes a file is waited for, and how often if others have it with other settings.
const CLOSING_WAIT: Duration = Duration::from_millis(20);
const CLOSING_WAITS: u32 = 50;

impl Database {
    /// Opens a file, or shares it with others here who have opened it with the same settings.
    pub(super) fn open(file: &Path, settings: &Settings) -> model::Result<Result<Arc<Database>, Failure>> {
        let functions = library()?;
        let path = place_of(file);
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waits = 0;
        while let Some(known) = open.get(&path) {
            // Those who have it with other settings may be about to close it: their threads end by themselves.
            if let Some(shared) = known.upgrade() {
                if shared.settings == *settings {
                    return Ok(Ok(shared));
                }
                // If it is the last that has it, it closes the file, which takes the lock.
                drop(open);
                drop(shared);
                if waits == CLOSING_WAITS {
                    return Ok(Err("IO Error: the file is open in this program with other settings".to_owned()));
                }
                waits += 1;
                open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
            }
            let waited = CLOSED.wait_timeout(open, CLOSING_WAIT);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if is_open_elsewhere(&path) {
            return Ok(Err("IO Error: the file is open in this program by DuckDB itself".to_owned()));
        }
        Ok(Database::open_anew(functions, &path, settings).map(|database| {
            let database = Arc::new(database);
            open.insert(path, Arc::downgrade(&database));
            database
        }))
    }

    fn open_anew(functions: &'static Functions, path: &Path, settings: &Settings) -> Result<Database, Failure> {
        let config = Config::new(functions, settings)?;
        let c_path = c_text(&path.to_string_lossy());
        let (mut handle, mut message): (Handle, *mut c_char) = (null_mut(), null_mut());
        // SAFETY: all pointers are of this frame; the configuration lives.
        let state = unsafe { (functions.open_ext)(c_path.as_ptr(), &mut handle, config.handle, &mut message) };
        if state == DONE {
            return Ok(Database { functions, handle, path: path.to_owned(), settings: settings.clone() });
        }
        let failure = text_of(message);
        // SAFETY: the library made the message for its caller to free.
        unsafe { (functions.free)(message.cast()) };
        Err(failure)
    }

    pub(super) fn connect(self: &Arc<Database>) -> Result<Connection, Failure> {
        let mut handle = null_mut();
        // SAFETY: the database is open.
        let state = unsafe { (self.functions.connect)(self.handle, &mut handle) };
        let connection = Connection { functions: self.functions, handle, _database: self.clone() };
        if state == DONE { Ok(connection) } else { Err("IO Error: the library gives no connection".to_owned()) }
    }
}

/// The one path of a file, which need not exist.
fn place_of(file: &Path) -> PathBuf {
    let of_folder = || {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(folder.canonicalize().ok()?.join(file.file_name()?))
    };
    file.canonicalize().ok().or_else(of_folder).unwrap_or_else(|| file.to_owned())
}

/// True if this process has the file open, but not here. The library would open it once more, and its locks, which are those of
/// processes, would not keep the two from harming each other.
fn is_open_elsewhere(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |of: &Path| std::fs::metadata(of).ok().map(|found| (found.dev(), found.ino()));
        let (Some(file), Ok(open)) = (identity(path), std::fs::read_dir("/dev/fd")) else { return false };
        open.flatten().any(|entry| identity(&entry.path()) == Some(file))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: its connections, which share it, are gone.
        unsafe { (self.functions.close)(&mut self.handle) };
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
        CLOSED.notify_all();
    }
}

struct Config {
    functions: &'static Functions,
    handle: Handle,
}

impl Config {
    fn new(functions: &'static Functions, settings: &Settings) -> Result<Config, Failure> {
        let mut config = Config { functions, handle: null_mut() };
        // SAFETY: the pointer is of this frame.
        unsafe { (functions.create_config)(&mut config.handle) };
        for (name, value) in settings {
            let (c_name, c_value) = (c_text(name), c_text(value));
            // SAFETY: the strings live until the call ends.
            let state = unsafe { (functions.set_config)(config.handle, c_name.as_ptr(), c_value.as_ptr()) };
            if state != DONE {
                return Err(format!("Binder Error: DuckDB has no setting {name}"));
            }
        }
        Ok(config)
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { (self.functions.destroy_config)(&mut self.handle) };
    }
}

/// A connection, which one thread uses, and others may interrupt.
pub(super) struct Connection {
    functions: &'static Functions,
    handle: Handle,
    _database: Arc<Database>,
}

// SAFETY: the library allows calls from any thread; only `interrupt` is called while another call runs, which it allows.
unsafe impl Send for Connection {}
// SAFETY: as above.
unsafe impl Sync for Connection {}

impl Connection {
    /// Has the library give up the statement that runs, if one does.
    pub(super) fn interrupt(&self) {
        // SAFETY: the connection is open.
        unsafe { (self.functions.interrupt)(self.handle) };
    }

    /// Executes statements, one after the other.
    pub(super) fn run(&self, text: &str) -> Result<(), Failure> {
        let text = c_text(text);
        let mut answer = Answer { connection: self, raw: RawResult::empty() };
        // SAFETY: the connection is open, the string lives until the call ends, the answer has this owner.
        let state = unsafe { (self.functions.query)(self.handle, text.as_ptr(), &mut answer.raw) };
        if state == DONE { Ok(()) } else { Err(answer.failure()) }
    }

    pub(super) fn prepare(&self, text: &str) -> Result<Statement<'_>, Failure> {
        let (text, mut handle) = (c_text(text), null_mut());
        // SAFETY: the connection is open, the string lives until the call ends.
        let state = unsafe { (self.functions.prepare)(self.handle, text.as_ptr(), &mut handle) };
        let statement = Statement { connection: self, handle };
        if state == DONE {
            return Ok(statement);
        }
        // SAFETY: a statement that could not be made has its error.
        Err(text_of(unsafe { (self.functions.prepare_error)(statement.handle) }))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: its statements and answers are gone.
        unsafe { (self.functions.disconnect)(&mut self.handle) };
    }
}

/// A statement that is ready to be executed.
pub(super) struct Statement<'c> {
    connection: &'c Connection,
    handle: Handle,
}

impl<'c> Statement<'c> {
    fn functions(&self) -> &'static Functions {
        self.connection.functions
    }

    /// Number of its parameters.
    pub(super) fn parameters(&self) -> usize {
        // SAFETY: the statement lives.
        unsafe { (self.functions().nparams)(self.handle) as usize }
    }

    /// Passes a parameter, counted from 0.
    pub(super) fn bind(&self, at: usize, value: &Parameter) -> Result<(), Failure> {
        // SAFETY: both live; the library copies the value.
        let state = unsafe { (self.functions().bind_value)(self.handle, at as Count + 1, value.handle) };
        if state == DONE { Ok(()) } else { Err(format!("Invalid Input Error: parameter {} is refused", at + 1)) }
    }

    /// Executes it. Rows of which not all are at hand come as they are fetched, until the connection is asked anything else.
    pub(super) fn execute(&self, is_streaming: bool) -> Result<Answer<'c>, Failure> {
        let functions = self.functions();
        let mut raw = RawResult::empty();
        let execute = if is_streaming { functions.execute_prepared_streaming } else { functions.execute_prepared };
        // SAFETY: the statement lives, the answer is of this frame.
        let state = unsafe { execute(self.handle, &mut raw) };
        let mut answer = Answer { connection: self.connection, raw };
        if state == DONE { Ok(answer) } else { Err(answer.failure()) }
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it; the library keeps what answers need.
        unsafe { (self.connection.functions.destroy_prepare)(&mut self.handle) };
    }
}

/// A value that is passed to a statement.
pub(super) struct Parameter {
    functions: &'static Functions,
    handle: Handle,
}

impl Parameter {
    /// The value that a function of the library makes.
    pub(super) fn new(functions: &'static Functions, make: impl FnOnce(&'static Functions) -> Handle) -> Parameter {
        Parameter { functions, handle: make(functions) }
    }

    /// Values as a list whose elements are of that type, by its number.
    pub(super) fn list(functions: &'static Functions, of: u32, values: &[Parameter]) -> Parameter {
        let mut handles: Vec<Handle> = values.iter().map(|value| value.handle).collect();
        // SAFETY: the values live; the library copies them, and the type.
        unsafe {
            let mut of = (functions.create_logical_type)(of);
            let handle = (functions.create_list_value)(of, handles.as_mut_ptr(), handles.len() as Count);
            (functions.destroy_logical_type)(&mut of);
            Parameter { functions, handle }
        }
    }
}

impl Drop for Parameter {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { (self.functions.destroy_value)(&mut self.handle) };
    }
}

/// The answer to a statement.
pub(super) struct Answer<'c> {
    connection: &'c Connection,
    raw: RawResult,
}

impl<'c> Answer<'c> {
    /// The error that ended it; empty for none.
    pub(super) fn failure(&mut self) -> Failure {
        // SAFETY: the answer lives.
        text_of(unsafe { (self.connection.functions.result_error)(&mut self.raw) })
    }

    /// Number of rows that a change has changed.
    pub(super) fn changed(&mut self) -> usize {
        // SAFETY: the answer lives.
        unsafe { (self.connection.functions.rows_changed)(&mut self.raw) as usize }
    }

    /// The names and types of its columns.
    pub(super) fn columns(&mut self) -> Vec<(String, Type)> {
        let functions = self.connection.functions;
        // SAFETY: the answer lives; each type that it gives has this owner.
        unsafe {
            let count = (functions.column_count)(&mut self.raw);
            let column = |at| {
                let name = text_of((functions.column_name)(&mut self.raw, at));
                (name, Type { functions, handle: (functions.column_logical_type)(&mut self.raw, at) })
            };
            (0..count).map(column).collect()
        }
    }

    /// Further rows; `None` at the end, or where it failed, which [`Answer::failure`] tells.
    pub(super) fn fetch(&mut self) -> Option<Chunk<'c>> {
        // SAFETY: the answer lives, and stays with this owner.
        let handle = unsafe { (self.connection.functions.fetch_chunk)(self.raw) };
        let chunk = Chunk { connection: self.connection, handle };
        (!chunk.handle.is_null() && chunk.rows() > 0).then_some(chunk)
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { (self.connection.functions.destroy_result)(&mut self.raw) };
    }
}

/// Some rows of an answer.
pub(super) struct Chunk<'c> {
    connection: &'c Connection,
    handle: Handle,
}

impl Chunk<'_> {
    pub(super) fn rows(&self) -> usize {
        // SAFETY: the chunk lives.
        unsafe { (self.connection.functions.data_chunk_get_size)(self.handle) as usize }
    }

    /// A column of it.
    pub(super) fn vector(&self, at: usize) -> Vector<'_> {
        let functions = self.connection.functions;
        // SAFETY: the chunk has as many columns as the answer has types.
        let handle = unsafe { (functions.data_chunk_get_vector)(self.handle, at as Count) };
        Vector { functions, handle, _of: std::marker::PhantomData }
    }
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: nobody else has it.
            unsafe { (self.connection.functions.destroy_data_chunk)(&mut self.handle) };
        }
    }
}

/// The values of a column, as long as their chunk lives.
#[derive(Clone, Copy)]
pub(super) struct Vector<'a> {
    functions: &'static Functions,
    handle: Handle,
    _of: std::marker::PhantomData<&'a ()>,
}

/// A value of a vector of fixed width: any bytes are one.
pub(super) trait Fixed: Copy {}
impl Fixed for i8 {}
impl Fixed for i16 {}
impl Fixed for i32 {}
impl Fixed for i64 {}
impl Fixed for i128 {}
impl Fixed for u8 {}
impl Fixed for u16 {}
impl Fixed for u32 {}
impl Fixed for u64 {}
impl Fixed for f32 {}
impl Fixed for f64 {}
impl Fixed for [u64; 2] {}
impl Fixed for super::library::Interval {}

impl<'a> Vector<'a> {
    /// True if there is no null among its values.
    pub(super) fn is_full(&self) -> bool {
        // SAFETY: the chunk lives.
        unsafe { (self.functions.vector_get_validity)(self.handle) }.is_null()
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        // SAFETY: where there is a mask it has a bit for each row.
        unsafe {
            let mask = (self.functions.vector_get_validity)(self.handle);
            !mask.is_null() && *mask.add(row / 64) >> (row % 64) & 1 == 0
        }
    }

    /// A value of a type that is kept in as many bytes as `T` has.
    pub(super) fn fixed<T: Fixed>(&self, row: usize) -> T {
        // SAFETY: the caller has taken the width from the type of the column; wide numbers need not lie on their boundaries.
        unsafe { (self.functions.vector_get_data)(self.handle).cast::<T>().add(row).read_unaligned() }
    }

    /// The first values, of a type that is kept in as many bytes as `T` has.
    pub(super) fn all<T: Fixed>(&self, rows: usize) -> impl Iterator<Item = T> + '_ {
        (0..rows).map(|row| self.fixed(row))
    }

    /// A string or bytes.
    pub(super) fn bytes(&self, row: usize) -> &'a [u8] {
        /// Bytes of a string: its length, then the string itself if it is short, else its start and where it lies.
        const WIDTH: usize = 16;
        const SHORT: usize = 12;
        // SAFETY: the column is of a type that is kept so; long strings lie beside the vector as long as the chunk lives.
        unsafe {
            let place = (self.functions.vector_get_data)(self.handle).add(row * WIDTH);
            let length = place.cast::<u32>().read_unaligned() as usize;
            let start = if length <= SHORT { place.add(4) } else { place.add(8).cast::<*const u8>().read_unaligned() };
            std::slice::from_raw_parts(start, length)
        }
    }

    /// The values of all lists, and of arrays.
    pub(super) fn elements(&self, is_array: bool) -> Vector<'a> {
        let child = if is_array { self.functions.array_vector_get_child } else { self.functions.list_vector_get_child };
        // SAFETY: the column is of lists, or of arrays.
        Vector { handle: unsafe { child(self.handle) }, ..*self }
    }
}

/// The type of a column.
pub(super) struct Type {
    functions: &'static Functions,
    handle: Handle,
}

impl Type {
    /// Its number.
    pub(super) fn id(&self) -> u32 {
        // SAFETY: the type lives, as below.
        unsafe { (self.functions.get_type_id)(self.handle) }
    }

    /// Its other name, in capitals; empty where it has none.
    pub(super) fn alias(&self) -> String {
        // SAFETY: the type lives.
        self.owned(unsafe { (self.functions.logical_type_get_alias)(self.handle) }).to_ascii_uppercase()
    }

    /// Of a decimal number: its digits in all, those after the point, and the number of the type that it is kept as.
    pub(super) fn decimal(&self) -> (u32, u32, u32) {
        let functions = self.functions;
        // SAFETY: the type lives, and is of decimal numbers.
        unsafe {
            let (width, scale) = ((functions.decimal_width)(self.handle), (functions.decimal_scale)(self.handle));
            (u32::from(width), u32::from(scale), (functions.decimal_internal_type)(self.handle))
        }
    }

    /// Of an enumeration: its words, and the number of the type that their places are kept as.
    pub(super) fn words(&self) -> (Vec<String>, u32) {
        let functions = self.functions;
        // SAFETY: the type lives, and is an enumeration.
        unsafe {
            let count = Count::from((functions.enum_dictionary_size)(self.handle));
            let word = |at| self.owned((functions.enum_dictionary_value)(self.handle, at));
            ((0..count).map(word).collect(), (functions.enum_internal_type)(self.handle))
        }
    }

    /// Of lists: the type of their elements. Of arrays that, and their length.
    pub(super) fn element(&self, is_array: bool) -> (Type, usize) {
        let functions = self.functions;
        let child = if is_array { functions.array_type_child_type } else { functions.list_type_child_type };
        // SAFETY: the type lives, and is one of lists, or of arrays.
        unsafe {
            let length = if is_array { (functions.array_type_array_size)(self.handle) } else { 0 };
            (Type { functions, handle: child(self.handle) }, length as usize)
        }
    }

    fn owned(&self, text: *mut c_char) -> String {
        let copy = text_of(text);
        // SAFETY: the library made the string for its caller to free; nothing need be freed where there is none.
        unsafe { (self.functions.free)(text.cast()) };
        copy
    }
}

impl Drop for Type {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        unsafe { (self.functions.destroy_logical_type)(&mut self.handle) };
    }
}

/// A string for the library, up to its first zero, if it has one: no statement, path or setting has.
fn c_text(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}
