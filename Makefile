# Two commands on a fresh machine with Go 1.26: make demo, make test.

.PHONY: demo test short lint build bench oracle proof-tokens bench-journal

build:
	go build -o bin/eyrie ./cmd/eyrie

# A whole job against an emulated OpenRouter on this machine. No key, no cost.
demo:
	go run ./demo

test:
	go vet ./...
	go test -race -timeout 45m ./...

# The same with small workloads.
short:
	go test -short ./...

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...

# Ids beside those of the reference implementations (npm packages), of STRINGS
# difficult strings for each of ten vocabularies and modes.
STRINGS = 2000
oracle:
	go run ./tokenizer/internal/oracle -strings $(STRINGS)

# How many rows get into each class, and how many of them are exact, over more
# than a million emulated answers (docs/tokens.md). The tests run a few thousand.
proof-tokens:
	go test ./tokens -run Certificates -v -timeout 4h -answers 1584000 -emulated 600000

# The journal beside a file synced after every record, and SQLite. It writes 9 GB.
bench-journal:
	cd journal/bench && go run .
