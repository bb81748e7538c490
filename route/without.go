package route

// Without returns the policy without one of its rules, to see what the rule
// costs. Rules that say what an endpoint can do at all stay.
func (p Policy) Without(r Rule) Policy {
	switch r {
	case RuleOnly:
		p.Only = nil
	case RuleIgnore:
		p.Ignore = nil
	case RuleQuantization:
		p.Quantizations, p.Native = nil, ""
	case RuleMaxPrice:
		p.MaxPrompt, p.MaxOutput, p.MaxRequest = 0, 0, 0
	case RuleZDR:
		p.Retained = nil
	case RuleStatus:
		p.MinStatus = nil
	case RuleUptime:
		p.MinUptime = 0
	}
	return p
}
