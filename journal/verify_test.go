package journal_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/journal/memory"
	"github.com/holdfast-run/holdfast/kernel"
)

// place is a flaw without its hint.
type place struct {
	what journal.FlawKind
	run  string
	seq  int64
	seal bool
}

func placeOf(t *testing.T, f *journal.Flaw) place {
	t.Helper()
	if f == nil {
		return place{}
	}
	if f.Hint == "" || !strings.Contains(f.String(), string(f.What)) {
		t.Errorf("a flaw tells too little: %q, hint %q", f, f.Hint)
	}
	return place{f.What, f.Run, f.Seq, f.Seal}
}

// verified returns what both verifications find; a flaw of another run is none
// for the one of a run, unless it is in the chain over all.
func verified(t *testing.T, r journal.Reader, run string, head *journal.SealedHead) (all, one place) {
	t.Helper()
	a, err := journal.VerifyAll(t.Context(), r, head)
	if err != nil {
		t.Fatal(err)
	}
	o, err := journal.Verify(t.Context(), r, run, head)
	if err != nil {
		t.Fatal(err)
	}
	return placeOf(t, a.Flaw), placeOf(t, o.Flaw)
}

func TestVerifySound(t *testing.T) {
	j := written(t, 1, 1, 130, 3, 64, 65)
	last, err := journal.LastSeal(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	got, err := journal.VerifyAll(t.Context(), j, &last)
	want := journal.Report{Runs: 6, Records: 264, Seals: 9, Head: last}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	got, err = journal.Verify(t.Context(), j, "run-2", nil)
	want.Runs, want.Records = 1, 130
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, one := verified(t, storedOf(t, j), "run-2", &last); one != (place{}) { // within the bound of a page
		t.Errorf("a sound file has the flaw %v", one)
	}
	_, err = journal.Verify(t.Context(), j, "nowhere", nil)
	if kernel.CodeOf(err) != kernel.CodeNotFound {
		t.Errorf("an unknown run: %v", err)
	}
	empty, err := journal.VerifyAll(t.Context(), memory.New(), &journal.SealedHead{})
	if err != nil || empty != (journal.Report{}) {
		t.Errorf("an empty journal: %+v, %v", empty, err)
	}
}

// Every single byte of a record counts, and the record is named.
func TestVerifyNamesEveryByte(t *testing.T) {
	file := storedOf(t, written(t, 4, 5, 2))
	for run, records := range file.records {
		for i := range records {
			want := place{journal.FlawAltered, run, int64(i) + 1, false}
			for name, change := range changesOf(&records[i]) {
				t.Run(fmt.Sprint(run, " ", i+1, " ", name), func(t *testing.T) {
					bad := file.clone()
					change(&bad.records[run][i])
					if all, one := verified(t, bad, run, nil); all != want || one != want {
						t.Errorf("found %v and %v, want %v", all, one, want)
					}
				})
			}
			bad := file.clone()
			bad.links[run][i][31] ^= 1
			if all, one := verified(t, bad, run, nil); all != want || one != want {
				t.Errorf("another hash: found %v and %v, want %v", all, one, want)
			}
		}
	}
}

// changesOf are all the ways to change one byte of a record, and its lengths.
func changesOf(r *journal.Record) map[string]func(*journal.Record) {
	changes := map[string]func(*journal.Record){
		"kind":             func(r *journal.Record) { r.Kind = kernel.KindCancelled },
		"kind and payload": func(r *journal.Record) { r.Kind, r.Payload = r.Kind+"{", r.Payload[1:] },
		"a nanosecond":     func(r *journal.Record) { r.At = r.At.Add(1) },
		"payload, longer":  func(r *journal.Record) { r.Payload = append(r.Payload, ' ') },
		"payload, shorter": func(r *journal.Record) { r.Payload = r.Payload[:len(r.Payload)-1] },
		"content, longer":  func(r *journal.Record) { r.Content = append(r.Content, 0) },
		"payload and content": func(r *journal.Record) {
			r.Content = append([]byte{'}'}, r.Content...)
			r.Payload = r.Payload[:len(r.Payload)-1]
		},
	}
	if len(r.Content) == 0 {
		changes["nothing and empty"] = func(r *journal.Record) {
			if r.Content == nil {
				r.Content = []byte{}
			} else {
				r.Content = nil
			}
		}
	}
	for i := range r.Payload {
		changes[fmt.Sprint("payload byte ", i)] = func(r *journal.Record) { r.Payload[i] ^= 1 }
	}
	for i := range r.Content {
		changes[fmt.Sprint("content byte ", i)] = func(r *journal.Record) { r.Content[i] ^= 0x80 }
	}
	return changes
}

// What somebody does to a file, and the place that is named. run-2 has stopped
// with 7 records, run-1 goes on with 6.
func verifyCases() map[string]struct {
	do   func(*stored)
	want place
} {
	type c = struct {
		do   func(*stored)
		want place
	}
	remove := func(run string, i, n int) func(*stored) {
		return func(s *stored) {
			s.records[run], s.links[run] = slices.Delete(s.records[run], i, i+n), slices.Delete(s.links[run], i, i+n)
		}
	}
	swap := func(run string, i, k int) func(*stored) {
		return func(s *stored) { r := s.records[run]; r[i], r[k] = r[k], r[i] }
	}
	head := func(run string, change func(*journal.Head)) func(*stored) {
		return func(s *stored) { change(s.head(run)) }
	}
	seal := func(change func(*journal.Seal)) func(*stored) { // of the third
		return func(s *stored) { change(&s.seals[2]) }
	}
	const altered, missing, reordered = journal.FlawAltered, journal.FlawMissing, journal.FlawReordered
	return map[string]c{
		"a record dropped":         {remove("run-2", 3, 1), place{missing, "run-2", 4, false}},
		"the first record dropped": {remove("run-2", 0, 1), place{missing, "run-2", 1, false}},
		"a record dropped, the rest renumbered": {func(s *stored) {
			remove("run-2", 3, 1)(s)
			for i := range s.records["run-2"] {
				s.records["run-2"][i].Seq = int64(i) + 1
			}
		}, place{altered, "run-2", 4, false}},
		"records in another order": {swap("run-2", 2, 5), place{reordered, "run-2", 3, false}},
		"records in each other's place": {func(s *stored) {
			r := s.records["run-2"]
			r[2], r[5] = r[5], r[2]
			r[2].Seq, r[5].Seq = 3, 6
		}, place{altered, "run-2", 3, false}},
		"a record twice":          {func(s *stored) { r := s.records["run-2"]; s.records["run-2"] = slices.Insert(r, 3, r[2]) }, place{reordered, "run-2", 4, false}},
		"a record of another run": {func(s *stored) { s.records["run-2"][1] = s.records["run-1"][1] }, place{altered, "run-2", 2, false}},
		"all records dropped":     {remove("run-2", 0, 7), place{journal.FlawCut, "run-2", 1, false}},
		"a tail cut":              {remove("run-2", 5, 2), place{journal.FlawCut, "run-2", 6, false}},
		"a tail cut, and the head put back": {func(s *stored) {
			remove("run-2", 5, 2)(s)
			h := s.head("run-2")
			h.LastSeq, h.Hash = 5, s.links["run-2"][4]
		}, place{journal.FlawCut, "run-2", 6, false}},
		"a tail cut, and the stop undone": {func(s *stored) {
			remove("run-2", 5, 2)(s)
			h := s.head("run-2")
			h.LastSeq, h.Hash, h.State = 5, s.links["run-2"][4], journal.Running
		}, place{journal.FlawCut, "run-2", 6, false}},
		"a tail cut of a run that goes on": {remove("run-1", 5, 1), place{journal.FlawCut, "run-1", 6, false}},
		"a hash dropped":                   {func(s *stored) { s.links["run-2"] = s.links["run-2"][:6] }, place{altered, "run-2", 7, false}},
		"a record added": {func(s *stored) {
			s.records["run-1"] = append(s.records["run-1"], journal.Record{Seq: 7, At: time.Unix(9, 0), Kind: "k", Payload: []byte("p")})
		}, place{journal.FlawAdded, "run-1", 7, false}},
		"a record added behind the stop, with its hashes": {func(s *stored) {
			h := s.head("run-2")
			r := journal.Record{Seq: 8, At: time.Unix(9, 0), Kind: "k", Payload: []byte("p")}
			h.LastSeq, h.Hash = 8, journal.Link(h.Hash, h.Run, &r)
			s.records["run-2"], s.links["run-2"] = append(s.records["run-2"], r), append(s.links["run-2"], h.Hash)
		}, place{journal.FlawAdded, "run-2", 8, false}},
		"a run rewritten with its hashes": {func(s *stored) {
			seals := slices.Clone(s.seals)
			s.records["run-2"][4].Payload[0] ^= 1
			s.rewrite()
			s.seals = seals
		}, place{altered, "run-2", 7, false}}, // the seal knows its end
		"a first record rewritten with the hashes": {func(s *stored) {
			seals := slices.Clone(s.seals)
			s.records["run-1"][0].Payload[0] ^= 1
			s.rewrite()
			s.seals = seals
		}, place{altered, "run-1", 1, false}},
		"a run dropped": {func(s *stored) { s.drop("run-2") }, place{journal.FlawDropped, "run-2", 0, false}},
		"a run dropped, and its seals": {func(s *stored) {
			s.drop("run-1")
			s.seals = slices.DeleteFunc(s.seals, func(s journal.Seal) bool { return s.Run == "run-1" })
		}, place{missing, "", 3, true}},
		"the last run dropped, and its seals": {func(s *stored) {
			s.drop("run-2")
			s.seals = s.seals[:3]
		}, place{}}, // only a head that was kept knows it: see TestVerifyKeptHead
		"a run dropped from the middle, its seals, and the rest renumbered": {func(s *stored) {
			s.drop("run-1")
			s.seals = slices.Delete(s.seals, 2, 3)
			s.seals[2].Seq, s.seals[3].Seq = 3, 4
		}, place{altered, "run-2", 3, true}},
		"a run added": {func(s *stored) {
			h := *s.head("run-1")
			h.Run, h.Hash = "run-x", journal.Hash{}
			s.heads = append(s.heads, h)
		}, place{journal.FlawUnsealed, "run-x", 0, false}},
		"a seal of the stop dropped": {func(s *stored) { s.seals = s.seals[:4] }, place{journal.FlawUnsealed, "run-2", 0, false}},
		"a seal dropped":             {func(s *stored) { s.seals = slices.Delete(s.seals, 1, 2) }, place{missing, "", 2, true}},
		"seals in another order":     {func(s *stored) { s.seals[1], s.seals[3] = s.seals[3], s.seals[1] }, place{reordered, "", 2, true}},
		"a seal twice":               {func(s *stored) { s.seals = slices.Insert(s.seals, 2, s.seals[1]) }, place{reordered, "", 3, true}},
		"a seal's run":               {seal(func(s *journal.Seal) { s.Run = "run-2" }), place{altered, "run-2", 3, true}},
		"a seal's record":            {seal(func(s *journal.Seal) { s.Last++ }), place{altered, "run-1", 3, true}},
		"a seal's head":              {seal(func(s *journal.Seal) { s.Head[0] ^= 1 }), place{altered, "run-1", 3, true}},
		"a seal's instant":           {seal(func(s *journal.Seal) { s.At = s.At.Add(1) }), place{altered, "run-1", 3, true}},
		"a seal's hash":              {seal(func(s *journal.Seal) { s.Hash[31] ^= 1 }), place{altered, "run-1", 3, true}},
		"a third seal of a run": {func(s *stored) {
			last := s.seals[4]
			again := journal.Seal{Seq: 6, Run: last.Run, Last: 7, Head: last.Head, At: last.At}
			again.Hash = again.Chain(last.Hash)
			s.seals = append(s.seals, again)
		}, place{journal.FlawAdded, "run-2", 6, true}},
		"a head's hash":           {head("run-2", func(h *journal.Head) { h.Hash[0] ^= 1 }), place{journal.FlawHead, "run-2", 0, false}},
		"a head's number, lower":  {head("run-1", func(h *journal.Head) { h.LastSeq-- }), place{journal.FlawHead, "run-1", 0, false}},
		"a head's number, higher": {head("run-1", func(h *journal.Head) { h.LastSeq++ }), place{journal.FlawCut, "run-1", 7, false}},
		"a head's state, back":    {head("run-2", func(h *journal.Head) { h.State = journal.Waiting }), place{journal.FlawHead, "run-2", 0, false}},
		"a head's state, stopped": {head("run-1", func(h *journal.Head) { h.State = journal.Stopped }), place{journal.FlawUnsealed, "run-1", 0, false}},
		// Invariant I15: a run is not moved to another tenant unseen.
		"a head's tenant":                {head("run-2", func(h *journal.Head) { h.Tenant = "globex" }), place{altered, "run-2", 1, false}},
		"a head's user":                  {head("run-2", func(h *journal.Head) { h.User = "bob" }), place{altered, "run-2", 1, false}},
		"a head's session":               {head("run-2", func(h *journal.Head) { h.Session = "s1" }), place{altered, "run-2", 1, false}},
		"a head's start":                 {head("run-2", func(h *journal.Head) { h.StartedAt = h.StartedAt.Add(1) }), place{altered, "run-2", 1, false}},
		"tenant and user, moved between": {head("run-2", func(h *journal.Head) { h.Tenant, h.User = "acmea", "lice" }), place{altered, "run-2", 1, false}},
	}
}

func TestVerifyNamesThePlace(t *testing.T) {
	file := storedOf(t, written(t, 1, 6, 7))
	for name, c := range verifyCases() {
		t.Run(name, func(t *testing.T) {
			bad := file.clone()
			c.do(bad)
			all, err := journal.VerifyAll(t.Context(), bad, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := placeOf(t, all.Flaw); got != c.want {
				t.Errorf("all: %v, want %v", got, c.want)
			}
			run := c.want.run
			if run == "" {
				run = "run-0"
			}
			one, err := journal.Verify(t.Context(), bad, run, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := placeOf(t, one.Flaw); got != c.want {
				t.Errorf("%s: %v, want %v", run, got, c.want)
			}
		})
	}
}

// A head that was kept elsewhere holds the journal to all that was sealed then,
// whatever was rewritten, and with whatever hashes. Without it, a journal that
// was rewritten as a whole is as good as another.
func TestVerifyKeptHead(t *testing.T) {
	j := written(t, 1, 6, 7)
	kept, err := journal.LastSeal(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	file := storedOf(t, j)
	for name, c := range map[string]struct {
		do   func(*stored)
		want place
	}{
		"nothing happened":               {func(*stored) {}, place{}},
		"a record of a run that stopped": {func(s *stored) { s.records["run-2"][4].Payload[0] ^= 1 }, place{journal.FlawRewritten, "", 5, true}},
		"a first record":                 {func(s *stored) { s.records["run-1"][0].Payload[0] ^= 1 }, place{journal.FlawRewritten, "", 5, true}},
		"a tenant":                       {func(s *stored) { s.head("run-0").Tenant = "globex" }, place{journal.FlawRewritten, "", 5, true}},
		"the last run dropped": {func(s *stored) {
			s.drop("run-2")
			s.seals = s.seals[:3]
		}, place{journal.FlawCut, "", 4, true}},
		"a run dropped from the middle": {func(s *stored) {
			s.drop("run-1")
			s.seals = slices.Delete(s.seals, 2, 3)
		}, place{journal.FlawCut, "", 5, true}},
		"everything dropped": {func(s *stored) { *s = stored{} }, place{journal.FlawCut, "", 1, true}},
		// What is behind the last seal of a run is held by nothing that was kept.
		"the tail of a run that goes on": {func(s *stored) { s.records["run-1"][5].Payload[0] ^= 1 }, place{}},
	} {
		t.Run(name, func(t *testing.T) {
			bad := file.clone()
			c.do(bad)
			bad.rewrite()
			without, err := journal.VerifyAll(t.Context(), bad, nil)
			if err != nil || without.Flaw != nil {
				t.Fatalf("with all hashes rewritten it is found: %v, %v", without.Flaw, err)
			}
			with, err := journal.VerifyAll(t.Context(), bad, &kept)
			if got := placeOf(t, with.Flaw); err != nil || got != c.want {
				t.Errorf("found %v, %v, want %v", got, err, c.want)
			}
		})
	}
	earlier := journal.SealedHead{Seq: 3, Hash: file.seals[2].Hash} // a head is good for ever
	if report, err := journal.VerifyAll(t.Context(), j, &earlier); err != nil || report.Flaw != nil {
		t.Errorf("an earlier head: %v, %v", report.Flaw, err)
	}
	if report, err := journal.Verify(t.Context(), j, "run-0", &journal.SealedHead{Seq: 9}); err != nil || report.Flaw == nil || report.Flaw.What != journal.FlawCut {
		t.Errorf("a head that is further: %v, %v", report.Flaw, err)
	}
}

// Any one change to a file is found and named: in the run and at the record, or
// at the seal, that it happened to.
func TestVerifyFindsAnyChange(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		lengths := make([]int, 1+random.IntN(6))
		for i := range lengths {
			lengths[i] = 1 + random.IntN(9)
			if random.IntN(4) == 0 {
				lengths[i] += 60 + random.IntN(80) // more than a page
			}
		}
		j := written(t, lengths...)
		kept, err := journal.LastSeal(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		bad := storedOf(t, j).clone()
		what, wants := bad.spoil(random)
		got, err := journal.VerifyAll(t.Context(), bad, &kept)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(wants, placeOf(t, got.Flaw)) {
			t.Errorf("seed %d, runs of %v: %s: found %v, want one of %v", seed, lengths, what, got.Flaw, wants)
		}
	}
}

// spoil does one thing to a file, and says what, and the places by which it may
// be named.
func (s *stored) spoil(random *rand.Rand) (what string, wants []place) {
	h := &s.heads[random.IntN(len(s.heads))]
	run := h.Run
	records := s.records[run]
	i := random.IntN(len(records))
	seq := int64(i) + 1
	switch what := random.IntN(8); what {
	case 0:
		r := &records[i]
		r.Payload[random.IntN(len(r.Payload))] ^= 1 << random.IntN(8)
		return "a bit of a record", []place{{journal.FlawAltered, run, seq, false}}
	case 1:
		s.links[run][i][random.IntN(32)] ^= 1 << random.IntN(8)
		return "a bit of a hash", []place{{journal.FlawAltered, run, seq, false}}
	case 2:
		s.records[run], s.links[run] = slices.Delete(records, i, i+1), slices.Delete(s.links[run], i, i+1)
		return "a record dropped", []place{{journal.FlawMissing, run, seq, false}, {journal.FlawCut, run, seq, false}}
	case 3:
		s.records[run], s.links[run] = records[:i], s.links[run][:i]
		return "a tail cut", []place{{journal.FlawCut, run, seq, false}}
	case 4:
		s.drop(run)
		return "a run dropped", []place{{journal.FlawDropped, run, 0, false}}
	case 5:
		k := random.IntN(len(s.seals))
		seal := s.seals[k]
		s.seals[k].Head[random.IntN(32)] ^= 1
		return "a bit of a seal", []place{{journal.FlawAltered, seal.Run, seal.Seq, true}}
	case 6:
		k := random.IntN(len(s.seals))
		s.seals = slices.Delete(s.seals, k, k+1)
		return "a seal dropped", []place{{journal.FlawMissing, "", int64(k) + 1, true}, {journal.FlawCut, "", int64(k) + 1, true}}
	default:
		k := random.IntN(len(records))
		if i == k {
			return s.spoil(random)
		}
		records[i], records[k] = records[k], records[i]
		first := int64(min(i, k)) + 1
		return "two records swapped", []place{{journal.FlawReordered, run, first, false}, {journal.FlawMissing, run, first, false}}
	}
}

func TestHeads(t *testing.T) {
	for runs := range 20 {
		j := written(t, slices.Repeat([]int{1}, runs)...)
		seals, err := j.Seals(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := journal.SealedHead{}
		if n := len(seals); n > 0 {
			want = journal.SealedHead{Seq: seals[n-1].Seq, Hash: seals[n-1].Hash}
		}
		got, err := journal.LastSeal(t.Context(), j)
		if err != nil || got != want {
			t.Errorf("%d runs: the last seal is %v, %v, want %v", runs, got, err, want)
		}
		back, err := journal.ParseHead(got.String())
		if err != nil || back != got {
			t.Errorf("%v is read back as %v, %v", got, back, err)
		}
	}
	hash := strings.Repeat("ab", 32)
	for _, bad := range []string{"", ":", "1:", ":" + hash, "x:" + hash, "-1:" + hash, "1:" + hash[2:], "1:" + hash + "00", "1:" + hash + ":", "1 :" + hash, "0:" + hash, "1;" + hash, "1:" + strings.Repeat("zz", 32)} {
		if h, err := journal.ParseHead(bad); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%q is read as %v, %v", bad, h, err)
		}
	}
	if h, err := journal.ParseHead("0:" + strings.Repeat("0", 64)); err != nil || h != (journal.SealedHead{}) {
		t.Errorf("an empty journal's head is read as %v, %v", h, err)
	}
}
