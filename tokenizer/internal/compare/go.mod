module github.com/eyrie-ai/eyrie/tokenizer/internal/compare

go 1.26.8

replace github.com/eyrie-ai/eyrie => ../../..

require (
	github.com/eyrie-ai/eyrie v0.0.0-00010101000000-000000000000
	github.com/pkoukk/tiktoken-go v0.1.8
	github.com/tiktoken-go/tokenizer v0.10.0
)

require (
	github.com/dlclark/regexp2 v1.10.0 // indirect
	github.com/dlclark/regexp2/v2 v2.5.1 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
)
