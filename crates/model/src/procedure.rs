//! Procedures that `CALL` can call, in batches, with cancellation and progress.

use std::sync::Arc;

use crate::column::Column;
use crate::error;
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::platform::{Clock, TemporaryFile};
use crate::store::{ReadView, WriteTransaction};
use crate::value::Value;

/// Access mode of a procedure: read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcedureMode {
    /// It only reads; it runs on a snapshot.
    Read,
    /// It writes; it runs within a writing transaction.
    Write,
}

/// An argument of a procedure.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentSpec {
    /// Its name, for documentation and messages.
    pub name: &'static str,
    /// Types that may be passed, in words of Cypher's types: `MAP`, `NODE`, `INTEGER | NODE`.
    pub type_name: &'static str,
    /// One sentence: what it does, its default if it may be left out.
    pub description: &'static str,
    /// The value when left out; `None` if it must be given.
    pub default: Option<fn() -> Value>,
}

impl ArgumentSpec {
    /// True if a value of a type may be passed; an integer may where a float is taken.
    pub fn accepts(&self, type_name: &str) -> bool {
        self.type_name.split('|').map(|taken| taken.trim().trim_end_matches('?')).any(|taken| match taken {
            "ANY" => true,
            "NUMBER" | "FLOAT" => matches!(type_name, "INTEGER" | "FLOAT"),
            _ => taken == type_name || taken.strip_prefix(type_name).is_some_and(|rest| rest.starts_with('<')),
        })
    }

    /// The value as the procedure takes it: an integer where only floats are taken becomes one.
    pub fn convert(&self, value: Value) -> Value {
        match (self.type_name.trim_end_matches('?'), value) {
            ("FLOAT", Value::Int(integer)) => Value::Float(integer as f64),
            (_, other) => other,
        }
    }

    /// The error about a value of a type that may not be passed.
    pub fn mismatch(&self, procedure: &str, found: &str) -> Error {
        error!(Type, "procedure {procedure} takes {} as `{}`, found {found}", self.type_name, self.name)
    }
}

/// A column that a procedure yields.
#[derive(Clone, Copy, Debug)]
pub struct YieldSpec {
    /// Its name.
    pub name: &'static str,
    /// Its type, in words of Cypher's types.
    pub type_name: &'static str,
}

/// Description of a procedure that is known before it runs.
#[derive(Clone, Copy, Debug)]
pub struct ProcedureSignature {
    /// The full name, as `algo.pagerank`.
    pub name: &'static str,
    /// Other names by which it can be called.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub description: &'static str,
    /// Access mode.
    pub mode: ProcedureMode,
    /// Its arguments, in order.
    pub arguments: &'static [ArgumentSpec],
    /// The columns it yields, in order.
    pub yields: &'static [YieldSpec],
}

/// The graph that a procedure works on.
pub enum GraphAccess<'a> {
    /// A snapshot.
    Read(&'a dyn ReadView),
    /// A transaction, for procedures of mode `Write`.
    Write(&'a mut dyn WriteTransaction),
}

impl GraphAccess<'_> {
    /// The graph to read.
    pub fn view(&self) -> &dyn ReadView {
        match self {
            GraphAccess::Read(view) => *view,
            GraphAccess::Write(transaction) => transaction.view(),
        }
    }
}

/// The surroundings of a call.
pub struct ProcedureContext<'a> {
    /// The graph.
    pub graph: GraphAccess<'a>,
    /// To be checked and reported to.
    pub interrupt: &'a Interrupt,
    /// Threads that may be used.
    pub threads: usize,
    /// For reporting times.
    pub clock: &'a dyn Clock,
    /// Memory and temporary files.
    pub workspace: &'a dyn Workspace,
}

/// The memory that a call may hold, and where it puts what is more.
pub trait Workspace: Sync {
    /// Bytes that may still be taken.
    fn bytes_free(&self) -> usize;
    /// Takes bytes for `what`, or fails with `LIMIT`.
    fn take(&self, what: &'static str, bytes: usize) -> Result<()>;
    /// Gives bytes back.
    fn give_back(&self, bytes: usize);
    /// A temporary file, gone when it is dropped; fails where there is no place for one.
    fn temporary(&self) -> Result<Box<dyn TemporaryFile>>;
}

/// All the memory there is, and no disk: for tests and for callers that do their own accounting.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unaccounted;

impl Workspace for Unaccounted {
    fn bytes_free(&self) -> usize {
        usize::MAX / 2
    }

    fn take(&self, _what: &'static str, _bytes: usize) -> Result<()> {
        Ok(())
    }

    fn give_back(&self, _bytes: usize) {}

    fn temporary(&self) -> Result<Box<dyn TemporaryFile>> {
        Err(error!(Io, "there is no place for temporary files"))
    }
}

/// Takes the rows of a procedure: one column for each yield, in order. False means that no more rows are wanted.
pub type RowSink<'a> = dyn FnMut(Vec<Column>) -> Result<bool> + 'a;

/// Something that `CALL` can call.
pub trait Procedure: Send + Sync {
    /// The description that is known before it runs.
    fn signature(&self) -> &ProcedureSignature;
    /// Runs with evaluated arguments, as many as the signature has (defaults filled in), sending rows in batches.
    fn call(&self, context: &mut ProcedureContext<'_>, arguments: &[Value], sink: &mut RowSink<'_>) -> Result<()>;
}

/// The procedures that are registered, found by name in any case.
#[derive(Clone, Default)]
pub struct Procedures {
    list: Vec<Arc<dyn Procedure>>,
}

impl Procedures {
    /// Adds one. Names must be new.
    pub fn register(&mut self, procedure: Arc<dyn Procedure>) {
        let signature = procedure.signature();
        for name in signature.aliases.iter().chain([&signature.name]) {
            assert!(self.find(name).is_none(), "procedure {name} is registered twice");
        }
        self.list.push(procedure);
    }

    /// Puts one in the place of that with the same name.
    pub fn replace(&mut self, procedure: Arc<dyn Procedure>) {
        let name = procedure.signature().name;
        if let Some(held) = self.list.iter_mut().find(|held| held.signature().name == name) {
            *held = procedure;
        }
    }

    /// The procedure of that name or alias.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Procedure>> {
        self.list.iter().find(|procedure| {
            let signature = procedure.signature();
            signature.name.eq_ignore_ascii_case(name) || signature.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
        })
    }

    /// All, in order of registration.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Procedure>> {
        self.list.iter()
    }
}
