//! Functions, procedures and tables that the statements of one session can call: those of its database, but for those that depend
//! on who asks.

use std::cell::RefCell;
use std::sync::Arc;

use crate::files::FileAccess;
use crate::registry::{Registry, Tables};

/// Callables that depend on the session.
#[derive(Default)]
pub(super) struct Callables {
    tables: Option<Arc<Tables>>,
    files: FileAccess,
    /// The registry of the database, and the session's own, made from it.
    made: RefCell<Option<(Arc<Registry>, Arc<Registry>)>>,
}

impl Callables {
    pub(super) fn files(&self) -> &FileAccess {
        &self.files
    }

    pub(super) fn set_tables(&mut self, tables: Option<Arc<Tables>>) {
        self.tables = tables;
        self.made.take();
    }

    pub(super) fn set_files(&mut self, files: FileAccess) {
        self.files = files;
        self.made.take();
    }

    /// The session's registry, where that of its database is `base`. It is kept, since a session of a server asks for each
    /// statement.
    pub(super) fn registry(&self, base: Arc<Registry>) -> Arc<Registry> {
        if self.tables.is_none() && self.files == FileAccess::default() {
            return base;
        }
        let mut made = self.made.borrow_mut();
        if let Some((from, own)) = &*made
            && Arc::ptr_eq(from, &base)
        {
            return own.clone();
        }
        let own = Arc::new(base.for_session(self.tables.as_ref(), &self.files));
        *made = Some((base, own.clone()));
        own
    }
}
