package dispatch_test

import (
	"cmp"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie"
	"github.com/eyrie-ai/eyrie/dispatch"
	"github.com/eyrie-ai/eyrie/limit"
)

// This file holds what users of comparable tools ran into, by the number of the
// report in the survey of them, as far as it concerns the dispatch of requests.
// What other packages' tests hold is listed here; TestEveryReportIsATest checks it.

// reports are the rows of the survey about rate limits, hangs, timeouts, memory,
// concurrency and the network, with the tests that hold each of them, by their
// package's folder and name; or why it cannot concern us.
var reports = []struct {
	rows  []int
	tests string
	why   string
}{
	{[]int{43, 44, 46, 47}, "dispatch TestPeers43To47", ""},
	{[]int{49, 52}, "dispatch TestPeers49And52", ""},
	{[]int{50}, "", "cool-downs are shared between replicas of a proxy: a run is one process"},
	{[]int{53}, "dispatch TestPeers53", ""},
	{[]int{55, 56}, "dispatch TestPeers55And56", ""},
	{[]int{58}, "", "a quota of a batch API, and none is used"},
	{[]int{59}, "dispatch TestPeers59And64, dispatch TestStragglerIsHedged, engine/openrouter TestDeadConnection", ""},
	{[]int{61}, "dispatch TestPeers61And73", ""},
	{[]int{62}, "dispatch TestServerThatGoesAway, dispatch TestServersThatStayAway", ""},
	{[]int{64}, "dispatch TestPeers59And64, engine/internal/server TestWhatAServerForgotIsCutOff, engine/internal/server TestProbeOfAServerThatHangs", ""},
	{[]int{65}, "", "a job of a batch API that stays: none is used"},
	{[]int{67, 68, 71}, "engine/openrouter TestP26P28Limits, engine/internal/server TestClocks", ""},
	{[]int{70}, "dispatch TestStragglerIsHedged, engine/openrouter TestP26P28Limits", ""},
	{[]int{73, 74}, "dispatch TestPeers61And73, dispatch TestPeers76", ""},
	{[]int{76}, "dispatch TestPeers76", ""},
	{[]int{77}, "cmd/eyrie TestScripts", ""},
	{[]int{79, 80, 83, 85}, "internal/e2e TestScenarioHappy, dispatch TestUsefulTokensOfTheOptimum", ""},
	{[]int{82}, "dispatch TestPeers82", ""},
	{[]int{86}, "dispatch TestPeers86", ""},
	{[]int{88}, "internal/e2e TestOwnServersAlone, dispatch TestServersAreFullAndNotFlooded", ""},
	{[]int{89, 94}, "engine/openrouter TestReuse", ""},
	{[]int{91}, "engine/openrouter TestHTTP2, engine/internal/h2 TestConnections", ""},
	{[]int{92}, "engine/openrouter TestDeadConnection, engine/openrouter TestReset", ""},
	{[]int{95, 97}, "engine/openrouter TestHTTP2, engine/internal/h2 TestConnections, engine/internal/h2 TestDials, engine/openrouter TestConnect", ""},
	{[]int{98}, "internal/sse TestLongLine, engine/openrouter TestTorn, engine/openrouter TestEndlessEvent", ""},
}

