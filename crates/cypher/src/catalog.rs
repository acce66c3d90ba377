//! The questions that binding and planning may ask: which functions and procedures exist, what the store holds.

use std::sync::Arc;

use model::procedure::ProcedureSignature;
use model::{Capabilities, Interrupt, PropertyType, Schema, Statistics};

/// Kind of a function: it turns one row into a value, or many rows into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// One value for each row.
    Scalar,
    /// One value for each group of rows.
    Aggregate,
}

/// Properties of a function that are known before it runs.
#[derive(Clone, Copy, Debug)]
pub struct FunctionSignature {
    /// The name as documented, as `toUpper`; found in any case.
    pub name: &'static str,
    /// Scalar or aggregate.
    pub kind: FunctionKind,
    /// Fewest arguments.
    pub arguments_min: usize,
    /// Most arguments; `None` for any number.
    pub arguments_max: Option<usize>,
    /// True for an aggregate function that takes, besides its argument, the number of times that a row came.
    pub takes_weights: bool,
}

/// Type of every value except null that a function returns, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// It is of this type.
    Always(PropertyType),
    /// It is of the type of the first argument.
    Argument,
    /// It is of the type of all arguments, if they have the same.
    Arguments,
    /// It is an element of the first argument.
    Element,
    /// It is a list of what the argument is.
    ListOfArgument,
    /// It is a mean: a float of numbers, or a duration.
    Mean,
    /// It is a sum, which is an integer of integers; of none it is 0, whatever they would be.
    Sum,
}

/// The functions and procedures that are registered.
pub trait Catalog {
    /// The function of that name, in any case.
    fn function(&self, name: &str) -> Option<&FunctionSignature>;
    /// Type of the result of the function of that name, if it is known.
    fn result_of(&self, _function: &str) -> Option<ResultType> {
        None
    }
    /// The names of all functions, for suggestions.
    fn function_names(&self) -> Vec<&str>;
    /// The procedure of that name or alias, in any case.
    fn procedure(&self, name: &str) -> Option<&ProcedureSignature>;
    /// The names of all procedures, for suggestions.
    fn procedure_names(&self) -> Vec<&str>;
    /// The columns of the table of that name, which `LOAD FROM` reads; none by default.
    fn table_columns(&self, _name: &str) -> Option<Vec<Arc<str>>> {
        None
    }
    /// The names of all tables, for suggestions.
    fn table_names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// The number of a horizon within its statement: a point between clauses where the rest of a plan can be made anew, with
/// the number of rows that have come. It depends on the text, and on the plan before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HorizonId(pub u32);

/// All that a compilation may look at.
#[derive(Clone, Copy)]
pub struct CompileContext<'a> {
    /// Functions and procedures.
    pub catalog: &'a dyn Catalog,
    /// Names and constraints of the store.
    pub schema: &'a Schema,
    /// Counts of the store.
    pub statistics: &'a Statistics,
    /// Operations that the store can do by itself.
    pub capabilities: Capabilities,
    /// Says when planning must stop.
    pub interrupt: &'a Interrupt,
    /// Numbers of rows that a run of the statement has come to, in place of estimates; none before it runs.
    pub seen: &'a [(HorizonId, u64)],
}
