package retrieval_test

import (
	"cmp"
	"flag"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/bench/measure"
	"github.com/holdfast-run/holdfast/bench/retrieval"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

const found = 5

var tenants = flag.Int("tenants", 50, "of 2,000 policies each")

// fill keeps a corpus in a new file, a transaction a tenant.
func fill(tb testing.TB, c *retrieval.Corpus) *sqlite.DB {
	tb.Helper()
	db, err := sqlite.Create(tb.Context(), filepath.Join(tb.TempDir(), "desk.db"), sqlite.Options{Embedder: hashed.Embedder{}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	for tenant := range c.Tenants {
		policies := c.Policies(tenant)
		owners := slices.Repeat([]string{retrieval.Name(tenant)}, len(policies))
		if _, err := db.PutPolicies(tb.Context(), owners, policies); err != nil {
			tb.Fatal(err)
		}
	}
	return db
}

// What the keyword leg finds is what a search through all texts finds.
func TestSearchIsBruteForce(t *testing.T) {
	c := retrieval.NewCorpus(3, 60, 300)
	compare(t, fill(t, c), c, 60)
}

func compare(tb testing.TB, db *sqlite.DB, c *retrieval.Corpus, queries int) {
	tb.Helper()
	for n := range queries {
		who := retrieval.Person(n%c.Tenants, n)
		matches, err := db.RankPolicies(tb.Context(), who, desk.Keyword, c.Query(n), found)
		if err != nil {
			tb.Fatal(err)
		}
		want := bruteForce(c.Policies(n%c.Tenants), who, c.Query(n))
		if len(matches) != len(want) {
			tb.Fatalf("query %d: found %d, want %d", n, len(matches), len(want))
		}
		for i, m := range matches {
			if m.ID != want[i].id || math.Abs(m.Score-want[i].score) > 1e-9 {
				tb.Fatalf("query %d %q: place %d has %v, want %v", n, c.Query(n), i, m, want[i])
			}
		}
	}
}

type scored struct {
	id    string
	score float64
}

// bruteForce ranks by BM25 over the texts that the person may see.
func bruteForce(policies []desk.Policy, who desk.Identity, query string) []scored {
	policies = slices.DeleteFunc(policies, func(p desk.Policy) bool { return len(p.Viewers) > 0 && !slices.Contains(p.Viewers, who.User) })
	all := make([]scored, len(policies))
	texts, mean := make([]map[string]float64, len(policies)), 0.0
	lengths := make([]float64, len(policies))
	for i, p := range policies {
		all[i].id, texts[i] = p.ID, map[string]float64{}
		for text, weight := range map[string]float64{p.ID: 8, p.Title: 3, p.Body: 1} {
			for _, w := range words(text, true) {
				texts[i][w] = min(texts[i][w]+weight, 99)
				lengths[i]++
			}
		}
		mean += lengths[i]
	}
	mean /= float64(len(policies))
	asked := words(query, false)
	slices.Sort(asked)
	for _, w := range slices.Compact(asked) {
		having := 0.0
		for i := range texts {
			having += min(texts[i][w], 1)
		}
		for i := range texts {
			all[i].score += math.Log(1+(float64(len(texts))-having+0.5)/(having+0.5)) * texts[i][w] * 2.2 / (texts[i][w] + 1.2*(0.25+0.75*lengths[i]/mean))
		}
	}
	all = slices.DeleteFunc(all, func(s scored) bool { return s.score == 0 })
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return all[:min(found, len(all))]
}

// words of a text; of a query of several characters only the pairs.
func words(text string, single bool) (out []string) {
	for _, run := range regexp.MustCompile(`[a-z0-9]+|\p{Han}+`).FindAllString(strings.ToLower(text), -1) {
		r := []rune(run)
		if r[0] < 0x80 {
			out = append(out, run)
			continue
		}
		for i := range r {
			if single || len(r) == 1 {
				out = append(out, string(r[i]))
			}
			if i+1 < len(r) {
				out = append(out, string(r[i:i+2]))
			}
		}
	}
	return out
}

// BenchmarkSearch asks 100,000 policies of 50 tenants, if not told otherwise, each query for another
// person than the one before, and reports the times of the middle and of the slowest hundredth.
func BenchmarkSearch(b *testing.B) {
	c := retrieval.NewCorpus(*tenants, 2000, 1000)
	begun := time.Now()
	db := fill(b, c)
	b.Logf("imported %d policies in %s", c.Tenants*c.Each, time.Since(begun).Round(time.Second))
	compare(b, db, c, 100)
	for _, leg := range desk.Legs() {
		b.Run(string(leg), func(b *testing.B) {
			percentiles(b, func(n int) error {
				_, err := db.RankPolicies(b.Context(), retrieval.Person(n%c.Tenants, n), leg, c.Query(n), found)
				return err
			})
		})
	}
	b.Run("search_policies", func(b *testing.B) { // hybrid, with bodies and the line of the audit
		percentiles(b, func(n int) error {
			_, err := db.FindPolicies(b.Context(), retrieval.Person(n%c.Tenants, n), c.Query(n))
			return err
		})
	})
}

func percentiles(b *testing.B, search func(n int) error) {
	b.Helper()
	var wall, cpu []time.Duration
	for b.Loop() {
		before, err := measure.CPU()
		if err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		if err := search(len(wall)); err != nil {
			b.Fatal(err)
		}
		wall = append(wall, time.Since(begun))
		after, err := measure.CPU()
		if err != nil {
			b.Fatal(err)
		}
		cpu = append(cpu, after-before)
	}
	for name, times := range map[string][]time.Duration{"wall": wall, "cpu": cpu} {
		slices.Sort(times)
		for percent, share := range map[string]float64{"p50": 0.5, "p99": 0.99} {
			b.ReportMetric(float64(times[int(share*float64(len(times)-1))].Microseconds())/1000, percent+"-"+name+"-ms")
		}
	}
}
