package emulator

import "strings"

// stopsBilling lists the providers that stop working, and charging, when the
// client leaves a stream. All others finish and charge the whole completion.
var stopsBilling = map[string]bool{
	"openai": true, "azure": true, "anthropic": true, "fireworks": true, "mancer": true, "recursal": true,
	"anyscale": true, "lepton": true, "octoai": true, "novita": true, "deepinfra": true, "together": true,
	"cohere": true, "hyperbolic": true, "infermatic": true, "avian": true, "xai": true, "cloudflare": true,
	"sfcompute": true, "nineteen": true, "liquid": true, "friendli": true, "chutes": true, "deepseek": true,
}

// stopsOnAbort reports whether leaving a stream of this endpoint saves money.
func (e *endpoint) stopsOnAbort() bool {
	return stopsBilling[strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(e.provider))]
}
