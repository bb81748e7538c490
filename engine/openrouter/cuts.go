package openrouter

import "strings"

// stopBilling lists the providers that the vendor says stop generating, and
// charging, when a stream is cut, by their display names without case, spaces
// and versions. All others are taken to write the answer to its end and charge
// the whole of it, as those are known to that are on its other list.
var stopBilling = map[string]bool{
	"openai": true, "azure": true, "anthropic": true, "fireworks": true, "mancer": true, "recursal": true,
	"anyscale": true, "lepton": true, "octoai": true, "novita": true, "deepinfra": true, "together": true,
	"cohere": true, "hyperbolic": true, "infermatic": true, "avian": true, "xai": true, "cloudflare": true,
	"sfcompute": true, "nineteen": true, "liquid": true, "friendli": true, "chutes": true, "deepseek": true,
}

// stopsBilling reports whether a provider charges a stream that is cut for what
// came, and no more.
func stopsBilling(provider string) bool {
	name := strings.ToLower(provider)
	name = strings.TrimRight(name, "0123456789. ") // Mancer 2
	return stopBilling[strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name)]
}
