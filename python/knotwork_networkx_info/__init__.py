"""The description of the backend ``knotwork`` for NetworkX. It is read whenever NetworkX is imported, so it imports nothing."""

#: What a function leaves to NetworkX, in words; empty if nothing.
LIMITS = {
    "all_pairs_dijkstra_path_length": "",
    "all_pairs_shortest_path_length": "",
    "ancestors": "",
    "articulation_points": "",
    "average_clustering": "Directed graphs, multigraphs and weights are left to NetworkX.",
    "betweenness_centrality": "Weights of 0 are left to NetworkX.",
    "bidirectional_dijkstra": "",
    "bidirectional_shortest_path": "",
    "bridges": "",
    "closeness_centrality": "",
    "clustering": "Directed graphs, multigraphs and weights are left to NetworkX.",
    "connected_components": "",
    "core_number": "Directed graphs and multigraphs are left to NetworkX.",
    "descendants": "",
    "dijkstra_path": "",
    "dijkstra_path_length": "",
    "eigenvector_centrality": "Multigraphs, ``nstart`` and what does not converge here are left to NetworkX.",
    "harmonic_centrality": "``nbunch`` and ``sources`` are left to NetworkX.",
    "has_bridges": "",
    "has_path": "",
    "hits": "``nstart`` and ``normalized=False`` are left to NetworkX.",
    "is_connected": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "leiden_communities": "Undirected graphs only.",
    "node_connected_component": "",
    "number_connected_components": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "pagerank": "``nstart``, ``dangling``, an ``alpha`` outside of 0 to 1 and negative ``personalization`` are left to NetworkX.",
    "shortest_path": "One source and one target, by Dijkstra's method; the rest is left to NetworkX.",
    "shortest_path_length": "A source, by Dijkstra's method; the rest is left to NetworkX.",
    "single_source_dijkstra_path_length": "",
    "single_source_shortest_path_length": "",
    "single_target_shortest_path_length": "",
    "strongly_connected_components": "",
    "transitivity": "Directed graphs and multigraphs are left to NetworkX.",
    "triangles": "Directed graphs and multigraphs are left to NetworkX.",
    "weakly_connected_components": "",
}


def get_info():
    """The backend as NetworkX's documentation lists it."""
    return {
        "backend_name": "knotwork",
        "project": "knotwork",
        "package": "knotwork",
        "short_summary": "Computed in Rust on all cores; also on graphs in a store, larger than memory.",
        "functions": {name: {"additional_docs": limits} if limits else {} for name, limits in LIMITS.items()},
    }
