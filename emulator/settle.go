package emulator

import "time"

// settle charges for so many completion tokens and closes the exchange. It is
// called before the last bytes of a reply are written, so that a client that
// has its answer finds the books and the endpoint's free places up to date.
func (x *exchange) settle(outcome string, tokens int) {
	if x.entered {
		return
	}
	x.Outcome, x.Cancelled = outcome, outcome == Cancelled
	charge := tokens > 0 && !x.free
	for _, f := range x.faults {
		if f.Charge != "" {
			charge = f.Charge == "yes"
		}
	}
	if charge && tokens == 0 {
		tokens = len(x.c.ids)
	}
	x.bill = x.billFor(tokens)
	if charge {
		x.charge()
	}
	x.enterBooks()
	x.remember()
	if outcome == Completed {
		x.mu.Lock()
		x.store(x.Ended)
		x.mu.Unlock()
	}
}

// charge bills the exchange to the account.
func (x *exchange) charge() {
	x.Billed = true
	x.PromptTokens, x.CachedTokens, x.WrittenTokens = x.bill.prompt, x.bill.cached, x.bill.written
	x.CompletionTokens, x.ReasoningTokens = x.bill.completion, x.bill.reasoning
	x.Cost = x.charged().pico().Int64()
	x.mu.Lock()
	x.spend(x.key, x.Cost, time.Now())
	x.mu.Unlock()
}

// refuse sends an error instead of a completion.
func (x *exchange) refuse(r *refusal) {
	x.Outcome, x.Refusal, x.Status = Refused, r.kind, r.status
	x.RetryAfter = r.header.Get("Retry-After")
	stays := x.pause(x.scenario.Timing.Header)
	x.enterBooks()
	if stays {
		r.write(x.w)
	}
}

// enterBooks gives the place at the endpoint back and closes the entry.
func (x *exchange) enterBooks() {
	if x.entered {
		return
	}
	x.entered = true
	if x.placed {
		x.leave(x.asked.tag, len(x.prompt.ids)+len(x.CompletionIDs))
	}
	x.Ended = time.Now()
	x.Server.books.add(new(x.Entry))
}

// abandon closes an exchange whose handler left by a panic, which is how a
// connection is reset.
func (x *exchange) abandon() {
	if x.c != nil {
		x.settle(Broken, len(x.c.ids))
	}
	x.enterBooks()
}
