//! Reads of mapped files that fail although the file was there when it was mapped: a disk that cannot read a sector any
//! more, a file that somebody cut short. The operating system tells of them by the signal SIGBUS, which ends the
//! process.
//!
//! A handler for the signal puts a page of zeros where the file could not be read, and marks the map: the read goes on,
//! and the reader of the map asks for the mark before what was read is given out. Signals that are not about our maps
//! go to the handler that was there before.
//!
//! Invariant: the handler takes no lock and no memory: it reads a list that only grows, whose parts are never freed.
//! Cost: a map takes a place in the list; nothing while reads succeed.
#![allow(
    unsafe_code,
    reason = "a signal handler is installed, and pages are mapped in it; see the comments at the calls"
)]

use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Places in one part of the list.
const PLACES: usize = 256;

/// Entry of a map in the list.
struct Place {
    start: AtomicUsize,
    /// 0 if no map has the place.
    length: AtomicUsize,
    /// One more than the offset of the first page that could not be read; 0 if all could.
    lost: AtomicUsize,
}

/// A part of the list; never freed.
struct Part {
    places: [Place; PLACES],
    next: AtomicPtr<Part>,
}

static FIRST: AtomicPtr<Part> = AtomicPtr::new(null_mut());
static FREE: Mutex<Vec<&'static Place>> = Mutex::new(Vec::new());
static COUNT: AtomicU64 = AtomicU64::new(0);
static BEFORE: OnceLock<Before> = OnceLock::new();

/// Action for the signal before the handler was set, and the size of a page.
struct Before {
    action: libc::sigaction,
    page_bytes: usize,
}

/// Pages that could not be read, in all maps of this process so far.
pub(super) fn count() -> u64 {
    COUNT.load(Ordering::Acquire)
}

/// A map that is watched; dropped before the map is.
pub(super) struct Watch(&'static Place);

impl Watch {
    /// Watches the bytes of a map.
    pub(super) fn over(bytes: &[u8]) -> Watch {
        BEFORE.get_or_init(install);
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            free.extend(add_part().places.iter().rev());
        }
        let place = free.pop().expect("places were added");
        place.lost.store(0, Ordering::Relaxed);
        place.start.store(bytes.as_ptr() as usize, Ordering::Relaxed);
        place.length.store(bytes.len(), Ordering::Release);
        Watch(place)
    }

    /// The offset of a page that could not be read, if there was such.
    pub(super) fn lost(&self) -> Option<usize> {
        self.0.lost.load(Ordering::Acquire).checked_sub(1)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.length.store(0, Ordering::Release);
        FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

/// Adds a part to the list; the caller holds the lock of free places.
fn add_part() -> &'static Part {
    let place = |_| Place { start: AtomicUsize::new(0), length: AtomicUsize::new(0), lost: AtomicUsize::new(0) };
    let next = AtomicPtr::new(FIRST.load(Ordering::Acquire));
    let part: &'static mut Part = Box::leak(Box::new(Part { places: std::array::from_fn(place), next }));
    let pointer: *mut Part = part;
    FIRST.store(pointer, Ordering::Release);
    // SAFETY: the part was leaked, and nobody changes it but through its atomics from here on.
    unsafe { &*pointer }
}

/// Installs the handler; gives what was there before.
fn install() -> Before {
    // SAFETY: `sysconf` reads a number. All bytes of a `sigaction` may be zero, and the calls get pointers to whole ones. The
    // handler has the signature that `SA_SIGINFO` demands, and does only what a handler may. What was there before is
    // read first, so that the handler never runs without knowing it: until it is stored it hands the signal to the default.
    unsafe {
        let page_bytes = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4_096);
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, null_mut(), &raw mut before);
        let mut ours: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
        ours.sa_sigaction = handler as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const ours, null_mut());
        Before { action: before, page_bytes }
    }
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with `SA_SIGINFO` a whole description. The address means something only if the
    // signal came of a read, as a positive code says.
    let (address, is_fault) = unsafe { ((*info).si_addr() as usize, (*info).si_code > 0) };
    if !(is_fault && put_zeros(address)) {
        hand_on(signal, info, context, is_fault);
    }
}

/// Puts a page of zeros at an address of one of our maps, and marks the map; false if it is none of ours.
fn put_zeros(address: usize) -> bool {
    let Some(Before { page_bytes, .. }) = BEFORE.get() else { return false };
    let Some((place, start)) = find(address) else { return false };
    let page = address / page_bytes * page_bytes;
    let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED);
    // SAFETY: the page lies in a map of ours that a thread is reading now, so that it stays mapped; it was only ever read,
    // and is only replaced by another that can be read. The call is one of the system, without a lock of the C library.
    let mapped = unsafe { libc::mmap(page as *mut libc::c_void, *page_bytes, protection, flags, -1, 0) };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    // The first one stays: it is where reading failed, later ones may come of that.
    let offset = page.saturating_sub(start) + 1;
    let _ = place.lost.compare_exchange(0, offset, Ordering::AcqRel, Ordering::Acquire);
    COUNT.fetch_add(1, Ordering::AcqRel);
    true
}

/// The place of the map that holds an address, and where the map starts.
fn find(address: usize) -> Option<(&'static Place, usize)> {
    let mut next = FIRST.load(Ordering::Acquire);
    // SAFETY: parts are never freed, and pointers to them are stored once they are whole.
    while let Some(part) = unsafe { next.as_ref() } {
        for place in &part.places {
            let length = place.length.load(Ordering::Acquire);
            let start = place.start.load(Ordering::Acquire);
            // A place that is given to another map meanwhile is not the one that is being read.
            let is_same = place.length.load(Ordering::Acquire) == length;
            if length > 0 && is_same && (start..start.saturating_add(length)).contains(&address) {
                return Some((place, start));
            }
        }
        next = part.next.load(Ordering::Acquire);
    }
    None
}

/// Does what would have been done without us.
fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void, is_fault: bool) {
    let before = BEFORE.get().map(|before| before.action);
    let action = before.filter(|action| ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction));
    let Some(action) = action else {
        // A read that fails and is repeated ends the process now; a signal that was sent is sent again.
        let is_ignored = before.is_some_and(|action| action.sa_sigaction == libc::SIG_IGN);
        if is_fault || !is_ignored {
            // SAFETY: setting the default and raising a signal is what a handler may do.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if !is_fault {
                    libc::raise(signal);
                }
            }
        }
        return;
    };
    // SAFETY: the address is that of the handler that was installed before, whose signature its flag tells.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO == 0 {
            let handler: extern "C" fn(c_int) = std::mem::transmute(action.sa_sigaction);
            handler(signal);
        } else {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(action.sa_sigaction);
            handler(signal, info, context);
        }
    }
}