// TestEveryReportIsATest looks for each test that is listed, and, where the survey
// is there, for each of its rows.
func TestEveryReportIsATest(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range reports {
		for _, row := range r.rows {
			if listed[strconv.Itoa(row)] {
				t.Errorf("report %d is listed twice", row)
			}
			listed[strconv.Itoa(row)] = true
		}
		if (r.tests == "") == (r.why == "") {
			t.Errorf("reports %d have tests %q, and none since %q", r.rows, r.tests, r.why)
			continue
		}
		for test := range strings.SplitSeq(r.tests, ", ") {
			if folder, name, _ := strings.Cut(test, " "); r.why == "" && !hasTest(t, folder, name) {
				t.Errorf("reports %d: there is no %s in %s", r.rows, name, folder)
			}
		}
	}
	survey, err := os.ReadFile(filepath.Join(cmp.Or(os.Getenv("EYRIE_SHARED"), filepath.Join("..", "..", "shared")), "PEERS.md"))
	if err != nil {
		t.Skipf("reference data absent (set EYRIE_SHARED to its folder): %v", err)
	}
	_, part, found := strings.Cut(string(survey), "\n### D. ")
	if !found {
		t.Fatal("the survey has no part D")
	}
	if before, _, more := strings.Cut(part, "\n### J. "); more {
		part = before
	}
	rows := regexp.MustCompile(`(?m)^\| ([0-9]+) \|`).FindAllStringSubmatch(part, -1)
	if len(rows) < 35 {
		t.Fatalf("%d rows were found", len(rows))
	}
	for _, row := range rows {
		if !listed[row[1]] {
			t.Errorf("report %s is not listed", row[1])
		}
	}
}

// hasTest reports whether a package has a test of that name.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)")
	})
}

func refusal(wait time.Duration) error {
	return &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "429", LaneWide: true, RetryAfter: wait, Err: errors.New("too many requests")}
}

// holding makes an engine's answers: a lane that holds so many at once.
func holding(r **rig, capacity int, wait time.Duration) func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
	return func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		(*r).engine.mu.Lock()
		full := (*r).engine.running > capacity
		(*r).engine.mu.Unlock()
		if full {
			return &eyrie.Answer{}, 200 * time.Millisecond, refusal(wait)
		}
		return good(q, 50), 5 * time.Second, nil
	}
}

// TestPeers43To47 has lanes that hold four requests, or take six a minute: every
// prompt is answered, and few requests are refused.
func TestPeers43To47(t *testing.T) {
	minute := func(r **rig) func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
		began, taken := time.Now(), 0.0
		return func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			(*r).engine.mu.Lock()
			defer (*r).engine.mu.Unlock()
			if taken >= 6+6*time.Since(began).Minutes() {
				return &eyrie.Answer{}, 200 * time.Millisecond, refusal(0)
			}
			taken++
			return good(q, 50), 5 * time.Second, nil
		}
	}
	for _, row := range []struct {
		name    string
		answers func(**rig) func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error)
		prompts int
		refused int // at most
		within  time.Duration
	}{
		{"43 four at once", func(r **rig) func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error) { return holding(r, 4, 0) }, 400, 100, 12 * time.Minute},
		{"47 ten at once", func(r **rig) func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			return holding(r, 10, 0)
		}, 1000, 180, 12 * time.Minute}, // 37 to 115, as probes fall
		{"44 46 six a minute", minute, 120, 160, 40 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				r = newRig(eyrie.Dollar, row.answers(&r))
				r.cfg.Lanes[0].Limit = limit.Config{}
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", row.prompts)}}
				began := time.Now()
				res := r.run(t)
				if set := res.Snapshot.Sets[0]; set.Rows != row.prompts || set.GaveUp != 0 {
					t.Errorf("%d rows, %d given up; want %d", set.Rows, set.GaveUp, row.prompts)
				}
				t.Logf("%d refused of %d in %v", r.engine.calls-row.prompts, r.engine.calls, time.Since(began))
				if n, took := r.engine.calls-row.prompts, time.Since(began); n > row.refused || took > row.within {
					t.Errorf("%d requests were refused and it took %v; want at most %d, and %v", n, took, row.refused, row.within)
				}
			})
		})
	}
}

