package openrouter_test

import (
	"fmt"
	"testing"

	"github.com/eyrie-ai/eyrie/engine/openrouter"
)

// TestWhoStopsBilling: only those that the vendor names charge nothing for what
// comes after a cut; a name that is close to one of theirs is none of them.
func TestWhoStopsBilling(t *testing.T) {
	for provider, want := range map[string]bool{
		"Novita": true, "DeepInfra": true, "Mancer 2": true, "SF Compute": true, "xAI": true, "DeepSeek": true, "Together": true,
		"Amazon Bedrock": false, "SiliconFlow": false, "AtlasCloud": false, "Venice": false, "Moonshot AI": false,
		"AI21": false, "Novita Turbo": false, "": false,
	} {
		doc := fmt.Sprintf(`{"data":{"id":"a/b","endpoints":[{"name":"%[1]s | a/b","tag":"x/fp8","provider_name":"%[1]s","quantization":"fp8",`+
			`"context_length":1000,"pricing":{"prompt":"0.000001","completion":"0.000002"}}]}}`, provider)
		cat, err := openrouter.ParseEndpoints([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if got := cat.Lanes[0].Stops; got != want {
			t.Errorf("%q stops billing at a cut: %v, want %v", provider, got, want)
		}
	}
}
