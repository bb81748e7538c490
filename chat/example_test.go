package chat_test

import (
	"fmt"
	"log"
	"testing/fstest"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
)

// The text that Kimi-K2.5 is shown when a user asks it something and it may use
// a tool.
func Example() {
	folder := fstest.MapFS{"config.json": {Data: []byte(`{"model_type": "kimi_k25"}`)}} // os.DirFS(dir) in real life
	tmpl, err := chat.LoadFS(folder, "kimi-k2.5")
	if err != nil {
		log.Fatal(err)
	}
	text, err := tmpl.Render(nil, chat.Conversation{
		Messages: []eyrie.Message{{Role: eyrie.User, Content: "Will it rain?"}},
		Tools: []byte(`[{"type": "function", "function": {
			"name": "forecast",
			"description": "The weather of the next days.",
			"parameters": {"type": "object", "required": ["city"], "properties": {
				"days": {"type": "integer", "minimum": 1, "default": 3},
				"city": {"type": "string", "description": "Name of a city"}}}}}]`),
		Thinking: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output:
	// <|im_system|>tool_declare<|im_middle|># Tools
	//
	// ## functions
	// namespace functions {
	// // The weather of the next days.
	// type forecast = (_: {
	//   // Name of a city
	//   city: string,
	//   // minimum: 1
	//   // Default: 3
	//   days?: number
	// }) => any;
	// }
	// <|im_end|><|im_user|>user<|im_middle|>Will it rain?<|im_end|><|im_assistant|>assistant<|im_middle|><think>
}