// TestPeers49And52 closes every lane for minutes, and one of two: the run waits
// for the first to open, and the other lane is not slowed.
func TestPeers49And52(t *testing.T) {
	for name, storm := range map[string]func(tag string) bool{
		"49 every lane":  func(string) bool { return true },
		"52 one of them": func(tag string) bool { return tag == "one" },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				asked := map[string]int{}
				var r *rig
				r = newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
					if at := time.Since(began); at > 10*time.Second && at < 5*time.Minute {
						r.engine.mu.Lock()
						asked[q.Lane.Tag]++
						r.engine.mu.Unlock()
						if storm(q.Lane.Tag) {
							return &eyrie.Answer{}, 100 * time.Millisecond, refusal(0)
						}
					}
					return good(q, 50), 5 * time.Second, nil
				})
				r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: testLane("two"), Engine: r.engine, Limit: limit.Config{Start: 20, Max: 20}})
				r.cfg.Lanes[0].Limit = limit.Config{Start: 20, Max: 20}
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 2000)}}
				res := r.run(t)
				if set := res.Snapshot.Sets[0]; res.Stop != dispatch.Exhausted || set.Rows != 2000 || set.GaveUp != 0 {
					t.Errorf("stopped: %v %v with %d rows, %d given up", res.Stop, res.Err, set.Rows, set.GaveUp)
				}
				if asked["one"] > 120 {
					t.Errorf("%d requests to a lane that refuses all", asked["one"])
				}
				if full := 20 * 58; !storm("two") && asked["two"] < full*9/10 {
					t.Errorf("%d requests to the lane that works, want about %d", asked["two"], full)
				}
			})
		})
	}
}

// TestPeers53 has a lane that refuses every second prompt for what it is: its
// limit is not cut for it.
func TestPeers53(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if id, _ := strconv.Atoi(q.Generation.PromptID); id%2 == 0 {
				return &eyrie.Answer{}, time.Second, refused(eyrie.GiveUp, "the prompt is too long: "+q.Generation.PromptID)
			}
			return good(q, 50), 5 * time.Second, nil
		})
		r.cfg.Lanes[0].Limit = limit.Config{Start: 50, Max: 50}
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 1000)}}
		res := r.run(t)
		if set, l := res.Snapshot.Sets[0], res.Snapshot.Lanes[0]; set.Rows != 500 || set.GaveUp != 500 || l.Limit != 50 || l.Closed != "" {
			t.Errorf("%d rows, %d given up, limit %d, closed %q; want 500, 500, 50, open", set.Rows, set.GaveUp, l.Limit, l.Closed)
		}
	})
}

// TestPeers55And56 refuses with a time to wait: neither first attempts nor
// retries pass the gate before it is over.
func TestPeers55And56(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		early := 0
		var until time.Duration
		var r *rig
		r = newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			r.engine.mu.Lock()
			defer r.engine.mu.Unlock()
			at := time.Since(began)
			if at < until {
				early++
			}
			if n%100 == 50 { // now and then, with nothing else under way that would not have ended
				until = at + 30*time.Second
				return &eyrie.Answer{}, 0, refusal(30 * time.Second)
			}
			return good(q, 50), 2 * time.Second, nil
		})
		r.cfg.Lanes[0].Limit = limit.Config{Start: 1, Max: 1}
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 500)}}
		res := r.run(t)
		if res.Snapshot.Sets[0].Rows != 500 || early != 0 || r.engine.most > 1 {
			t.Errorf("%d rows, %d requests came too early, %d at once", res.Snapshot.Sets[0].Rows, early, r.engine.most)
		}
	})
}

// TestPeers59And64: a server that takes requests and never answers them loses
// them to its clock, and the work to another lane.
func TestPeers59And64(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if q.Lane.Tag == "one" && n > 100 {
				return &eyrie.Answer{}, 5 * time.Minute, &eyrie.Error{Kind: eyrie.Elsewhere, Charged: eyrie.ChargedNo, Class: "no first content", Err: errors.New("no text came in time")}
			}
			return good(q, 50), 5 * time.Second, nil
		})
		r.cfg.Lanes[0].Limit = limit.Config{Start: 50, Max: 50}
		r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: testLane("two"), Engine: r.engine, Limit: limit.Config{Start: 10, Max: 10}})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 2000)}}
		res := r.run(t)
		one := res.Snapshot.Lanes[0]
		if set := res.Snapshot.Sets[0]; set.Rows != 2000 || set.GaveUp != 0 {
			t.Errorf("%d rows, %d given up", set.Rows, set.GaveUp)
		}
		if n := one.Failures["no first content"]; n == 0 || n > 60 {
			t.Errorf("%d requests were lost to a server that does not answer", n)
		}
	})
}

