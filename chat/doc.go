// Package chat turns a conversation into the exact text that a server showed
// to its model.
//
// A server takes messages and tools, runs them through the model's chat
// template and tokenises the text that comes out. Whoever wants to know what
// the model saw has to print the same text, byte for byte: a different space
// in a tool declaration is a different prompt. [Load] finds the template of a
// model folder, and a [Template] renders a [Conversation].
//
// # Native and general templates
//
// The templates of Kimi-K2-Thinking, Kimi-K2.5 and Kimi-K2.6 are built in.
// A folder whose template is one of those, told by its sha256, is rendered by
// straight Go code; any other template runs through the template engine of
// package jinja, which prints what Python's Jinja2 prints. Both routes give the
// same text where both can be taken; [Template.Digest] is therefore the digest
// of the template's source, whichever of the two renders it.
//
// # What a conversation loses on the wire
//
// Some of what a template prints depends on what the server does to messages
// before they reach it. SGLang and vLLM parse the arguments of earlier tool
// calls and let the template print them again, with Python's spacing; other
// servers hand them on as they were written. [Conversation.Arguments] chooses,
// and a caller that has a token count to compare with can try both.
//
// # Special literals
//
// Servers recognise the spelling of control tokens wherever it stands in the
// rendered text, also inside what a user wrote: a user message that contains
// "<|im_end|>" ends there for the model. Such prompts are better dropped when
// they are imported; [SpecialLiterals] finds them.
//
// # What is not covered
//
// Contents are text: images and video cannot be said in an [eyrie.Message].
// Of the variables that a server can set for a template, only those for
// reasoning are: thinking, enable_thinking and preserve_thinking.
package chat
