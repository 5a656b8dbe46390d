package journaltest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

func testRoundTrip(t *testing.T, j journal.Journal) {
	mustAppend(t, j, headOf("r"), recordsOf(1, 1))
	mustAppend(t, j, headOf("r"), recordsOf(2, 3))
	if diff := cmp.Diff(recordsOf(1, 4), mustRead(t, j, "r")); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func testNilContent(t *testing.T, j journal.Journal) {
	records := recordsOf(1, 3)
	records[0].Content = nil
	records[1].Content = []byte{}
	records[2].Content = []byte{0}
	mustAppend(t, j, headOf("r"), records)
	got := mustRead(t, j, "r")
	if got[0].Content != nil {
		t.Errorf("nil content came back as %#v", got[0].Content)
	}
	if got[1].Content == nil || len(got[1].Content) != 0 {
		t.Errorf("empty content came back as %#v", got[1].Content)
	}
	if !bytes.Equal(got[2].Content, []byte{0}) {
		t.Errorf("a zero byte came back as %#v", got[2].Content)
	}
}

func testBytes(t *testing.T, j journal.Journal) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	const hard = "报销 🧾 e\u0301 \u202e'\";--\x00%_\n"
	head := headOf("运行 " + hard)
	head.Session, head.Tenant, head.User, head.Question = "s"+hard, "t"+hard, "u"+hard, hard
	records := recordsOf(1, 2)
	records[0].Payload, records[0].Content = every, []byte(hard)
	records[1].Payload, records[1].Content = []byte(hard), []byte("\xff\xfe broken \xc3")
	given := slices.Clone(records)
	for i := range given {
		given[i].Payload, given[i].Content = bytes.Clone(given[i].Payload), bytes.Clone(given[i].Content)
	}
	mustAppend(t, j, head, given)
	if diff := cmp.Diff(records, given); diff != "" {
		t.Errorf("the caller's own records (-given +left):\n%s", diff)
	}
	if diff := cmp.Diff(records, mustRead(t, j, head.Run)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	head.LastSeq, head.Hash = 2, linkOf(&head, records)
	heads, err := j.Heads(t.Context(), journal.Query{Session: head.Session, Tenant: head.Tenant, User: head.User})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]journal.Head{head}, heads); diff != "" {
		t.Errorf("heads (-want +got):\n%s", diff)
	}
}

func testMegabyte(t *testing.T, j journal.Journal) {
	random := rand.NewChaCha8([32]byte{1})
	records := recordsOf(1, 3)
	for i := range records {
		records[i].Content = make([]byte, 1<<20)
		_, _ = random.Read(records[i].Content) // never fails
	}
	mustAppend(t, j, headOf("r"), records)
	got := mustRead(t, j, "r")
	for i := range records {
		if !bytes.Equal(got[i].Content, records[i].Content) {
			t.Errorf("the content of record %d changed", i+1)
		}
	}
}

