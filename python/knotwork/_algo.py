"""Whole-graph algorithms as functions: ``db.algo.pagerank(types="KNOWS")``."""

from __future__ import annotations

import inspect
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from .errors import DataError, _told
from ._programs import EdgeProgramResult, run_program
from ._progress import Progress, shown

#: The longer before those that they end with.
_MODES = ("stats.estimate", "stream", "stats", "write", "estimate")


def _base_and_mode(name: str) -> Tuple[str, str]:
    """The algorithm of a procedure and its mode: what gives rows is called as the algorithm is."""
    for mode in _MODES:
        suffix = f".{mode}"
        if name.endswith(suffix):
            return name[: -len(suffix)], mode
    return name, "stream"


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)


class _Procedure:
    """A procedure of the engine, found by name."""

    def __init__(self, name: str, signature: str, description: str) -> None:
        self.name = name
        self.signature = signature
        self.description = description
        yields = signature.rsplit(") :: (", 1)[1].rstrip(")")
        #: Whether it takes settings: all do, but for those that only list.
        self.takes_settings = "() :: (" not in signature
        self.yields = [part.split(" :: ", 1) for part in re.split(r", (?=\w+ :: )", yields) if part]


class Algorithm:
    """One algorithm. Call it with its settings, in Python's spelling or the engine's."""

    def __init__(self, database: Any, name: str, modes: Dict[str, _Procedure]) -> None:
        self._database = database
        self._modes = modes
        self.__name__ = _snake(name.split(".", 1)[1].replace(".", "_"))
        told, _, settings = next(iter(modes.values())).description.partition(" Settings: ")
        #: The names of its settings, as Python spells them; empty if the engine does not tell.
        self.settings = [_snake(setting) for setting in settings.rstrip(".").split(", ") if setting]
        listed = f"Settings: {', '.join(self.settings)}.\n\n" if self.settings else ""
        self.__doc__ = f"{told}\n\n{listed}" + "\n".join(held.signature for held in modes.values())
        self.__signature__ = self._signature_with(self.settings)

    def __call__(
        self,
        *,
        mode: Optional[str] = None,
        key: Optional[str] = None,
        progress: Progress = None,
        timeout: Optional[float] = None,
        memory_limit: Optional[int] = None,
        **settings: Any,
    ) -> Any:
        """Runs the algorithm and gives its rows as a result.

        ``mode`` is ``"stream"`` (rows: the default), ``"stats"``, ``"write"`` (the default if ``write_property`` or
        ``write_relationship_type`` is given), or ``"estimate"`` and ``"stats.estimate"``: what rows and statistics would need.
        A node is given by its id, as ``nodeId``, or by its property ``key``. ``progress=True`` shows a bar.
        """
        named = {_camel(name): value for name, value in settings.items() if value is not None}
        if mode is None:
            mode = "write" if "writeProperty" in named or "writeRelationshipType" in named else "stream"
        procedure = self._modes.get(mode)
        if procedure is None:
            raise ValueError(f"{self.__name__} has the modes {', '.join(self._modes)}; found {mode!r}")
        query = self._query(procedure, key)
        if named and not procedure.takes_settings:
            raise TypeError(f"{self.__name__} takes no settings, found {', '.join(named)}")
        parameters = {"settings": named} if procedure.takes_settings else None
        with shown(progress, self.__name__) as call:
            try:
                return self._database.execute(query, parameters, progress=call, timeout=timeout, memory_limit=memory_limit)
            except DataError as error:
                if error.code != "ARGUMENT":
                    raise
                raise self._refused(error) from None

    def _signature_with(self, settings: List[str]) -> inspect.Signature:
        """The signature of a call with these settings by name, as `help` and editors show it."""
        own = list(inspect.signature(type(self).__call__).parameters.values())[1:]
        taken = {parameter.name for parameter in own}
        named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in settings if name not in taken]
        return inspect.Signature(own[:-1] + named + own[-1:])

    def _refused(self, error: DataError) -> Exception:
        """The error of the settings, in the spelling of the call, without the generated query."""
        def spelled(text):
            return re.sub(r"\b[a-z]+(?:[A-Z][a-z]+)+\b", lambda found: _snake(found[0]), text)

        return _told(error.code, spelled(error.description), spelled(error.remedy))

    @staticmethod
    def _query(procedure: _Procedure, key: Optional[str]) -> str:
        names, given = [], []
        for name, kind in procedure.yields:
            names.append(f"`{name}`")
            if kind != "NODE":
                given.append(f"`{name}`")
            elif key is None:
                given.append(f"id(`{name}`) AS `{'nodeId' if name == 'node' else name + 'Id'}`")
            else:
                quoted = key.replace("`", "``")
                given.append(f"`{name}`.`{quoted}` AS `{quoted if name == 'node' else name}`")
        columns = ", ".join(names)
        settings = "$settings" if procedure.takes_settings else ""
        return f"CALL {procedure.name}({settings}) YIELD {columns} RETURN {', '.join(given)}"

    def __repr__(self) -> str:
        return f"<knotwork algorithm {self.__name__}: {', '.join(self._modes)}>"


