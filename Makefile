# Every command of the project. Works with GNU make 3.81 and later.

.DEFAULT_GOAL := help
.PHONY: help check run seed admin openapi update packages wheel test e2e lint audit fuzz bench build deploy deploy-local destroy-local aws release publish-dry-run clean distclean

LOCAL    := .local
GOLEAST  := 1.26
FUZZTIME ?= 10s
ARCH     ?= arm64
ARGS     ?= # for cdk

# One build cache serves all folders (-trimpath), and functions and tests (no cgo).
export GOFLAGS := $(strip -trimpath $(filter-out -trimpath,$(GOFLAGS)))
export CGO_ENABLED := 0

# A program is built and takes the place of the shell, where "go run" would stay
# in between, keep a SIGTERM to itself, and hide the exit code.
build_programs = echo 'Building (a minute at the first time) ...' && go build -o $(LOCAL)/bin/ $(addprefix ./scripts/,$(1))
run_program    = $(call build_programs,$(1)) && exec $(LOCAL)/bin/$(1)

# What takes long says how long it took.
timed = start=$$(date +%s); $(1); code=$$?; echo "== it took $$(( $$(date +%s) - start )) s"; exit $$code

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What is missing is said before anything fails for want of it. Node.js, Python
# and Java are checked where they are used, by localstack/install.sh.
check:
	@command -v go >/dev/null || { echo 'Go is missing: install Go $(GOLEAST) or newer from https://go.dev/dl (distributions often have an older one).' >&2; exit 1; }
	@version=$$(go env GOVERSION 2>/dev/null | sed 's/^go//; s/[^0-9.].*//'); \
	printf '%s\n' $(GOLEAST) "$$version" | sort -t . -k 1,1n -k 2,2n -c 2>/dev/null || { \
		echo "Go$${version:+ $$version} is too old: install Go $(GOLEAST) or newer from https://go.dev/dl." >&2; exit 1; }
	@mkdir -p $(LOCAL)/bin 2>/dev/null; for dir in $(LOCAL) $(LOCAL)/*; do \
		[ -w "$$dir" ] || { echo "$(CURDIR)/$$dir cannot be written: it belongs to $$({ ls -ld "$$dir" 2>/dev/null || ls -ld .; } | awk '{print $$3}'). Give it to yourself: sudo chown -R $$(id -un) '$(CURDIR)/$(LOCAL)'" >&2; exit 1; }; done

# What it needs is installed while it is compiled. It waits for that, and says
# what is wrong where it fails. Who names other stand-ins may need none of it.
run: check ## serve the API on this machine with all it needs (PORT=... and HOST=... say where)
	@echo 'Compiling the server, and installing the stand-ins for AWS (one to four minutes at the first time) ...'; \
	(started=$$(date +%s); while sleep 15; do echo "... after $$(( $$(date +%s) - started )) s"; done) & ticker=$$!; \
	go build -o $(LOCAL)/bin/ ./localstack/install && \
	if [ -z "$$AWS_ENDPOINT_URL$$AWS_ENDPOINT_URL_DYNAMODB$$AWS_ENDPOINT_URL_SQS" ]; then $(LOCAL)/bin/install 2>/dev/null & fi; \
	go build -o $(LOCAL)/bin/ ./scripts/local; code=$$?; kill $$ticker; [ $$code = 0 ] && exec $(LOCAL)/bin/local

seed: check ## fill the running local server with an organization of 200 threads
	@[ -e $(LOCAL)/data/env ] || { echo 'There is no local server to fill: make run, in another terminal.' >&2; exit 1; }
	@$(call build_programs,admin) && . $(LOCAL)/data/env && $(LOCAL)/bin/admin import dev scripts/local/seed.jsonl && \
	echo "The organization northwind of the account dev is ready: http://127.0.0.1:$${PORT:-8080}/console/organization?accountId=dev&organizationId=northwind"

admin: check ## build the operator's program, .local/bin/admin
	@$(call build_programs,admin) && echo 'Built $(LOCAL)/bin/admin: see $(LOCAL)/bin/admin --help'

openapi: check ## regenerate the reference, the Go client, the OpenAPI documents and the schema of imports from the types of requests
	@go test ./shared/api/openapi -run '^(TestDocument|TestLineSchema|TestGoClient|TestMarkdown|TestReadme)$$' -update

update: openapi ## regenerate everything that is generated: also goldens, tables of costs, and the elements' bundle (some minutes)
	@go run ./localstack/install
	@go test ./shared/api -run Golden -update && go test ./shared/testing/apitest -run TestScripts -update && \
	go test ./shared/app -run 'TestCosts|TestPersonCosts' -update && go test ./infra -run 'TestTemplate|TestSettings' -update
	@cd shared/client/elements && npm ci --silent && npm run --silent serve

wheel: check openapi ## build the Python client, a wheel in .local/wheel
	@python=$$(go run ./localstack/install python) && export PATH="$$(dirname "$$python"):$$PATH" && rm -rf $(LOCAL)/python $(LOCAL)/wheel && \
	{ cat shared/client/python/config.yaml && sed -n 's/.* Release = "\(.*\)".*/package_version_override: \1/p' shared/platform/version.go; } > $(LOCAL)/python.yaml && \
	openapi-python-client generate --fail-on-warning --meta setup --path shared/api/openapi-clients.json --output-path $(LOCAL)/python \
		--config $(LOCAL)/python.yaml --custom-template-path shared/client/python/templates && \
	cp shared/client/python/*.py $(LOCAL)/python/collabdata/ && \
	"$$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir $(LOCAL)/wheel $(LOCAL)/python && \
	ls $(LOCAL)/wheel/*

