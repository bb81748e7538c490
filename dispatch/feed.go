package dispatch

import (
	"context"
	"fmt"

	"github.com/eyrie-ai/eyrie"
)

// task is a generation to be made, with the conversation it belongs to.
type task struct {
	set       int
	gen       eyrie.Generation
	conv      *conversation
	tries     int  // attempts in this process
	copies    int  // attempts under way
	over      bool // one of them was accepted
	free      int  // of those, the ones that failed without a charge
	avoid     map[string]bool
	ended     map[string]int // attempts by the class of their failure
	refusedBy *lane          // the latest attempt, for too many requests
	raised    int            // the cap after an answer was cut off, 0 before
	reason    string         // class of the latest failure
	detail    string
}

// count counts a failure of a class and returns how many there were.
func (t *task) count(class string) int {
	if t.ended == nil {
		t.ended = map[string]int{}
	}
	t.ended[class]++
	return t.ended[class]
}

// conversation is one sample of a prompt, turn after turn.
type conversation struct {
	prompt   *eyrie.Prompt
	digest   eyrie.Digest
	sample   int
	sampling eyrie.Sampling
	asked    eyrie.Digest    // of the sampling
	answers  []*eyrie.Answer // of the turns so far
}

// sampling is how the task's next attempt is sampled.
func (t *task) sampling() eyrie.Sampling {
	s := t.conv.sampling.Of(t.gen.Sample)
	s.MaxTokens = t.maxTokens()
	return s
}

// maxTokens is the cap of the task's next attempt.
func (t *task) maxTokens() int { return max(t.conv.sampling.MaxTokens, t.raised) }

// queued is how many prepared generations wait per set.
const queued = 64

// feeder reads one set's prompts and prepares the generations that are still
// to be made. It ends when the prompts or the run do.
type feeder struct {
	run   *Runner
	index int
	set   *Set
	out   chan *task
}

// feed runs in a goroutine of its own. Samples go round by round, so that a
// run which ends early has each prompt once before any twice.
func (f *feeder) feed(ctx context.Context) {
	err := f.rounds(ctx)
	close(f.out)
	f.run.send(message{kind: fed, set: f.index, err: err})
}

func (f *feeder) rounds(ctx context.Context) error {
	for sample := range max(f.set.Samples, 1) {
		for p, err := range f.set.Prompts {
			if err != nil {
				return fmt.Errorf("data set %s: %w", f.set.Name, err)
			}
			if err := f.conversation(ctx, p, sample); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return nil
			}
		}
	}
	return nil
}

// conversation finds the first turn that is still to be made and queues it.
func (f *feeder) conversation(ctx context.Context, p *eyrie.Prompt, sample int) error {
	cfg := &f.run.cfg
	paired := *p
	p = &paired
	p.Pairing = f.set.Pairing
	c := &conversation{prompt: p, digest: p.Digest(), sample: sample}
	c.sampling = cfg.Sampling.Pick(c.digest, sample)
	c.asked = c.sampling.Digest()
	for turn := range p.Turns() {
		key := c.key(cfg.Model, turn)
		ref, done := cfg.State.Done(key)
		if !done {
			return f.queue(ctx, c, turn)
		}
		if err := f.note(c); err != nil { // a repair may have lost it
			return err
		}
		rec, err := cfg.Earlier(ref)
		if err != nil {
			return err
		}
		a := rec.Answer()
		if more, _ := p.Continues(turn, a); !more {
			return nil
		}
		c.answers = append(c.answers, a)
	}
	return nil
}

func (f *feeder) queue(ctx context.Context, c *conversation, turn int) error {
	cfg := &f.run.cfg
	if !cfg.State.Claim(c.key(cfg.Model, turn)) {
		return nil
	}
	if err := f.note(c); err != nil {
		return err
	}
	t, err := f.run.prepare(f.index, c, turn)
	if err != nil {
		return f.run.giveUp(t, "prompt", err.Error())
	}
	select {
	case f.out <- t:
		f.run.send(message{kind: queuedOne, set: f.index})
	case <-ctx.Done():
	}
	return nil
}

// note writes a conversation into the journal, where it is not there.
func (f *feeder) note(c *conversation) error {
	if f.run.cfg.State.HasPrompt(c.digest) {
		return nil
	}
	return f.run.cfg.Journal.Note(c.record())
}

func (c *conversation) key(model string, turn int) eyrie.Key {
	return eyrie.GenerationKey(c.digest, turn, c.sample, model, c.asked)
}

func (c *conversation) record() *eyrie.PromptRecord {
	p := c.prompt
	return &eyrie.PromptRecord{Prompt: c.digest, Set: p.Set, ID: p.ID, Ordinal: p.Ordinal, Messages: p.Messages, Tools: p.Tools, Given: p.Given, Split: p.Split, Origin: p.Origin}
}

// prepare builds the generation of a turn and counts its prompt. The task is
// returned beside an error too, so that it can be given up by name.
func (r *Runner) prepare(set int, c *conversation, turn int) (*task, error) {
	t := &task{set: set, conv: c, gen: eyrie.Generation{
		Key: c.key(r.cfg.Model, turn), Set: r.cfg.Sets[set].Name, PromptID: c.prompt.ID, Prompt: c.digest,
		Turn: turn, Sample: c.sample, Tools: c.prompt.Tools,
	}}
	var err error
	if t.gen.Messages, err = c.prompt.Ask(turn, c.answers); err != nil {
		return t, err
	}
	if r.cfg.OnLength == eyrie.RetryCut && r.cfg.State.Cut(t.gen.Key) {
		t.raised = r.cfg.RetryTokens // a process before has seen it cut off
	}
	if t.gen.PromptTokens, err = r.cfg.Count(&t.gen, c.sampling); err == nil {
		err = tooLong(t, r.longestPrompt(t.maxTokens()))
	}
	return t, err
}

// longestPrompt is the most tokens that any of the run's lanes takes in a prompt
// beside an answer of up to maxTokens.
func (r *Runner) longestPrompt(maxTokens int) (most int) {
	for _, l := range r.cfg.Lanes {
		most = max(most, l.Lane.LongestPrompt(maxTokens))
	}
	return most
}

// tooLong refuses a prompt that no lane has room for, before anyone is asked.
func tooLong(t *task, most int) error {
	if t.gen.PromptTokens <= most {
		return nil
	}
	return fmt.Errorf("the prompt has %d tokens, and no lane takes one of more than %d beside an answer of up to %d", t.gen.PromptTokens, most, t.maxTokens())
}

// giveUp journals that a generation will not be made.
func (r *Runner) giveUp(t *task, class, detail string) error {
	rec := &eyrie.GaveUpRecord{
		Key: t.gen.Key, Prompt: t.gen.Prompt, Set: t.gen.Set, Turn: t.gen.Turn, Sample: t.gen.Sample,
		Class: class, Detail: detail,
	}
	ref, err := r.cfg.Journal.Append(rec)
	if err == nil {
		r.apply(ref, rec)
	}
	return err
}
