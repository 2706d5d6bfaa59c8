# make help lists the targets.

GO ?= go

.PHONY: help build run test test-mcp lint bench fuzz golden checkpoint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/lab, which needs nothing else on the machine
	CGO_ENABLED=0 $(GO) build -o bin/lab ./cmd/lab

run: ## replay the shipped cases
	$(GO) run ./cmd/lab tool-eval

# The race detector needs a C compiler; on a machine with only Go it is left out.
RACE ?= $(if $(shell command -v "$$($(GO) env CC)" 2>/dev/null),-race)

test: ## run every test, with the race detector and the fuzz seeds
	@test -n "$(RACE)" || echo "no C compiler: the race detector is left out"
	$(GO) test $(RACE) ./...

# The addon of sqlite3 is compiled where it cannot be fetched; the headers of
# this Node.js, where it has them, spare it the network for that too.
MCP = tests/mcp

test-mcp: $(MCP)/node_modules/.package-lock.json ## test on real MCP servers, which need Node.js
	MCP_NODE_MODULES=$(CURDIR)/$(MCP)/node_modules $(GO) test -count 1 -timeout 20m ./$(MCP)

$(MCP)/node_modules/.package-lock.json: $(MCP)/package.json $(MCP)/package-lock.json
	@prefix=$$(node -p 'require("path").resolve(process.execPath, "../..")') && \
	if test -z "$$npm_config_nodedir" -a -f "$$prefix/include/node/node.h"; then export npm_config_nodedir="$$prefix"; fi && \
	npm --prefix $(MCP) ci
	@touch $@

lint: ## gofmt, vet and staticcheck
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "gofmt would change: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: ## Go benchmarks, then the whole command over 110,000 cases
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) run ./tests/bench

# A target of each package in turn: go test takes one at a time.
FUZZTIME ?= 20s

fuzz: ## run every fuzz target for FUZZTIME
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z]+' lab cmd | while IFS=: read -r file target; do \
		$(GO) test -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$(dirname $$file)" || exit 1; done

golden: ## write the golden files anew
	$(GO) test ./lab/report ./lab/report/terminal ./lab/mutation ./cmd/lab -update

checkpoint: ## write the committed reports anew
	$(GO) run ./cmd/lab tool-eval --out reports
	$(GO) run ./cmd/lab mutate --full --out reports

clean: ## remove what the other targets leave
	rm -rf bin reports/local
