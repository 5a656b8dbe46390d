package loop_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/bench/loop"
	"github.com/holdfast-run/holdfast/bench/scripted"
)

func TestMain(m *testing.M) {
	child, err := scripted.Child()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !child {
		os.Exit(m.Run())
	}
}

// only picks contestants: one for a profile of it alone, a few for a quick look.
var only = flag.String("only", "", "the contestants to run, with commas between them; empty: all")

func contestants() []loop.Contestant {
	all := []loop.Contestant{loop.Encoded(), loop.Holdfast(), loop.Naive(), loop.OpenAIGo(), loop.Fantasy()}
	names := strings.Split(*only, ",")
	return slices.DeleteFunc(all, func(c loop.Contestant) bool { return *only != "" && !slices.Contains(names, c.Name) })
}

func serve(t testing.TB) *scripted.Server {
	t.Helper()
	s, err := scripted.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Every contestant does the whole work: the server refuses any request that is
// not what the script must have led to.
func TestContestantsDoTheWork(t *testing.T) {
	s := serve(t)
	for _, stream := range []bool{false, true} {
		for _, c := range contestants() {
			if stream && c.NoStream {
				continue
			}
			for _, turns := range []int{1, 2, 5} {
				t.Run(fmt.Sprintf("%s/stream=%t/%d", c.Name, stream, turns), func(t *testing.T) {
					prove(t, s, c, turns, stream)
				})
			}
		}
	}
}

// prove does one checked run.
func prove(t testing.TB, s *scripted.Server, c loop.Contestant, turns int, stream bool) {
	t.Helper()
	if _, err := s.Stats(); err != nil {
		t.Fatal(err)
	}
	r, err := c.New(loop.Config{BaseURL: s.Check(turns), Turns: turns, Stream: stream})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Check(turns); err != nil {
		t.Fatal(err)
	}
	seen, err := s.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(turns); seen.Requests != want {
		t.Fatalf("the server saw %d requests, want %d", seen.Requests, want)
	}
	if least := int64(turns*(turns-1)/2) * scripted.EntrySize; seen.Bytes < least {
		t.Fatalf("the server saw %d bytes, want at least %d", seen.Bytes, least)
	}
}