# Packages whose goroutines share state: they are tested with -race, which takes ten times as long. The
# longest comes first, so that the others run beside it.
CONCURRENT := ./shared/delivery/... ./shared/store/... ./shared/quota ./shared/cache ./shared/live/... ./shared/app/live ./shared/webhook \
	./shared/client ./shared/api/rpc

test: check ## check every rule: format, vet, the tests of every package (9 minutes on two cores at the first time)
	@echo '== tools (half a minute at the first time)'
	@go run ./localstack/install
	@echo '== gofmt'
	@files=$$(gofmt -l */) && test -z "$$files" || { echo "Not formatted, run gofmt -w on: $$files"; exit 1; }
	@echo '== go vet (compiles everything: some minutes at the first time, seconds later)'
	@$(call timed,go vet -tags e2e ./...)
	@echo '== go test -race (a line for each package as it ends)'
	@# A program that ends need not wait a second for what may still run in it.
	@export GORACE=atexit_sleep_ms=0; $(call timed,CGO_ENABLED=1 go test -race -shuffle=on -vet=off -timeout 20m $(CONCURRENT))
	@echo '== go test of the others'
	@packages=$$(go list ./... | grep -vFx "$$(go list $(CONCURRENT))") || exit 1; \
	$(call timed,go test -shuffle=on -vet=off -timeout 20m $$packages)

e2e: check ## check the whole: a deployment to LocalStack, its pages in a browser, what a newcomer does (11 minutes on two cores at the first time)
	@go run ./localstack/install
	@echo '== go test -tags e2e (a line for each package as it ends)'
	@files=$$(grep -rl --include='*_test.go' --exclude-dir=node_modules '^//go:build e2e' */); \
	packages=$$(echo "$$files" | xargs -n 1 dirname | sort -u | sed 's,^,./,'); \
	tests=$$(sed -n 's/^func \(Test[A-Za-z]*\)(.*/\1/p' $$files | paste -s -d '|' -); \
	$(call timed,go test -tags e2e -shuffle=on -vet=off -timeout 30m -run "^($$tests)$$" $$packages)

bench: check ## compare the service's time with that of its bare calls to the local table (three minutes)
	@go run ./localstack/install
	@go test ./shared/app -run '^$$' -bench Speed -benchtime 3s

# Pinned, and compiled at the first time: minutes. The CDK's packages are left out, which take minutes more.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ERRCHECK    := github.com/kisielk/errcheck@v1.30.0

# The prose of comments and Markdown. Vale needs cgo, and later versions do not resolve.
VALE  := env CGO_ENABLED=1 go run github.com/vale-cli/vale/v3/cmd/vale@v3.21.0
PROSE := git ls-files '*.go' '*.ts' '*.md' | grep -v '^CHANGELOG.md\|^shared/client/generated.go'

packages: check ## draw the packages by level: each imports lower ones alone
	@go list -f '{{.ImportPath}}{{range .Imports}} {{.}}{{end}}' ./... | awk -f scripts/packages.awk

