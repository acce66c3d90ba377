"""Limits as people write them: bytes with units, counts that are not negative."""

from __future__ import annotations

import re
from typing import Optional, Union

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def bytes_of(name: str, limit: "Union[int, str, None]") -> Optional[int]:
    """A limit of memory in bytes, which may be written with a unit."""
    if limit is None:
        return None
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", limit, re.IGNORECASE)
        if found is not None:
            return int(float(found[1]) * _UNITS[found[2].lower()])
    elif isinstance(limit, int) and limit >= 0:
        return limit
    raise ValueError(f"{name} is a number of bytes, or a text such as \"512MB\" or \"4GB\"; found {limit!r}")


def count_of(name: str, count: Optional[int]) -> Optional[int]:
    """A number of at least 0, of which 0 is the same as none."""
    if count is not None and (not isinstance(count, int) or count < 0):
        raise ValueError(f"{name} is a number of at least 0; found {count!r}")
    return count or None
