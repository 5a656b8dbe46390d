package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// meaning is an embedder that knows what a few words mean.
type meaning struct {
	name string
	fail error
	saw  *[]string
}

func (m meaning) Name() string    { return m.name }
func (m meaning) Dimensions() int { return 3 }

func (m meaning) Embed(_ context.Context, texts []string) ([][]float32, error) {
	*m.saw = append(*m.saw, texts...)
	all := make([][]float32, len(texts))
	for i, text := range texts {
		v := []float32{0.1, 0, 0}
		for word, d := range map[string]int{"taxi": 1, "cab": 1, "hotel": 2, "lodging": 2} {
			if strings.Contains(text, word) {
				v[d]++
			}
		}
		all[i] = v
	}
	return all, m.fail
}

func newMeaning(name string) meaning { return meaning{name: name, saw: &[]string{}} }

// with opens the fixture's file with an embedder.
func (f *fixture) with(t *testing.T, e desk.Embedder) *fixture {
	t.Helper()
	db := must(sqlite.Open(t.Context(), f.path, sqlite.Options{Now: f.Now, Embedder: e}))(t)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	g := *f
	g.DB = db
	return &g
}

func (f *fixture) ranks(t *testing.T, who desk.Identity, leg desk.Leg, query string, k int) []string {
	t.Helper()
	ids := []string{}
	for _, m := range must(f.RankPolicies(t.Context(), who, leg, query, k))(t) {
		ids = append(ids, m.ID)
	}
	return ids
}

// Row 103: with an embedder, what means the same is found beside what says the same,
// and each leg keeps to what the person may see.
func TestHybrid(t *testing.T) {
	f := open(t).with(t, newMeaning("m"))
	if n := must(f.EmbedPolicies(t.Context()))(t); n != 3 {
		t.Fatalf("embedded %d of the fixtures", n)
	}
	f.put(t, "acme",
		desk.Policy{ID: "H1", Title: "Rides", Body: "A taxi is paid."},
		desk.Policy{ID: "H2", Title: "Rides", Body: "A cab and a hotel are paid."},
		desk.Policy{ID: "H3", Title: "Nights", Body: "A hotel is paid."},
		desk.Policy{ID: "H4", Title: "Rides", Body: "A taxi for bob", Viewers: []string{"bob"}},
		desk.Policy{ID: "H5", Title: "Rides", Body: "A taxi, later", ValidFrom: f.Now().Add(time.Hour)},
	)
	f.put(t, "other", desk.Policy{ID: "H9", Title: "Rides", Body: "A taxi elsewhere"})
	for leg, want := range map[desk.Leg][]string{desk.Keyword: {"H1"}, desk.Vector: {"H1", "H2"}, desk.Hybrid: {"H1", "H2"}} {
		if got := f.ranks(t, f.alice, leg, "taxi", 2); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", leg, got, want)
		}
		for _, id := range f.ranks(t, f.alice, leg, "taxi", desk.MaxRanked) {
			if id == "H4" || id == "H5" || id == "H9" {
				t.Errorf("%s leaks %s", leg, id)
			}
		}
		if got := f.ranks(t, f.alice, leg, "%_!", 5); len(got) != 0 {
			t.Errorf("%s finds %v for no word", leg, got)
		}
		for _, nobody := range []desk.Identity{{}, {Tenant: "acme"}, {User: "alice"}} {
			_, err := f.RankPolicies(t.Context(), nobody, leg, "taxi", 5)
			wantCode(t, kernel.CodeInvalidArgument, err)
		}
	}
	if got := f.finds(t, f.alice, "taxi"); !slices.Contains(got, "H2") {
		t.Errorf("the search of the desk is no hybrid: %v", got)
	}
	for _, c := range []struct {
		leg desk.Leg
		k   int
	}{{"", 5}, {"both", 5}, {desk.Keyword, 0}, {desk.Keyword, desk.MaxRanked + 1}} {
		_, err := f.RankPolicies(t.Context(), f.alice, c.leg, "taxi", c.k)
		wantCode(t, kernel.CodeInvalidArgument, err)
		wantHint(t, err)
	}
}

// Nobody's query goes to an embedder, and no query without a word.
func TestEmbedderIsNotAsked(t *testing.T) {
	m := newMeaning("m")
	f := open(t).with(t, m)
	_, err := f.FindPolicies(t.Context(), desk.Identity{User: "alice"}, "taxi")
	wantCode(t, kernel.CodeInvalidArgument, err)
	if got := f.finds(t, f.alice, "%"); len(got) != 0 || len(*m.saw) != 0 {
		t.Errorf("found %v, the embedder saw %q", got, *m.saw)
	}
}