lint: check ## look for likely mistakes: staticcheck, errcheck, vale (some minutes at the first time, then seconds)
	@echo '== vale'; $(call timed,.vale/check "$(VALE)" && $(VALE) --output=line $$($(PROSE)))
	@echo '== staticcheck'; $(call timed,go run $(STATICCHECK) -tags e2e $$(go list ./... | grep -v '^collabdata/infra'))
	@echo '== errcheck'; $(call timed,go run $(ERRCHECK) -ignoretests -exclude .errcheck $$(go list ./... | grep -v '^collabdata/infra'))

GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

audit: check ## look for known vulnerabilities in dependencies: govulncheck, npm audit (asks databases on the internet)
	@echo '== govulncheck'; go run $(GOVULNCHECK) ./...
	@for folder in shared/client/ts shared/client/elements localstack/pins/node localstack/pins/cdk; do echo "== npm audit $$folder"; (cd $$folder && npm audit --package-lock-only) || exit 1; done

fuzz: check ## fuzz each target for 10 s (FUZZTIME=... overrides)
	@go run ./localstack/install
	@echo 'Each target is fuzzed for $(FUZZTIME).'; \
	packages=$$(go list ./... | grep -v '^collabdata/infra') || exit 1; \
	for package in $$packages; do \
		targets=$$(go test -list '^Fuzz' $$package) || { echo "$$targets"; exit 1; }; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

build: check ## compile the functions for AWS (ARCH=x86_64 instead of arm64) into .local/functions
	@$(call run_program,deploy) build -c arch=$(ARCH)

deploy: check ## deploy to AWS with the environment's credentials (ARGS='-c stage=test' for settings)
	@$(call run_program,deploy) aws $(ARGS)

deploy-local: check ## deploy to LocalStack, started on port 4566 (PORT=... for another), or to the one that AWS_ENDPOINT_URL names
	@$(call run_program,deploy) local $(ARGS)

destroy-local: check ## stop what deploy-local started, or remove the stack where AWS_ENDPOINT_URL names a cloud
	@$(call run_program,deploy) destroy-local $(ARGS)

# As "uname -s" and "uname -m" print them, and the architectures of Lambda.
PLATFORMS := Linux-x86_64 Linux-aarch64 Darwin-x86_64 Darwin-arm64
ARCHS     := arm64 x86_64

