# Targets for users: demo, demo-ring, test, test-spark, bench; for development: check, fmt.

.PHONY: demo demo-ring test test-spark bench soak check fmt

# A real graph imported, queried, ranked and drawn.
demo:
	cargo build --profile demo --package knotwork-cli
	./scripts/demo.sh

# The same graph on a ring of three machines, of which one is killed.
demo-ring:
	cargo build --profile demo --package knotwork-cli
	./scripts/demo-ring.sh

# Everything that must pass before a change lands.
test:
	./scripts/test.sh

# Algorithms by Spark, and its DataFrames: some minutes, with PySpark installed below .cache. `make test` says that it skips them.
test-spark:
	./scripts/spark.sh test

# Crashes, kills, damage and histories with new seeds for as long as SOAK_SECONDS says.
soak:
	./scripts/soak.sh

# Knotwork beside another database on the same graph.
bench:
	./benchmarks/run.sh

# The quick inner loop: does it compile, and does it keep the house rules?
check:
	cargo check --workspace --all-targets --all-features
	cargo test --package knotwork-testing --test tidy --test layering

fmt:
	cargo fmt --all
