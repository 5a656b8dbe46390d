package journal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// FlawKind says what is wrong with a journal.
type FlawKind string

// The kinds. Each names the first place at which the chain does not hold.
const (
	FlawAltered   FlawKind = "altered"   // the record or the seal is not what was written there
	FlawMissing   FlawKind = "missing"   // it is not there, and what follows is
	FlawReordered FlawKind = "reordered" // it stands elsewhere
	FlawCut       FlawKind = "cut"       // it and all behind it are gone
	FlawAdded     FlawKind = "added"     // nothing should follow what is before it
	FlawDropped   FlawKind = "dropped"   // the run is gone, and its seal is there
	FlawUnsealed  FlawKind = "unsealed"  // the run, or its stop, has no seal
	FlawHead      FlawKind = "head"      // the run's head contradicts its records
	FlawRewritten FlawKind = "rewritten" // the seal is not the one of the head that was kept
	FlawSummary   FlawKind = "summary"   // the run's head says what its records do not come to
	FlawEffect    FlawKind = "effect"    // a row of the ledger does
	FlawApproval  FlawKind = "approval"  // an approval does, or its votes
	FlawNotice    FlawKind = "notice"    // a notice does
)

// Flaw is the first thing found wrong.
type Flaw struct {
	What FlawKind
	Run  string // empty: it concerns the chain over all runs
	Seq  int64  // of the record; of the seal where Seal is set; 0: neither
	Seal bool
	// ID is that of the effect, the approval or the notice, and Detail what is wrong with it
	// or with the summary, as in "is gone". Otherwise both are empty.
	ID     string
	Detail string
	Hint   string
}

// String says what is wrong where, in a line.
func (f *Flaw) String() string {
	where := "run " + f.Run
	switch {
	case f.Seal && f.Run != "":
		where = fmt.Sprintf("seal %d (run %s)", f.Seq, f.Run)
	case f.Seal:
		where = fmt.Sprintf("seal %d", f.Seq)
	case f.ID != "":
		return fmt.Sprintf("%s: %s %s %s", where, f.What, f.ID, f.Detail)
	case f.Detail != "":
		return fmt.Sprintf("%s: %s %s", where, f.What, f.Detail)
	case f.Seq > 0:
		where = fmt.Sprintf("record %d of run %s", f.Seq, f.Run)
	}
	return where + ": " + string(f.What)
}

// Report is what a verification came to.
type Report struct {
	Runs    int64 // looked at
	Records int64
	Seals   int64
	Head    SealedHead // the last seal looked at
	Flaw    *Flaw      // nil: nothing is wrong
}

// pageSize bounds what is in memory at once: so many records or seals.
const pageSize = 64

// Verify checks one run (its records against their hashes, its head, its seals,
// and the head's summary, its effects, approvals and notices against what the
// records come to) and the chain over all runs; and, where head is given, that this chain
// still leads through it. It holds a bounded number of records in memory, and the
// effects and approvals of one run with the notices of its session. Where a record is no event that this program
// can take, what stands beside the records is not held to them.
// NOT_FOUND for a run that neither a head nor a seal knows; other errors are
// those of r.
//
// The run may go on meanwhile, and others.
func Verify(ctx context.Context, r Reader, run string, head *SealedHead) (Report, error) {
	v := verifier{r: r, only: run, kept: head, runs: map[string]*sealedRun{}}
	if done, err := v.readSeals(ctx); done || err != nil {
		return v.report, err
	}
	return v.report, v.checkRun(ctx, run)
}

// VerifyAll checks every run and the chain over them; and, where head is given,
// that this chain still leads through it. What it holds in memory grows with
// the number of runs, not with their length. The errors are those of r.
//
// Runs may go on, and new ones begin, meanwhile.
func VerifyAll(ctx context.Context, r Reader, head *SealedHead) (Report, error) {
	v := verifier{r: r, kept: head, runs: map[string]*sealedRun{}}
	heads, err := r.Heads(ctx, Query{}) // before the seals: each of these has its seal then
	if err != nil {
		return v.report, err
	}
	if done, err := v.readSeals(ctx); done || err != nil {
		return v.report, err
	}
	for i := range heads {
		if v.runs[heads[i].Run] == nil {
			v.flaw(FlawUnsealed, heads[i].Run, 0, hintRestore)
			return v.report, nil
		}
	}
	for _, run := range v.inOrder() {
		if err := v.checkRun(ctx, run); v.report.Flaw != nil || err != nil {
			return v.report, err
		}
	}
	return v.report, nil
}

const (
	hintRestore  = "compare with a backup; holdfast journal head, kept elsewhere, tells which of the two to trust"
	hintEarlier  = "it agrees with its own hashes: it, or something before it, was rewritten together with them"
	hintKeptHead = "the journal is another one, or was rewritten at or before this seal since the head was kept"
)

// verifier is one verification.
type verifier struct {
	r      Reader
	only   string      // the run to take note of; empty: all
	kept   *SealedHead // nil: none
	report Report

	last Seal
	runs map[string]*sealedRun
	read map[string]SessionID // of runs whose heads were read because a notice names them
}

// sealedRun is what the seals say of a run.
type sealedRun struct {
	order   int64
	opened  Hash // of its first record
	stopped bool
	last    int64 // its last record, when it stopped
	head    Hash  // of that
}

func (v *verifier) flaw(what FlawKind, run string, seq int64, hint string) {
	v.report.Flaw = &Flaw{What: what, Run: run, Seq: seq, Hint: hint}
}

func (v *verifier) sealFlaw(what FlawKind, run string, seq int64, hint string) {
	v.report.Flaw = &Flaw{What: what, Run: run, Seq: seq, Seal: true, Hint: hint}
}

// inOrder returns the sealed runs as they were opened.
func (v *verifier) inOrder() []string {
	return slices.SortedFunc(maps.Keys(v.runs), func(a, b string) int { return cmp.Compare(v.runs[a].order, v.runs[b].order) })
}
