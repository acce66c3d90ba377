"""NetworkX functions computed by Knotwork.

Installed with the package as the NetworkX backend ``knotwork``:

    nx.pagerank(G, backend="knotwork")            # one call
    NETWORKX_BACKEND_PRIORITY=knotwork python …   # every call that it knows

A NetworkX graph is converted once and kept with it by NetworkX. A graph that lies in a store need not be converted: a
:class:`StoreGraph` stands for it in the same calls, also where it is larger than memory.
"""

from .graph import Graph, StoreGraph, convert_from_nx, convert_to_nx
from .functions import FUNCTIONS

__all__ = ["Graph", "StoreGraph", "Backend"]


class Backend:
    """The interface for NetworkX: conversions, and a function of each name."""

    convert_from_nx = staticmethod(convert_from_nx)
    convert_to_nx = staticmethod(convert_to_nx)

    @staticmethod
    def can_run(name, args, kwargs):
        """True, or why a call with these arguments is left to NetworkX."""
        return FUNCTIONS[name].can_run(args, kwargs)

    @staticmethod
    def should_run(name, args, kwargs):
        """Always: what can be run here is faster here once the graph is converted."""
        return True


for _name, _declared in FUNCTIONS.items():
    setattr(Backend, _name, staticmethod(_declared.function))

