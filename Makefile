# Everything that a fresh Debian-like machine with Go needs: "make chaos" runs
# the default suite on real servers, "make test" runs every test.

GO ?= go
# Without cgo the program is static: one file for every machine and container. Tests
# do the same where they can, so that a package is compiled once.
STATIC := CGO_ENABLED=0 $(GO)
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null)
LDFLAGS := -X lockchaos/results.Commit=$(COMMIT)

.PHONY: build chaos test race check bench deps deps-test

build:
	$(STATIC) build -ldflags '$(LDFLAGS)' -o chaos ./cmd/chaos

# chaos installs what is missing and runs the default suite.
chaos: deps build
	./chaos run

# What takes longest is named first, as two packages are tested at a time: last, it
# would be tested alone.
LONGEST := ./runner

# What runs many goroutines is tested with the race detector, too.
RACY := $(LONGEST) ./history ./faults ./host ./workloads ./cluster/... ./serve/play
# But not again the whole catalogue: that takes minutes, and its parts are among the rest.
WHOLE := ^(TestWorldsAgree|TestDeterminism|TestDifferential.*)$$

# The stack of containers is tested by itself: to build it would make the machine too
# busy for runs whose leases are short.
STACK := lockchaos/compose

# test installs what is missing and runs every test. The first time, the images of
# compose/ are made, which takes minutes. The manifests for Kubernetes are a module of
# their own, so that nobody else needs what its tests need. They ask the program, too,
# which no cache of theirs knows of; check vets them.
test: deps-test
	$(STATIC) test $(LONGEST) $$($(GO) list ./... | grep -vx '$(STACK)')
	$(STATIC) test -timeout 30m $(STACK)
	$(GO) test -race -skip '$(WHOLE)' $(RACY)
	cd kubernetes && $(STATIC) test -count=1 -vet=off ./...

# race runs every test with the race detector.
race: deps-test
	$(GO) test -race -timeout 30m ./...

# check is what must pass before a commit.
check:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "not gofmt-ed: $$bad"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	staticcheck=$$($(GO) tool -n staticcheck) && cd kubernetes && $(GO) vet ./... && "$$staticcheck" ./...
	$(MAKE) test

# bench measures what the README says of speed.
bench: deps
	$(GO) test -run '^$$' -bench . -benchtime 1x ./checker ./cluster/local ./runner ./report/page ./serve/...

deps:
	@scripts/deps.sh

deps-test:
	@scripts/deps.sh test
