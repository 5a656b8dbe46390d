package retrieval_test

import (
	"cmp"
	"flag"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
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

// What each leg finds is what a search through all texts finds.
func TestSearchIsBruteForce(t *testing.T) {
	c := retrieval.NewCorpus(3, 60, 300)
	compare(t, fill(t, c), c, 60)
}

// sample is how many tenants are compared: the texts of each are embedded once more, beside the import.
const sample = 10

// compare asks by each leg as the benchmark does, and looks at all texts of the tenant each time.
func compare(tb testing.TB, db *sqlite.DB, c *retrieval.Corpus, queries int) {
	tb.Helper()
	among := min(sample, c.Tenants)
	for tenant := range among {
		all := embed(tb, c.Policies(tenant))
		for n := tenant; n < queries; n += among {
			who := retrieval.Person(tenant, n)
			for leg, want := range bruteForce(tb, all, who, c.Query(n)) {
				matches, err := db.RankPolicies(tb.Context(), who, leg, c.Query(n), found)
				if err != nil {
					tb.Fatal(err)
				}
				if !same(matches, want[:min(found, len(want))]) {
					tb.Fatalf("%s, query %d %q: %v, want %v", leg, n, c.Query(n), matches, want[:min(found, len(want))])
				}
			}
		}
	}
}

type scored struct {
	id    string
	score float64
}

func same(matches []desk.Match, want []scored) bool {
	return slices.EqualFunc(matches, want, func(m desk.Match, s scored) bool { return m.ID == s.id && math.Abs(m.Score-s.score) < 1e-9 })
}

// text is a policy with its vector.
type text struct {
	desk.Policy
	vector []float32
}

func embed(tb testing.TB, policies []desk.Policy) []text {
	tb.Helper()
	all, texts := make([]text, len(policies)), make([]string, len(policies))
	for i, p := range policies {
		texts[i] = p.ID + " " + p.Title + "\n" + p.Body
	}
	vectors, err := desk.Embed(tb.Context(), hashed.Embedder{}, texts)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range all {
		all[i] = text{policies[i], vectors[i]}
	}
	return all
}

// bruteForce ranks all texts that the person may see.
func bruteForce(tb testing.TB, all []text, who desk.Identity, query string) map[desk.Leg][]scored {
	tb.Helper()
	mine := slices.DeleteFunc(slices.Clone(all), func(t text) bool { return len(t.Viewers) > 0 && !slices.Contains(t.Viewers, who.User) })
	asked, err := desk.Embed(tb.Context(), hashed.Embedder{}, []string{query})
	if err != nil {
		tb.Fatal(err)
	}
	byWords, byVector := byWords(mine, query), byVector(mine, asked[0])
	return map[desk.Leg][]scored{desk.Keyword: byWords, desk.Vector: byVector, desk.Hybrid: fused(mine, byWords, byVector)}
}

// best are those of a score above 0, of equals the one that was imported first.
func best(all []scored) []scored {
	all = slices.DeleteFunc(all, func(s scored) bool { return s.score <= 0 })
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return all
}

// fused scores each text by its places among the first fifty of each list.
func fused(texts []text, lists ...[]scored) []scored {
	all := make([]scored, len(texts))
	for i, t := range texts {
		all[i].id = t.ID
		for _, list := range lists {
			place := slices.IndexFunc(list[:min(50, len(list))], func(s scored) bool { return s.id == t.ID })
			if place >= 0 {
				all[i].score += 1 / float64(60+place+1)
			}
		}
	}
	return best(all)
}

// byVector ranks by cosine.
func byVector(texts []text, asked []float32) []scored {
	all := make([]scored, len(texts))
	for i, t := range texts {
		all[i].id = t.ID
		for d, x := range t.vector {
			all[i].score += float64(asked[d]) * float64(x)
		}
	}
	return best(all)
}

// byWords ranks by BM25.
func byWords(policies []text, query string) []scored {
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
	return best(all)
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
	begun = time.Now()
	compare(b, db, c, 50)
	b.Logf("compared with a search through all texts in %s", time.Since(begun).Round(time.Second))
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
	b.Run("at-once", func(b *testing.B) { atOnce(b, db, c) })
}

// atOnce searches as search_policies does, as many at a time as there are processors.
func atOnce(b *testing.B, db *sqlite.DB, c *retrieval.Corpus) {
	b.Helper()
	before, err := measure.CPU()
	if err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := int(next.Add(1))
			if _, err := db.FindPolicies(b.Context(), retrieval.Person(n%c.Tenants, n), c.Query(n)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	after, err := measure.CPU()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "searches/s")
	b.ReportMetric(float64((after-before).Microseconds())/1000/float64(b.N), "cpu-ms/search")
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
