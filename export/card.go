package export

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// card is the README.md of an export: what the Hugging Face Hub calls a data
// set card, YAML between lines of dashes and then Markdown.
func card(m *Manifest, f *Format) []byte {
	var b strings.Builder
	b.WriteString("---\n")
	b.WriteString("license: " + cardLicence(m) + "\n")
	fmt.Fprintf(&b, "pretty_name: %s\n", yamlString(m.Set))
	b.WriteString("task_categories:\n- text-generation\ntags:\n- speculative-decoding\n- synthetic\n")
	fmt.Fprintf(&b, "size_categories:\n- %s\n", sizeCategory(m.Rows))
	if !f.savedToDisk {
		b.WriteString("configs:\n- config_name: default\n  data_files:\n")
		for _, s := range m.Splits {
			fmt.Fprintf(&b, "  - split: %s\n    path: %s\n", s.Name, path.Join(f.dir, s.Name+"*"+f.ext))
		}
	}
	b.WriteString("---\n\n")
	fmt.Fprintf(&b, "# %s\n\n", m.Set)
	fmt.Fprintf(&b, "Answers of %s to the prompts of %s, one generation a row, as %s loads them.\n", code(m.Run.Model), code(m.Set), f.Loader)
	if !f.conversations {
		b.WriteString("The prompt's ids have loss mask 0 and the completion's 1. Masks are not shifted.\n")
	}
	b.WriteString("\n| | |\n|---|---|\n")
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, cell(fmt.Sprintf(format, args...)))
	}
	line("rows", "%d", m.Rows)
	for _, s := range m.Splits {
		if len(m.Splits) > 1 {
			line("rows of "+s.Name, "%d", s.Rows)
		}
	}
	line("tokens", "%d", m.Tokens)
	line("supervised tokens", "%d", m.SupervisedTokens)
	line("of them the target model's own", "%.1f %%", 100*m.OnPolicy)
	line("left out", "%d", m.Refused)
	if l := m.Lengths; l != nil && l.Rows.Max > 0 {
		line("tokens of a row", "mean %.0f, p50 %d, p90 %d, p99 %d, most %d", l.Rows.Mean, l.Rows.P50, l.Rows.P90, l.Rows.P99, l.Rows.Max)
		c := l.Completions
		line("tokens of a completion", "mean %.0f, p50 %d, p90 %d, p99 %d, most %d", c.Mean, c.P50, c.P90, c.P99, c.Max)
	}
	if v := m.Vocabulary; v != nil {
		line("different supervised tokens", "%d", v.Distinct)
		for _, d := range v.Drafts {
			line(fmt.Sprintf("covered by the %d most frequent", d.Size), "%.3f %%", 100*d.Coverage)
		}
	}
	line("template", "%s `%s`", m.Run.Template, m.Run.TemplateDigest)
	line("tokenizer", "`%s`", m.Run.TokenizerDigest)
	line("made by", "%s", m.Run.Program)
	cardTable(&b, "How the ids are known", "class", m.Known)
	cardTable(&b, "Who answered", "provider", m.Providers)
	cardTable(&b, "Licences that the prompts' rows state", "licence", m.Licences)
	cardTable(&b, "How answers ended", "finish reason", m.Finish)
	return []byte(b.String())
}

// cardTable counts rows by something.
func cardTable(b *strings.Builder, title, head string, rows map[string]int) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s | rows |\n|---|---|\n", title, head)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(b, "| %s | %d |\n", cell(name), rows[name])
	}
}

// hubLicences are names that the Hub knows; anything else is "other" there.
var hubLicences = []string{
	"apache-2.0", "mit", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "odc-by", "openrail", "bsd-3-clause", "gpl-3.0",
}

// cardLicence is the licence of all rows, where they have one in common.
func cardLicence(m *Manifest) string {
	if len(m.Licences) == 1 {
		for name := range m.Licences {
			if l := strings.ToLower(name); slices.Contains(hubLicences, l) {
				return l
			}
		}
	}
	return "other"
}

func sizeCategory(rows int) string {
	names := []string{"n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M"}
	i := 0
	for limit := 1000; rows >= limit && i < len(names)-1; limit *= 10 {
		i++
	}
	return names[i]
}

// cell is text that stays in its cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(s)
}

func code(s string) string { return "`" + strings.ReplaceAll(cell(s), "`", "'") + "`" }

// yamlString is a string in double quotes, which YAML reads as JSON does.
func yamlString(s string) string { return string(quote(nil, s)) }
