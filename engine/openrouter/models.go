package openrouter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/route"
)

// Model is a row of the vendor's list of models. What it says of prices and
// parameters is of one of its endpoints, or of all together, and is left out.
type Model struct {
	ID        string
	Canonical string // the dated slug
	// Expires is when the model will be taken down, as the vendor writes it;
	// empty when nothing is announced.
	Expires string
}

// Models reads the list of models, page by page.
func (c *Client) Models(ctx context.Context) ([]Model, error) {
	return c.models(ctx, "/models")
}

// Distillable reads the models whose authors allow distillation.
func (c *Client) Distillable(ctx context.Context) ([]Model, error) {
	return c.models(ctx, "/models?distillable=true")
}

func (c *Client) models(ctx context.Context, path string) ([]Model, error) {
	rows, err := c.rows(ctx, path)
	if err != nil {
		return nil, err
	}
	return parseModels(rows), nil
}

// Providers reads the list of the vendor's providers, page by page.
func (c *Client) Providers(ctx context.Context) ([]route.Provider, error) {
	rows, err := c.rows(ctx, "/providers")
	if err != nil {
		return nil, err
	}
	return parseProviders(rows), nil
}

// Retainless reads which endpoints of a model retain nothing of what they are
// sent. It returns a function that tells of a lane whether it retains, as a
// policy asks it.
func (c *Client) Retainless(ctx context.Context, model string) (retained func(*eyrie.Lane) bool, err error) {
	rows, err := c.rows(ctx, "/endpoints/zdr")
	if err != nil {
		return nil, err
	}
	tags := parseTags(rows, model)
	return func(l *eyrie.Lane) bool { return !slices.Contains(tags, l.Tag) }, nil
}

// maxPages bounds a list whose pages never end.
const maxPages = 1000

// rows reads the rows of a list, of all its pages.
func (c *Client) rows(ctx context.Context, path string) (rows []row, err error) {
	at, err := url.Parse(c.base + path)
	if err != nil {
		return nil, fmt.Errorf("openrouter: %w", err)
	}
	for range maxPages {
		body, err := c.get(ctx, path)
		if err != nil {
			return nil, err
		}
		page, next, err := parseList(body)
		if err != nil {
			return nil, fmt.Errorf("openrouter: GET %s: %w", path, c.tidy(err))
		}
		rows = append(rows, page...)
		if next == "" {
			return rows, nil
		}
		if at, path, err = c.follow(at, next); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("openrouter: GET " + path + ": its pages do not end")
}

// follow resolves the link to a next page, which may be a whole address, a path
// or a query, into a path below the base. It goes nowhere else: the key travels
// with the request.
func (c *Client) follow(at *url.URL, next string) (*url.URL, string, error) {
	to, err := at.Parse(next)
	if err != nil {
		return nil, "", fmt.Errorf("openrouter: the link to a next page: %w", err)
	}
	path, ok := cutBase(to, c.base)
	if !ok {
		return nil, "", fmt.Errorf("openrouter: the link to a next page leads to %s://%s%s, which is not below base_url", to.Scheme, to.Host, to.Path)
	}
	return to, path, nil
}

func cutBase(to *url.URL, base string) (path string, ok bool) {
	b, err := url.Parse(base)
	if err != nil || to.Scheme != b.Scheme || to.Host != b.Host {
		return "", false
	}
	whole, root := to.EscapedPath(), b.EscapedPath()+"/"
	if len(whole) <= len(root) || whole[:len(root)] != root {
		return "", false
	}
	path = whole[len(root)-1:]
	if to.RawQuery != "" {
		path += "?" + to.RawQuery
	}
	return path, true
}
