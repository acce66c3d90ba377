"""The functions of NetworkX that are computed here, by name, each with what it can not do."""

from . import centrality, clusters, components, paths

#: Every function, by its name in NetworkX.
FUNCTIONS = {
    name: function
    for module in (centrality, clusters, components, paths)
    for name, function in module.FUNCTIONS.items()
}
