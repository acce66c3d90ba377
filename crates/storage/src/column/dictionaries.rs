//! Dictionaries of blocks, read once each, as a block never changes.
//!
//! Memory: the strings of each dictionary from its second reading on, counted as that of open files; nothing for those for which there is no
//! room, or that are damaged somewhere, which are read string by string.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use model::{Result, StringColumn};

use crate::file::Held;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Dictionaries {
    of_blocks: Box<[Dictionary]>,
}

#[derive(Debug, Default)]
struct Dictionary {
    /// It was asked for.
    is_used: AtomicBool,
    kept: OnceLock<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    texts: Arc<StringColumn>,
    _held: Held,
}

impl Dictionaries {
    /// None yet, of that number of blocks.
    pub(super) fn new(blocks: usize) -> Dictionaries {
        Dictionaries { of_blocks: (0..blocks).map(|_| Dictionary::default()).collect() }
    }

    /// The strings of a block, if they are kept; `read` gives them, and `hold` counts their bytes if there is room.
    pub(super) fn get_or_read(
        &self,
        block: usize,
        hold: impl FnOnce(usize) -> Option<Held>,
        read: impl FnOnce() -> Result<StringColumn>,
    ) -> Option<Arc<StringColumn>> {
        let dictionary = self.of_blocks.get(block)?;
        if !dictionary.is_used.swap(true, Ordering::Relaxed) {
            return None;
        }
        let kept = dictionary.kept.get_or_init(|| {
            let texts = read().ok()?;
            let held = hold(texts.byte_count() + texts.len() * size_of::<u64>())?;
            Some(Kept { texts: Arc::new(texts), _held: held })
        });
        kept.as_ref().map(|kept| kept.texts.clone())
    }
}
