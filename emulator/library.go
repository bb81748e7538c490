package emulator

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed scenarios/*.yaml
var library embed.FS

// Scenarios lists the built-in scenarios by name.
func Scenarios() []string {
	files, err := library.ReadDir("scenarios")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// NamedScenario returns a built-in scenario.
func NamedScenario(name string) (Scenario, error) {
	data, err := library.ReadFile(path.Join("scenarios", name+".yaml"))
	if err != nil {
		return Scenario{}, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(Scenarios(), ", "))
	}
	s, err := ParseScenario(data)
	if err != nil {
		return Scenario{}, fmt.Errorf("scenario %s: %w", name, err)
	}
	return s, nil
}
