module github.com/eyrie-ai/eyrie/bench

go 1.26.8

require (
	github.com/eyrie-ai/eyrie v0.0.0
	github.com/openai/openai-go/v3 v3.99.0
	github.com/sashabaranov/go-openai v1.43.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/tidwall/gjson v1.20.0 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace github.com/eyrie-ai/eyrie => ../