aws: check ## build .local/aws, a folder for each platform, which deploys without Go and Python: functions, CDK app, and operator's program
	@rm -rf $(LOCAL)/aws && mkdir -p $(LOCAL)/aws && $(call build_programs,deploy) && for arch in $(ARCHS); do \
		$(LOCAL)/bin/deploy build -c arch=$$arch || exit 1; done
	@for platform in $(PLATFORMS); do echo "Building infra and admin for $$platform (a minute the first time) ..."; \
		made=$(LOCAL)/aws/$$platform && mkdir -p $$made/functions && \
		export GOOS=$$(echo $${platform%-*} | tr A-Z a-z) GOARCH=$$(echo $${platform#*-} | sed 's/x86_64/amd64/; s/aarch64/arm64/') && \
		go build -buildvcs=true -ldflags '-s -w' -o $$made/ ./infra ./scripts/admin && \
		for arch in $(ARCHS); do cp -R $(LOCAL)/functions/$$arch $$made/functions/ || exit 1; done && \
		cp LICENSE infra/deploy-policy.json infra/operator-policy.json infra/bootstrap-policy.json infra/release/* localstack/pins/cdk/* $$made/ && cp infra/README.md $$made/OPERATIONS.md || exit 1; done
	@for arch in $(ARCHS); do echo "Writing the template for $$arch ..."; made=$(LOCAL)/template/$$arch && rm -rf $$made && mkdir -p $$made && \
		go build -buildvcs=true -o $(LOCAL)/bin/ ./infra && cp LICENSE infra/plain/* $$made/ && \
		CDK_CONTEXT_JSON='{"arch": "'$$arch'", "concurrency": "1000"}' $(LOCAL)/bin/infra -functions $(LOCAL)/functions -plain $$made || exit 1; done
	@echo 'Built $(LOCAL)/aws: see README.md in the folder of your platform; $(LOCAL)/template has templates for CloudFormation alone'

CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0

RELEASE := $(LOCAL)/release/$(VERSION)
NOTES   := sed -n '/^\#\# $(VERSION) (20/,/^\#\# /{/^\#\# /d;p;}' CHANGELOG.md

release: check ## make the release of this checkout in .local/release, with its tag (VERSION=0.1.0); nothing is published
	@grep -q 'Release = "$(VERSION)"' shared/platform/version.go || { echo 'This checkout is another version: see shared/platform/version.go' >&2; exit 1; }
	@[ -n "$$($(NOTES))" ] || { echo 'CHANGELOG.md has no section "## $(VERSION) (2026-11-23)", with the date of the release' >&2; exit 1; }
	@[ -z "$$(git status --porcelain)" ] || { echo 'There are changes that are not committed: see git status' >&2; exit 1; }
	@rm -rf $(RELEASE) && mkdir -p $(RELEASE) && $(NOTES) > $(RELEASE)/NOTES.md && $(MAKE) --silent wheel && \
	cp $(LOCAL)/wheel/collabdata-$(VERSION)-*.whl shared/api/openapi.json shared/api/openapi-clients.json $(RELEASE)/
	@$(MAKE) --silent aws && python=$$(go run ./localstack/install python) && for platform in $(PLATFORMS); do echo "Packing for $$platform ..."; \
		(cd $(LOCAL)/aws/$$platform && "$$python" -m zipfile -c '$(CURDIR)/$(RELEASE)/collabdata-$(VERSION)-aws-'$$platform.zip *) || exit 1; done; for arch in $(ARCHS); do \
		(cd $(LOCAL)/template/$$arch && "$$python" -m zipfile -c '$(CURDIR)/$(RELEASE)/collabdata-$(VERSION)-cloudformation-'$$arch.zip *) || exit 1; done
	@git archive --prefix=collabdata-$(VERSION)/ --output=$(RELEASE)/collabdata-$(VERSION).tar.gz HEAD
	@for package in ts elements; do (cd shared/client/$$package && npm ci --ignore-scripts --no-audit --no-fund --silent && \
		npm pack --silent --pack-destination '$(CURDIR)/$(RELEASE)') || exit 1; done
	@go run $(CYCLONEDX) mod -json -output $(RELEASE)/sbom-go.cdx.json 2>/dev/null && cd shared/client/elements && \
		npm sbom --package-lock-only --omit=dev --sbom-format=cyclonedx > '$(CURDIR)/$(RELEASE)/sbom-elements.cdx.json'
	@cd $(RELEASE) && { command -v sha256sum >/dev/null && sha256sum * || shasum -a 256 *; } > ../SHA256SUMS && mv ../SHA256SUMS .
	@[ "$$(git tag --points-at HEAD v$(VERSION))" ] || git tag --annotate --cleanup=verbatim --file $(RELEASE)/NOTES.md v$(VERSION)
	@echo 'The release is in $(RELEASE), and its tag is v$(VERSION). Nothing is published. To check its packages, and publish it:' && \
	echo && echo '  make publish-dry-run VERSION=$(VERSION)' && echo '  git push origin v$(VERSION)' && \
	echo '  gh release create v$(VERSION) --title v$(VERSION) --notes-file $(RELEASE)/NOTES.md $(RELEASE)/collabdata* $(RELEASE)/*.json $(RELEASE)/SHA256SUMS' && \
	echo '  npm publish $(RELEASE)/collabdata-client-$(VERSION).tgz && npm publish $(RELEASE)/collabdata-elements-$(VERSION).tgz'

publish-dry-run: check ## check the packages of a release as their registries do (VERSION=0.1.0, after make release)
	@[ -e $(RELEASE)/SHA256SUMS ] || { echo 'There is no release in $(RELEASE): run make release VERSION=$(VERSION)' >&2; exit 1; }
	@for package in $(RELEASE)/*.tgz; do npm publish --dry-run --loglevel=warn "$$package" || exit 1; done
	@"$$(go run ./localstack/install twine)" check --strict $(RELEASE)/*.whl

clean: ## remove data, logs and builds, keep the installed tools
	@for port in $$(ls $(LOCAL)/localstack 2>/dev/null); do echo "LocalStack is running: PORT=$$port make destroy-local first." >&2; exit 1; done
	@if [ -x $(LOCAL)/bin/local ] && [ -e $(LOCAL)/data ]; then $(LOCAL)/bin/local -unused; fi
	@if [ -d $(LOCAL) ]; then find $(LOCAL) -mindepth 1 -maxdepth 1 ! -name tools -exec rm -rf {} +; fi
	@rm -rf cdk.out infra/cdk.out shared/client/ts/dist shared/client/elements/dist

distclean: clean ## remove the installed tools too
	@rm -rf $(LOCAL) shared/client/ts/node_modules shared/client/elements/node_modules
