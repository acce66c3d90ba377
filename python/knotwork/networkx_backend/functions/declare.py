"""Declarations of functions of NetworkX."""

import functools
import inspect

import networkx as nx

from ...errors import Error
from ..graph import Unsuited


class Declared:
    """A function with the rule that says which of its calls it can run."""

    def __init__(self, function, rule):
        self._signature = inspect.signature(function)
        self._rule = rule
        self._function = function
        #: Called by NetworkX, with a graph that is converted already.
        self.function = functools.wraps(function)(lambda *args, **kwargs: self._call(*args, **kwargs))

    def _call(self, *args, **kwargs):
        """The function, or NetworkX's own where the engine does not suit."""
        try:
            return self._function(*args, **kwargs)
        except Unsuited as unsuited:
            call = self._signature.bind(*args, **kwargs)
            original = call.arguments["G"].original()
            own = getattr(nx, self._function.__name__, None)
            if original is None or own is None:
                raise unsuited.instead from unsuited
            call.arguments["G"] = original
            return own.orig_func(*call.args, **call.kwargs)

    def can_run(self, args, kwargs):
        """True, or the reason why not."""
        try:
            call = self._signature.bind(*args, **kwargs)
        except TypeError:
            # NetworkX says better what is wrong with the arguments.
            return "the arguments do not fit"
        call.apply_defaults()
        if any(callable(call.arguments.get(name)) for name in ("weight", "distance")):
            return "weights that are functions are left to NetworkX"
        return self._rule is None or not (reason := self._rule(**call.arguments)) or reason


def declared(functions, rule=None):
    """Adds a function to a table. `rule` gets its arguments and says why it can not run them; None if it can."""

    def declare(function):
        functions[function.__name__] = Declared(function, rule)
        return function

    return declare


def is_limit(error):
    """True if an error says that a limit of iterations was reached."""
    return isinstance(error, Error) and error.code == "LIMIT"
