package main

import (
	"context"
	"math"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dataset"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/plan"
)

// workload is what the job's data sets hold, read once and good for any number
// of forecasts.
type workload struct {
	s    *session
	sets []setLoad
}

// setLoad is one data set's: what its generations' prompts are like in their
// order, and how long its own answers are.
type setLoad struct {
	generations int
	prompts     []promptLoad // each generation's, as far as they were counted
	own         int          // answers it brings along
	ownTokens   int64        // in all
	reasoning   bool         // some of them reason first
}

// promptLoad is the tokens of a prompt, and of them those of earlier answers, which
// are the data set's own as long as the model's are not there.
type promptLoad struct{ tokens, earlier, answers int32 }

// with is how many tokens the prompt has with earlier answers of a mean length; 0
// leaves it with the data set's own.
func (p promptLoad) with(answer float64) float64 {
	if answer <= 0 {
		return float64(p.tokens)
	}
	return float64(p.tokens-p.earlier) + float64(p.answers)*(answer+messageOverhead)
}

// workload reads the data sets. Of each set the prompts of at most so many rows
// are rendered to count their tokens; 0 renders all.
func (s *session) workload(ctx context.Context, rows int, tell func(string)) (*workload, error) {
	v := &workload{s: s}
	for i, set := range s.sets {
		tell("reading " + s.job.Datasets[i].Path)
		one, err := s.loadOf(ctx, set, rows)
		if err != nil {
			return nil, err
		}
		v.sets = append(v.sets, *one)
	}
	return v, nil
}

