//! What tests share: the reference store, the store contract, graph generators, golden files, house rules. Never in a product.
