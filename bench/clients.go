package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sashabaranov "github.com/sashabaranov/go-openai"
)

// client is a way to read the streams.
type client struct {
	name string
	run  func(l *load, addr, cert string) (report, error)
}

var clients = []client{
	{"eyrie", everything},
	{"net/http", readers(plainReader)},
	{"openai-go", readers(openaiReader)},
	{"go-openai", readers(sashabaranovReader)},
}

// reader reads one answer, calling text for every piece of it.
type reader func(ctx context.Context, prompt string, text func(string)) error

// readers runs a reader for every request, as many at once as there are
// streams.
func readers(newReader func(addr, cert string) reader) func(*load, string, string) (report, error) {
	return func(l *load, addr, cert string) (report, error) {
		read := newReader(addr, cert)
		var mu sync.Mutex
		var sum report
		var errs []error
		var wait time.Duration
		next := make(chan int)
		var wg sync.WaitGroup
		for range l.Streams {
			wg.Go(func() {
				for n := range next {
					var b strings.Builder
					events, began, first := 0, time.Now(), time.Duration(0)
					err := read(context.Background(), prompt(n), func(s string) {
						if s == "" {
							return
						}
						if events == 0 {
							first = time.Since(began)
						}
						events++
						b.WriteString(s)
					})
					mu.Lock()
					sum.Events += events
					sum.Hash += hash(b.String())
					wait += first
					if err != nil {
						errs = append(errs, err)
					}
					mu.Unlock()
				}
			})
		}
		for n := range l.Requests {
			next <- n
		}
		close(next)
		wg.Wait()
		sum.FirstText = wait.Seconds() / float64(l.Requests)
		if len(errs) > 0 {
			return sum, fmt.Errorf("%d requests failed, the first: %w", len(errs), errs[0])
		}
		return sum, nil
	}
}

// plainReader is net/http and encoding/json, as one writes it by hand.
func plainReader(addr, cert string) reader {
	c := http.Client{Transport: transport(cert)}
	return func(ctx context.Context, prompt string, text func(string)) error {
		body, err := json.Marshal(map[string]any{
			"model": model, "stream": true, "messages": []map[string]string{{"role": "user", "content": prompt}},
		})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, addr+"/chat/completions", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !ok || string(data) == "[DONE]" {
				continue
			}
			var chunk struct {
				ID       string `json:"id"`
				Model    string `json:"model"`
				Provider string `json:"provider"`
				Choices  []struct {
					Delta struct {
						Content string `json:"content"`
					} `json:"delta"`
					FinishReason *string `json:"finish_reason"`
				} `json:"choices"`
				Usage *struct {
					PromptTokens     int     `json:"prompt_tokens"`
					CompletionTokens int     `json:"completion_tokens"`
					Cost             float64 `json:"cost"`
				} `json:"usage"`
			}
			if err := json.Unmarshal(data, &chunk); err != nil {
				return err
			}
			for _, c := range chunk.Choices {
				text(c.Delta.Content)
			}
		}
		if err := lines.Err(); err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

func openaiReader(addr, cert string) reader {
	c := openai.NewClient(option.WithBaseURL(addr), option.WithAPIKey("none"), option.WithHTTPClient(&http.Client{Transport: transport(cert)}), option.WithMaxRetries(0))
	return func(ctx context.Context, prompt string, text func(string)) error {
		s := c.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
			Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		})
		defer s.Close()
		for s.Next() {
			for _, c := range s.Current().Choices {
				text(c.Delta.Content)
			}
		}
		return s.Err()
	}
}

func sashabaranovReader(addr, cert string) reader {
	cfg := sashabaranov.DefaultConfig("none")
	cfg.BaseURL, cfg.HTTPClient = addr, &http.Client{Transport: transport(cert)}
	c := sashabaranov.NewClientWithConfig(cfg)
	return func(ctx context.Context, prompt string, text func(string)) error {
		s, err := c.CreateChatCompletionStream(ctx, sashabaranov.ChatCompletionRequest{
			Model: model, Stream: true, Messages: []sashabaranov.ChatCompletionMessage{{Role: "user", Content: prompt}},
		})
		if err != nil {
			return err
		}
		defer s.Close()
		for {
			chunk, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			for _, c := range chunk.Choices {
				text(c.Delta.Content)
			}
		}
	}
}
