// Package plan makes a forecast from prompts, settings and prices, and says
// which data set work is taken from next. It is pure: it reads nothing and
// spends nothing.
package plan
