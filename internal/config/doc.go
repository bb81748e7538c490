// Package config reads job files.
//
// A job file is YAML. It names the model, the money and the data sets of one
// run, and it is read strictly: an unknown key, a value of the wrong type, a
// file that is not there are faults, and [Load] reports every fault of a file
// in one go, each with its line, its column, its field and the way out. What it
// returns without an error can be run as it stands.
//
// # The file
//
// A line with "required" must be there; the others show the default, or say
// what leaving them out means.
//
//	model: moonshotai/kimi-k2.5       required; author/slug
//	tokenizer: ./models/kimi-k2.5     required; folder with tiktoken.model or tokenizer.json
//	budget: 100                       required where an engine takes money; dollars: 100, "100.50", $100
//	output: ./runs/kimi               required; the run folder, made when it is missing
//	thinking: true                    whether the model reasons before it answers
//	concurrency: 2000                 requests in flight at most, 1 to 100000
//	attempts: 4                       paid attempts at one answer at most, 1 to 20
//	on_length: keep                   what becomes of answers cut off at max_tokens: keep, drop or retry
//	retry_max_tokens: 16384           with on_length: retry, the cap of the second try; twice the first
//	hold: strict                      what is reserved for a request: strict is the most it may cost, so that
//	                                  the budget is never passed; expected is what hardly one costs, which
//	                                  keeps more in flight, and the plan says by how much the budget may be
//	                                  passed
//	fit: fail                         what gives way when the budget does not reach: fail refuses the job,
//	                                  proportion ends every set equally far, sets fills them whole in
//	                                  their order, longest-first the largest target first
//	deadline: 3h                      when it is to be done, 1m to 8760h: lanes that cost money do only what
//	                                  the free ones cannot do by then; as soon as can be when left out
//	finish: asap                      says outright what leaving out the deadline means
//	sort: price                       which lanes are filled first: price, throughput, latency; with a
//	                                  deadline it is deadline: by price, and no more lanes than it needs
//	hedge: 2%                         of the budget for second copies of the last slow answers; on, off
//	seed: 0                           of what is drawn: which row is sampled by which part of a mix
//	sampling:                         what is left out here is not sent
//	  temperature: 1.0                0 to 2
//	  top_p: 0.95                     0 to 1
//	  top_k: 40                       0 or more
//	  min_p: 0.05                     0 to 1
//	  seed: 1                         a whole number; sample n of a prompt is asked with seed + n
//	  max_tokens: 8192                16 to 1048576; 8192 when left out
//	  effort: high                    how much it reasons: minimal, low, medium, high, xhigh, max
//	  stop: ["END"]                   texts that end an answer, at most 4
//	  mix:                            ways of sampling, drawn row by row; none. Each begins with
//	    - {weight: 3}                 what stands above; a weight says how often it is taken beside
//	    - {weight: 1, thinking: false, temperature: 0.6}    the others, 0.001 to 1000
//	tokens: 100M                      output tokens of all sets that have none of their own; none
//	datasets:                         required; one or more
//	  - name: code                    required; letters, digits, ".", "_", "-"; becomes a folder name
//	    path: prompts/code.jsonl      required; a file of prompts, or a folder or pattern of them
//	    tokens: 10M                   required; output tokens wanted: 10M, 500k, 1.5M, 10_000_000
//	    samples: 1                    answers to one prompt, 1 to 1000
//	    turns: all                    all, last or first: which answers of a conversation are made
//	    tools: exact                  exact or name: how results find the model's own calls
//	    layout: auto                  how rows hold conversations: auto or a layout of package dataset
//	    format: auto                  how files hold rows, where the name does not say it: csv, tsv or text
//	    columns: {prompt: ask}        names of columns by what they hold; the usual ones
//	    roles: {narrator: system}     speakers of unusual names; none
//	    images: drop                  drop the row, skip the image, or refuse the set
//	    max_row: 64MB                 the most of one row, 1KB to 16GB
//	    accept_drops: 0.05            the share of rows that may be lost, 0 to 1
//	    keep:                         what is wanted of a prompt; anything
//	      languages: [en, zh]         by the language column, else guessed
//	      tools: true                 with tools, or without
//	      min_turns: 1                as the other bounds, 1 to 2^30
//	      max_turns: 10
//	      min_tokens: 10              of the prompt
//	      max_tokens: 8000
//	    near_duplicates: 0.8          leave out what is as like as this to an earlier row, 0.3 to 1; keep it
//	    decontaminate: [mt.jsonl]     leave out what shares text with the prompts of these files; nothing
//	    sample: 5000                  so many rows, which the job's seed and their content decide; all
//	    shuffle: false                their order too
//	    validation: 0.05              the share of conversations that is marked for validation, 0 to 0.9; none
//	    weight: 1                     in place of tokens: a share of the job's tokens
//	    seed_from: old-run            a run folder or a .jsonl file whose answers are taken over; none
//	engines:                          required; one or more, each under the name of its kind
//	  - openrouter:
//	      base_url: https://openrouter.ai/api/v1
//	      key_file: ~/.config/eyrie/key    else the environment's OPENROUTER_API_KEY
//	      quantization: native             native, any, or a list such as [native, fp8, unknown]
//	      precision:                       what you know better than the labels; nothing
//	        novita: int4
//	        venice: {label: fp8, note: asked their support}
//	      only: [atlas-cloud]              providers or endpoints that may answer; all
//	      ignore: [venice]                 providers or endpoints that may not; none
//	      prefer: [siliconflow/int4]       these before cheaper ones, in this order; none
//	      max_price:                       dollars per million tokens; none
//	        prompt: 0.55
//	        completion: 2.60
//	        request: 0.001                 dollars for a request by itself; nothing
//	      min_status: -2                   the lowest status that may answer, -10 to 0; any
//	      min_uptime: 95                   per cent of the last half hour, 0 to 100; 0
//	      data_collection: deny            deny or allow; the account's own setting
//	      zdr: false                       only endpoints that retain nothing
//	      distillable: false               only a model whose author allows distillation
//	      logprobs: false                  auto asks for the tokens' bytes where they are given, true takes no answer without
//	      catalogue_every: 5m              how often a run reads the prices again, 1s to 24h
//	  - sglang:                           a server of your own, which costs nothing; so are vllm and openai
//	      base_url: http://127.0.0.1:30000    required
//	      via: chat                        chat, or ids: the prompt goes as token ids; openai has chat only
//	      model: kimi                      the name it serves the model under; found out
//	      concurrency: 256                 requests at once at most; the job's
//	      name: rack1                      what its lane is called; the kind
//	      key_file: ./rack1.key            where it wants a key; none
//
// Paths are relative to the folder of the job file; "~/" stands for the home
// folder. Amounts are read from the text of the file and never pass through a
// float. Anchors, aliases and tags of YAML are refused: a job file says each
// thing once, in place.
//
// The package does not look at the environment; callers hand it in as [Env].
// API keys are read by [OpenRouter.Key] and never by [Load], so that a forecast
// can be made where no key is.
package config
