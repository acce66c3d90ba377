"""Results as tables of other libraries, through Arrow."""

from __future__ import annotations

from typing import Any, Dict, Iterator


def _library(name: str, used_for: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise ImportError(f"{used_for} needs the package {name}: pip install {name}") from missing


def to_arrow(result: Any) -> Any:
    """All rows that are left as a ``pyarrow.Table``."""
    pyarrow = _library("pyarrow", "to_arrow")
    reader = pyarrow.RecordBatchReader.from_stream(result._arrow_stream())
    # Batch by batch, so that Ctrl-C is heard between them.
    return pyarrow.Table.from_batches(list(reader), schema=reader.schema)


def to_pandas(result: Any, **options: Any) -> Any:
    """All rows that are left as a ``pandas.DataFrame``; options are those of ``pyarrow.Table.to_pandas``."""
    _library("pandas", "to_pandas")
    return to_arrow(result).to_pandas(**options)


def to_polars(result: Any) -> Any:
    """All rows that are left as a ``polars.DataFrame``. Durations with months, for which polars has no type, are texts."""
    polars = _library("polars", "to_polars")
    return polars.DataFrame(result._arrow_stream(texts_for_months=True))


def rows_as_dict(result: Any) -> Iterator[Dict[str, Any]]:
    """The rows that are left as dictionaries, one after the other."""
    for record in result:
        yield record.to_dict()
