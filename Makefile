# Two commands on a fresh machine with Go 1.26: make demo, make test.

.PHONY: demo test short lint build bench

build:
	go build -o bin/eyrie ./cmd/eyrie

# A whole job against an emulated OpenRouter on this machine. No key, no cost.
demo:
	go run ./demo

test:
	go vet ./...
	go test -race -timeout 20m ./...

# The same with small workloads.
short:
	go test -short ./...

lint:
	test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench:
	go test -run '^$$' -bench . -benchmem ./...
