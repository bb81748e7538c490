package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/chat"
	"github.com/eyrie-ai/eyrie/export"
	"github.com/eyrie-ai/eyrie/harvest"
)

// verifyExport compares the exports of all sets with the run.
func (a *app) verifyExport(dest *os.Root, dir string, h *harvest.Harvest, lanes surveyedLanes, only []string, model *modelFolder, opts export.Options) error {
	for _, set := range h.Sets() {
		at := path.Join(dir, set)
		v, err := export.Verify(dest, at, exportRows(h, set, lanes, only), opts, model.checkRow)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w (write it first: the same command without --verify)", err)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s: %d rows are as the journal gives them", filepath.Join(dest.Name(), at), v.Rows)
		if v.More > 0 {
			fmt.Fprintf(a.stdout, "; %d more would be exported now", v.More)
		}
		fmt.Fprintln(a.stdout)
	}
	return nil
}

// checkRow makes sure of a row by other ways than it was made: the rendered
// prompt has its ids, and its ids spell what was answered.
func (m *modelFolder) checkRow(r *export.Row) error {
	if r.Err != nil {
		return nil
	}
	if err := m.checkPrompt(r); err != nil {
		return err
	}
	text, err := m.tokenizer.Decode(nil, r.IDs.CompletionIDs)
	if err != nil {
		return err
	}
	spelled := squeeze(string(text))
	for _, part := range []struct{ name, text string }{{"reasoning", r.Answer.Reasoning}, {"content", r.Answer.Content}} {
		// Tokenisers may normalise, so that what was said is what its ids spell.
		said, err := m.tokenizer.Decode(nil, m.tokenizer.Encode(nil, part.text))
		if err != nil {
			return err
		}
		if s := squeeze(string(said)); !strings.Contains(spelled, s) {
			return fmt.Errorf("the completion's ids spell %q, and the %s of the answer is %q", clip(text), part.name, clip([]byte(part.text)))
		}
	}
	return nil
}

// checkPrompt compares a prompt's ids with those of its conversation. Ids of a
// server are its own, and calls in the history print in several ways, of which
// the bill chose one.
func (m *modelFolder) checkPrompt(r *export.Row) error {
	called := slices.ContainsFunc(r.Messages, func(msg eyrie.Message) bool { return len(msg.ToolCalls) > 0 })
	if r.IDs.Known == eyrie.KnownEngine || called {
		return nil
	}
	c := chat.Conversation{Messages: r.Messages, Tools: r.Tools, Thinking: bool(r.Meta.Sampling.Thinking)}
	ids, err := m.rebuilder.Prompt(nil, c)
	if err != nil || slices.Equal(ids, r.IDs.PromptIDs) {
		return err
	}
	if r.Answer.Reasoning != "" && !c.Thinking { // the server did not hear that it should not
		c.Thinking = true
		if ids, err = m.rebuilder.Prompt(ids[:0], c); err != nil || slices.Equal(ids, r.IDs.PromptIDs) {
			return err
		}
	}
	i := 0
	for i < min(len(ids), len(r.IDs.PromptIDs)) && ids[i] == r.IDs.PromptIDs[i] {
		i++
	}
	return fmt.Errorf("the prompt renders to %d ids, and the row has %d; they differ from number %d on", len(ids), len(r.IDs.PromptIDs), i)
}

// squeeze leaves white space out: servers trim it.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// clip cuts text for a message.
func clip(b []byte) string {
	if len(b) > 120 {
		return string(b[:120]) + "…"
	}
	return string(b)
}