// TestPeers61And73 counts how many prompts are read ahead of those that are
// asked: no more than a window.
func TestPeers61And73(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var read, most atomic.Int64
		r := newRig(10*eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			most.Store(max(most.Load(), read.Load()-int64(n)))
			return good(q, 5), time.Second, nil
		})
		all := prompts("a", 20_000)
		var counted iter.Seq2[*eyrie.Prompt, error] = func(yield func(*eyrie.Prompt, error) bool) {
			for p, err := range all {
				read.Add(1)
				if !yield(p, err) {
					return
				}
			}
		}
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: counted}}
		res := r.run(t)
		if n := most.Load(); res.Snapshot.Sets[0].Rows != 20_000 || n > 300 {
			t.Errorf("%d rows, up to %d prompts were read ahead", res.Snapshot.Sets[0].Rows, n)
		}
	})
}

// TestPeers76 looks, while a run goes on, for prompts that are answered and still in
// memory: there are none.
func TestPeers76(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows, near = 4000, 3900
		var there atomic.Int64
		kept := int64(-1)
		r := newRig(100*eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if n == near {
				for range 1000 { // what is collected is counted a moment later
					runtime.GC()
					if kept = there.Load(); kept < 1000 {
						break
					}
					runtime.Gosched()
				}
			}
			return good(q, 5), time.Second, nil
		})
		all := prompts("a", rows)
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: func(yield func(*eyrie.Prompt, error) bool) {
			for p, err := range all {
				there.Add(1)
				runtime.AddCleanup(p, func(*atomic.Int64) { there.Add(-1) }, &there)
				if !yield(p, err) {
					return
				}
			}
		}}}
		res := r.run(t)
		if got := res.Snapshot.Sets[0].Rows; got != rows || kept < 0 || kept >= 1000 {
			t.Errorf("%d rows; with %d asked for, %d prompts are in memory", got, near, kept)
		}
	})
}

// TestPeers82 counts the tokens of one set's prompts for ten seconds each: the
// other set's answers do not wait for that.
func TestPeers82(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var answered, quick atomic.Int64 // of the other set, and until the last one was asked for
		r := newRig(10*eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			if q.Generation.Set == "quick" {
				answered.Add(1)
				quick.Store(int64(time.Since(began)))
			}
			return good(q, 5), time.Second, nil
		})
		r.cfg.Concurrency = 10
		r.cfg.Count = func(g *eyrie.Generation, _ eyrie.Sampling) (int, error) {
			if g.Set == "slow" {
				time.Sleep(10 * time.Second) // of the bubble
			}
			return 100, nil
		}
		r.cfg.Sets = []dispatch.Set{
			{Name: "slow", Target: 1 << 40, Prompts: prompts("slow", 30)},
			{Name: "quick", Target: 1 << 40, Prompts: prompts("quick", 200)},
		}
		res := r.run(t)
		last := time.Duration(quick.Load())
		if slow := res.Snapshot.Sets[0].Rows; slow != 30 || answered.Load() != 200 || last > time.Minute {
			t.Errorf("%d answers of the slow set; %d of the quick one, asked for within %v of %v", slow, answered.Load(), last, time.Since(began))
		}
	})
}

// TestPeers86 asks a run why it does not do more: the layer that binds is named.
func TestPeers86(t *testing.T) {
	outage := &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "connection", LaneWide: true, Err: errors.New("dial tcp: network is unreachable")}
	for _, row := range []struct {
		name   string
		change func(*rig)
		run    string // what the run says
		lane   string // what its lane says
	}{
		{"a ceiling", func(r *rig) { r.cfg.Concurrency = 5 }, "", "as many requests are under way as may be at once (5)"},
		{"a full lane", func(r *rig) { r.cfg.Lanes[0].Limit = limit.Config{Start: 5, Max: 5} }, "every lane is full", "full"},
		{"no network", func(r *rig) {
			r.engine.answer = func(int, *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
				return &eyrie.Answer{}, 10 * time.Millisecond, outage
			}
		}, "no lane takes requests: one is broken", "network is unreachable"},
		{"no money", func(r *rig) { r.cfg.Ledger.SetBudget(eyrie.Dollar / 50) }, "the rest of the budget is held", "the rest of the budget is held"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(10*eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
					return good(q, 50), time.Hour, nil
				})
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 5000)}}
				row.change(r)
				d, wait := live(t, r)
				time.Sleep(90 * time.Second)
				s := d.Snapshot()
				if !strings.Contains(s.Idle, row.run) || !strings.Contains(s.Lanes[0].Idle, row.lane) {
					t.Errorf("the run says %q, its lane %q; want %q and %q", s.Idle, s.Lanes[0].Idle, row.run, row.lane)
				}
				d.Drain()
				wait()
			})
		})
	}
}

