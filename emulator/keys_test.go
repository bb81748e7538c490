package emulator_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eyrie-ai/eyrie/emulator"
	"github.com/go-json-experiment/json"
)

// boss sends a request with the management key inside a bubble.
func boss(t *testing.T, client *http.Client, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://vendor/api/v1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer sk-or-v1-boss")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// TestKeyLifetime makes a key with a daily limit, uses it up, waits for the
// next day, disables it and deletes it.
func TestKeyLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := bubble(t, func(c *emulator.Config, _ *emulator.Scenario) {
			c.Keys, c.ManagementKey = []string{"sk-or-v1-test"}, "sk-or-v1-boss"
		})
		status, answer := boss(t, client, "POST", "/keys", `{"name":"run","limit":0.0006,"limit_reset":"daily"}`)
		var made struct {
			Key  string
			Data struct{ Hash string }
		}
		if err := json.Unmarshal([]byte(answer), &made, json.MatchCaseInsensitiveNames(true)); err != nil || status != 201 {
			t.Fatalf("%d %s: %v", status, answer, err)
		}
		use := func() *heard {
			return send(t, client, ask("hello", pinned+`"max_tokens":150,`), "Authorization", "Bearer "+made.Key)
		}
		served, last := 0, use()
		for ; last.status == 200; last = use() {
			if served++; served > 10 {
				t.Fatal("the limit does not hold")
			}
		}
		if served == 0 || last.status != 402 && last.status != 403 {
			t.Errorf("%d served, then %d: %s", served, last.status, last.failed)
		}
		time.Sleep(24 * time.Hour)
		if h := use(); h.status != 200 {
			t.Errorf("the next day: %d %s", h.status, h.failed)
		}
		if status, answer := boss(t, client, "PATCH", "/keys/"+made.Data.Hash, `{"limit_reset":"hourly"}`); status != 400 {
			t.Errorf("bad reset: %d %s", status, answer)
		}
		if status, answer := boss(t, client, "PATCH", "/keys/"+made.Data.Hash, `{"limit":null,"expires_at":"2000-01-03T00:00:00Z"}`); status != 200 || !strings.Contains(answer, `"limit":null`) {
			t.Errorf("change: %d %s", status, answer)
		}
		if h := use(); h.status != 200 {
			t.Errorf("without limit: %d %s", h.status, h.failed)
		}
		time.Sleep(24 * time.Hour)
		if h := use(); h.status != 401 {
			t.Errorf("expired: %d", h.status)
		}
		boss(t, client, "PATCH", "/keys/"+made.Data.Hash, `{"disabled":true}`)
		if status, _ := boss(t, client, "DELETE", "/keys/"+made.Data.Hash, ""); status != 200 {
			t.Errorf("delete: %d", status)
		}
		if status, _ := boss(t, client, "GET", "/keys/"+made.Data.Hash, ""); status != 404 {
			t.Errorf("after deletion: %d", status)
		}
		for _, body := range []string{`{}`, `{"name":"x","limit":"much"}`, `{`} {
			if status, _ := boss(t, client, "POST", "/keys", body); status != 400 {
				t.Errorf("%s: %d", body, status)
			}
		}
		if h := send(t, client, ask("hello", ""), "Authorization", "Bearer sk-or-v1-boss"); h.status != 403 {
			t.Errorf("a management key buys: %d", h.status)
		}
	})
}

func TestUsageCountersRoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := bubble(t, func(*emulator.Config, *emulator.Scenario) {})
		send(t, client, ask("hello", pinned)) // on a Saturday, 1 January 2000
		spent := fmt.Sprintf("%.12f", float64(s.Totals().Spend)/1e12)
		spent = strings.TrimRight(spent, "0")
		for _, row := range []struct {
			wait             time.Duration
			day, week, month string
		}{
			{0, spent, spent, spent},
			{24 * time.Hour, "0", spent, spent},
			{24 * time.Hour, "0", "0", spent},
			{31 * 24 * time.Hour, "0", "0", "0"},
		} {
			time.Sleep(row.wait)
			key := fetch(t, client, "/key")
			for _, want := range []string{`"usage":` + spent, `"usage_daily":` + row.day, `"usage_weekly":` + row.week, `"usage_monthly":` + row.month} {
				if !strings.Contains(key, want+",") && !strings.Contains(key, want+"}") {
					t.Errorf("%v later: no %s in %s", row.wait, want, key)
				}
			}
		}
	})
}

func TestNullCounters(t *testing.T) {
	_, web := start(t, func(_ *emulator.Config, s *emulator.Scenario) { s.Account.NullCounters = true })
	if key := get(t, web.URL+"/api/v1/key"); !strings.Contains(key, `"usage_daily":null`) {
		t.Errorf("key: %s", key)
	}
}
