package dispatch

import (
	"fmt"
	"slices"
)

// A lane that refuses prompt after prompt with the same words has something
// against all of them: a parameter, a setting, a filter. It is closed before it
// has used up the prompts, and those that it refused are asked elsewhere. Until
// then nobody knows whether the refusals were about the prompts, so these wait:
// they are given up when the lane takes another prompt, says something else, or
// when nothing else is left to do.

// A refusal that a provider made may pass, so such a prompt is asked again, but
// the same lane only once when there is no other.

// maxAlike is how many prompts in a row a lane may refuse with the same words.
const maxAlike = 20

// refusals are a lane's latest refusals in a row that read alike.
type refusals struct {
	words string
	tasks []*task // each once
	held  []*task // of those, the ones to be given up
}

// bad reports refusals that are about what was asked.
func bad(class string) bool {
	switch class {
	case "400", "422", "in-band 400", "in-band 422":
		return true
	}
	return false
}

// noteRefusal counts a refused attempt, and closes the lane when there are too
// many alike. It reports whether the same prompt was refused so before.
func (s *scheduler) noteRefusal(a *attempt) (repeated bool) {
	if !bad(a.err.Class) || a.lane.closed != "" {
		return false
	}
	l, words := a.lane, a.err.Error()
	if l.refusals.words != words {
		s.releaseRefused(l)
		l.refusals.words = words
	}
	r := &l.refusals
	if slices.Contains(r.tasks, a.task) {
		return true
	}
	r.tasks = append(r.tasks, a.task)
	if len(r.tasks) < maxAlike {
		return false
	}
	s.closeLane(l, fmt.Sprintf("it refused %d prompts in a row with the same words: %s", len(r.tasks), words))
	for _, t := range r.held {
		s.elsewhere(t, l)
		s.again(t)
	}
	r.tasks, r.held = nil, nil
	return false
}

// nowhere reports whether every open lane is one that a task should avoid.
func (s *scheduler) nowhere(t *task) bool {
	return !slices.ContainsFunc(s.lanes, func(l *lane) bool { return l.closed == "" && !t.avoid[l.Tag] })
}

// spare keeps a task from being given up, when its refusal may be the lane's
// fault. It reports whether it did.
func (s *scheduler) spare(a *attempt) bool {
	r := &a.lane.refusals
	if !bad(a.err.Class) || r.words != a.err.Error() {
		return false
	}
	if a.lane.closed != "" {
		s.elsewhere(a.task, a.lane)
		s.again(a.task)
		return true
	}
	r.held = append(r.held, a.task)
	return true
}

// releaseRefused gives up the prompts that a lane refused for themselves.
func (s *scheduler) releaseRefused(l *lane) {
	for _, t := range l.refusals.held {
		s.giveUpTask(t)
	}
	l.refusals = refusals{}
}

func (s *scheduler) releaseAllRefused() {
	for _, l := range s.lanes {
		s.releaseRefused(l)
	}
}
