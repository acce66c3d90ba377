"""How a function of NetworkX is declared."""

import functools
import inspect

from ...errors import Error
from ..graph import _Base, convert_from_nx


class Declared:
    """A function with the rule that says which of its calls it can run."""

    def __init__(self, function, rule, weight):
        self._function = function
        self._signature = inspect.signature(function)
        self._rule = rule
        self._weight = weight
        functools.update_wrapper(self, function)

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

    def __call__(self, *args, **kwargs):
        if args and not isinstance(args[0], _Base):
            # Called directly, not by NetworkX, which converts.
            weight = kwargs.get(self._weight) if self._weight else None
            args = (convert_from_nx(args[0], edge_attrs={weight: 1} if weight else None), *args[1:])
        return self._function(*args, **kwargs)


def declared(functions, rule=None, weight=None):
    """Adds a function to a table. `rule` gets its arguments and says why it can not run them; None if it can."""

    def declare(function):
        functions[function.__name__] = Declared(function, rule, weight)
        return function

    return declare


def is_limit(error):
    """True if an error says that a limit of iterations was reached."""
    return isinstance(error, Error) and error.code == "LIMIT"
