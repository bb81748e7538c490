# Two commands on a fresh machine with Go 1.26: make demo, make test.

.PHONY: demo test short lint build oracle proof-tokens crash bench bench-micro bench-journal bench-export

build:
	go build -o bin/eyrie ./cmd/eyrie

# A whole job against an emulated OpenRouter on this machine. No key, no cost.
demo:
	go run ./demo

test:
	go vet ./...
	go test -race -timeout 45m ./...
	go test ./dispatch # at full size, which the race detector cannot bear
	go test -run ScenarioHappy ./internal/e2e # 2,000 at once, for the same reason

# The same with small workloads.
short:
	go test -short ./...

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# What a stream costs its client: a run with everything on beside net/http,
# openai-go and go-openai, which only read. Two thousand streams at once.
bench:
	cd bench && go run . && go run . -proto h2 -rate 10

# The benchmarks beside the code.
bench-micro:
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

# Kills and failing disks for the journal, and random runs against a vendor's
# books, by the thousand. The tests run some hundreds.
crash:
	go test ./journal -run 'Crash|KilledAt' -rounds 5000 -timeout 60m
	go test ./dispatch -run 'Books|GetLonger' -rapid.checks 10000 -timeout 60m

# The journal beside a file synced after every record, and SQLite. It writes 9 GB.
bench-journal:
	cd journal/bench && go run .

# A million rows to Parquet and JSON Lines beside plain writers. It writes 20 GB.
bench-export:
	cd export/bench && go run .
