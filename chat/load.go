package chat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Load finds the chat template of a model folder:
//
//  1. the file chat_template.jinja;
//  2. the chat_template inside tokenizer_config.json, the one named "default"
//     where there are several;
//  3. for a folder with neither that is Kimi-K2.5's by its config.json, or that
//     has a tiktoken.model and no config.json at all, the built-in template of
//     Kimi-K2.5.
func Load(dir string) (Template, error) {
	return LoadFS(os.DirFS(dir), dir)
}

// LoadFS is [Load] for a file system. name is the folder's in errors.
func LoadFS(fsys fs.FS, name string) (Template, error) {
	t, err := load(fsys)
	if err != nil {
		return nil, fmt.Errorf("chat: %s: %w", name, err)
	}
	return t, nil
}

func load(fsys fs.FS) (Template, error) {
	src, file, config, err := source(fsys)
	if err != nil {
		return nil, err
	}
	if src == "" {
		return builtIn(fsys)
	}
	t, err := parse(src, controlTokens(&config))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// source finds the source of a folder's template, which is empty where it has
// none, the file it is in, and the folder's tokenizer_config.json.
func source(fsys fs.FS) (src, file string, config value, err error) {
	config, err = readConfig(fsys)
	if err != nil {
		return "", "", config, err
	}
	b, err := readOptional(fsys, templateFile)
	if b != nil || err != nil {
		return string(b), templateFile, config, err
	}
	if src, err = embeddedTemplate(&config); err != nil {
		return "", "", config, fmt.Errorf("%s: %w", tokenizerFile, err)
	}
	return src, tokenizerFile, config, nil
}

// Parse returns the template with the given source, which must not use the
// variables that name control tokens, such as bos_token.
func Parse(src string) (Template, error) {
	t, err := parse(src, nil)
	if err != nil {
		return nil, fmt.Errorf("chat: %w", err)
	}
	return t, nil
}

func parse(src string, tokens map[string]string) (Template, error) {
	digest := digestOf(src, nil)
	for _, k := range kimis {
		if k.source == digest {
			return k, nil
		}
	}
	return parseGeneral(src, tokens)
}

const (
	templateFile  = "chat_template.jinja"
	tokenizerFile = "tokenizer_config.json"
	modelFile     = "config.json"
	kimiVocab     = "tiktoken.model"
)

// readConfig reads tokenizer_config.json; a folder need not have one.
func readConfig(fsys fs.FS) (value, error) {
	b, err := readOptional(fsys, tokenizerFile)
	if err != nil || b == nil {
		return value{}, err
	}
	v, err := parseValue(b)
	if err != nil {
		return value{}, fmt.Errorf("%s: %w", tokenizerFile, err)
	}
	return v, nil
}

// embeddedTemplate finds the chat_template of a tokenizer_config.json: a
// string, or a list of objects with a name and a template.
func embeddedTemplate(config *value) (string, error) {
	t, ok := config.get("chat_template")
	if !ok {
		return "", nil
	}
	switch t.kind {
	case text:
		return t.text, nil
	case null:
		return "", nil
	case list:
		for i := range t.items {
			name, named := t.items[i].get("name")
			src, ok := t.items[i].get("template")
			if named && name.text == "default" && ok && src.kind == text {
				return src.text, nil
			}
		}
		return "", errors.New(`chat_template: a list without one named "default"`)
	}
	return "", errors.New("chat_template: neither a string nor a list")
}

// controlTokens returns the variables of tokenizer_config.json by which
// templates may name control tokens: strings, or objects with a content.
func controlTokens(config *value) map[string]string {
	tokens := map[string]string{}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"} {
		t, ok := config.get(name)
		if !ok {
			continue
		}
		if c, ok := t.get("content"); ok {
			t = c
		}
		if t.kind == text {
			tokens[name] = t.text
		}
	}
	return tokens
}

// builtIn chooses a template for a folder that brings none.
func builtIn(fsys fs.FS) (Template, error) {
	b, err := readOptional(fsys, modelFile)
	if err != nil {
		return nil, err
	}
	if b == nil {
		if _, err := fs.Stat(fsys, kimiVocab); err == nil {
			return kimiK25, nil
		}
		return nil, fmt.Errorf("no chat template: neither %s nor %s has one", templateFile, tokenizerFile)
	}
	v, err := parseValue(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", modelFile, err)
	}
	model := "unnamed"
	if t, ok := v.get("model_type"); ok && t.kind == text {
		model = t.text
	}
	if model == "kimi_k25" {
		return kimiK25, nil
	}
	return nil, fmt.Errorf("no chat template for a model of type %q: put its %s into the folder", model, templateFile)
}

// readOptional reads a file that need not exist.
func readOptional(fsys fs.FS, name string) ([]byte, error) {
	b, err := fs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