func (s *session) loadOf(ctx context.Context, set *dataset.Set, rows int) (*setLoad, error) {
	v, mix := new(setLoad), s.job.Mix()
	read := 0
	for p, err := range set.Prompts() {
		if err != nil {
			return nil, &exitError{exitConfig, err}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		v.generations += p.Turns()
		if read++; rows == 0 || read <= rows {
			v.count(s.model, p, mix.Pick(p.Digest(), 0))
		}
	}
	return v, nil
}

// count notes the prompts of a conversation. The first is rendered; each later
// one is taken to be longer by the texts that come in between, of which the
// data set's own answers stand for those that will be there.
func (v *setLoad) count(m *modelFolder, p *eyrie.Prompt, sampling eyrie.Sampling) {
	messages, err := p.Ask(0, nil)
	if err != nil {
		return
	}
	n, err := m.count(&eyrie.Generation{Messages: messages, Tools: p.Tools}, sampling)
	if err != nil {
		return // given up by name when its turn comes
	}
	load := promptLoad{tokens: int32(n)}
	v.prompts = append(v.prompts, load)
	asked := 1
	rest := p.Messages[len(p.Turn(0)):]
	for i := range rest {
		msg := &rest[i]
		said := messageOverhead + len(m.tokenizer.Encode(nil, msg.Content))
		for _, c := range msg.ToolCalls {
			said += messageOverhead + len(m.tokenizer.Encode(nil, c.Arguments))
		}
		if msg.Role == eyrie.Assistant {
			v.own++
			v.ownTokens += int64(said)
			if msg.Reasoning != "" {
				v.reasoning = true
				v.ownTokens += int64(len(m.tokenizer.Encode(nil, msg.Reasoning)))
			}
			if i == len(rest)-1 {
				break // nothing is asked after it
			}
			load.earlier += int32(said)
			load.answers++
		}
		load.tokens += int32(said)
		if asked < p.Turns() && msg.Role != eyrie.Assistant && (i == len(rest)-1 || rest[i+1].Role == eyrie.Assistant) {
			v.prompts = append(v.prompts, load)
			asked++
		}
	}
}

// messageOverhead is about what a template puts around a message.
const messageOverhead = 5

// input is what is known of a set with what a run has done so far.
func (v *workload) input(i int, f *facts) plan.SetInput {
	d, have, x := v.s.job.Datasets[i], f.state.Set(v.s.job.Datasets[i].Name), &v.sets[i]
	in := plan.SetInput{
		Name: d.Name, Target: d.Tokens, Seeded: v.s.seeded[i], Have: v.s.seeded[i] + have.CompletionTokens,
		Generations: x.generations * d.Samples, Done: have.Rows,
	}
	if n, most := x.tooLong(v.s.lanes(), v.s.job.Mix().MaxTokens()); n > 0 {
		in.TooLong, in.LongestPrompt = n*d.Samples, most
		in.Generations -= in.TooLong
	}
	in.OutputTokens, in.Source = x.mean(f, d.Name, v.s.job.Mix())
	in.Cut = float64(f.cut[d.Name]) / float64(max(1, have.Rows))
	in.PromptTokens = x.prompt(&in, have.PromptTokens, f.shown(d.Name, in.OutputTokens))
	return in
}

// mean is how long an answer is taken to be among the rows of a mix, and why.
func (v *setLoad) mean(f *facts, set string, m *eyrie.Mix) (tokens float64, why plan.Source) {
	var total float64
	for i := range m.Parts {
		n, source := v.output(f, set, m.Parts[i].Sampling)
		w := float64(m.Parts[i].Weight)
		tokens, total, why = tokens+w*n, total+w, source
	}
	return tokens / total, why
}

// output is how long an answer of a sampling is taken to be, and why. What a run
// has answered of other sets tells more than a prior does.
func (v *setLoad) output(f *facts, set string, s eyrie.Sampling) (float64, plan.Source) {
	longest := float64(s.MaxTokens)
	if mean, ok := f.length(set); ok {
		return min(mean, longest), plan.FromRun
	}
	if v.own >= enoughAnswers && (v.reasoning || !bool(s.Thinking)) {
		return min(float64(v.ownTokens)/float64(v.own), longest), plan.FromSet
	}
	if f.all.N() >= enoughAnswers {
		return min(f.all.Mean(), longest), plan.FromRun
	}
	prior := plan.PriorOutput
	if v.own >= enoughAnswers {
		prior = float64(v.ownTokens) / float64(v.own)
	}
	if s.Thinking {
		prior += plan.PriorThinking
	}
	return min(prior, longest/2), plan.FromPrior
}

// tooLong is how many of the generations have prompts that no lane has room for,
// which is reckoned from those that were counted, and how many tokens the longest
// that one takes may have.
func (v *setLoad) tooLong(lanes []*eyrie.Lane, maxTokens int) (n, most int) {
	for _, l := range lanes {
		most = max(most, l.LongestPrompt(maxTokens))
	}
	for _, p := range v.prompts {
		if int(p.tokens) > most {
			n++
		}
	}
	if seen := len(v.prompts); seen > 0 && seen < v.generations {
		n = int(math.Round(float64(n) * float64(v.generations) / float64(seen)))
	}
	return n, most
}

// prompt is the mean prompt of the generations that come next: of as many as
// are needed behind those that are done, in their order. Later turns hold earlier
// answers of a mean length; 0 says that nothing is known of it.
func (v *setLoad) prompt(in *plan.SetInput, doneTokens int64, answer float64) float64 {
	if len(v.prompts) == 0 {
		return 0
	}
	sum := func(n int) (total float64) {
		whole := n / len(v.prompts) // rounds of all of them, for further samples
		for i, p := range v.prompts {
			t := p.with(answer)
			if i < n%len(v.prompts) {
				total += t
			}
			total += float64(whole) * t
		}
		return total
	}
	mean := sum(len(v.prompts)) / float64(len(v.prompts))
	if in.OutputTokens <= 0 || len(v.prompts) < v.generations {
		return mean
	}
	needed := max(1, int(float64(in.Target-in.Have)/in.OutputTokens))
	until := min(in.Done+needed, in.Generations)
	if until <= in.Done {
		return mean
	}
	if next := (sum(until) - float64(doneTokens)) / float64(until-in.Done); next > 0 {
		return next
	}
	return mean
}

// forecast makes a forecast of what a run has left to do.
func (v *workload) forecast(f *facts, change ...func(*plan.Input)) *plan.Forecast {
	in := plan.Input{
		Lanes: f.laneInputs(v.s.lanes(), v.s.job.Concurrency), Left: f.left(), MaxTokens: v.s.job.Mix().MaxTokens(),
		AskAgain:    v.s.job.OnLength == eyrie.RetryCut,
		Concurrency: v.s.job.Concurrency, Fit: v.s.job.Fit, Deadline: v.s.job.Deadline,
	}
	for i := range v.sets {
		in.Sets = append(in.Sets, v.input(i, f))
	}
	if v.s.hold() == dispatch.Expected {
		in.Hold = expectedHold(in.Sets, f.state)
	}
	for _, c := range change {
		c(&in)
	}
	return plan.Make(in)
}