class Algorithms:
    """The algorithms of a database, by name: ``dir(db.algo)`` lists them.

    >>> import knotwork
    >>> with knotwork.connect() as db:
    ...     _ = db.execute("UNWIND ['b', 'c', 'd'] AS name MERGE (a:N {name: 'a'}) CREATE (:N {name: name})-[:R]->(a)")
    ...     db.algo.degree(direction="IN", key="name").to_dicts()[0]
    ...     db.algo.pagerank(write_property="rank").fetchone()["nodePropertiesWritten"]
    {'name': 'a', 'score': 3.0}
    4
    """

    def __init__(self, database: Any) -> None:
        self._database = database
        self._found: Optional[Dict[str, Algorithm]] = None

    def _all(self) -> Dict[str, Algorithm]:
        if self._found is None:
            modes: Dict[str, Dict[str, _Procedure]] = {}
            query = "CALL dbms.procedures() YIELD name, signature, description RETURN name, signature, description"
            for name, signature, description in self._database.execute(query):
                if not name.startswith("algo."):
                    continue
                base, mode = _base_and_mode(name)
                modes.setdefault(base, {})[mode] = _Procedure(name, signature, description)
            found = {}
            for base, held in modes.items():
                algorithm = Algorithm(self._database, base, held)
                found[algorithm.__name__] = algorithm
            self._found = found
        return self._found

    def edge_program(
        self,
        program: Any,
        *,
        labels: "Union[str, Sequence[str], None]" = None,
        types: "Union[str, Sequence[str], None]" = None,
        direction: str = "OUT",
        weight: Optional[str] = None,
        default_weight: Optional[float] = None,
        properties: Sequence[str] = (),
        timeout: Optional[float] = None,
        memory_limit: Optional[int] = None,
        key: Optional[str] = None,
        write_property: Optional[str] = None,
        progress: Progress = None,
        _opened: Any = None,
    ) -> EdgeProgramResult:
        """Runs a program that is written in Python over the edges of the graph, as :class:`EdgeProgram` describes it.

        Each iteration is a pass over the edges: ``process_edges`` gets them in batches of NumPy arrays, then
        ``update_nodes`` the nodes. Edges are streamed from the store while Python works on the batch before, and are not
        held: what must fit into memory are the arrays of nodes that the program keeps (which ``memory_limit`` does not
        count, since they are Python's). All passes see one moment, and give the same batches in the same order.

        As in :meth:`Database.edges`, ``labels``, ``types``, ``direction``, ``weight`` and ``default_weight`` choose nodes, edges and
        weights, ``properties`` those that ``edges["name"]`` gives, ``timeout`` and ``memory_limit`` bound the program. The answer
        names nodes by their ids or the property ``key``; ``write_property`` also writes it to the nodes. Ctrl-C ends the program,
        and so does any exception in it.
        """
        return run_program(
            self._database,
            program,
            edges={
                "labels": labels,
                "types": types,
                "direction": direction,
                "weight": weight,
                "default_weight": default_weight,
                "properties": properties,
                "timeout": timeout,
                "memory_limit": memory_limit,
            },
            key=key,
            write_property=write_property,
            progress=progress,
            opened=_opened,
        )

    def __getattr__(self, name: str) -> Algorithm:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._all().get(name) or self._all().get(_snake(name))
        if found is None:
            raise AttributeError(f"there is no algorithm {name!r}; there are {', '.join(sorted(self._all()))}")
        return found

    def __dir__(self) -> List[str]:
        # Procedures that keep computations up to date are called by name, and are no algorithms.
        algorithms = (name for name in self._all() if name != "keep" and not name.startswith("kept"))
        return sorted([*algorithms, "edge_program"])

    def __iter__(self) -> Any:
        return iter(self._all().values())