func testInstants(t *testing.T, j journal.Journal) {
	instants := []time.Time{
		time.Unix(0, 0),
		time.Unix(0, -1),
		time.Unix(0, 1<<53+1), // no float holds it
		time.Date(1678, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Date(2262, 1, 1, 0, 0, 0, 999999999, time.UTC),
		time.Date(2026, 7, 1, 12, 0, 0, 5, time.FixedZone("elsewhere", 3*3600)),
		time.Now(), // with a reading of the monotonic clock
	}
	records := recordsOf(1, len(instants))
	for i := range records {
		records[i].At = instants[i]
	}
	head := headOf("r")
	head.StartedAt, head.UpdatedAt = instants[5], instants[6]
	mustAppend(t, j, head, records)
	for i, r := range mustRead(t, j, "r") {
		if want := instants[i].UTC().Round(0); r.At != want {
			t.Errorf("the instant %v came back as %v", want, r.At)
		}
	}
	got, err := j.Head(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if got.StartedAt != instants[5].UTC() || got.UpdatedAt != instants[6].UTC().Round(0) {
		t.Errorf("a head of %v, %v came back as %v, %v", instants[5], instants[6], got.StartedAt, got.UpdatedAt)
	}
}

func testReadOn(t *testing.T, j journal.Journal) {
	mustAppend(t, j, headOf("r"), recordsOf(1, 10))
	for _, c := range []struct {
		after       int64
		limit       int
		first, last int64 // 0, -1: nothing
	}{
		{-5, 0, 1, 10}, {0, 0, 1, 10}, {0, 3, 1, 3}, {3, 3, 4, 6}, {8, 3, 9, 10},
		{9, 1, 10, 10}, {10, 0, 0, -1}, {99, 5, 0, -1}, {0, 99, 1, 10},
	} {
		got, err := j.Read(t.Context(), "r", c.after, c.limit)
		if err != nil {
			t.Errorf("after %d, limit %d: %v", c.after, c.limit, err)
			continue
		}
		want := recordsOf(c.first, int(c.last-c.first+1))
		if len(got) != len(want) || len(want) > 0 && cmp.Diff(want, got) != "" {
			t.Errorf("after %d, limit %d: got %d records, want %d–%d", c.after, c.limit, len(got), c.first, c.last)
		}
	}
	_, err := j.Read(t.Context(), "r", 0, -1)
	wantCode(t, err, kernel.CodeInvalidArgument)
}

func testHead(t *testing.T, j journal.Journal) {
	head := headOf("r")
	head.LastSeq, head.Hash, head.Pending = 77, journal.Hash{7}, 7 // ignored, as is the next
	head.Lease = journal.Lease{Owner: "nobody", Token: 7, Until: epoch()}
	mustAppend(t, j, head, recordsOf(1, 2))
	stopped := head
	stopped.State, stopped.Stop, stopped.Verified = journal.Stopped, kernel.StopVerified, kernel.VerdictTrue
	stopped.Turns, stopped.UpdatedAt = 7, head.UpdatedAt.Add(time.Minute)
	for _, c := range []struct {
		head journal.Head
		from int64
		last int64
	}{{head, 3, 3}, {stopped, 4, 6}} {
		mustAppend(t, j, c.head, recordsOf(c.from, int(c.last-c.from+1)))
		got, err := j.Head(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		want := c.head
		want.Lease, want.Pending = journal.Lease{}, 0
		want.LastSeq, want.Hash = c.last, linkOf(&want, recordsOf(1, int(c.last)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("head (-want +got):\n%s", diff)
		}
	}
}

func testHeadsOrder(t *testing.T, j journal.Journal) {
	starts := []int{3, 1, 2, 2, 2, 5} // hours; three at once
	for i, hour := range starts {
		head := headOf(fmt.Sprintf("run-%d", i))
		head.StartedAt = epoch().Add(time.Duration(hour) * time.Hour)
		mustAppend(t, j, head, recordsOf(1, 1))
	}
	mustAppend(t, j, func() journal.Head { // a later update does not move a run
		h := headOf("run-1")
		h.StartedAt, h.UpdatedAt = epoch().Add(time.Hour), epoch().Add(99*time.Hour)
		return h
	}(), recordsOf(2, 1))
	want := []string{"run-5", "run-0", "run-4", "run-3", "run-2", "run-1"}
	for limit := range len(want) + 2 {
		heads, err := j.Heads(t.Context(), journal.Query{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		n := min(limit, len(want))
		if limit == 0 {
			n = len(want)
		}
		if diff := cmp.Diff(want[:n], runsOf(heads)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	_, err := j.Heads(t.Context(), journal.Query{Limit: -1})
	wantCode(t, err, kernel.CodeInvalidArgument)
}

func testHeadsFilters(t *testing.T, j journal.Journal) {
	start := epoch()
	for _, id := range []string{"a/u/1", "a/u/2", "a/v/1", "b/u/1", "//"} { // tenant/user/session
		part := strings.Split(id, "/")
		head := headOf(id)
		head.Tenant, head.User, head.Session = part[0], part[1], part[2]
		start = start.Add(time.Second)
		head.StartedAt = start
		mustAppend(t, j, head, recordsOf(1, 1))
	}
	for _, c := range []struct {
		query journal.Query
		want  []string
	}{
		{journal.Query{}, []string{"//", "b/u/1", "a/v/1", "a/u/2", "a/u/1"}},
		{journal.Query{Tenant: "a"}, []string{"a/v/1", "a/u/2", "a/u/1"}},
		{journal.Query{User: "u"}, []string{"b/u/1", "a/u/2", "a/u/1"}},
		{journal.Query{Session: "1"}, []string{"b/u/1", "a/v/1", "a/u/1"}},
		{journal.Query{Tenant: "a", User: "u"}, []string{"a/u/2", "a/u/1"}},
		{journal.Query{Tenant: "a", Session: "1"}, []string{"a/v/1", "a/u/1"}},
		{journal.Query{Tenant: "a", User: "u", Session: "1"}, []string{"a/u/1"}},
		{journal.Query{User: "u", Limit: 2}, []string{"b/u/1", "a/u/2"}},
		{journal.Query{Tenant: "A"}, nil}, // names are exact
		{journal.Query{Tenant: "%"}, nil}, // and no patterns
		{journal.Query{Tenant: "a", User: "v", Session: "2"}, nil},
	} {
		heads, err := j.Heads(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, runsOf(heads)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.query, diff)
		}
	}
}

// Row 43 and report A31: an owner is a tenant and a user, both, exactly; no
// filter leads past it, and another one's run reads like one that is not there.
func testHeadsOwner(t *testing.T, j journal.Journal) {
	own := func(run, tenant, user, session string) {
		head := headOf(run)
		head.Tenant, head.User, head.Session = tenant, user, session
		mustAppend(t, j, head, recordsOf(1, 1))
	}
	own("1", "acme", "alice", "shared")
	own("2", "globex", "alice", "shared") // the same user name, at another tenant
	own("3", "acme", "bob", "shared")
	own("4", "acme", "", "shared")
	own("5", "", "alice", "shared")
	own("6", "", "", "shared")
	own("7", "acme", "alice", "other")
	acme := &journal.Owner{Tenant: "acme", User: "alice"}
	for _, c := range []struct {
		query journal.Query
		want  []string
	}{
		{journal.Query{Owner: acme}, []string{"7", "1"}},
		{journal.Query{Owner: acme, Session: "shared"}, []string{"1"}},
		{journal.Query{Owner: acme, Limit: 1}, []string{"7"}},
		{journal.Query{Owner: &journal.Owner{Tenant: "globex", User: "alice"}, Session: "shared"}, []string{"2"}},
		{journal.Query{Owner: &journal.Owner{Tenant: "acme"}}, []string{"4"}}, // nobody's, and not everybody's
		{journal.Query{Owner: &journal.Owner{User: "alice"}}, []string{"5"}},
		{journal.Query{Owner: &journal.Owner{}}, []string{"6"}},
		{journal.Query{Owner: &journal.Owner{Tenant: "initech", User: "alice"}}, nil},
		{journal.Query{Owner: acme, Tenant: "globex"}, nil},
		{journal.Query{Owner: acme, User: "bob"}, nil},
		{journal.Query{Owner: acme, Tenant: "acme", User: "alice", Session: "other"}, []string{"7"}},
	} {
		heads, err := j.Heads(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, runsOf(heads)); diff != "" {
			t.Errorf("%+v of %+v (-want +got):\n%s", c.query, c.query.Owner, diff)
		}
	}
}

func runsOf(heads []journal.Head) []string {
	var runs []string
	for _, h := range heads {
		runs = append(runs, h.Run)
	}
	return runs
}

func testUnknown(t *testing.T, j journal.Journal) {
	mustAppend(t, j, headOf("r"), recordsOf(1, 1))
	for _, run := range []string{"", "R", "r ", "%"} {
		_, err := j.Read(t.Context(), run, 0, 0)
		wantCode(t, err, kernel.CodeNotFound)
		_, err = j.Head(t.Context(), run)
		wantCode(t, err, kernel.CodeNotFound)
	}
}

func testIsolation(t *testing.T, j journal.Journal) {
	given := recordsOf(1, 3)
	mustAppend(t, j, headOf("r"), given)
	given[0].Seq, given[0].Kind, given[0].Payload = 99, "given", nil // the slice is the caller's again
	got := mustRead(t, j, "r")
	got[1].Seq, got[1].Kind, got[1].Payload = 99, "read", nil
	_ = append(got[:1], journal.Record{Seq: 98})
	part, err := j.Read(t.Context(), "r", 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(part, journal.Record{Seq: 97})
	mustAppend(t, j, headOf("r"), recordsOf(4, 1))
	if diff := cmp.Diff(recordsOf(1, 4), mustRead(t, j, "r")); diff != "" {
		t.Errorf("a caller's slice is the journal's (-want +got):\n%s", diff)
	}
	heads, err := j.Heads(t.Context(), journal.Query{})
	if err != nil {
		t.Fatal(err)
	}
	heads[0].Tenant = "other"
	if h, err := j.Head(t.Context(), "r"); err != nil || h.Tenant != "acme" {
		t.Errorf("a caller's head is the journal's: %+v, %v", h, err)
	}
}
