package desk_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/bench/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

// asker is the name of a process that asks: FILE NAME N.
const asker = "desk-asker"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == asker {
		n, err := strconv.Atoi(os.Args[4])
		if err == nil {
			err = desk.Ask(context.Background(), os.Args[2], os.Args[3], n)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// file is a new desk.
func file(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "desk.db")
	db, err := sqlite.Create(t.Context(), path, sqlite.Options{})
	if err == nil {
		err = db.AddFixtures(t.Context())
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// processes asks from so many processes at once, n questions each.
func processes(t testing.TB, path string, many, n int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), self, asker, path, fmt.Sprint("process ", i), strconv.Itoa(n))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
}

func TestAsk(t *testing.T) {
	if err := desk.Ask(t.Context(), file(t), "s", 20); err != nil {
		t.Error(err)
	}
}

func TestAskFromProcesses(t *testing.T) { processes(t, file(t), 4, 10) }

// 200 questions at once from one process.
func BenchmarkAsk(b *testing.B) {
	const n = 200
	var took time.Duration
	for b.Loop() {
		path := file(b)
		begun := time.Now()
		if err := desk.Ask(b.Context(), path, "s", n); err != nil {
			b.Fatal(err)
		}
		took += time.Since(begun)
	}
	b.ReportMetric(float64(b.N*n)/took.Seconds(), "asks/s")
}

// 200 questions at once from four processes.
func BenchmarkAskFromProcesses(b *testing.B) {
	const n = 200
	var took time.Duration
	for b.Loop() {
		path := file(b)
		begun := time.Now()
		processes(b, path, 4, n/4)
		took += time.Since(begun)
	}
	b.ReportMetric(float64(b.N*n)/took.Seconds(), "asks/s")
}
