package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/eyrie-ai/eyrie/tokenizer"
)

func (a *app) tokensCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tokens",
		Short: "Look at text as the model does: ids, prompts, and why a row has its class",
		Long: `tokens shows what becomes of text: its ids, the prompt that a conversation is
rendered to, and why a row of a run has the class it has.

For people, text is given as an argument or typed on a terminal. For programs,
encode, decode, render and template read JSON lines on stdin (or one JSON array)
and write a line for each, in order. A line that cannot be answered is answered
with {"id":…,"error":…}, and the others go on; the exit code is then 0 all the
same. An id may be any JSON value and comes back as it was.`,
		Example: `  eyrie tokens encode --model ./model "The cat sat."
  eyrie tokens encode --model ./model < texts.jsonl > ids.jsonl
  eyrie tokens render --model ./model chat.json
  eyrie tokens explain runs/first code-0001/t0/s0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.encodeCmd(), a.decodeCmd(), a.renderCmd(), a.templateCmd(), a.explainCmd())
	return cmd
}

const colorHelp = "auto, always or never; auto is a terminal without NO_COLOR"

func (a *app) encodeCmd() *cobra.Command {
	var model, color string
	var special bool
	cmd := &cobra.Command{
		Use:   "encode --model DIR [TEXT]",
		Short: "Turn text into ids",
		Long: `encode prints the ids and pieces of a text. Without TEXT it reads JSON lines
{"id":…,"text":…} and writes {"id":…,"ids":[…]}.

The spelling of a control token, such as <|im_end|>, becomes that token, which is
what servers do with a rendered prompt. With --special=false it is plain text.`,
		Example: `  eyrie tokens encode --model ./model "The cat sat."
  eyrie tokens encode --model ./model --special=false < texts.jsonl`,
		Args: atMostArgs("TEXT"),
		RunE: func(_ *cobra.Command, args []string) error {
			tok, err := openTokenizer(model)
			if err != nil {
				return err
			}
			encode := tok.Encode
			if special {
				encode = tok.EncodeSpecial
			}
			if len(args) == 0 && !a.typed() {
				return a.answerLines(func(line []byte) (any, error) { return encodeLine(encode, line) })
			}
			p, err := a.pieces(tok, color)
			if err != nil {
				return err
			}
			return a.eachText(args, func(text string) error { return p.print(encode(nil, text), nil) })
		},
	}
	modelFlags(cmd, &model, &color)
	cmd.Flags().BoolVar(&special, "special", true, "take the spelling of a control token for the token, as servers do")
	return cmd
}

func (a *app) decodeCmd() *cobra.Command {
	var model, color string
	cmd := &cobra.Command{
		Use:   "decode --model DIR [IDS]",
		Short: "Turn ids into text",
		Long: `decode prints the text and pieces of ids, which are separated by commas or
spaces. Without IDS it reads JSON lines {"id":…,"ids":[…]} and writes
{"id":…,"text":…,"bytes":…}: bytes are exact, in base64; in text U+FFFD stands
for what is no UTF-8.`,
		Example: `  eyrie tokens decode --model ./model 1008,8414,10733
  eyrie tokens decode --model ./model < ids.jsonl`,
		Args: atMostArgs("IDS"),
		RunE: func(_ *cobra.Command, args []string) error {
			tok, err := openTokenizer(model)
			if err != nil {
				return err
			}
			if len(args) == 0 && !a.typed() {
				return a.answerLines(func(line []byte) (any, error) { return decodeLine(tok, line) })
			}
			p, err := a.pieces(tok, color)
			if err != nil {
				return err
			}
			return a.eachText(args, func(text string) error {
				ids, err := parseIDs(text)
				if err != nil {
					return &exitError{exitConfig, err}
				}
				whole, err := tok.DecodeString(ids)
				if err != nil {
					return err
				}
				if err := p.print(ids, nil); err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.stdout, "%s\n", whole)
				return err
			})
		},
	}
	modelFlags(cmd, &model, &color)
	return cmd
}

func modelFlags(cmd *cobra.Command, model, color *string) {
	cmd.Flags().StringVar(model, "model", "", "the folder with the model's tokenizer (required)")
	cmd.Flags().StringVar(color, "color", "auto", colorHelp)
}

// atMostArgs allows one argument.
func atMostArgs(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return &exitError{exitConfig, fmt.Errorf("%s wants at most %s, got %d arguments (quote text that has spaces); see %s --help",
			cmd.CommandPath(), name, len(args), cmd.CommandPath())}
	}
}

func openTokenizer(dir string) (*tokenizer.Tokenizer, error) {
	if dir == "" {
		return nil, &exitError{exitConfig, errors.New("--model is missing: name the folder with the model's tokenizer")}
	}
	tok, err := tokenizer.Load(dir)
	if err != nil {
		return nil, &exitError{exitConfig, fmt.Errorf("--model %s: %w", dir, err)}
	}
	return tok, nil
}

// typed reports whether a person types on stdin.
func (a *app) typed() bool { return isTerminal(a.stdin) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// eachText hands the argument to show, or else every line that is typed.
func (a *app) eachText(args []string, show func(text string) error) error {
	if len(args) > 0 {
		return show(args[0])
	}
	in := bufio.NewReader(a.stdin)
	for {
		line, err := in.ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			if err := show(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// parseIDs reads ids that are separated by commas or white space, in brackets
// or not.
func parseIDs(text string) ([]int32, error) {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")
	var ids []int32
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		id, err := strconv.ParseInt(field, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no token id; ids are whole numbers with commas or spaces between them", field)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}
