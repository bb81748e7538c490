package emulator_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/eyrie-ai/eyrie/emulator"
)

// TestVendorClients lets published clients judge the wire format. They are
// fetched by npm install in the clients folder, which CI does.
func TestVendorClients(t *testing.T) {
	if _, err := os.Stat(filepath.Join("clients", "node_modules")); err != nil {
		t.Skip("clients are not installed: run npm install in emulator/clients")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node to run the clients with")
	}
	s, web := start(t, func(c *emulator.Config, _ *emulator.Scenario) {
		c.Keys, c.ManagementKey, c.Balance, c.KeyLimit = []string{"sk-or-v1-test"}, "sk-or-v1-boss", "100", "50"
	})
	cmd := exec.CommandContext(t.Context(), node, "run.mjs", web.URL+"/api/v1")
	cmd.Dir = "clients"
	cmd.Env = append(os.Environ(), "API_KEY=sk-or-v1-test", "MANAGEMENT_KEY=sk-or-v1-boss")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range s.Books() {
		if e.Outcome != emulator.Completed && e.Refusal != "model_not_found" {
			t.Errorf("request %d: %s %s", e.Number, e.Outcome, e.Refusal)
		}
	}
}
