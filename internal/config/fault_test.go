package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/internal/config"
)

// known are the keys of each mapping, as faults list them.
var known = strings.NewReplacer(
	"{job}", "model, tokenizer, budget, output, thinking, seed, sampling, concurrency, attempts, hold, on_length, retry_max_tokens, fit, deadline, finish, sort, hedge, tokens, datasets, engines",
	"{dataset}", "name, path, tokens, samples, turns, tools, seed_from, layout, format, columns, roles, images, max_row, accept_drops, keep, near_duplicates, decontaminate, sample, shuffle, validation, weight",
	"{openrouter}", "base_url, key_file, quantization, precision, only, ignore, prefer, max_price, min_status, min_uptime, data_collection, zdr, distillable, logprobs, catalogue_every",
	"{sampling}", "temperature, top_p, top_k, min_p, seed, max_tokens, effort, stop, mix",
)

// faultTests change one thing in the small job and name the message that has
// to come of it. An empty old text replaces the whole file.
var faultTests = []struct {
	name     string
	old, new string
	want     string
}{
	// The file as a whole.
	{"empty file", "", "# nothing yet\n",
		`job.yaml:1:1: found nothing; write a job; eyrie init makes a first one`},
	{"not a mapping", "", "- model\n",
		`job.yaml:1:1: found a list; write a mapping with {job}`},
	{"two documents", "engines:", "engines: [openrouter: {}]\n---\nother:",
		`job.yaml:11:1: found a second YAML document; give each job a file of its own`},
	{"syntax", "budget: 100", "budget: [100",
		`job.yaml:4:1: found text that is not YAML; ',' or ']' must be specified`},
	{"tab", "- name:", "\t- name:",
		`job.yaml:6:1: found text that is not YAML; found character '	' that cannot start any token`},
	{"NUL", "100", "1\x000",
		`job.yaml:3:10: found text that is not YAML; a NUL byte`},
	{"not UTF-8", "code", "c\xf6de",
		`job.yaml:6:10: found text that is not YAML; a byte that is not UTF-8`},
	{"brackets without end", "100", strings.Repeat("[", 300),
		`job.yaml:3:209: found text that is not YAML; brackets that nest too deeply`},

	// Keys.
	{"unknown key with a near one", "budget:", "bugdet:",
		`job.yaml:3:1: bugdet: found an unknown key; did you mean "budget"? known here: {job}`},
	{"unknown key in other writing", "  path:", "  samples: 1\n  Seed-From: rows.jsonl\n  path:",
		`job.yaml:8:3: datasets[0].Seed-From: found an unknown key; did you mean "seed_from"? known here: {dataset}`},
	{"unknown key", "  tokens:", "  heavy: 2\n  tokens:",
		`job.yaml:8:3: datasets[0].heavy: found an unknown key; known here: {dataset}`},
	{"key in the wrong place", "budget:", "temperature: 1\nbudget:",
		`job.yaml:3:1: temperature: found an unknown key; it belongs under sampling; known here: {job}`},
	{"key with odd characters", "budget:", "\"a.b\\n\": 1\nbudget:",
		`job.yaml:3:1: "a.b\n": found an unknown key; known here: {job}`},
	{"duplicate key", "output:", "budget: 5\noutput:",
		`job.yaml:4:1: budget: found the key a second time, after line 3; keep one of the two`},
	{"merge key", "budget:", "<<: {budget: 1}\nbudget:",
		`job.yaml:3:1: <<: found an unknown key; write the fields out, merging is not supported; known here: {job}`},
	{"key that is no text", "budget:", "~: 5\nbudget:",
		`job.yaml:3:1: found nothing for a key; write one of {job}`},
	{"alias", "budget: 100", "budget: *money",
		`job.yaml:3:9: budget: found an alias (*); write dollars above zero, such as 100 or $12.50`},
	{"anchor", "name: code", "name: &x code",
		`job.yaml:6:9: datasets[0].name: found an anchor (&); give it a name of letters, digits, ".", "_" and "-" that does not start with a dot`},
	{"tag", "budget: 100", "budget: !!int 100",
		`job.yaml:3:9: budget: found a tag (!); write dollars above zero, such as 100 or $12.50`},

	// model
	{"model missing", "model: moonshotai/kimi-k2.5\n", "",
		`job.yaml:1:1: model: found nothing; name the model as author/slug, such as moonshotai/kimi-k2.5`},
	{"model without value", "model: moonshotai/kimi-k2.5", "model:",
		`job.yaml:1:1: model: found nothing; name the model as author/slug, such as moonshotai/kimi-k2.5`},
	{"model without author", "moonshotai/", "",
		`job.yaml:1:8: model: found "kimi-k2.5"; name the model as author/slug, such as moonshotai/kimi-k2.5`},
	{"model that routes", "k2.5", "k2.5:nitro",
		`job.yaml:1:8: model: found "moonshotai/kimi-k2.5:nitro"; leave out ":nitro": eyrie chooses the endpoint itself; write moonshotai/kimi-k2.5`},
	{"two models", "moonshotai/kimi-k2.5", "[a/b, c/d]",
		`job.yaml:1:8: model: found a list; name the model as author/slug, such as moonshotai/kimi-k2.5`},

	// sort and hedge
	{"sort unknown", "budget: 100", "budget: 100\nsort: prize",
		`job.yaml:4:7: sort: found "prize"; did you mean "price"? allowed are price, throughput, latency, deadline`},
	{"deadline as order alone", "budget: 100", "budget: 100\nsort: deadline",
		`job.yaml:4:7: sort: found "deadline" without a deadline; add one, such as deadline: 3h`},
	{"order beside a deadline", "budget: 100", "budget: 100\ndeadline: 3h\nsort: latency",
		`job.yaml:5:7: sort: found "latency" beside a deadline; leave out one of the two: with a deadline the order is that of the price, and lanes that are not needed in time get nothing`},
	{"hedge without per cent", "budget: 100", "budget: 100\nhedge: 2",
		`job.yaml:4:8: hedge: found "2"; write on, off, or the share of the budget for second copies, such as 2%, up to 50%`},
	{"hedge of everything", "budget: 100", "budget: 100\nhedge: 100%",
		`job.yaml:4:8: hedge: found "100%"; write on, off, or the share of the budget for second copies, such as 2%, up to 50%`},

	// tokenizer
	{"tokenizer missing", "tokenizer: ./model\n", "",
		`job.yaml:1:1: tokenizer: found nothing; name the folder that holds the model's tiktoken.model or tokenizer.json`},
	{"tokenizer not there", "./model", "./modle",
		`job.yaml:2:12: tokenizer: found "./modle" (modle), which does not exist; name the folder that holds the model's tiktoken.model or tokenizer.json`},
	{"tokenizer is a file", "./model", "prompts.jsonl",
		`job.yaml:2:12: tokenizer: found "prompts.jsonl", which is a file; name the folder that holds the model's tiktoken.model or tokenizer.json`},
	{"tokenizer folder without one", "./model", "empty",
		`job.yaml:2:12: tokenizer: found "empty", which holds neither tiktoken.model nor tokenizer.json; name the folder that holds the model's tiktoken.model or tokenizer.json`},
	{"home unknown", "./model", "~/model",
		`job.yaml:2:12: tokenizer: found "~/model"; write the path out; the home folder is not known here`},
	{"home of another", "./model", "~ann/model",
		`job.yaml:2:12: tokenizer: found "~ann/model"; write the path of the other user's folder out; only "~/" is known`},
	{"path through a file", "./model", "prompts.jsonl/x",
		`job.yaml:2:12: tokenizer: found "prompts.jsonl/x", which cannot be read: not a directory; name the folder that holds the model's tiktoken.model or tokenizer.json`},

	// budget
	{"budget in words", "100", "plenty",
		`job.yaml:3:9: budget: found "plenty"; write dollars above zero, such as 100 or $12.50`},
	{"budget of nothing", "100", "0.00",
		`job.yaml:3:9: budget: found "0.00"; write dollars above zero, such as 100 or $12.50`},
	{"budget below zero", "100", "-5",
		`job.yaml:3:9: budget: found "-5"; write dollars above zero, such as 100 or $12.50`},
	{"budget in euros", "100", "€100",
		`job.yaml:3:9: budget: found "€100"; write dollars above zero, such as 100 or $12.50`},
	{"budget with commas", "100", "1,000",
		`job.yaml:3:9: budget: found "1,000"; write dollars above zero, such as 100 or $12.50`},
	{"budget without bound", "100", ".inf",
		`job.yaml:3:9: budget: found ".inf"; write dollars above zero, such as 100 or $12.50`},
	{"budget beyond counting", "100", "1e12",
		`job.yaml:3:9: budget: found "1e12"; write dollars above zero, such as 100 or $12.50`},

	{"budget of many words", "100", strings.Repeat("much ", 20),
		`job.yaml:3:9: budget: found "much much much much much much much much much much much much …"; write dollars above zero, such as 100 or $12.50`},
	{"budget with white space behind", "100\n", "none  \t\r\n",
		`job.yaml:3:9: budget: found "none"; write dollars above zero, such as 100 or $12.50`},
	{"key of many letters", "budget:", strings.Repeat("k", 50) + ": 1\nbudget:",
		`job.yaml:3:1: ` + strings.Repeat("k", 50) + `: found an unknown key; known here: {job}`},

	// output
	{"output missing", "output: ./runs/kimi\n", "",
		`job.yaml:1:1: output: found nothing; name the run folder, such as ./runs/kimi`},
	{"output is a file", "./runs/kimi", "prompts.jsonl",
		`job.yaml:4:9: output: found "prompts.jsonl", where prompts.jsonl is a file; name a folder, or where one can be made`},
	{"output on two lines", "./runs/kimi", `"a\nb"`,
		`job.yaml:4:9: output: found "a\nb"; name a folder, or where one can be made`},

	// thinking, concurrency, attempts
	{"thinking in words", "output:", "thinking: yes\noutput:",
		`job.yaml:4:11: thinking: found "yes"; write true or false`},
	{"thinking quoted", "output:", "thinking: \"true\"\noutput:",
		`job.yaml:4:11: thinking: found "true"; write true or false`},
	{"concurrency of none", "output:", "concurrency: 0\noutput:",
		`job.yaml:4:14: concurrency: found "0"; write a whole number from 1 to 100000`},
	{"concurrency too high", "output:", "concurrency: 100001\noutput:",
		`job.yaml:4:14: concurrency: found "100001"; write a whole number from 1 to 100000`},
	{"concurrency quoted", "output:", "concurrency: \"10\"\noutput:",
		`job.yaml:4:14: concurrency: found "10" in quotes; write a whole number from 1 to 100000 without quotes`},
	{"concurrency in hexadecimal", "output:", "concurrency: 0x10\noutput:",
		`job.yaml:4:14: concurrency: found "0x10"; write a whole number from 1 to 100000`},
	{"concurrency with a fraction", "output:", "concurrency: 10.0\noutput:",
		`job.yaml:4:14: concurrency: found "10.0"; write a whole number from 1 to 100000`},
	{"attempts too many", "output:", "attempts: 21\noutput:",
		`job.yaml:4:11: attempts: found "21"; write a whole number from 1 to 20`},

	// sampling
	{"sampling is no mapping", "output:", "sampling: greedy\noutput:",
		`job.yaml:4:11: sampling: found "greedy"; write a mapping with {sampling}`},
	{"temperature too high", "output:", "sampling: {temperature: 2.1}\noutput:",
		`job.yaml:4:25: sampling.temperature: found "2.1"; write a number from 0 to 2`},
	{"temperature not a number", "output:", "sampling: {temperature: .nan}\noutput:",
		`job.yaml:4:25: sampling.temperature: found ".nan"; write a number from 0 to 2`},
	{"temperature that Go would read", "output:", "sampling: {temperature: 0x1p0}\noutput:",
		`job.yaml:4:25: sampling.temperature: found "0x1p0"; write a number from 0 to 2`},
	{"top_p too high", "output:", "sampling: {top_p: 95}\noutput:",
		`job.yaml:4:19: sampling.top_p: found "95"; write a number from 0 to 1`},
	{"top_k below zero", "output:", "sampling: {top_k: -1}\noutput:",
		`job.yaml:4:19: sampling.top_k: found "-1"; write a whole number from 0 to 2147483647`},
	{"min_p in words", "output:", "sampling: {min_p: low}\noutput:",
		`job.yaml:4:19: sampling.min_p: found "low"; write a number from 0 to 1`},
	{"seed with a fraction", "output:", "sampling: {seed: 1.5}\noutput:",
		`job.yaml:4:18: sampling.seed: found "1.5"; write a whole number from -9007199254740992 to 9007199254740992`},
	{"max_tokens too low", "output:", "sampling: {max_tokens: 15}\noutput:",
		`job.yaml:4:24: sampling.max_tokens: found "15"; write a whole number from 16 to 1048576`},
	{"effort misspelt", "output:", "sampling: {effort: hihg}\noutput:",
		`job.yaml:4:20: sampling.effort: found "hihg"; did you mean "high"? allowed are minimal, low, medium, high, xhigh, max`},
	{"effort without thinking", "output:", "thinking: false\nsampling: {effort: high}\noutput:",
		`job.yaml:5:20: sampling.effort: found "high" where thinking is off; leave it out, or set thinking: true`},
	{"effort of a part without thinking", "output:", "sampling: {mix: [{weight: 1, thinking: false, effort: high}]}\noutput:",
		`job.yaml:4:55: sampling.mix[0].effort: found "high" where thinking is off; leave it out, or set thinking: true`},
	{"mix is no list", "output:", "sampling: {mix: {weight: 1}}\noutput:",
		`job.yaml:4:17: sampling.mix: found a mapping; list the parts, each with a weight and what differs, such as - {weight: 3, temperature: 0.6}`},
	{"part without weight", "output:", "sampling: {mix: [{temperature: 1}]}\noutput:",
		`job.yaml:4:18: sampling.mix[0].weight: found nothing; write how often this part is taken beside the others, such as 3 or 0.3`},
	{"weight of nothing", "output:", "sampling: {mix: [{weight: 0}]}\noutput:",
		`job.yaml:4:27: sampling.mix[0].weight: found "0"; write a number from 0.001 to 1000`},
	{"mix in a mix", "output:", "sampling: {mix: [{weight: 1, mix: []}]}\noutput:",
		`job.yaml:4:30: sampling.mix[0].mix: found an unknown key; it belongs under sampling; known here: weight, thinking, temperature, top_p, top_k, min_p, seed, max_tokens, effort, stop`},
	{"thinking as a share", "output:", "thinking: 0.3\noutput:",
		`job.yaml:4:11: thinking: found "0.3"; write true or false; a share of the rows is written as sampling.mix`},
	{"hold of another kind", "output:", "hold: loose\noutput:",
		`job.yaml:4:7: hold: found "loose"; allowed are strict, expected`},
	{"a second try and one attempt", "output:", "attempts: 1\non_length: retry\noutput:",
		`job.yaml:5:12: on_length: found a second try where attempts is 1; set attempts to 2 or more`},
	{"a cap nobody asks for", "output:", "on_length: drop\nretry_max_tokens: 20000\noutput:",
		`job.yaml:5:19: retry_max_tokens: found a cap for a second try that nothing asks for; set on_length: retry, or leave it out`},
	{"a cap no larger", "output:", "sampling: {max_tokens: 100, mix: [{weight: 1}, {weight: 1, max_tokens: 200}]}\non_length: retry\nretry_max_tokens: 200\noutput:",
		`job.yaml:6:19: retry_max_tokens: found "200"; write a whole number from 201 to 1048576`},
	{"stop empty", "output:", "sampling: {stop: \"\"}\noutput:",
		`job.yaml:4:18: sampling.stop: found ""; write one to 4 texts, such as ["\n\n", "END"]`},
	{"stop of nothing", "output:", "sampling: {stop: [a, \"\"]}\noutput:",
		`job.yaml:4:22: sampling.stop[1]: found ""; write one to 4 texts, such as ["\n\n", "END"]`},
	{"stop twice", "output:", "sampling: {stop: [a, b, a]}\noutput:",
		`job.yaml:4:25: sampling.stop[2]: found "a" a second time; keep one of the two`},
	{"stop of five", "output:", "sampling: {stop: [a, b, c, d, e]}\noutput:",
		`job.yaml:4:18: sampling.stop: found 5 texts; write one to 4 texts, such as ["\n\n", "END"]`},
	{"underscore astray", "output:", "sampling: {max_tokens: 10__000}\noutput:",
		`job.yaml:4:24: sampling.max_tokens: found "10__000"; write a whole number from 16 to 1048576`},

	// datasets
	{"no data sets", "datasets:\n- name: code\n  path: prompts.jsonl\n  tokens: 10M\n", "datasets: []\n",
		`job.yaml:5:11: datasets: found an empty list; list one or more data sets, each with {dataset}`},
	{"one data set without a list", "- name: code\n", "  name: code\n",
		`job.yaml:6:3: datasets: found a mapping; list one or more data sets, each with {dataset}`},
	{"data set is a path", "engines:", "- other.jsonl\nengines:",
		`job.yaml:9:3: datasets[1]: found "other.jsonl"; write a mapping with {dataset}`},
	{"data set is nothing", "engines:", "- ~\nengines:",
		`job.yaml:9:3: datasets[1]: found nothing; write a mapping with {dataset}`},
	{"name missing", "name: code\n  path", "path",
		`job.yaml:6:3: datasets[0].name: found nothing; give it a name of letters, digits, ".", "_" and "-" that does not start with a dot`},
	{"name with a slash", "name: code", "name: a/b",
		`job.yaml:6:9: datasets[0].name: found "a/b"; give it a name of letters, digits, ".", "_" and "-" that does not start with a dot`},
	{"name with a leading dot", "name: code", "name: ..",
		`job.yaml:6:9: datasets[0].name: found ".."; give it a name of letters, digits, ".", "_" and "-" that does not start with a dot`},
	{"name twice", "engines:", "- {name: CODE, path: other.jsonl, tokens: 1}\nengines:",
		`job.yaml:9:10: datasets[1].name: found "CODE", which datasets[0] has too; give it another name`},
	{"path missing", "  path: prompts.jsonl\n", "",
		`job.yaml:6:3: datasets[0].path: found nothing; name the file of prompts, such as prompts/code.jsonl`},
	{"path not there", "prompts.jsonl", "prompt.jsonl",
		`job.yaml:7:9: datasets[0].path: found "prompt.jsonl", which does not exist; name a file of prompts that exists and can be read, or a folder or pattern of them`},
	{"path is a pattern that fits nothing", "path: prompts.jsonl", "path: data/*.parquet",
		`job.yaml:7:9: datasets[0].path: found "data/*.parquet", a pattern that fits no file; name a file of prompts that exists and can be read, or a folder or pattern of them`},
	{"weight without tokens to share", "  tokens: 10M\n", "  tokens: 10M\n  weight: 2\n",
		`job.yaml:9:11: datasets[0].weight: found "2"; a weight shares out the tokens of the job: write tokens at the top of the file, or in the data set in place of weight`},
	{"unknown column", "  tokens: 10M\n", "  tokens: 10M\n  columns: {answr: reply}\n",
		`job.yaml:9:13: datasets[0].columns.answr: found an unknown key; did you mean "answer"? known here: id, messages, system, tools, prompt, input, options, answer, reasoning, calls, turns, transcript, history, images, split, license, source, category, language`},
	{"columns that are a list", "  tokens: 10M\n", "  tokens: 10M\n  columns: [prompt]\n",
		`job.yaml:9:12: datasets[0].columns: found a list; write what a column holds and its name, such as {prompt: ask, answer: reply}`},
	{"unknown role", "  tokens: 10M\n", "  tokens: 10M\n  roles: {narrator: sytem}\n",
		`job.yaml:9:21: datasets[0].roles.narrator: found "sytem"; did you mean "system"? allowed are system, user, assistant, tool`},
	{"size of a row", "  tokens: 10M\n", "  tokens: 10M\n  max_row: 64\n",
		`job.yaml:9:12: datasets[0].max_row: found "64"; write the most bytes of a row, such as 64MB or 1GB, up to 16GB`},
	{"drops above all", "  tokens: 10M\n", "  tokens: 10M\n  accept_drops: 5\n",
		`job.yaml:9:17: datasets[0].accept_drops: found "5"; write a number from 0 to 1`},
	{"language written out", "  tokens: 10M\n", "  tokens: 10M\n  keep: {languages: [English]}\n",
		`job.yaml:9:22: datasets[0].keep.languages[0]: found "English"; list codes of languages, such as [en, zh]`},
	{"evaluation that is not there", "  tokens: 10M\n", "  tokens: 10M\n  decontaminate: [mt.jsonl]\n",
		`job.yaml:9:19: datasets[0].decontaminate[0]: found "mt.jsonl", which does not exist; list files of prompts that must not be trained on, such as [evals/mt_bench.jsonl]`},
	{"path is blank", "prompts.jsonl", `" "`,
		`job.yaml:7:9: datasets[0].path: found " "; name a file of prompts that exists and can be read, or a folder or pattern of them`},
	{"tokens missing", "  tokens: 10M\n", "",
		`job.yaml:6:3: datasets[0].tokens: found nothing; write how many output tokens are wanted, such as 10M, 500k or 10_000_000`},
	{"tokens in milli", "10M", "10m",
		`job.yaml:8:11: datasets[0].tokens: found "10m"; write how many output tokens are wanted, such as 10M, 500k or 10_000_000`},
	{"tokens of a fraction", "10M", "0.0001k",
		`job.yaml:8:11: datasets[0].tokens: found "0.0001k"; write how many output tokens are wanted, such as 10M, 500k or 10_000_000`},
	{"tokens with commas", "10M", `"10,000,000"`,
		`job.yaml:8:11: datasets[0].tokens: found "10,000,000"; write how many output tokens are wanted, such as 10M, 500k or 10_000_000`},
	{"no tokens", "10M", "0",
		`job.yaml:8:11: datasets[0].tokens: found "0"; write how many output tokens are wanted, such as 10M, 500k or 10_000_000`},
	{"unit without number", "10M", "M",
		`job.yaml:8:11: datasets[0].tokens: found "M"; write how many output tokens are wanted, such as 10M, 500k or 10_000_000`},
	{"more tokens than there are", "10M", "1001B",
		`job.yaml:8:11: datasets[0].tokens: found "1001B"; write how many output tokens are wanted, such as 10M, 500k or 10_000_000`},
	{"samples of none", "  tokens:", "  samples: 0\n  tokens:",
		`job.yaml:8:12: datasets[0].samples: found "0"; write a whole number from 1 to 1000`},
	{"layout unknown", "  tokens:", "  layout: share_gpt\n  tokens:",
		`job.yaml:8:11: datasets[0].layout: found "share_gpt"; did you mean "sharegpt"? allowed are auto, messages, sharegpt, trajectory, input-output, transcript, instruction, pair, turns, prompt`},
	{"seed_from not there", "  tokens:", "  seed_from: older-run\n  tokens:",
		`job.yaml:8:14: datasets[0].seed_from: found "older-run", which does not exist; name a run folder or a .jsonl file of rows that exists`},
	{"seed_from of another sort", "  tokens:", "  seed_from: notes.txt\n  tokens:",
		`job.yaml:8:14: datasets[0].seed_from: found "notes.txt", which is a file; name a run folder or a .jsonl file of rows that exists`},

	// engines
	{"engines missing", "engines:\n- openrouter:\n", "",
		`job.yaml:1:1: engines: found nothing; list one or more engines, such as "- openrouter:"`},
	{"no engines", "engines:\n- openrouter:\n", "engines: []\n",
		`job.yaml:9:10: engines: found an empty list; list one or more engines, such as "- openrouter:"`},
	{"engines without a list", "- openrouter:", "  openrouter:",
		`job.yaml:10:3: engines: found a mapping; list one or more engines, such as "- openrouter:"`},
	{"engine that is not known", "- openrouter:", "- tgi:",
		`job.yaml:10:3: engines[0].tgi: found an unknown key; known here: openrouter, sglang, vllm, openai`},
	{"server without an address", "- openrouter:", "- sglang:",
		`job.yaml:10:3: engines[0].sglang.base_url: found nothing; write the address of the server, such as http://127.0.0.1:30000`},
	{"server with an empty entry", "- openrouter:", "- sglang: {}",
		`job.yaml:10:11: engines[0].sglang.base_url: found nothing; write the address of the server, such as http://127.0.0.1:30000`},
	{"server without a scheme", "- openrouter:", "- vllm: {base_url: rack1:8000}",
		`job.yaml:10:20: engines[0].vllm.base_url: found "rack1:8000"; write the address of the server, such as http://127.0.0.1:30000`},
	{"server with a password", "- openrouter:", "- vllm: {base_url: http://me:secret@rack1}",
		`job.yaml:10:20: engines[0].vllm.base_url: found an address with more than host and path; write the address of the server, such as http://127.0.0.1:30000`},
	{"another way in", "- openrouter:", "- sglang: {base_url: http://rack1, via: tokens}",
		`job.yaml:10:41: engines[0].sglang.via: found "tokens"; allowed are chat, ids`},
	{"ids where there are none", "- openrouter:", "- openai: {base_url: http://rack1, via: ids}",
		`job.yaml:10:41: engines[0].openai.via: found "ids"; write chat: OpenAI's API returns no ids; for a server that does, use sglang or vllm`},
	{"server's concurrency", "- openrouter:", "- sglang: {base_url: http://rack1, concurrency: none}",
		`job.yaml:10:49: engines[0].sglang.concurrency: found "none"; write a whole number from 1 to 100000`},
	{"server named like an endpoint", "- openrouter:", "- sglang: {base_url: http://rack1, name: a/b}",
		`job.yaml:10:42: engines[0].sglang.name: found "a/b"; give it a name of letters, digits, ".", "_" and "-", such as rack1`},
	{"two servers of a name", "- openrouter:", "- sglang: {base_url: http://rack1, name: VLLM}\n- vllm: {base_url: http://rack2}",
		`job.yaml:11:9: engines[1].vllm: found the name "vllm", which engines[0] has too; give it another name`},
	{"a server twice", "- openrouter:", "- sglang: {base_url: http://rack1}\n- vllm: {base_url: http://rack1/v1}",
		`job.yaml:11:20: engines[1].vllm.base_url: found "http://rack1", which engines[0] has too; list each server once`},
	{"a server's key in the wrong place", "- openrouter:", "- sglang: {base_url: http://rack1, quantization: [fp8]}",
		`job.yaml:10:36: engines[0].sglang.quantization: found an unknown key; it belongs under openrouter, indented below it; known here: base_url, via, model, concurrency, name, key_file`},
	{"no budget beside a vendor", "budget: 100\n", "",
		`job.yaml:1:1: budget: found nothing; write dollars above zero, such as 100 or $12.50`},
	{"engine misspelt", "- openrouter:", "- open_router: {}",
		`job.yaml:10:3: engines[0].open_router: found an unknown key; did you mean "openrouter"? known here: openrouter, sglang, vllm, openai`},
	{"engine without colon", "- openrouter:", "- openrouter",
		`job.yaml:10:3: engines[0]: found "openrouter"; write one key, the kind of engine: openrouter, sglang, vllm, openai`},
	{"engine not indented", "- openrouter:\n", "- openrouter:\n  key_file: key\n",
		`job.yaml:11:3: engines[0].key_file: found an unknown key; it belongs under openrouter, indented below it; known here: openrouter, sglang, vllm, openai`},
	{"engine is a word", "- openrouter:", "- openrouter: yes",
		`job.yaml:10:15: engines[0].openrouter: found "yes"; write a mapping with {openrouter}`},
	{"base_url without tls", "- openrouter:", "- openrouter: {base_url: http://openrouter.ai/api/v1}",
		`job.yaml:10:26: engines[0].openrouter.base_url: found "http://openrouter.ai/api/v1"; write an https address such as https://openrouter.ai/api/v1; http is for this machine only`},
	{"base_url that only looks local", "- openrouter:", "- openrouter: {base_url: http://127.0.0.1.example.com/v1}",
		`job.yaml:10:26: engines[0].openrouter.base_url: found "http://127.0.0.1.example.com/v1"; write an https address such as https://openrouter.ai/api/v1; http is for this machine only`},
	{"base_url without scheme", "- openrouter:", "- openrouter: {base_url: openrouter.ai}",
		`job.yaml:10:26: engines[0].openrouter.base_url: found "openrouter.ai"; write an https address such as https://openrouter.ai/api/v1; http is for this machine only`},
	{"base_url with a password", "- openrouter:", "- openrouter: {base_url: 'https://me:pw@openrouter.ai'}",
		`job.yaml:10:26: engines[0].openrouter.base_url: found an address with more than host and path; write an https address such as https://openrouter.ai/api/v1; http is for this machine only`},
	{"base_url that is broken", "- openrouter:", "- openrouter: {base_url: 'https://[::1'}",
		`job.yaml:10:26: engines[0].openrouter.base_url: found "https://[::1"; write an https address such as https://openrouter.ai/api/v1; http is for this machine only`},
	{"base_url of nothing", "- openrouter:", "- openrouter: {base_url: []}",
		`job.yaml:10:26: engines[0].openrouter.base_url: found a list; write an https address such as https://openrouter.ai/api/v1; http is for this machine only`},
	{"quantization without a list", "- openrouter:", "- openrouter: {quantization: int4}",
		`job.yaml:10:30: engines[0].openrouter.quantization: found "int4"; write it as a list: [int4]`},
	{"quantization unknown", "- openrouter:", "- openrouter: {quantization: [int4, int5]}",
		`job.yaml:10:37: engines[0].openrouter.quantization[1]: found "int5"; did you mean "int4"? allowed are native, int4, int8, fp4, mxfp4, nvfp4, fp6, fp8, mxfp8, fp16, bf16, fp32, unknown`},
	{"quantization twice", "- openrouter:", "- openrouter: {quantization: [fp8, fp8]}",
		`job.yaml:10:36: engines[0].openrouter.quantization[1]: found "fp8" a second time; keep one of the two`},
	{"quantization rule unknown", "- openrouter:", "- openrouter: {quantization: best}",
		`job.yaml:10:30: engines[0].openrouter.quantization: found "best"; write native, any, or a list of native, int4, int8, fp4, mxfp4, nvfp4, fp6, fp8, mxfp8, fp16, bf16, fp32, unknown`},
	{"only as a word", "- openrouter:", "- openrouter: {only: atlas-cloud}",
		`job.yaml:10:22: engines[0].openrouter.only: found "atlas-cloud"; list providers or endpoints, such as [atlas-cloud, siliconflow/int4]`},
	{"only of none", "- openrouter:", "- openrouter: {only: []}",
		`job.yaml:10:22: engines[0].openrouter.only: found an empty list; list providers or endpoints, such as [atlas-cloud, siliconflow/int4]`},
	{"only and ignore", "- openrouter:", "- openrouter: {ignore: [Venice], only: [venice]}",
		`job.yaml:10:25: engines[0].openrouter.ignore[0]: found "Venice", which only allows; keep it in one of the two`},
	{"prefer and ignore", "- openrouter:", "- openrouter: {prefer: [Venice], ignore: [venice]}",
		`job.yaml:10:25: engines[0].openrouter.prefer[0]: found "Venice", which ignore keeps out; keep it in one of the two`},
	{"precision as a list", "- openrouter:", "- openrouter: {precision: [int4]}",
		`job.yaml:10:27: engines[0].openrouter.precision: found a list; write a mapping of providers or endpoints, such as novita: int4, or novita: {label: int4, note: how you know}`},
	{"precision misspelt", "- openrouter:", "- openrouter: {precision: {novita: int44}}",
		`job.yaml:10:36: engines[0].openrouter.precision.novita: found "int44"; did you mean "int4"? allowed are int4, int8, fp4, mxfp4, nvfp4, fp6, fp8, mxfp8, fp16, bf16, fp32, unknown`},
	{"precision without a label", "- openrouter:", "- openrouter: {precision: {novita: {note: x}}}",
		`job.yaml:10:36: engines[0].openrouter.precision.novita.label: found nothing; write its precision, such as int4`},
	{"precision twice", "- openrouter:", "- openrouter: {precision: {novita: int4, Novita: fp8}}",
		`job.yaml:10:42: engines[0].openrouter.precision.Novita: found "Novita" a second time; keep one of the two`},
	{"min_status above", "- openrouter:", "- openrouter: {min_status: 1}",
		`job.yaml:10:28: engines[0].openrouter.min_status: found "1"; write a whole number from -10 to 0`},
	{"min_uptime above", "- openrouter:", "- openrouter: {min_uptime: 101}",
		`job.yaml:10:28: engines[0].openrouter.min_uptime: found "101"; write a number from 0 to 100`},
	{"logprobs in another word", "- openrouter:", "- openrouter: {logprobs: always}",
		`job.yaml:10:26: engines[0].openrouter.logprobs: found "always"; allowed are false, auto, true`},
	{"a fit there is not", "budget:", "fit: longest\nbudget:",
		`job.yaml:3:6: fit: found "longest"; allowed are fail, proportion, sets, longest-first`},
	{"as soon as can be beside a deadline", "budget:", "deadline: 3h\nfinish: asap\nbudget:",
		`job.yaml:4:9: finish: found asap beside a deadline; leave out one of the two: with a deadline, lanes that are not needed in time get nothing`},
	{"a deadline without a unit", "budget:", "deadline: 3\nbudget:",
		`job.yaml:3:11: deadline: found "3"; write a time from 1m to 8760h, such as 3h`},
	{"catalogue_every without a unit", "- openrouter:", "- openrouter: {catalogue_every: 300}",
		`job.yaml:10:33: engines[0].openrouter.catalogue_every: found "300"; write a time from 1s to 24h, such as 5m`},
	{"max_price of nothing", "- openrouter:", "- openrouter: {max_price: {prompt: 0}}",
		`job.yaml:10:36: engines[0].openrouter.max_price.prompt: found "0"; write dollars per million tokens above zero, such as 2.60`},
	{"max_price of a request that is nothing", "- openrouter:", "- openrouter: {max_price: {request: 0}}",
		`job.yaml:10:37: engines[0].openrouter.max_price.request: found "0"; write dollars a request above zero, such as 0.001, or leave it out`},
	{"max_price as a number", "- openrouter:", "- openrouter: {max_price: 2.6}",
		`job.yaml:10:27: engines[0].openrouter.max_price: found "2.6"; write a mapping with prompt, completion, request`},
	{"data_collection misspelt", "- openrouter:", "- openrouter: {data_collection: denny}",
		`job.yaml:10:33: engines[0].openrouter.data_collection: found "denny"; did you mean "deny"? allowed are deny, allow`},
}

