//! The library of DuckDB, which is loaded when a file of it is attached first: it is larger than all the rest of this
//! program, and who has such files has it.
//!
//! Names and signatures are those of DuckDB's C API, version 1, which later versions keep.
//!
//! Uses unsafe code: functions of another language are called by the signatures that are stated here.
#![allow(unsafe_code, reason = "the library is loaded while the program runs")]

use std::error::Error;
use std::ffi::{CStr, c_char, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use libloading::Library;
use model::{Result, error};

/// A thing of the library that only it looks into.
pub(super) type Handle = *mut c_void;
/// Its word for done, or not.
pub(super) type State = u32;
/// A number of rows or columns.
pub(super) type Count = u64;

/// That a call was done.
pub(super) const DONE: State = 0;

/// An answer to a statement, as its owner keeps it: `duckdb_result`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct RawResult {
    unused_counts: [Count; 3],
    unused_columns: Handle,
    unused_message: Handle,
    internal: Handle,
}

impl RawResult {
    pub(super) fn empty() -> RawResult {
        let none = std::ptr::null_mut();
        RawResult { unused_counts: [0; 3], unused_columns: none, unused_message: none, internal: none }
    }
}

/// A length of time: `duckdb_interval`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) micros: i64,
}

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions that are called, by their names without `duckdb_`.
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
            /// Keeps the functions where they are.
            _library: Library,
        }

        impl Functions {
            fn find(library: Library) -> std::result::Result<Functions, libloading::Error> {
                // SAFETY: each has the signature of DuckDB's header, and goes with the library, which is kept beside.
                unsafe {
                    Ok(Functions {
                        $($name: *library.get(concat!("duckdb_", stringify!($name), "\0"))?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

functions! {
    free: fn(Handle);
    create_config: fn(*mut Handle) -> State;
    set_config: fn(Handle, *const c_char, *const c_char) -> State;
    destroy_config: fn(*mut Handle);
    open_ext: fn(*const c_char, *mut Handle, Handle, *mut *mut c_char) -> State;
    close: fn(*mut Handle);
    connect: fn(Handle, *mut Handle) -> State;
    disconnect: fn(*mut Handle);
    interrupt: fn(Handle);
    query: fn(Handle, *const c_char, *mut RawResult) -> State;
    prepare: fn(Handle, *const c_char, *mut Handle) -> State;
    prepare_error: fn(Handle) -> *const c_char;
    destroy_prepare: fn(*mut Handle);
    nparams: fn(Handle) -> Count;
    bind_value: fn(Handle, Count, Handle) -> State;
    execute_prepared: fn(Handle, *mut RawResult) -> State;
    execute_prepared_streaming: fn(Handle, *mut RawResult) -> State;
    result_error: fn(*mut RawResult) -> *const c_char;
    rows_changed: fn(*mut RawResult) -> Count;
    column_count: fn(*mut RawResult) -> Count;
    column_name: fn(*mut RawResult, Count) -> *const c_char;
    column_logical_type: fn(*mut RawResult, Count) -> Handle;
    fetch_chunk: fn(RawResult) -> Handle;
    destroy_result: fn(*mut RawResult);
    data_chunk_get_size: fn(Handle) -> Count;
    data_chunk_get_vector: fn(Handle, Count) -> Handle;
    destroy_data_chunk: fn(*mut Handle);
    vector_get_data: fn(Handle) -> *const u8;
    vector_get_validity: fn(Handle) -> *const u64;
    list_vector_get_child: fn(Handle) -> Handle;
    array_vector_get_child: fn(Handle) -> Handle;
    create_logical_type: fn(u32) -> Handle;
    destroy_logical_type: fn(*mut Handle);
    get_type_id: fn(Handle) -> u32;
    logical_type_get_alias: fn(Handle) -> *mut c_char;
    decimal_width: fn(Handle) -> u8;
    decimal_scale: fn(Handle) -> u8;
    decimal_internal_type: fn(Handle) -> u32;
    enum_internal_type: fn(Handle) -> u32;
    enum_dictionary_size: fn(Handle) -> u32;
    enum_dictionary_value: fn(Handle, Count) -> *mut c_char;
    list_type_child_type: fn(Handle) -> Handle;
    array_type_child_type: fn(Handle) -> Handle;
    array_type_array_size: fn(Handle) -> Count;
    create_null_value: fn() -> Handle;
    create_bool: fn(bool) -> Handle;
    create_int64: fn(i64) -> Handle;
    create_double: fn(f64) -> Handle;
    create_varchar_length: fn(*const c_char, Count) -> Handle;
    create_blob: fn(*const u8, Count) -> Handle;
    create_date: fn(i32) -> Handle;
    create_time: fn(i64) -> Handle;
    create_timestamp: fn(i64) -> Handle;
    create_timestamp_ns: fn(i64) -> Handle;
    create_timestamp_tz: fn(i64) -> Handle;
    create_interval: fn(Interval) -> Handle;
    create_list_value: fn(Handle, *mut Handle, Count) -> Handle;
    destroy_value: fn(*mut Handle);
}

/// The variable of the environment that names the library.
const VARIABLE: &str = "KNOTWORK_DUCKDB";
/// A file that has the library in it, where the program that this one is part of knows one.
static KNOWN_FILE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Names a file that has the library in it: the module of DuckDB's package for Python is one. It is tried after the one that
/// the environment names, before those that the system finds.
pub fn set_library(file: &Path) {
    *KNOWN_FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file.to_owned());
}

/// The library, loaded when it is needed first.
pub(super) fn library() -> Result<&'static Functions> {
    static LOADED: OnceLock<Functions> = OnceLock::new();
    if let Some(loaded) = LOADED.get() {
        return Ok(loaded);
    }
    let functions = load()?;
    Ok(LOADED.get_or_init(|| functions))
}

fn load() -> Result<Functions> {
    let known = KNOWN_FILE.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let name = PathBuf::from(libloading::library_filename("duckdb"));
    // Beside the program, too, where the system does not look by itself.
    let beside = std::env::current_exe().ok().and_then(|program| Some(program.parent()?.join(&name)));
    let beside = beside.filter(|file| file.exists());
    let mut failures = Vec::new();
    for file in named.into_iter().chain(known).chain(beside).chain([name]) {
        // SAFETY: the user has named this library, or the system has it as DuckDB's.
        let found = unsafe { Library::new(&file) }.and_then(Functions::find);
        match found {
            Ok(functions) => return Ok(functions),
            // The cause says which file, and what it lacks.
            Err(failure) => failures.push(failure.source().map_or(failure.to_string(), |cause| cause.to_string())),
        }
    }
    Err(error!(Source, "the library of DuckDB cannot be loaded: {}", failures.join("; ")).with_remedy(format!(
        "install libduckdb 1.2 or newer from duckdb.org (in Python: pip install duckdb), or name its file in {VARIABLE}"
    )))
}

/// A string of the library; empty where there is none.
pub(super) fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library ends its strings with a zero, and keeps this one until the thing that it was asked of is changed.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
