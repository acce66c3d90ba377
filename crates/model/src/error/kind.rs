//! openCypher's classification of an error: its kind, the moment it is found, and a detail that programs can rely on.
//!
//! Messages may be reworded; these names stay.

/// When an error is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorPhase {
    /// Before any row is read: the text, or the text with the names of its parameters, is wrong.
    Compile,
    /// While the statement runs: it depends on the data or on the values of parameters.
    #[default]
    Run,
}

impl ErrorPhase {
    /// As openCypher says it.
    pub fn name(self) -> &'static str {
        match self {
            ErrorPhase::Compile => "compile time",
            ErrorPhase::Run => "runtime",
        }
    }
}

macro_rules! names {
    ($(#[$attribute:meta])* $kind:ident { $($variant:ident: $sentence:literal),* $(,)? }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $kind {
            $(#[doc = $sentence] $variant,)*
        }

        impl $kind {
            /// All of them.
            pub const ALL: &'static [$kind] = &[$($kind::$variant,)*];

            /// The name, which stays the same from version to version.
            pub fn name(self) -> &'static str {
                match self { $($kind::$variant => stringify!($variant),)* }
            }

            /// Meaning, in one sentence.
            pub fn sentence(self) -> &'static str {
                match self { $($kind::$variant => $sentence,)* }
            }
        }
    };
}

names! {
    /// Kind of an error in openCypher's terms.
    ErrorKind {
        SyntaxError: "the text of the statement is wrong, whatever the data",
        SemanticError: "the statement has no meaning for this data",
        ParameterMissing: "a parameter has no value",
        TypeError: "a value has the wrong type",
        ArgumentError: "an argument is outside its range",
        ArithmeticError: "a calculation has no result",
        EntityNotFound: "a node or relationship is no longer there",
        PropertyNotFound: "a property is not there",
        ConstraintVerificationFailed: "the graph would break a rule that every graph keeps",
        ConstraintValidationFailed: "the graph would break a constraint of the store",
        ProcedureError: "a procedure is not there or has failed",
        TransactionError: "the transaction cannot do that, or was stopped",
        StoreError: "the store, its files or this program cannot do that",
    }
}

names! {
    /// The detail of what is wrong, in openCypher's names where it has one.
    ErrorDetail {
        AmbiguousAggregationExpression: "beside an aggregate stands what rows are not grouped by",
        ColumnNameConflict: "two columns have the same name",
        CreatingVarLength: "a relationship of variable length cannot be created",
        DatabaseExists: "a database has that name already",
        DatabaseNotFound: "no database has that name",
        DeleteConnectedNode: "a node that still has relationships cannot be deleted",
        DeletedEntityAccess: "what was deleted is read",
        DifferentColumnsInUnion: "the parts of a union return different columns",
        DivisionByZero: "an integer is divided by zero",
        FloatingPointOverflow: "a float is too large to be written down",
        Forbidden: "the roles of the user do not allow that",
        IntegerOverflow: "an integer does not fit 64 bits",
        InvalidAggregation: "an aggregate stands where rows are not grouped",
        InvalidArgumentPassingMode: "a procedure takes its arguments from parameters only if CALL stands alone",
        InvalidArgumentType: "an operand or argument has the wrong type",
        InvalidArgumentValue: "an argument has a value that cannot be taken",
        InvalidClauseComposition: "clauses stand in an order that has no meaning",
        InvalidDelete: "what is named cannot be deleted",
        InvalidNumberLiteral: "a number is not written as one",
        InvalidNumberOfArguments: "a function or procedure takes another number of arguments",
        InvalidParameterUse: "a parameter cannot stand here",
        InvalidPropertyType: "a value cannot be stored as a property",
        InvalidRelationshipPattern: "a relationship is not written as one",
        InvalidUnicodeCharacter: "a character cannot stand here",
        InvalidUnicodeLiteral: "a character's number is not written as one",
        MapElementAccessByNonString: "an entry of a map is asked for by no string",
        MergeReadOwnWrites: "MERGE cannot find what it would make",
        MissingParameter: "a parameter has no value",
        NegativeIntegerArgument: "a number of rows is negative",
        NestedAggregation: "an aggregate stands inside another",
        NoExpressionAlias: "an expression in WITH has no name",
        NoSingleRelationshipType: "a relationship to make needs exactly one type",
        NoVariablesInScope: "there is no variable to return",
        NonConstantExpression: "the value must be the same for all rows",
        NumberOutOfRange: "a number is outside its range",
        PermissionDenied: "this user has no right to read or write a file",
        ProcedureNotFound: "no procedure has that name",
        RelationshipUniquenessViolation: "a relationship cannot be matched twice in one pattern",
        RequiresDirectedRelationship: "a relationship to make needs a direction",
        UndefinedVariable: "no variable of that name can be seen here",
        UnexpectedSyntax: "something else was expected at this place",
        UnknownFunction: "no function has that name",
        TurnOfWritersHeld: "a large transaction, in which nothing is done, keeps all others from committing",
        VariableAlreadyBound: "the variable means something already",
        VariableTypeConflict: "the variable holds something of another type",
    }
}
