package config

import (
	"fmt"
	"strconv"
)

// DefaultModel is the model of a [Template] that is asked for none.
const DefaultModel = "moonshotai/kimi-k2.5"

// Template returns a commented job file to start from, for the given model or
// [DefaultModel]. It loads once the paths in it exist.
func Template(model string) []byte {
	if model == "" {
		model = DefaultModel
	}
	if !slug.MatchString(model) {
		// Quoted it is still YAML, and Load points at it.
		model = strconv.Quote(model)
	}
	return fmt.Appendf(nil, template, model)
}

const template = `# A job: which model answers which prompts, for how much money.
# Lines that start with "#" and a key show a default or an example.
# Paths are relative to this file; "~/" is the home folder.

# The model as author/slug.
model: %s

# A folder with the model's tokenizer files: tiktoken.model or tokenizer.json.
tokenizer: ./model

# The most that this run may cost, in dollars. It is a hard limit.
budget: 10

# The run folder: journal, manifest, exports. It is made when it is missing.
output: ./runs/first

# Whether the model reasons before it answers.
thinking: true

# What is left out here is not sent. Ranges: temperature 0 to 2, top_p and
# min_p 0 to 1, top_k 0 or more, max_tokens 16 to 1048576. effort is how much
# the model reasons: minimal, low, medium, high, xhigh or max. Sample n of a
# prompt is asked with seed + n.
sampling:
  temperature: 1.0
  top_p: 0.95
  # top_k: 40
  # min_p: 0.05
  # seed: 1
  max_tokens: 8192
  # effort: high
  # Texts that end an answer, at most 4. How such an answer ended cannot be told
  # from its text, so its token ids are not certain.
  # stop: ["END"]
  # Several ways of sampling, drawn row by row by their weights. Each begins
  # with what stands above (and with thinking) and says what differs; here three
  # rows in ten do not think. All turns of a conversation are sampled alike.
  # mix:
  #   - weight: 5
  #   - {weight: 2, temperature: 0.6}
  #   - {weight: 3, thinking: false}

# What is drawn is drawn by this seed: the same one gives the same rows.
# seed: 0

# Requests in flight at most, 1 to 100000.
# concurrency: 2000

# Paid attempts at one answer at most, 1 to 20.
# attempts: 4

# What is reserved for a request while it runs. strict is the most it may cost:
# the budget is never passed. expected is what hardly one costs, as learned from
# the answers. More run at once then, and streams are cut rather than pass the
# budget, where a cut saves money. Where it does not, the budget can be passed,
# and eyrie plan says by how much.
# hold: strict

# What becomes of an answer that max_tokens cut off: keep makes it a row, marked
# by its finish reason; drop leaves it out, and its tokens do not count; retry
# asks once more with a larger cap (twice max_tokens when none is given), and
# keeps what comes then. All of it is paid for.
# on_length: retry
# retry_max_tokens: 16384

# What gives way when the budget does not reach for every target: fail refuses
# the job, proportion ends every set equally far, sets fills them whole in their
# order, longest-first the largest target first.
# fit: fail

# When the job is to be done: servers of your own work for nothing, and lanes
# that cost money do only what those cannot do by then. Left out, all work at
# once and it is done as soon as can be, which finish: asap says outright.
# deadline: 3h

# Which lanes are filled first: price (the default), throughput (the one that
# writes fastest) or latency (the one that begins soonest). With a deadline only
# deadline is possible, the cheapest first, and nothing for lanes that it can do
# without.
# sort: deadline

# When only a few slow answers are left, each is asked for once more on another
# lane, and the first counts. What share of the budget that may use; off for none.
# hedge: 2%%

datasets:
  # The name becomes a folder in the exports: letters, digits, ".", "_", "-".
  - name: prompts
    # A file, a folder or a pattern such as data/train-*.parquet: JSON Lines, a
    # JSON array, Parquet, Arrow, CSV, in gzip or zstd or not. eyrie import says
    # what is in it.
    path: prompts.jsonl
    # Output tokens wanted from this set: 10_000_000, 10M, 500k, 1.5M.
    tokens: 1M
    # Answers to one prompt, 1 to 1000.
    # samples: 1
    # Which answers of a conversation are made: all, each on the model's own
    # earlier answers; last, on the data set's earlier answers; or first.
    # turns: all
    # How the data set's tool results find the calls that the model makes: exact,
    # by name and arguments; or name, also by the name alone where each side
    # calls it once. A conversation whose calls have no results ends there.
    # tools: exact
    # How rows hold conversations, where it is not found out: messages,
    # sharegpt, trajectory, input-output, transcript, instruction, pair, turns or
    # prompt; how files hold rows: csv, tsv or text; and names of columns and of
    # speakers that are not the usual ones.
    # layout: auto
    # format: auto
    # columns: {prompt: ask, answer: reply}
    # roles: {narrator: system}
    # Images are no text: drop the row, skip the image, or refuse the set.
    # images: drop
    # The most of one row, 1KB to 16GB.
    # max_row: 64MB
    # The share of rows that may be lost because something is wrong with them.
    # accept_drops: 0.05
    # What is wanted of a prompt. Languages are guessed where no column says them.
    # keep: {languages: [en, zh], tools: true, min_turns: 1, max_turns: 10, min_tokens: 10, max_tokens: 8000}
    # Leave out what is nearly an earlier row, from this likeness on, 0.3 to 1.
    # near_duplicates: 0.8
    # Leave out what shares 13 words in a row with the prompts of these files.
    # decontaminate: [evals/mt_bench.jsonl]
    # So many rows, and in an order, that the job's seed and their content decide.
    # sample: 5000
    # shuffle: false
    # The share of conversations that is marked for validation, 0 to 0.9.
    # validation: 0.05
    # Where tokens stands at the top of the file, sets without tokens share it by
    # their weight, which is 1 unless they say weight: 2.
    # An earlier run folder, or a .jsonl file of rows, whose answers are taken
    # over instead of bought again.
    # seed_from: ./runs/earlier

engines:
  - openrouter:
      # https, or http on this machine.
      # base_url: https://openrouter.ai/api/v1

      # A file that holds the key and that only you can read (chmod 600).
      # Without it the key comes from OPENROUTER_API_KEY.
      # key_file: ~/.config/eyrie/key

      # Which quantizations may answer: native (the model's own, where it is
      # known), any, or a list of native, int4, int8, fp4, mxfp4, nvfp4, fp6, fp8,
      # mxfp8, fp16, bf16, fp32, unknown. "unknown" are those that state none.
      # quantization: native

      # What you know better than the catalogue's labels, and how you know.
      # precision:
      #   novita: {label: int4, note: asked their support}

      # Providers or endpoints that may, and that may not, answer: slugs, tags
      # or display names. The preferred ones come before cheaper ones.
      # only: [atlas-cloud, siliconflow/int4, novita]
      # ignore: [venice]
      # prefer: [siliconflow/int4]

      # The most to pay, in dollars per million tokens. Where there is such a bound,
      # endpoints that charge for a request by itself may answer up to request.
      # max_price:
      #   prompt: 0.55
      #   completion: 2.60
      #   request: 0.001

      # How well an endpoint must be doing: its status, from 0 down to -10, and
      # the per cent of the last half hour that it was up.
      # min_status: -2
      # min_uptime: 95

      # deny keeps providers out that store prompts; allow lets them in.
      # data_collection: deny

      # Whether only endpoints that retain nothing may answer.
      # zdr: false

      # Whether the model's author must allow distillation.
      # distillable: false

      # Whether answers come with the bytes of each token, which tell their ids
      # better than the text: auto asks where an endpoint can, true lets no other
      # endpoint answer and takes no answer without, though it is paid for: try
      # eyrie doctor --probe first. It makes answers some times as long on the wire.
      # logprobs: false

      # How often a run reads the catalogue again, 1s to 24h.
      # catalogue_every: 5m

  # A server of your own costs nothing and comes first; vllm and openai (any
  # server with OpenAI's API, such as llama-server) are written in the same way.
  # A job of such servers alone needs neither key nor budget. via is chat, or ids
  # where the prompt is to go as token ids; model is the name it serves the model
  # under; concurrency is how many requests it gets at most, and its own load
  # decides below that; name is what its lane is called.
  # - sglang:
  #     base_url: http://127.0.0.1:30000
  #     via: ids
  #     model: kimi
  #     concurrency: 256
  #     name: rack1
`
