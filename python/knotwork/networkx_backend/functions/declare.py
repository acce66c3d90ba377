"""How a function of NetworkX is declared."""

import inspect

from ...errors import Error


class Declared:
    """A function with the rule that says which of its calls it can run."""

    def __init__(self, function, rule):
        #: What NetworkX calls, with a graph that is converted already.
        self.function = function
        self._signature = inspect.signature(function)
        self._rule = rule

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
