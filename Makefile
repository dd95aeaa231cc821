# Two commands: `make run` and `make test`. Everything below is a cargo command that anyone can run.

.PHONY: run test test-engines package image image-model docs bench check help

run: ## Build Tidegate and run the news example on http://127.0.0.1:8080
	@sh xtask/before-cargo.sh
	@cargo run --locked --profile demo --package tidegate --no-default-features -- demo

test: ## Set up what the tests need, then run every check and every test
	@sh xtask/before-cargo.sh
	@cargo xtask setup --test
	@cargo xtask ci

test-engines: ## Run the long tests on real Kafka, ClickHouse and FerretDB
	@sh xtask/before-cargo.sh
	@cargo xtask setup --test
	@cargo xtask test-engines

package: ## Build the Debian package and the wheel into target/package, with SBOM and sums
	@sh xtask/before-cargo.sh
	@cargo xtask package deb
	@cargo xtask package wheel
	@cargo xtask package sbom
	@cargo xtask package sums

image: ## Build the images tidegate and tidegate-python into target/package, without Docker
	@sh xtask/before-cargo.sh
	@cargo xtask package image

image-model: ## Add the example with a model to what `make image` built, in two stages
	@sh packaging/model-image/build.sh target/package

docs: ## Make the site of the documentation in target/docs
	@sh xtask/before-cargo.sh
	@cargo xtask docs $(ARGS)

bench: ## Run Tidegate and its peers side by side; ARGS="…" are passed on
	@sh xtask/before-cargo.sh
	@cargo xtask bench $(ARGS)

check: ## In seconds: format, house rules, and lints and unit tests of what has changed
	@cargo xtask check

help: ## Show this list
	@sed -n 's/^\([a-z-]*\): ## \(.*\)/make \1	\2/p' Makefile
