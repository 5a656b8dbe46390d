package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/journaltest"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
)

func TestJournal(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journal.Journal { return memory.New() })
}

// BenchmarkAppend is what the journal costs a loop: two small records of a run
// that grows.
func BenchmarkAppend(b *testing.B) {
	for _, length := range []int64{100, 10_000} {
		b.Run(fmt.Sprintf("run of %d records", length), func(b *testing.B) {
			j := memory.New()
			now := time.Now()
			payload := []byte(`{"at":1,"cmd":2}`)
			head := journal.Head{Run: "r", State: journal.Running, StartedAt: now, UpdatedAt: now}
			records := make([]journal.Record, 2)
			seq := length
			run := 0
			for b.Loop() {
				if seq >= length {
					seq, head.Run = 0, fmt.Sprint("r", run)
					run++
				}
				for i := range records {
					seq++
					records[i] = journal.Record{Seq: seq, At: now, Kind: kernel.KindModelReplied, Payload: payload}
				}
				if err := j.Append(b.Context(), journal.Entry{Head: head, Records: records}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
