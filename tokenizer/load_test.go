package tokenizer_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eyrie-ai/eyrie/tokenizer"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// spelling returns the byte-level spelling of text.
func spelling(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		r := rune(c)
		switch {
		case c <= ' ':
			r = 0x100 + rune(c)
		case c >= 0x7f && c <= 0xa0:
			r = 0x121 + rune(c-0x7f)
		case c == 0xad:
			r = 0x143
		}
		b.WriteRune(r)
	}
	return b.String()
}

// hfFile is a tokenizer.json with the 256 single bytes, "he", "ll", " w" and
// "hell", changed by change.
func hfFile(t testing.TB, change func(file map[string]any)) []byte {
	t.Helper()
	vocab := make(map[string]int)
	for c := range 256 {
		vocab[spelling(string([]byte{byte(c)}))] = c
	}
	merges := []any{}
	for i, pair := range [][2]string{{"h", "e"}, {"l", "l"}, {" ", "w"}, {"he", "ll"}} {
		vocab[spelling(pair[0]+pair[1])] = 256 + i
		if i%2 == 0 {
			merges = append(merges, []string{spelling(pair[0]), spelling(pair[1])})
		} else {
			merges = append(merges, spelling(pair[0])+" "+spelling(pair[1]))
		}
	}
	file := map[string]any{
		"added_tokens":   []any{map[string]any{"id": 260, "content": "<s>", "special": true}},
		"normalizer":     nil,
		"pre_tokenizer":  map[string]any{"type": "ByteLevel", "add_prefix_space": false},
		"post_processor": nil,
		"decoder":        map[string]any{"type": "ByteLevel"},
		"model":          map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	}
	if change != nil {
		change(file)
	}
	data, err := json.Marshal(file, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func loadHF(t testing.TB, change func(file map[string]any)) (*tokenizer.Tokenizer, error) {
	t.Helper()
	return tokenizer.LoadFS(fstest.MapFS{"tokenizer.json": {Data: hfFile(t, change)}})
}

type object = map[string]any

func TestHuggingFace(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(object)
		text   string
		want   []int32
	}{
		{"plain", nil, "hello w", []int32{259, 'o', 258}},
		{"added token", nil, "he<s>he", []int32{256, 260, 256}},
		{"template adds nothing by itself", func(f object) {
			f["post_processor"] = object{"type": "TemplateProcessing",
				"single":         []any{object{"SpecialToken": object{"id": "<s>"}}, object{"Sequence": object{"id": "A"}}},
				"special_tokens": object{"<s>": object{"ids": []int{260}}}}
		}, "he", []int32{256}},
		{"normalizer", func(f object) { f["normalizer"] = object{"type": "NFC"} }, "e\u0301", []int32{0xc3, 0xa9}},
		{"normalizer in a sequence", func(f object) {
			f["normalizer"] = object{"type": "Sequence", "normalizers": []any{object{"type": "NFC"}}}
		}, "e\u0301", []int32{0xc3, 0xa9}},
		{"digits one by one", func(f object) {
			f["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []any{
				object{"type": "Digits", "individual_digits": true}, object{"type": "ByteLevel", "use_regex": false}}}
		}, "he12he", []int32{256, '1', '2', 256}},
		{"split by a literal", func(f object) {
			f["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []any{
				object{"type": "Split", "pattern": object{"String": "l"}, "behavior": "Isolated"}, object{"type": "ByteLevel", "use_regex": false}}}
		}, "hell", []int32{256, 'l', 'l'}},
		{"no split at all", func(f object) {
			f["pre_tokenizer"] = object{"type": "ByteLevel", "use_regex": false}
		}, "he w", []int32{256, 258}},
		{"ignore_merges", func(f object) {
			f["model"].(object)["ignore_merges"] = true
			f["model"].(object)["vocab"].(map[string]int)["elle"] = 261
		}, "elle", []int32{261}},
		{"no merge for a token", func(f object) {
			f["model"].(object)["vocab"].(map[string]int)["elle"] = 261
		}, "elle", []int32{'e', 257, 'e'}},
		{"strips white space", func(f object) {
			f["added_tokens"] = []any{object{"id": 260, "content": "<s>", "lstrip": true, "rstrip": true}}
		}, "he \n<s>\t\u3000he", []int32{256, 260, 256}},
		{"normalized added token", func(f object) {
			f["normalizer"] = object{"type": "NFC"}
			f["added_tokens"] = []any{object{"id": 260, "content": "éa", "normalized": true}}
		}, "he\u0301ah", []int32{'h', 260, 'h'}},
		{"longest literal first", func(f object) {
			f["added_tokens"] = []any{object{"id": 260, "content": "<s"}, object{"id": 261, "content": "<s>"}, object{"id": 262, "content": "<<"}}
		}, "<<<s<s>", []int32{262, 260, 261}},
	} {
		t.Run(row.name, func(t *testing.T) {
			tok, err := loadHF(t, row.change)
			if err != nil {
				t.Fatal(err)
			}
			if got := tok.EncodeSpecial(nil, row.text); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

// TestConfigAddsTokens has a token that only the configuration knows.
func TestConfigAddsTokens(t *testing.T) {
	load := func(config string) (*tokenizer.Tokenizer, error) {
		return tokenizer.LoadFS(fstest.MapFS{"tokenizer.json": {Data: hfFile(t, nil)}, "tokenizer_config.json": {Data: []byte(config)}})
	}
	tok, err := load(`{"added_tokens_decoder":{"260":{"content":"<s>"},"261":{"content":"<x>"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.EncodeSpecial(nil, "<x><s>"), []int32{261, 260}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	const want = `tokenizer: tokenizer_config.json: added_tokens_decoder: id "x": want a number`
	if _, err := load(`{"added_tokens_decoder":{"x":{"content":"<x>"}}}`); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTemplate(t *testing.T) {
	tok, err := loadHF(t, func(f object) {
		f["post_processor"] = object{"type": "Sequence", "processors": []any{object{"type": "ByteLevel"},
			object{"type": "TemplateProcessing",
				"single":         []any{object{"SpecialToken": object{"id": "<s>"}}, object{"Sequence": object{"id": "A"}}, object{"SpecialToken": object{"id": "</s>"}}},
				"special_tokens": object{"<s>": object{"ids": []int{260}}, "</s>": object{"ids": []int{1, 2}}}}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if before, after := tok.Template(); !slices.Equal(before, []int32{260}) || !slices.Equal(after, []int32{1, 2}) {
		t.Errorf("got %v and %v", before, after)
	}
}

func TestLoadNotAFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tiktoken.model")
	if err := os.WriteFile(file, tiktokenFile(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := tokenizer.Load(file); err == nil || !strings.Contains(err.Error(), "is a file: name the folder it is in") {
		t.Errorf("a file: %v", err)
	}
	if _, err := tokenizer.Load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

func TestGzip(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(hfFile(t, nil))
	z.Close()
	zipped, err := tokenizer.LoadFS(fstest.MapFS{"tokenizer.json.gz": {Data: b.Bytes()}})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := loadHF(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if zipped.Digest() != plain.Digest() {
		t.Error("the digest depends on the file format")
	}
}

// TestRefused has what can't be done exactly. The message names it.
func TestRefused(t *testing.T) {
	model := func(key string, value any) func(object) {
		return func(f object) { f["model"].(object)[key] = value }
	}
	field := func(key string, value any) func(object) {
		return func(f object) { f[key] = value }
	}
	byteLevel := object{"type": "ByteLevel", "use_regex": false}
	split := func(step object) func(object) {
		return field("pre_tokenizer", object{"type": "Sequence", "pretokenizers": []any{step, byteLevel}})
	}
	for _, row := range []struct {
		name   string
		change func(object)
		want   string
	}{
		{"model", model("type", "Unigram"), `model type "Unigram" is not supported`},
		{"model of another form", field("model", jsontext.Value(`{"type":"Unigram","vocab":[["a",0.5]]}`)), `model type "Unigram" is not supported`},
		{"no model", field("model", nil), `model: missing, or no object`},
		{"model of no kind", field("model", []int{1}), `model: missing, or no object`},
		{"no merges", func(f object) { f["model"] = object{"vocab": object{}} }, `model type "" is not supported`},
		{"dropout", model("dropout", 0.1), `dropout is not supported`},
		{"prefix", model("continuing_subword_prefix", "##"), `continuing_subword_prefix is not supported`},
		{"suffix", model("end_of_word_suffix", "</w>"), `end_of_word_suffix is not supported`},
		{"byte_fallback", model("byte_fallback", true), `byte_fallback is not supported`},
		{"normalizer", field("normalizer", object{"type": "Lowercase"}), `normalizer "Lowercase" is not supported`},
		{"normalizer inside", field("normalizer", object{"type": "Sequence", "normalizers": []any{object{"type": "Strip"}}}), `normalizer "Strip" is not supported`},
		{"pre-tokenizer", split(object{"type": "Whitespace"}), `pre_tokenizer "Whitespace" is not supported`},
		{"pre-tokenizer alone", field("pre_tokenizer", object{"type": "Metaspace"}), `pre_tokenizer "Metaspace" at the end of the sequence or ByteLevel before it is not supported`},
		{"no pre-tokenizer", field("pre_tokenizer", nil), `a vocabulary without a pre_tokenizer, that is without ByteLevel, is not supported`},
		{"prefix space", field("pre_tokenizer", object{"type": "ByteLevel", "add_prefix_space": true}), `pre_tokenizer ByteLevel with add_prefix_space is not supported`},
		{"behavior", split(object{"type": "Split", "pattern": object{"Regex": "x"}, "behavior": "MergedWithNext"}),
			`pre_tokenizer Split with behavior "MergedWithNext", invert false and pattern "x" is not supported`},
		{"empty split", split(object{"type": "Split", "behavior": "Isolated"}), `pre_tokenizer Split without a pattern is not supported`},
		{"pattern", split(object{"type": "Split", "pattern": object{"Regex": `a(?<=b)`}, "behavior": "Isolated"}),
			`pattern: byte 2 of "a(?<=b)": group (?<=b is not supported`},
		{"decoder", field("decoder", object{"type": "Metaspace"}), `decoder "Metaspace": only ByteLevel is; anything else is not supported`},
		{"post-processor", field("post_processor", object{"type": "BertProcessing"}), `post_processor "BertProcessing" is not supported`},
		{"single_word", field("added_tokens", []any{object{"id": 260, "content": "<s>", "single_word": true}}), `added token 260 "<s>": single_word is not supported`},
		{"id twice", field("added_tokens", []any{object{"id": 260, "content": "<s>"}, object{"id": 260, "content": "</s>"}}), `added token 260 "</s>": the id is also that of "<s>"`},
		{"content twice", field("added_tokens", []any{object{"id": 260, "content": "<s>"}, object{"id": 261, "content": "<s>"}}), `added token 261 "<s>": the content is also that of id 260`},
		{"other id", field("added_tokens", []any{object{"id": 300, "content": "he"}}), `added token "he" has id 300, in the vocabulary it has 256`},
		{"huge id", field("added_tokens", []any{object{"id": 1 << 30, "content": "<s>"}}), `added token 1073741824 "<s>": id is not between 0 and 16777216`},
		{"merge", model("merges", []any{"h q"}), `merge 0, "h" + "q": "hq" is not in the vocabulary`},
		{"vocabulary id", func(f object) { f["model"].(object)["vocab"].(map[string]int)["xyz"] = -3 }, `token "xyz" has id -3, want one from 0 to 16777216`},
		{"two tokens, one id", func(f object) { f["model"].(object)["vocab"].(map[string]int)["xyz"] = 256 }, `tokens "he" and "xyz" both have id 256`},
		{"missing byte", func(f object) {
			maps.DeleteFunc(f["model"].(object)["vocab"].(map[string]int), func(_ string, id int) bool { return id == 'z' })
		}, `no token for the single byte 0x7a: not a byte-level vocabulary`},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := "tokenizer: tokenizer.json: " + row.want
			if _, err := loadHF(t, row.change); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

// addedFrom is a configuration whose first added token has an id.
func addedFrom(id int) string {
	return fmt.Sprintf(`{"added_tokens_decoder":{"%d":{"content":"<b>"},"%d":{"content":"<a>"}}}`, id+1, id)
}

// TestDamaged has vocabulary files that are not what they should be. The
// message names the file, the line, and what is wrong there.
func TestDamaged(t *testing.T) {
	good := string(tiktokenFile("ab", "cd"))
	lines := strings.SplitAfter(good, "\n")
	replaced := func(i int, line string) string {
		changed := slices.Clone(lines)
		changed[i] = line
		return strings.Join(changed, "")
	}
	for _, row := range []struct{ name, file, config, want string }{
		{"cut in a line", good[:len(good)-5], "", `tokenizer: tiktoken.model:258: want a token in base 64, a space and a rank, found "Y2Q="`},
		{"cut in a rank", good[:len(good)-2], "", `tokenizer: tiktoken.model:258: rank is "25", want 257: ranks count up from 0 without gaps`},
		{"line lost", replaced(7, ""), "", `tokenizer: tiktoken.model:8: rank is "8", want 7: ranks count up from 0 without gaps`},
		{"not base 64", replaced(3, "A*== 3\n"), "", `tokenizer: tiktoken.model:4: token "A*==": illegal base64 data at input byte 1`},
		{"empty token", replaced(3, " 3\n"), "", `tokenizer: tiktoken.model:4: empty token`},
		{"blank line", replaced(3, "\n"), "", `tokenizer: tiktoken.model:4: want a token in base 64, a space and a rank, found ""`},
		{"token twice", replaced(257, "YWI= 257\n"), addedFrom(258), `tokenizer: tiktoken.model: ids 256 and 257 are both token "ab"`},
		{"few tokens", lines[0], addedFrom(1), `tokenizer: tiktoken.model: no token for the single byte 0x01: not a byte-level vocabulary`},
		{"empty", "", addedFrom(0), `tokenizer: tiktoken.model: no token for the single byte 0x00: not a byte-level vocabulary`},
		{"cut at the end of a line", lines[0], "",
			`tokenizer: tiktoken.model: 1 tokens, and Kimi's vocabulary has 163584: the file was cut short or is of another model; fetch it again, or put the model's tokenizer_config.json beside it`},
		{"cut at the end of a line, and a configuration without added tokens", good, `{"added_tokens_decoder":{}}`,
			`tokenizer: tiktoken.model: 258 tokens, and Kimi's vocabulary has 163584: the file was cut short or is of another model; fetch it again, or put the model's tokenizer_config.json beside it`},
		{"cut at the end of a line beside its configuration", good, addedFrom(259),
			`tokenizer: tiktoken.model: 258 tokens, and the first behind them has id 259 in tokenizer_config.json: the file was cut short or is of another model; fetch both again`},
		{"added id that is none", good, `{"added_tokens_decoder":{"x":{"content":"<s>"},"258":{"content":"<t>"}}}`,
			`tokenizer: tokenizer_config.json: added_tokens_decoder: id "x": want a number from 258 to 513, the ids behind the vocabulary`},
		{"pointer file", "version https://git-lfs.github.com/spec/v1\n", "", `tokenizer: tiktoken.model:1: token "version": illegal base64 data at input byte 4`},
		{"other class", good, `{"tokenizer_class":"QWenTokenizer"}`,
			`tokenizer: tokenizer_config.json: tokenizer_class "QWenTokenizer": of models with a tiktoken.model only Kimi's, TikTokenTokenizer, is supported`},
		{"added id", good, `{"added_tokens_decoder":{"12":{"content":"<s>"}}}`,
			`tokenizer: tokenizer_config.json: added_tokens_decoder: id "12": want a number from 258 to 513, the ids behind the vocabulary`},
		{"added token strips", good, `{"added_tokens_decoder":{"258":{"content":"<s>","lstrip":true}}}`,
			`tokenizer: tokenizer_config.json: added_tokens_decoder: id "258": lstrip, rstrip and normalized are not supported for this kind of vocabulary`},
	} {
		t.Run(row.name, func(t *testing.T) {
			fsys := fstest.MapFS{"tiktoken.model": {Data: []byte(row.file)}}
			if row.config != "" {
				fsys["tokenizer_config.json"] = &fstest.MapFile{Data: []byte(row.config)}
			}
			if _, err := tokenizer.LoadFS(fsys); err == nil || err.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

func TestNoVocabulary(t *testing.T) {
	const want = "tokenizer: no vocabulary in the folder: want one of tiktoken.model, tokenizer.json, tokenizer.json.gz, cl100k_base.tiktoken, o200k_base.tiktoken"
	if _, err := tokenizer.Load(t.TempDir()); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	for name, data := range map[string]string{"tokenizer.json": "{", "tokenizer.json.gz": "x", "tokenizer_config.json": "[]", "o200k_base.tiktoken": string(tiktokenFile())} {
		_, err := tokenizer.LoadFS(fstest.MapFS{name: {Data: []byte(data)}})
		if err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("tokenizer: %s: ", name)) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
