package plan

import (
	"math"
	"time"
)

// shape is a distribution of times, in seconds.
type shape interface {
	// density is the logarithm of the density at a time, and lasting that of the
	// part of the times that are longer than it.
	density(t float64) float64
	lasting(t float64) float64
	// beyond is by how much times pass one that they are longer than, in the mean.
	beyond(t float64) float64
}

const (
	enoughToFit = 4000 // times; of more, so many are looked at
	instant     = 1e-3 // seconds; what took no time took this
)

// seen is the times that a shape is fitted to, in seconds.
type seen struct{ ended, going []float64 }

// shape is the distribution under which what ended and what goes on is most
// likely.
func (l *Lengths) shape() shape {
	step := max(1, (len(l.ended)+len(l.going))/enoughToFit)
	thin := func(times []time.Duration) (out []float64) {
		for i := step / 2; i < len(times); i += step {
			out = append(out, max(times[i].Seconds(), instant))
		}
		return out
	}
	s := seen{thin(l.ended), thin(l.going)}
	if len(s.ended) == 0 { // hardly any of them has
		s.ended = []float64{max(l.ended[0].Seconds(), instant)}
	}
	var a, b shape = s.lognormal(), s.weibull()
	if s.likelihood(a) >= s.likelihood(b) {
		return a
	}
	return b
}

// likelihood is its logarithm.
func (s seen) likelihood(of shape) (sum float64) {
	for _, t := range s.ended {
		sum += of.density(t)
	}
	for _, t := range s.going {
		sum += of.lasting(t)
	}
	return sum
}

// lognormal is a distribution of times whose logarithm is normal.
type lognormal struct{ mu, sigma float64 }

const (
	rounds = 30 // of improving a fit
	// Spreads that a fit may have: of times that are all alike, and the most that
	// answers have. A wider one would make much of a few long ones.
	narrowest, widest = 0.05, 1.0
)

// lognormal fits by expectation and maximization: what goes on is taken to last
// as long as the fit before says, until little changes any more.
func (s seen) lognormal() lognormal {
	var sum, squares float64
	for _, t := range s.ended {
		z := math.Log(t)
		sum, squares = sum+z, squares+z*z
	}
	n := float64(len(s.ended))
	f := lognormal{sum / n, spread(sum/n, squares/n)}
	n += float64(len(s.going))
	for range rounds {
		first, second := sum, squares
		for _, t := range s.going {
			a := f.place(t)
			h := hazard(a)
			first += f.mu + f.sigma*h
			second += f.mu*f.mu + 2*f.mu*f.sigma*h + f.sigma*f.sigma*(1+a*h)
		}
		f = lognormal{first / n, spread(first/n, second/n)}
	}
	return f
}

func spread(mean, square float64) float64 {
	return min(widest, max(narrowest, math.Sqrt(max(0, square-mean*mean))))
}

// place is where the logarithm of a time stands in the normal distribution.
func (f lognormal) place(t float64) float64 { return (math.Log(t) - f.mu) / f.sigma }

func (f lognormal) density(t float64) float64 {
	a := f.place(t)
	return -a*a/2 - math.Log(t*f.sigma*math.Sqrt(2*math.Pi))
}

func (f lognormal) lasting(t float64) float64 { return logUpper(f.place(t)) }

func (f lognormal) beyond(t float64) float64 {
	t = max(t, instant)
	a := f.place(t)
	if a > far { // hardly anything lasts so long
		return t * f.sigma / a
	}
	return max(0, math.Exp(f.mu+f.sigma*f.sigma/2)*upper(a-f.sigma)/upper(a)-t)
}

// far is where so little of a normal distribution is left that what there is of
// it is taken from a series.
const far = 6

// upper is how much of a normal distribution lies above a.
func upper(a float64) float64 { return math.Erfc(a/math.Sqrt2) / 2 }

func logUpper(a float64) float64 {
	if a > far {
		return -a*a/2 - math.Log(a*math.Sqrt(2*math.Pi))
	}
	return math.Log(upper(a))
}

// hazard is the mean of a normal distribution above a.
func hazard(a float64) float64 {
	if a > far {
		return a + 1/a
	}
	return math.Exp(-a*a/2) / math.Sqrt(2*math.Pi) / upper(a)
}

// weibull is a distribution of times that end at a rate which rises or falls as
// a power of the time; with a power of 1 it does neither.
type weibull struct{ power, scale float64 }

// flattest and steepest are the powers that a fit may have.
const flattest, steepest = 0.5, 8.0

// weibull fits by halving: the likelihood has one maximum.
func (s seen) weibull() weibull {
	mean, n := 0.0, float64(len(s.ended))
	for _, t := range s.ended {
		mean += math.Log(t) / n
	}
	// around is the sum of powers of the times, and which way the maximum lies.
	around := func(power float64) (sum, way float64) {
		for _, part := range [][]float64{s.ended, s.going} {
			for _, t := range part {
				z := math.Log(t) - mean
				p := math.Exp(power * z)
				sum, way = sum+p, way+p*z
			}
		}
		return sum, 1/power - way/sum
	}
	low, high := flattest, steepest
	for range 20 {
		middle := (low + high) / 2
		if _, way := around(middle); way > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	sum, _ := around(low)
	return weibull{low, math.Exp(mean + math.Log(sum/n)/low)}
}

func (w weibull) density(t float64) float64 {
	return math.Log(w.power/t) + w.power*math.Log(t/w.scale) + w.lasting(t)
}

func (w weibull) lasting(t float64) float64 { return -math.Pow(t/w.scale, w.power) }

// beyond follows what is left in steps of a small part of the time in which it
// ends, until there is next to nothing.
func (w weibull) beyond(t float64) (mean float64) {
	t = max(t, instant)
	past := w.lasting(t)
	step := min(w.scale, t/(w.power*-past)) / 50
	for left := 1.0; left > 1e-6; {
		t += step
		next := math.Exp(w.lasting(t) - past)
		mean += step * (left + next) / 2
		left = next
	}
	return mean
}
