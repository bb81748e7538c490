package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"testing"
)

// TestProvidersOfRecordedCatalogues holds who may answer for Kimi-K2.5, and why
// the others may not, on two days whose lists were recorded.
func TestProvidersOfRecordedCatalogues(t *testing.T) {
	for _, tt := range []struct{ file, golden string }{
		{"kimi-k2.5-endpoints-2026-07-04.json", "providers-july.golden"},
		{"kimi-k2.5-endpoints-2026-08-22.json", "providers-august.golden"},
		{"openrouter-snapshot-2026-08-22T230119Z.json.gz", "providers-august.golden"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			file := filepath.Join(cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "..", "shared")), "openrouter", "data", tt.file)
			if _, err := os.Stat(file); err != nil {
				t.Skipf("reference data absent (set EYRIE_SHARED to its folder): %v", err)
			}
			var out, talk bytes.Buffer
			args := []string{"providers", "moonshotai/kimi-k2.5", "--catalogue", file}
			if code := run(t.Context(), args, func(string) string { return "" }, nil, &out, &talk); code != exitDone || talk.Len() > 0 {
				t.Fatalf("exit code %d: %s", code, &talk)
			}
			golden := filepath.Join("testdata", tt.golden)
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("got\n%s\nwant\n%s", &out, want)
			}
		})
	}
}