// TestLaneThatMayNotAnswerIsClosed: a lane that refuses for a region or terms is
// closed after a few requests with its reason, and no prompt is given up for it
// where another lane may answer; where there is none the run ends and says why.
func TestLaneThatMayNotAnswerIsClosed(t *testing.T) {
	for name, lanes := range map[string]int{"another lane": 2, "no other": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
					if q.Lane.Tag == "one" {
						return &eyrie.Answer{}, time.Second, &eyrie.Error{Kind: eyrie.Elsewhere, Charged: eyrie.ChargedNo, Class: "403", Err: errors.New("not available in your region")}
					}
					return good(q, 50), time.Second, nil
				})
				r.cfg.Lanes[0].Limit = limit.Config{Start: 2, Max: 2}
				r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: testLane("two"), Engine: r.engine, Limit: limit.Config{Start: 5, Max: 5}})[:lanes]
				r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 100)}}
				res := r.run(t)
				set, one := res.Snapshot.Sets[0], res.Snapshot.Lanes[0]
				if one.Attempts > 6 || !strings.Contains(one.Closed, "not available in your region") || set.GaveUp != 0 {
					t.Errorf("%d attempts, closed %q, %d given up", one.Attempts, one.Closed, set.GaveUp)
				}
				if lanes == 2 && set.Rows != 100 || lanes == 1 && (res.Stop != dispatch.Refused || !strings.Contains(res.Err.Error(), "region")) {
					t.Errorf("stopped: %v %v with %d rows", res.Stop, res.Err, set.Rows)
				}
			})
		})
	}
}

// TestRetryBudget: a lane that fails two of three requests with server errors is
// not asked everything several times over while another lane has room.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		retried := map[string]int{}
		seen := map[eyrie.Key]bool{}
		var r *rig
		r = newRig(10*eyrie.Dollar, func(n int, q *eyrie.Request) (*eyrie.Answer, time.Duration, error) {
			r.engine.mu.Lock()
			defer r.engine.mu.Unlock()
			if seen[q.Generation.Key] {
				retried[q.Lane.Tag]++
			}
			seen[q.Generation.Key] = true
			if q.Lane.Tag == "one" && n%3 != 0 {
				return &eyrie.Answer{}, time.Second, &eyrie.Error{Kind: eyrie.Again, Charged: eyrie.ChargedNo, Class: "500", LaneWide: true, Err: errors.New("internal error")}
			}
			return good(q, 50), time.Second, nil
		})
		r.cfg.Lanes[0].Limit = limit.Config{Start: 20, Max: 20}
		r.cfg.Lanes = append(r.cfg.Lanes, dispatch.Lane{Lane: testLane("two"), Engine: r.engine, Limit: limit.Config{Start: 20, Max: 20}})
		r.cfg.Sets = []dispatch.Set{{Name: "a", Target: 1 << 40, Prompts: prompts("a", 10_000)}}
		res := r.run(t)
		if set := res.Snapshot.Sets[0]; set.Rows != 10_000 || set.GaveUp != 0 {
			t.Errorf("%d rows, %d given up", set.Rows, set.GaveUp)
		}
		t.Logf("retries: %v", retried)
		if retried["one"] >= retried["two"] {
			t.Errorf("retries by lane: %v; want most on the lane that works", retried)
		}
	})
}