func TestFaults(t *testing.T) {
	t.Chdir(workspace(t))
	for _, tt := range faultTests {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.new
			if tt.old != "" {
				if !strings.Contains(small, tt.old) {
					t.Fatalf("the small job does not contain %q", tt.old)
				}
				text = strings.Replace(small, tt.old, tt.new, 1)
			}
			_, err := config.Parse([]byte(text), "job.yaml", config.Env{})
			if err == nil {
				t.Fatalf("no fault, want %s", tt.want)
			}
			if want := known.Replace(tt.want); err.Error() != want {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
			if _, ok := errors.AsType[*config.Error](err); !ok {
				t.Errorf("the error is a %T", err)
			}
		})
	}
}

// TestManyFaults reads a file with fifteen faults: all of them have to come,
// in the order of the file.
func TestManyFaults(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("testdata", "faults.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	golden, err := filepath.Abs(filepath.Join("testdata", "faults.golden"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(workspace(t))
	write(t, "faults.yaml", string(src), 0o644)
	_, err = config.Load("faults.yaml", config.Env{})
	ce, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	got := ce.Error() + "\n"
	if *update {
		write(t, golden, got, 0o644)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(ce.Faults) != 15 {
		t.Errorf("got %d faults, want 15", len(ce.Faults))
	}
}

// TestFieldsAreDocumented asks for the names of all fields by giving text where
// they belong: each has to be in the template and in the package's text.
func TestFieldsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"x", "sampling: x", "datasets: [x]", "engines: [openrouter: x]", "engines: [openrouter: {max_price: x}]"} {
		seen := false
		_, err := config.Parse([]byte(text), "job.yaml", config.Env{})
		ce, ok := errors.AsType[*config.Error](err)
		if !ok {
			t.Fatalf("%s: %v", text, err)
		}
		for _, f := range ce.Faults {
			names, ok := strings.CutPrefix(f.Fix, "write a mapping with ")
			if !ok {
				continue
			}
			for name := range strings.SplitSeq(names, ", ") {
				seen = true
				if !strings.Contains(string(config.Template("")), name+":") {
					t.Errorf("the template does not show %s", name)
				}
				if !strings.Contains(string(doc), name+":") {
					t.Errorf("the package's text does not show %s", name)
				}
			}
		}
		if !seen {
			t.Errorf("%s: no fault lists the fields", text)
		}
	}
}

func TestUnreadableFiles(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("everything can be read by root")
	}
	t.Chdir(workspace(t))
	write(t, "prompts.jsonl", "", 0o000)
	if err := os.Mkdir("runs", 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := config.Parse([]byte(small), "job.yaml", config.Env{})
	const want = `job.yaml:4:9: output: found "./runs/kimi", where runs is closed to writing; name a folder, or where one can be made
job.yaml:7:9: datasets[0].path: found "prompts.jsonl", which cannot be read: permission denied; name a file of prompts that exists and can be read, or a folder or pattern of them`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestDeepNesting reads values inside values without end: that must neither
// bring the parser down nor take it long.
func TestDeepNesting(t *testing.T) {
	for _, open := range []string{"- ", "? ", "a: {", "&a ", "- a: ", "!x "} {
		t.Run(open, func(t *testing.T) {
			src := strings.Repeat(open, 20_000/len(open))
			if _, err := config.Parse([]byte(src), "job.yaml", config.Env{}); err == nil {
				t.Error("this is a job")
			}
		})
	}
}
