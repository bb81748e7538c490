// Package emulator plays OpenRouter: an http.Handler that answers like the
// vendor, honestly or with chosen faults, and keeps the truth aside.
//
// # The model
//
// A [Server] offers the models and endpoints of a catalogue at the catalogue's
// prices. A chat request passes the vendor's checks in the vendor's order:
// the network's edge, the key, the body, the model, the key's limit, the
// account's balance, then the endpoints, which are filtered by the request's
// provider block, priced, and tried in turn. Whatever refuses first names the
// error.
//
// The endpoint that takes the request renders the prompt as Kimi-K2.5 is
// served, counts its tokens, and writes a completion as token ids: reasoning,
// </think>, text, tool calls, <|im_end|>. Prose in several scripts, code,
// formulas and emoji come from word lists; the ids come from the model's own
// vocabulary, split as its encoder splits them, apart from a share of
// completions (text.noncanonical) that spell the same bytes with other tokens,
// sometimes with equally many. The reply is read off the ids, so the text a
// client gets is exactly what they decode to, and usage is exactly their
// number: completion_tokens counts every id, the final <|im_end|> included
// unless max_tokens cut it off, and reasoning_tokens counts the ids up to and
// including </think>, which is how inference engines count.
//
// Costs are decimal arithmetic on the catalogue's price texts. usage.cost has
// all digits; the books hold each request's cost in picodollars, rounded up.
//
// # Determinism
//
// Everything drawn depends only on the seed, the prompt, the endpoint and how
// often that prompt was asked: neither the clock nor the order in which
// different prompts arrive changes an answer. (Faults may be tied to both: by
// from and to, requests and limit; and those that strike before the prompt is
// read are drawn by the request's number.) k requests for one prompt get k different
// samples, the same ones in every run, unless they give an endpoint that takes it
// the same seed. Time is taken from package time only,
// so a server in a testing/synctest bubble is paced by the bubble's clock.
//
// # Truth
//
// Each chat request becomes an [Entry] in the books when it ends, before the
// last byte of its reply: the ids of prompt and completion, whether they are
// canonical, the faults that struck, what was sent, what was charged and why.
// [Server.Books], [Server.Totals] and the control handler show them; [Examine]
// tells from them what a client did wrong. Leaving a
// stream is charged as the vendor's documentation says for that provider: some
// stop, the others charge the whole completion.
//
// # Knobs
//
// A [Scenario] holds them all; YAML files use the names below. Durations are
// written 250ms, 10s, 5m.
//
//	text.median_tokens      300    completion length, log-normal
//	text.sigma              0.6    of its logarithm
//	text.reasoning_share    0.5    of it is reasoning, when the model thinks
//	text.noncanonical       0.02   share of completions with an unusual split
//	text.tool_call          0.7    chance of calling a tool, given tools
//	text.parallel_calls     0.25   chance of each further call
//	text.spaced_arguments   0.3    chance of ", " and ": " in arguments
//	text.odd_tool_ids       0      chance of an id that is not functions.NAME:IDX
//	text.trailing_space     0      chance of white space before </think> or calls
//	text.skip_think_end     0      chance of calling without </think>
//	text.trim_reasoning     false  replies lose white space at reasoning's end
//	text.rewrite_tool_ids   false  replies number tool calls themselves
//	text.keep_arguments     false  prompts hold earlier arguments as sent; engines
//	                               read them and print them again
//	timing.header           0      until the response header
//	timing.ttft             0      from there to the first token, median
//	timing.ttft_sigma       0      of its logarithm
//	timing.token_rate       0      tokens a second, median; 0 is unpaced
//	timing.rate_sigma       0      of its logarithm
//	timing.speed            1      divides all of the above
//	timing.write_every      50ms   tokens due within it share a write
//	stream.chunk_tokens     4      tokens in an event
//	stream.comment_interval 10s    between comments in silence; 0 is none
//	endpoints               none   limits by tag; "*" is every endpoint not named
//	  .max_in_flight        0      requests at once, more get 429; 0 is no limit
//	  .rpm                  0      requests begun in 60 s; 0 is no limit
//	  .tpm                  0      tokens in 60 s; 0 is no limit
//	  .others               0      places that other customers take, at most
//	  .queue                0      wait for a place before a 429
//	  .retry_after          ""     the 429's Retry-After: seconds or date:SECONDS
//	  .reasoned             false  thinking, refuses a call of a tool in the history that
//	                               has no reasoning, not even an empty one
//	  .overrun              0      times max_tokens that it writes; 0 obeys
//	  .zdr                  false  retains nothing: it is in /endpoints/zdr
//	  .trains               false  data_collection deny leaves it out
//	account.check_late      false  the money is looked at after the endpoints
//	account.balance_lag     0      age of the figures that admission sees
//	account.null_counters   false  /key's counters by period are null
//	generation.delay        0      until /generation finds a request
//	generation.cancelled_delay 0   the same after an aborted stream
//	cache.block             0      tokens in a block of the prompt cache; 0 is none
//	cache.write_on_top      false  a price of cache writes comes on top of the
//	                               prompt's, not in its place
//	cache.window            10m    of idleness after which prompts and the routes
//	                               of conversations are forgotten
//	drift                   none   a list of [Change], at times after the start
//	faults                  none   a list of [Fault]: a kind, and which requests
//	                               it strikes; [Kinds] lists them
//
// # Faults
//
// A fault of a kind in the first group answers before the vendor looks at the
// request, in the second at admission, in the third at the endpoint; the
// fourth spoils replies, and the fifth lookups of /generation.
//
//	edge_block   403 HTML page
//	html         HTML page of Status
//	unauthorized 401 for a valid key
//	reset_early  connection reset
//
//	payment      402: afford, credits, never, prompt_limit
//	forbidden    403: key_limit, moderation, guardrail, region
//	not_found    404: endpoints, guardrail, tools
//	quota        429: free_per_min, free_per_day
//
//	rate_limit   429: upstream, capacity, html
//	http         Status relayed: json, nested, raw_html; charged with Charge yes
//
//	error_body   200 with an error: no_choices, null_choices, in_choice
//	choices      200 with choices null, empty, missing
//	blank        200 with whitespace, dot, empty, html, cut_json, sse
//	drip         white space before the JSON, After bytes of it
//	mid_error    error after After tokens: with_choices, empty_choices, bare,
//	             string_code, nested, event
//	eof          end after After tokens: clean, in_event
//	reset        connection or stream reset after After tokens
//	stall        silence after After tokens, For a time: comments, silent
//	done         [DONE] missing, the body open behind it, or more data
//	frame        crlf, no_space, fields, split, multi_line, huge, gzip
//	usage        repeat_finish, in_finish, missing, twice, null_cost, zero_cost,
//	             undercount, overcount, discount
//	finish       blank, null, error, length, content_filter, word, early_blank
//	content      reasoning_only, empty, no_reasoning, reasoning_content,
//	             details_only, leak, refusal, drift, loop, duplicate,
//	             ignore_disabled, ignore_stop, ignore_seed, ignore_schema
//	tool         malformed, leak, duplicate_id, empty_id, native_id, no_index,
//	             plain_text, finish_stop, ignore_choice
//	logprobs     null, no_bytes, text_bytes, no_control, no_reasoning, merged,
//	             short
//	overrun      Factor times max_tokens
//	provider     other, missing, slug, case; swapped, hidden: another endpoint
//	             serves and charges
//	model        id, wrong
//	charge       double, discount
//	pipeline     a plugin in openrouter_metadata
//	goaway       leave the connection after this reply
//
//	generation   never found, status Status, cost times Factor
//
// An error inside a stream is not charged, any other broken reply is; Charge
// says otherwise.
//
// # Coverage
//
// What is known of the vendor, and where each part of it is played:
//
//	surface        chat/completions, models in pages, endpoints, providers, key,
//	               credits, generation, keys, endpoints/zdr; batches answer 404,
//	               activity and stored contents are empty
//	checks         edge, key, body, model, money, endpoints by what is asked,
//	               privacy and price, affordability, place; account.check_late
//	replies        ids, canonical names, reasoning, tool calls, logprobs, seeds,
//	               stop strings, schemas, silent loss of parameters (Entry.Dropped)
//	money          prices with overrides by length and hour, cache reads and
//	               writes, refunds, late bills; faults charge, usage, payment
//	routing        pins, filters, order, sort, weights, fallbacks, stickiness
//	timing         timing.*, stream.comment_interval; fault stall
//	framing        stream.chunk_tokens; faults frame, drip
//	end of stream  faults usage, done, eof, reset, finish, goaway
//	errors         faults error_body, choices, blank, mid_error, http, html,
//	               unauthorized, forbidden, not_found, quota, edge_block
//	capacity       endpoints.*; fault rate_limit, with a window for storms
//	content        fault content; text.* for what a model does by itself
//	tools          fault tool
//	limits         endpoints.overrun; faults overrun, usage
//	identity       faults provider, model, pipeline
//	drift          drift: prices, tags, removal, status, caps, labels, members
//	generation     generation.*; fault generation
//	caches         cache.*, and the response cache that a header switches on
//	assertions     books, totals, Examine
//
// A process that dies and comes back is played by ending it: see Limits.
//
// # Scenarios
//
// [Scenarios] lists the scenarios that come with the package; [NamedScenario]
// returns one.
//
// # Protocols
//
// The handler works under HTTP/1.1 and HTTP/2, with TLS or without; that is the
// http.Server's choice. Resetting means closing the connection under HTTP/1.1
// and the stream under HTTP/2.
//
// # Limits
//
// The state is in memory: a server that is started again knows nothing of what
// went before, apart from the lines in its books file.
//
// An image counts as one token, where the vendor counts many.
//
// Only Kimi-K2.5's vocabulary and template are known; other models of the
// catalogue answer in the same way. Sorting by throughput or latency goes by
// the catalogue's medians, and by price where it has none. /activity shows
// complete days only, of which it keeps none. The vendor's order of checks is a
// reconstruction; account.check_late turns the part that is most in doubt.
package emulator
