"""Errors by class: catch the class, read ``code``, ``line``, ``column`` and ``remedy``.

>>> import knotwork
>>> db = knotwork.connect()
>>> try:
...     db.execute("MATCH (n) RETRUN n")
... except knotwork.QuerySyntaxError as error:
...     print(error.line, error.column, error.code)
1 11 SYNTAX
>>> db.close()
"""

from __future__ import annotations

import builtins
from typing import Dict, Optional, Type

__all__ = [
    "Error", "QueryError", "QuerySyntaxError", "ParameterError", "TypeMismatchError", "DataError", "NotFoundError",
    "ConstraintError", "TransactionError", "ConflictError", "InterruptedError", "TimeoutError", "ResourceLimitError",
    "BusyError", "SourceError", "StoreError", "ReadOnlyError", "FileError", "CorruptionError", "ClosedError", "InternalError",
]


class Error(RuntimeError):
    """Any error of the engine: a ``RuntimeError``, as programs that were written for Kuzu expect.

    ``str(error)`` is what people read: the message, the line of the query with a caret under the place, and what to do.
    """

    #: The code of the error, as ``docs/errors.md`` lists them.
    code: str = "INTERNAL"
    #: What happened, in one sentence without the query.
    description: str = ""
    #: What to do about it.
    remedy: str = ""
    #: The line of the query, from 1; ``None`` if the error is not about a place in it.
    line: Optional[int] = None
    #: The column in that line, from 1.
    column: Optional[int] = None
    #: The text of the query.
    query: Optional[str] = None
    #: A name for exactly what is wrong, the same from version to version.
    detail: Optional[str] = None
    #: Whether the same call may succeed when it is repeated.
    retryable: bool = False

    def _render_traceback_(self) -> "list[str]":
        """A notebook shows the message with its caret, not the frames of this package."""
        return [f"{type(self).__name__}: {self}"]


class QueryError(Error):
    """The query has no meaning, or asks for what is not there."""


class QuerySyntaxError(QueryError):
    """The query does not parse."""


class ParameterError(QueryError):
    """A parameter of the query has no value."""


class TypeMismatchError(QueryError, builtins.TypeError):
    """A value has the wrong type."""


class DataError(QueryError, builtins.ValueError):
    """A value is outside of its range, or a calculation has no result."""


class NotFoundError(QueryError):
    """A node or an edge is no longer there."""


class ConstraintError(Error):
    """A write breaks a constraint, or a constraint cannot be made."""


class TransactionError(Error):
    """The transaction is not in the state that the call needs."""


class ConflictError(TransactionError):
    """Another transaction wrote the same first: try the whole transaction again."""

    retryable = True


class InterruptedError(Error):
    """The query was cancelled."""


class TimeoutError(Error, builtins.TimeoutError):
    """The query ran longer than it may."""


class ResourceLimitError(Error):
    """The query needs more memory or disk than it may use."""


class StoreError(Error):
    """The store cannot do what was asked: it, the disk or this program is at fault."""


class SourceError(StoreError):
    """A database that is attached does not answer as asked; it may later."""

    retryable = True


class JobError(StoreError):
    """The program that computes elsewhere, as Spark, is not there, or has failed."""


class BusyError(StoreError):
    """Another process has the store open."""


class ReadOnlyError(StoreError):
    """A write reached a store that was opened for reading."""


class FileError(StoreError):
    """A file cannot be read or written."""


class CorruptionError(StoreError):
    """The bytes of the store are not what was written."""


class ClosedError(StoreError):
    """The database, connection or result is closed."""


class InternalError(StoreError):
    """A belief of the engine was broken; please report it."""


_CLASSES: Dict[str, Type[Error]] = {
    "SYNTAX": QuerySyntaxError,
    "SEMANTIC": QueryError,
    "UNSUPPORTED": QueryError,
    "UNKNOWN_FUNCTION": QueryError,
    "UNKNOWN_PROCEDURE": QueryError,
    "PROCEDURE_FAILED": QueryError,
    "PARAMETER": ParameterError,
    "TYPE": TypeMismatchError,
    "ARITHMETIC": DataError,
    "ARGUMENT": DataError,
    "NOT_FOUND": NotFoundError,
    "CONSTRAINT": ConstraintError,
    "SCHEMA": ConstraintError,
    "STILL_CONNECTED": ConstraintError,
    "READ_ONLY": ReadOnlyError,
    "TRANSACTION_STATE": TransactionError,
    "CONFLICT": ConflictError,
    "CANCELLED": InterruptedError,
    "TIMEOUT": TimeoutError,
    "LIMIT": ResourceLimitError,
    "SOURCE": SourceError,
    "JOB": JobError,
    "DEFINITION": DataError,
    "BUSY": BusyError,
    "CONNECTION": StoreError,
    "OUTCOME_UNKNOWN": StoreError,
    "NOT_A_STORE": StoreError,
    "VERSION": StoreError,
    "IMPORT": DataError,
    "FILE": FileError,
    "IO": StoreError,
    "DISK_FULL": ResourceLimitError,
    "CORRUPT": CorruptionError,
    "CLOSED": ClosedError,
    "INTERNAL": InternalError,
}


#: Remedies that are written for the shell, or say nothing, and what is said here.
_SAID_OTHERWISE = {
    "mend the row, or use --skip-bad": "mend the row, or leave it out",
    "pass it with --param, or :param in the shell": 'pass it with the query: execute(query, {"name": value}) or execute(query, name=value)',
}


def _remedy(remedy: str, description: str) -> str:
    if "ermission denied" in description and remedy == "check the disk; reopen the store":
        return "check the rights of the path; a store that may not be written is opened with read_only=True"
    if "is open in this process" in description:
        return "keep one Database for all threads, with db.connection() for each, or close() the one that is open first"
    return _SAID_OTHERWISE.get(remedy, remedy)


def _make(text: str, **fields: object) -> Error:
    """The exception of an error of the engine."""
    given, line = str(fields.get("remedy") or ""), "\n  = "
    remedy = _remedy(given, str(fields.get("description")))
    if remedy != given and text.endswith(line + given):
        text = text[: -len(line + given)] + (line + remedy if remedy else "")
        fields["remedy"] = remedy
    error = _CLASSES.get(str(fields["code"]), StoreError)(text)
    for name, value in fields.items():
        setattr(error, name, value)
    return error


def _told(code: str, description: str, remedy: str) -> Error:
    """The exception of an error that is found on this side."""
    text = f"{code}: {description}\n  = {remedy}"
    return _make(text, code=code, description=description, remedy=remedy, line=None, column=None, query=None, detail=None)
