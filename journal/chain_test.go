package journal_test

import (
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// What is hashed how is part of the format: files and heads that were kept
// depend on it.
func TestHashesAreTheFormat(t *testing.T) {
	h := journal.Head{Run: "run_1", Session: "ses_1", Tenant: "acme", User: "alice", StartedAt: time.Unix(1, 2)}
	r := journal.Record{Seq: 1, At: time.Unix(3, 4), Kind: kernel.KindRunStarted, Payload: []byte(`{"at":3}`), Content: []byte("content")}
	origin := journal.Origin(&h)
	link := journal.Link(origin, h.Run, &r)
	seal := journal.Seal{Seq: 1, Run: h.Run, Last: 1, Head: link, At: r.At}
	a := journal.Approval{ID: "a", Run: "run_1", Call: "c", Tool: "pay", Arguments: []byte("{}")}
	for name, c := range map[string]struct{ got, want string }{
		"origin":   {origin.String(), "e522432543f1166cd2d09ae8d087800e1956f8bb7ce6cf2e3676c7b3a8c1119f"},
		"link":     {link.String(), "aaf05411d3ca8f8052eedf047005c52b03b375228a57a113b63a21b71ef45165"},
		"seal":     {seal.Chain(journal.Hash{}).String(), "c7a569233e7031238f75654eeada4f10926c98cf43830f2299e57fdee8af668f"},
		"approval": {a.ContentHash(), "dabd5adf0ce776dcf24ce0985f2d02dba0c2d68ecb32f1c430b3902f7577cf42"},
		"effect":   {journal.EffectID("acme", "pay", "order 1"), "eff_5876ec9a204c37abfed19ae7375de9ae"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, was %s", name, c.got, c.want)
		}
	}
}

// No effect has the id of another tenant's, tool's or key's.
func TestEffectID(t *testing.T) {
	ids := map[string][3]string{}
	for _, parts := range [][3]string{
		{"a", "b", "c"}, {"ab", "", "c"}, {"", "ab", "c"}, {"a", "bc", ""}, {"", "", "abc"}, {"a", "", "bc"}, {"a1:b", "", "c"}, {"A", "b", "c"},
	} {
		id := journal.EffectID(parts[0], parts[1], parts[2])
		if other, taken := ids[id]; taken {
			t.Errorf("%v has the id of %v", parts, other)
		}
		ids[id] = parts
	}
}

// An entry seals what opens and what stops, in this order.
func TestSealing(t *testing.T) {
	records := []journal.Record{{Seq: 1, At: time.Unix(1, 0)}, {Seq: 2, At: time.Unix(2, 0)}}
	for _, c := range []struct {
		first int
		state journal.State
		want  []int64 // last records
	}{
		{0, journal.Running, []int64{1}}, {0, journal.Waiting, []int64{1}}, {0, journal.Stopped, []int64{1, 2}},
		{1, journal.Running, nil}, {1, journal.Stopped, []int64{2}},
	} {
		e := journal.Entry{Head: journal.Head{Run: "r", State: c.state}, Records: records[c.first:]}
		seals := journal.Sealing(&e)
		if len(seals) != len(c.want) {
			t.Errorf("%+v: %d seals", c, len(seals))
			continue
		}
		for i, last := range c.want {
			if s := seals[i]; s.Run != "r" || s.Last != last || !s.At.Equal(records[last-1].At) {
				t.Errorf("%+v: %+v", c, s)
			}
		}
	}
}