// Vectors of two embedders are never compared: a search is refused until all
// that the person may see is embedded anew.
func TestAnotherEmbedder(t *testing.T) {
	plain := open(t)
	first := plain.with(t, newMeaning("first"))
	must(first.EmbedPolicies(t.Context()))(t)
	first.ranks(t, first.alice, desk.Vector, "报销", 5)

	second := plain.with(t, hashed.Embedder{})
	_, err := second.RankPolicies(t.Context(), second.alice, desk.Vector, "报销", 5)
	wantCode(t, kernel.CodeConfiguration, err)
	_, err = second.FindPolicies(t.Context(), second.alice, "报销")
	wantCode(t, kernel.CodeConfiguration, err)
	if got := second.ranks(t, second.alice, desk.Keyword, "报销", 5); len(got) != 2 {
		t.Errorf("by words: %v", got)
	}
	second.put(t, "acme", desk.Policy{ID: "N1", Title: "报销", Body: "新"})
	if n := must(second.EmbedPolicies(t.Context()))(t); n != 3 {
		t.Errorf("embedded %d anew, want those of the first embedder", n)
	}
	if n := must(second.EmbedPolicies(t.Context()))(t); n != 0 {
		t.Errorf("embedded %d again", n)
	}
	if got := second.finds(t, second.alice, "报销"); len(got) != 3 {
		t.Errorf("found %v", got)
	}
	_, err = first.RankPolicies(t.Context(), first.alice, desk.Vector, "报销", 5)
	wantCode(t, kernel.CodeConfiguration, err)

	_, err = plain.EmbedPolicies(t.Context())
	wantCode(t, kernel.CodeConfiguration, err)
	_, err = plain.RankPolicies(t.Context(), plain.alice, desk.Hybrid, "报销", 5)
	wantCode(t, kernel.CodeConfiguration, err)
}

// What is imported by a desk without an embedder does not stop the search of one
// with an embedder: until it is embedded it is found by its words, as well as
// its place among them says, and by those who may see it alone.
func TestImportWithoutEmbedder(t *testing.T) {
	plain := open(t)
	unembedded := func(f *fixture, want int) {
		t.Helper()
		if n := must(f.Unembedded(t.Context()))(t); n != want {
			t.Errorf("%d policies are unembedded, want %d", n, want)
		}
	}
	unembedded(plain, 0) // nobody searches this desk by vectors
	f := plain.with(t, hashed.Embedder{})
	unembedded(f, 3)
	must(f.EmbedPolicies(t.Context()))(t)
	for i := range 2 * desk.MaxFound { // nearer to the query by both legs than what has one leg alone
		f.put(t, "acme", desk.Policy{ID: fmt.Sprintf("E%d", i), Title: "差旅", Body: "出差住宿报销标准"})
	}
	unembedded(f, 0)
	plain.put(t, "acme",
		desk.Policy{ID: "N2", Title: "出差住宿报销", Body: "出差住宿报销"},
		desk.Policy{ID: "N3", Title: "出差住宿报销", Body: "出差住宿报销", Viewers: []string{"alice"}})
	unembedded(plain, 2)
	unembedded(f, 2)
	if got := f.finds(t, f.bob, "出差住宿报销"); len(got) != desk.MaxFound || got[0] != "N2" || slices.Contains(got, "N3") {
		t.Errorf("bob finds %v, want N2 first", got)
	}
	for _, leg := range []desk.Leg{desk.Vector, desk.Hybrid} { // what is measured is whole, or nothing
		_, err := f.RankPolicies(t.Context(), f.bob, leg, "出差住宿报销", 5)
		wantCode(t, kernel.CodeConfiguration, err)
	}
	if n := must(f.EmbedPolicies(t.Context()))(t); n != 2 {
		t.Errorf("embedded %d", n)
	}
	unembedded(f, 0)
	unembedded(plain, 0)
	if got := f.ranks(t, f.bob, desk.Hybrid, "出差住宿报销", 5); got[0] != "N2" {
		t.Errorf("with its vector: %v", got)
	}
}

