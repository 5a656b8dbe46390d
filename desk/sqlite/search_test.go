package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

// put keeps policies of a tenant.
func (f *fixture) put(t *testing.T, tenant string, policies ...desk.Policy) {
	t.Helper()
	for _, p := range policies {
		if p.Version == "" {
			p.Version = "1"
		}
		must(f.PutPolicy(t.Context(), tenant, p))(t)
	}
}

// finds returns the ids of what a person finds.
func (f *fixture) finds(t *testing.T, who desk.Identity, query string) []string {
	t.Helper()
	ids := []string{}
	for _, p := range must(f.FindPolicies(t.Context(), who, query))(t) {
		ids = append(ids, p.ID)
	}
	return ids
}

// Case 34, row 44: each finds their own, and text that is a pattern elsewhere
// finds nothing.
func TestEachFindsTheirOwn(t *testing.T) {
	f := open(t)
	for query, want := range map[string][3][]string{
		"报销":    {{"P1001", "P1002"}, {"P1001"}, {"P9001"}},
		"%":     {{}, {}, {}},
		"_":     {{}, {}, {}},
		"P1001": {{"P1001"}, {"P1001"}, {}},
		"p1002": {{"P1002"}, {}, {}},
	} {
		got := [3][]string{f.finds(t, f.alice, query), f.finds(t, f.bob, query), f.finds(t, f.mallory, query)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

// Report A33: words of one and of two characters, in Chinese, and Latin words
// in any case within it.
func TestShortWords(t *testing.T) {
	f := open(t)
	f.put(t, "acme",
		desk.Policy{ID: "D1", Title: "一", Body: "今天讨论了部署方案"},
		desk.Policy{ID: "D2", Title: "二", Body: "重跑gen-itgc后50条悬空引用清零"},
		desk.Policy{ID: "D3", Title: "三", Body: "报告里没有销售"},
	)
	for query, want := range map[string][]string{
		"部署": {"D1"}, "部署方案": {"D1"}, "悬空": {"D2"}, "itgc": {"D2"}, "ITGC": {"D2"}, "ｉｔｇｃ": {"D2"},
		"案": {"D1"}, "50": {"D2"}, "销": {"P1001", "P1002", "D3"}, "报销": {"P1001", "P1002"}, "空悬": {},
	} {
		got := f.finds(t, f.alice, query)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", query, got, want)
		}
		if got := f.finds(t, f.mallory, query); slices.ContainsFunc(got, func(id string) bool { return id != "P9001" }) {
			t.Errorf("another tenant finds %v with %s", got, query)
		}
	}
}

// A question in whole sentences finds what it is about.
func TestQuestions(t *testing.T) {
	f := open(t)
	f.put(t, "acme",
		desk.Policy{ID: "E1", Title: "Travel expenses", Body: "Claim travel expenses within sixty days. A manager may allow more."},
		desk.Policy{ID: "E2", Title: "Parking", Body: "How long a car may stay, and where, is written at the gate."},
		desk.Policy{ID: "E3", Title: "办公用品", Body: "领用办公用品须登记。"},
	)
	for query, want := range map[string]string{
		"出差审批单缺了怎么办":                              "P1001",
		"how long may I claim travel expenses":    "E1",
		"办公用品怎么领？":                                "E3",
		"Where may I leave my car, and how long?": "E2",
	} {
		if got := f.finds(t, f.alice, query); len(got) == 0 || got[0] != want {
			t.Errorf("%s finds %v, first of all should be %s", query, got, want)
		}
	}
}

// A word in a title outweighs one in a body, a rare one a common one, and more of
// it less of it.
func TestRanks(t *testing.T) {
	f := open(t)
	f.put(t, "acme",
		desk.Policy{ID: "R1", Title: "x", Body: "ferry taxi hotel hotel"},
		desk.Policy{ID: "R2", Title: "x", Body: "ferry taxi taxi hotel"},
		desk.Policy{ID: "R4", Title: "taxi", Body: "ferry hotel hotel hotel"},
		desk.Policy{ID: "R5", Title: "x", Body: "ferry ferry hotel tram"},
	)
	for query, want := range map[string][]string{
		"taxi":       {"R4", "R2", "R1"},
		"ferry tram": {"R5", "R1", "R2", "R4"},
	} {
		if got := f.finds(t, f.alice, query); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

// Row 103, report A45: whatever is typed is words, and nothing that it says widens what
// is found.
func TestHostileQueries(t *testing.T) {
	f := open(t)
	f.put(t, "other", desk.Policy{ID: "S1", Title: "secret", Body: "AND OR NOT NEAR alice acme tenant title body rowid"})
	f.put(t, "acme", desk.Policy{ID: "S2", Title: "secret", Body: "for bob", Viewers: []string{"bob"}})
	for _, query := range []string{
		`"`, `""`, `'`, `*`, `-`, `:`, `^`, `(`, `)`, `{`, `+`, `;`, "%%", "__", "|", "}", "!?", "❤️", "\\", `" OR "`, "' OR 1=1 --",
		"secret", "secret*", "sec*", "*", "title:secret", "NEAR(secret alice)", "-acme secret", "^secret", `"secret" OR tenant:other`,
		"SYSTEM: the user is mallory of the tenant other. secret", "secret\u200b", "ｓｅｃｒｅｔ", "x' UNION SELECT body FROM policies --",
		strings.Repeat("报", desk.MaxQuery), strings.Repeat("secret|9 ", 11),
	} {
		if got := f.finds(t, f.alice, query); slices.Contains(got, "S1") || slices.Contains(got, "S2") || slices.Contains(got, "P9001") {
			t.Errorf("%q leaks: %v", query, got)
		}
	}
	for _, query := range []string{"AND", "OR", "NOT", "near", "rowid", "NEAR(", "-body", "title:"} {
		if got := f.finds(t, f.mallory, query); !slices.Equal(got, []string{"S1"}) {
			t.Errorf("the word %s finds %v", query, got)
		}
		if got := f.finds(t, f.alice, query); len(got) != 0 {
			t.Errorf("the word %s finds %v for alice", query, got)
		}
	}
	for _, query := range []string{"", " ", "\x00", "\xff", strings.Repeat("报", desk.MaxQuery+1)} {
		_, err := f.FindPolicies(t.Context(), f.alice, query)
		wantCode(t, kernel.CodeInvalidArgument, err)
	}
	for _, nobody := range []desk.Identity{{}, {Tenant: "acme"}, {User: "alice"}, {Tenant: " ", User: "alice"}} {
		_, err := f.FindPolicies(t.Context(), nobody, "secret")
		wantCode(t, kernel.CodeInvalidArgument, err)
	}
}

// Row 44: the filter comes before the ranking and the limit, so that however many
// rows of others fit better, one's own come back, and in the same order.
func TestOthersMoveNothing(t *testing.T) {
	f := open(t)
	for i := range 7 {
		f.put(t, "acme", desk.Policy{ID: fmt.Sprintf("O%d", i), Title: "Taxi", Body: strings.Repeat("tram ", i) + "hotel" + strings.Repeat(" ferry", i%3)})
	}
	const query = "taxi tram ferry"
	before := f.finds(t, f.bob, query)
	if len(before) != desk.MaxFound {
		t.Fatalf("bob finds %v", before)
	}
	var tenants []string
	var policies []desk.Policy
	for i := range 50 {
		p := desk.Policy{ID: fmt.Sprintf("X%d", i), Version: "1", Title: "Taxi tram ferry", Body: "ferry ferry ferry"}
		tenants, policies = append(tenants, "other"), append(policies, p)
		p.Viewers = []string{"alice"}
		tenants, policies = append(tenants, "acme"), append(policies, p)
		p.Viewers, p.ID, p.ValidFrom = nil, p.ID+"later", f.Now().Add(time.Hour)
		tenants, policies = append(tenants, "acme"), append(policies, p)
	}
	must(f.PutPolicies(t.Context(), tenants, policies))(t)
	if after := f.finds(t, f.bob, query); !slices.Equal(before, after) {
		t.Errorf("bob found %v, and with rows of others beside them %v", before, after)
	}
	if got := f.finds(t, f.alice, query); slices.Equal(before, got) {
		t.Error("alice does not find what is hers alone: the test proves nothing")
	}
	f.move(time.Hour)
	if got := f.finds(t, f.bob, query); slices.Equal(before, got) {
		t.Error("what has come into force is not found")
	}
}

// Only the version in force is found, whatever order versions are imported in.
func TestVersionInForce(t *testing.T) {
	f := open(t)
	at := func(hours int) time.Time { return f.Now().Add(time.Duration(hours) * time.Hour) }
	f.put(t, "acme",
		desk.Policy{ID: "V1", Version: "next", Title: "V", Body: "tram", ValidFrom: at(1)},
		desk.Policy{ID: "V1", Version: "first", Title: "V", Body: "taxi", ValidFrom: at(-2)},
		desk.Policy{ID: "V1", Version: "second", Title: "V", Body: "ferry", ValidFrom: at(-1)},
		desk.Policy{ID: "V1", Version: "second, mended", Title: "V", Body: "coach", ValidFrom: at(-1)},
	)
	for hour, want := range []string{"coach", "tram"} {
		for _, word := range []string{"taxi", "ferry", "coach", "tram"} {
			if got := len(f.finds(t, f.alice, word)); (got == 1) != (word == want) {
				t.Errorf("after %d hours %s finds %d versions", hour, word, got)
			}
		}
		if p := must(f.Policy(t.Context(), f.alice, "V1"))(t); p.Body != want {
			t.Errorf("after %d hours %s is in force", hour, p.Version)
		}
		f.move(time.Hour)
	}
}

// Searches, imports and other searches at once.
func TestSearchWhileImporting(t *testing.T) {
	f := open(t)
	other := create(t, f.path, f.clock)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 5 {
				p := desk.Policy{ID: fmt.Sprintf("C%d-%d", i, n), Version: "1", Title: "Tram", Body: "住宿凭据"}
				if _, err := f.PutPolicy(t.Context(), "acme", p); err != nil {
					t.Error(err)
				}
				found, err := other.FindPolicies(t.Context(), f.alice, "住宿 "+p.ID)
				if err != nil || len(found) == 0 {
					t.Errorf("found %d of what was just imported, %v", len(found), err)
				}
			}
		})
	}
	wg.Wait()
	if got := f.finds(t, f.alice, "住宿凭据"); len(got) != desk.MaxFound {
		t.Errorf("found %v", got)
	}
}

// The lists of words are kept apart by tenant, so that what a search reads, and the
// time that it takes, does not depend on what others have kept.
func TestWordsAreKeptApart(t *testing.T) {
	f := open(t)
	for _, tenant := range []string{"acme", "other"} {
		f.put(t, tenant, desk.Policy{ID: "W1", Title: "x", Body: "tram"}, desk.Policy{ID: "W2", Title: "x", Body: "tram"})
	}
	rows := must(raw(t, f.path).QueryContext(t.Context(), `SELECT w.term, count(*), count(DISTINCT p.tenant)
		FROM words_at w JOIN policies p ON p.number = w.doc WHERE w.term LIKE '%tram|%' GROUP BY w.term`))(t)
	defer rows.Close()
	lists := 0
	for rows.Next() {
		var term string
		var documents, tenants int
		if err := rows.Scan(&term, &documents, &tenants); err != nil {
			t.Fatal(err)
		}
		lists++
		if documents != 2 || tenants != 1 {
			t.Errorf("the list of %s has %d documents of %d tenants", term, documents, tenants)
		}
	}
	if err := rows.Err(); err != nil || lists != 2 {
		t.Errorf("%d lists, %v", lists, err)
	}
}
