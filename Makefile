# Every command of the project. Works with GNU make 3.81 and later.

.DEFAULT_GOAL := help
.PHONY: help run test fuzz bench build deploy deploy-local destroy-local clean distclean

LOCAL    := .local
FUZZTIME ?= 10s
ARCH     ?= arm64
ARGS     ?= # for cdk

# A program is built and takes the place of the shell, where "go run" would stay
# in between and keep a SIGTERM to itself.
run_program = go build -o $(LOCAL)/bin/$(1) ./scripts/$(1) && exec $(LOCAL)/bin/$(1)

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## serve the API on http://127.0.0.1:8080 (PORT=... overrides), with all it needs
	@$(call run_program,local)

test: ## check everything: format, vet, every test, the end-to-end deployment
	@echo '== tools'
	@go run ./localstack/install
	@echo '== gofmt'
	@files=$$(gofmt -l */) && test -z "$$files" || { echo "Not formatted, run gofmt -w on: $$files"; exit 1; }
	@echo '== go vet'
	@go vet ./...
	@echo '== go test'
	@packages=$$(go list ./...) && go test -race -shuffle=on -vet=off -timeout 20m $$(echo "$$packages" | grep -v '^collabdata/infra')
	@# The CDK's packages take a minute to compile, and as long again for -race.
	@# The app is one goroutine.
	@go test -shuffle=on -vet=off -timeout 10m ./infra/...

fuzz: ## fuzz each target for 10 s (FUZZTIME=... overrides)
	@go run ./localstack/install
	@packages=$$(go list ./... | grep -v '^collabdata/infra') || exit 1; \
	for package in $$packages; do \
		targets=$$(go test -list '^Fuzz' $$package) || { echo "$$targets"; exit 1; }; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

bench: ## run every benchmark, with allocations (about 20 minutes, most of them for an endpoint that is down)
	@go run ./localstack/install
	@packages=$$(go list ./...) && go test -run '^$$' -bench . -benchmem -vet=off -timeout 60m $$(echo "$$packages" | grep -v '^collabdata/infra')

build: ## compile the functions for AWS (ARCH=x86_64 instead of arm64) into .local/functions
	@$(call run_program,deploy) build -c arch=$(ARCH)

deploy: ## deploy to AWS with the environment's credentials (ARGS='-c stage=test' for settings)
	@$(call run_program,deploy) aws $(ARGS)

deploy-local: ## deploy to the local cloud on port 4566, or to the one AWS_ENDPOINT_URL names
	@$(call run_program,deploy) local $(ARGS)

destroy-local: ## remove what deploy-local deployed
	@$(call run_program,deploy) destroy-local $(ARGS)

clean: ## remove data, logs and builds, keep the installed tools
	@if [ -e $(LOCAL)/cloud ]; then echo 'The local cloud is running: make destroy-local first.'; exit 1; fi
	@if [ -d $(LOCAL) ]; then find $(LOCAL) -mindepth 1 -maxdepth 1 ! -name tools -exec rm -rf {} +; fi
	@rm -rf cdk.out infra/cdk.out

distclean: clean ## remove the installed tools too
	@rm -rf $(LOCAL)