// An embedder that fails keeps the whole import out, and a search says so.
func TestEmbedderFails(t *testing.T) {
	m := newMeaning("m")
	m.fail = &kernel.Error{Code: desk.CodeEmbeddingFailed, Message: "down"}
	f := open(t).with(t, m)
	p := desk.Policy{ID: "F1", Version: "1", Title: "Taxi", Body: "taxi"}
	_, err := f.PutPolicies(t.Context(), []string{"acme"}, []desk.Policy{p})
	wantCode(t, desk.CodeEmbeddingFailed, err)
	_, err = f.FindPolicies(t.Context(), f.alice, "taxi")
	wantCode(t, desk.CodeEmbeddingFailed, err)
	if got := f.ranks(t, f.alice, desk.Keyword, "taxi", 5); len(got) != 0 {
		t.Errorf("a failed import left %v", got)
	}
	good := f.with(t, newMeaning("m"))
	good.put(t, "acme", p)
	if changed := must(f.PutPolicies(t.Context(), []string{"acme"}, []desk.Policy{p}))(t); changed[0] {
		t.Error("the same version again was kept again")
	}
	for _, e := range []desk.Embedder{meaning{}, sized{newMeaning("m"), 0}, sized{newMeaning("m"), desk.MaxDimensions + 1}} {
		_, err := sqlite.Open(t.Context(), f.path, sqlite.Options{Embedder: e})
		wantCode(t, kernel.CodeConfiguration, err)
		wantHint(t, err)
	}
	short := f.with(t, sized{newMeaning("m"), 2})
	_, err = short.FindPolicies(t.Context(), f.alice, "taxi")
	wantCode(t, desk.CodeEmbeddingFailed, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.with(t, hashed.Embedder{}).FindPolicies(ctx, f.alice, "taxi"); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that was given up: %v", err)
	}
}

// sized is an embedder that announces another number of dimensions than it has.
type sized struct {
	meaning
	n int
}

func (s sized) Dimensions() int { return s.n }

// More than one batch is embedded, and fixtures that are added to a desk with
// an embedder are embedded at once.
func TestEmbedMany(t *testing.T) {
	f := open(t)
	var tenants []string
	var policies []desk.Policy
	for i := range 2*desk.MaxEmbedTexts + 1 {
		tenants = append(tenants, "acme")
		policies = append(policies, desk.Policy{ID: fmt.Sprintf("M%d", i), Version: "1", Title: "Taxi", Body: strings.Repeat("报销", i+1)})
	}
	must(f.PutPolicies(t.Context(), tenants, policies))(t)
	g := f.with(t, hashed.Embedder{})
	if n := must(g.EmbedPolicies(t.Context()))(t); n != len(policies)+3 {
		t.Errorf("embedded %d", n)
	}
	if got := g.finds(t, g.bob, "M100"); len(got) != desk.MaxFound || !slices.Contains(got, "M100") {
		t.Errorf("found %v", got)
	}
	made := must(sqlite.Create(t.Context(), f.path+"2", sqlite.Options{Embedder: hashed.Embedder{}}))(t)
	defer made.Close()
	if err := made.AddFixtures(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := must(made.EmbedPolicies(t.Context()))(t); n != 0 {
		t.Errorf("a new desk had %d fixtures without vectors", n)
	}
}

// An embedder is given how a text begins, whole characters of it, and not all.
func TestEmbedderSeesTheBeginning(t *testing.T) {
	m := newMeaning("m")
	open(t).with(t, m).put(t, "acme", desk.Policy{ID: "L1", Title: "Taxi", Body: strings.Repeat("报销", desk.MaxPolicyBody/10)})
	saw := *m.saw
	if len(saw) != 1 || len(saw[0]) > desk.MaxEmbedText || len(saw[0]) < desk.MaxEmbedText-utf8.UTFMax || !utf8.ValidString(saw[0]) ||
		!strings.HasPrefix(saw[0], "L1 Taxi\n报销") {
		t.Errorf("the embedder saw %d texts, the first of %d bytes: %.40q", len(saw), len(saw[0]), saw[0])
	}
}

// Two texts without anything in common are not alike, although single precision
// makes a little of their vectors: of these it makes 7.8e-10.
func TestRoundingIsNoLikeness(t *testing.T) {
	f := open(t).with(t, hashed.Embedder{})
	from := f.Now().Add(-time.Hour)
	policies := []desk.Policy{
		{ID: "报销-3", Version: "1", Title: "报", Body: "差销报p1-差报销旅-销%差销", ValidFrom: from, Everybody: true},
		{ID: "P2", Version: "3", Title: "差旅报销", Body: "_差旅报%-销%报", ValidFrom: from, Everybody: true},
	}
	who := desk.Identity{Tenant: "north", User: "carol"}
	if _, err := f.PutPolicies(t.Context(), []string{who.Tenant, who.Tenant}, policies); err != nil {
		t.Fatal(err)
	}
	if got := f.ranks(t, who, desk.Vector, `taxi"报TAXI`, 10); !slices.Equal(got, []string{"P2"}) {
		t.Errorf("found %q", got)
	}
}
