package sqlite_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

func prepare(t *testing.T, f *fixture) desk.Draft {
	t.Helper()
	return must(f.Prepare(t.Context(), f.alice, "s", "复核", "附件待补充"))(t)
}

func tickets(t *testing.T, f *fixture) int {
	t.Helper()
	return len(must(f.Tickets(t.Context(), f.alice))(t))
}

// Row 46: the same content in the same session is the same draft.
func TestPrepareAgain(t *testing.T) {
	f := open(t)
	first := prepare(t, f)
	f.move(time.Minute)
	if again := prepare(t, f); again != first {
		t.Errorf("prepared again: %+v, first %+v", again, first)
	}
	other := must(f.Prepare(t.Context(), f.alice, "other", "复核", "附件待补充"))(t)
	theirs := must(f.Prepare(t.Context(), f.bob, "s", "复核", "附件待补充"))(t)
	if other.ID == first.ID || theirs.ID == first.ID {
		t.Error("another session or person has the same draft")
	}
	if n := tickets(t, f); n != 1 {
		t.Errorf("%d tickets", n)
	}
}

// Row 30: a subject of 120 characters and a body of 4,000, and no more.
func TestDraftBounds(t *testing.T) {
	f := open(t)
	for _, tt := range []struct {
		subject, body int
		ok            bool
	}{{120, 4000, true}, {121, 1, false}, {1, 4001, false}, {0, 1, false}, {1, 0, false}} {
		_, err := f.Prepare(t.Context(), f.alice, "s", strings.Repeat("字", tt.subject), strings.Repeat("字", tt.body))
		if ok := err == nil; ok != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// What a person confirms is what they see: no character of a draft is invisible or
// turns others around, and its subject is one line. Its body may have several.
func TestDraftIsLegible(t *testing.T) {
	f := open(t)
	d := prepare(t, f)
	for _, c := range []struct {
		character     string
		subject, body desk.TextFault
	}{
		{"\u202e", desk.TextUnseen, desk.TextUnseen},     // right-to-left override
		{"\u2066", desk.TextUnseen, desk.TextUnseen},     // isolate
		{"\u200b", desk.TextUnseen, desk.TextUnseen},     // zero-width space
		{"\u2060", desk.TextUnseen, desk.TextUnseen},     // word joiner
		{"\ufeff", desk.TextUnseen, desk.TextUnseen},     // byte order mark
		{"\u00ad", desk.TextUnseen, desk.TextUnseen},     // soft hyphen
		{"\U000e0041", desk.TextUnseen, desk.TextUnseen}, // tag
		{"\ufffd", desk.TextUnseen, desk.TextUnseen},
		{"\x00", desk.TextControls, desk.TextControls},
		{"\x1b", desk.TextControls, desk.TextControls},
		{"\u0085", desk.TextControls, desk.TextControls},
		{"\n", desk.TextLines, ""},
		{"\r\n", desk.TextLines, ""},
		{"\u2028", desk.TextLines, ""},
		{"\t", desk.TextLines, ""},
		{"\u200c", "", ""}, // belongs to words of Persian
		{"🚢", "", ""},
	} {
		refused := func(what string, want desk.TextFault, err error) {
			t.Helper()
			fault, _ := errors.AsType[*desk.TextError](err)
			if want == "" && err != nil || want != "" && (fault == nil || fault.Fault != want || kernel.CodeOf(err) != kernel.CodeInvalidArgument) {
				t.Errorf("%s with %+q: %v, want %q", what, c.character, err, want)
			}
		}
		text := "复核" + c.character + "T1001"
		_, err := f.Prepare(t.Context(), f.alice, "s", text, "正文")
		refused("a subject", c.subject, err)
		_, err = f.Prepare(t.Context(), f.alice, "s", "标题", text)
		refused("a body", c.body, err)
		_, err = f.Prepare(t.Context(), f.alice, text, "标题", "正文")
		refused("a session", c.subject, err)
		_, err = f.Edit(t.Context(), f.alice, d.ID, text, "正文")
		refused("an edited subject", c.subject, err)
		_, err = f.Edit(t.Context(), f.alice, d.ID, "标题", text)
		refused("an edited body", c.body, err)
	}
}

// Case 36 and row 47: whose it is, what was confirmed, whether that happened,
// whether it is late; in that order.
func TestConfirmOrder(t *testing.T) {
	f := open(t)
	d := prepare(t, f)
	_, err := f.Confirm(t.Context(), f.bob, d.ID, d.Hash)
	wantCode(t, kernel.CodeNotFound, err)
	_, err = f.Confirm(t.Context(), f.alice, d.ID, "another hash")
	wantCode(t, desk.CodeStaleConfirmation, err)
	f.move(desk.DraftTimeout) // to the instant of its expiry
	_, err = f.Confirm(t.Context(), f.alice, d.ID, d.Hash)
	wantCode(t, desk.CodeDraftExpired, err)
	_, err = f.Confirm(t.Context(), f.alice, d.ID, "another hash")
	wantCode(t, desk.CodeStaleConfirmation, err)
	if n := tickets(t, f); n != 1 {
		t.Errorf("%d tickets", n)
	}

	renewed := prepare(t, f)
	if renewed.ID != d.ID || renewed.Revision != 2 || renewed.Status(f.Now()) != desk.DraftPending {
		t.Errorf("renewed: %+v", renewed)
	}
	_, err = f.Confirm(t.Context(), f.alice, d.ID, d.Hash) // of the revision that expired
	wantCode(t, desk.CodeStaleConfirmation, err)
	c := must(f.Confirm(t.Context(), f.alice, d.ID, renewed.Hash))(t)
	if c.Already || c.Ticket != desk.TicketID(d.ID) {
		t.Errorf("confirmed: %+v", c)
	}
	f.move(2 * desk.DraftTimeout)
	if again := must(f.Confirm(t.Context(), f.alice, d.ID, renewed.Hash))(t); !again.Already || again.Ticket != c.Ticket {
		t.Errorf("confirmed again: %+v", again)
	}
	if n := tickets(t, f); n != 2 {
		t.Errorf("%d tickets", n)
	}
	submitted := prepare(t, f)
	if submitted.Status(f.Now()) != desk.DraftSubmitted {
		t.Errorf("prepared after it was submitted: %s", submitted.Status(f.Now()))
	}
}

// A change has to be confirmed anew, also where it says the same again.
func TestEdit(t *testing.T) {
	f := open(t)
	d := prepare(t, f)
	changed := must(f.Edit(t.Context(), f.alice, d.ID, "复核", "别的内容"))(t)
	back := must(f.Edit(t.Context(), f.alice, d.ID, d.Subject, d.Body))(t)
	for _, hash := range []string{d.Hash, changed.Hash} {
		_, err := f.Confirm(t.Context(), f.alice, d.ID, hash)
		wantCode(t, desk.CodeStaleConfirmation, err)
	}
	_, err := f.Edit(t.Context(), f.bob, d.ID, "a", "b")
	wantCode(t, kernel.CodeNotFound, err)
	must(f.Confirm(t.Context(), f.alice, d.ID, back.Hash))(t)
	_, err = f.Edit(t.Context(), f.alice, d.ID, "a", "b")
	wantCode(t, kernel.CodeConflict, err)
}

// Case 37 and row 48: however many confirm at once, from two openings of the
// file, one ticket comes of it and one of them made it.
func TestConfirmAtOnce(t *testing.T) {
	f := open(t)
	d := prepare(t, f)
	second := create(t, f.path, f.clock)
	results := make([]desk.Confirmed, 16)
	var wg sync.WaitGroup
	for i := range results {
		db := []*sqlite.DB{f.DB, second}[i%2]
		wg.Go(func() {
			var err error
			if results[i], err = db.Confirm(t.Context(), f.alice, d.ID, d.Hash); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	made := 0
	for _, r := range results {
		if !r.Already {
			made++
		}
		if r.Ticket != desk.TicketID(d.ID) {
			t.Errorf("%+v", r)
		}
	}
	if made != 1 {
		t.Errorf("%d made a ticket", made)
	}
	if n := tickets(t, f); n != 2 {
		t.Errorf("%d tickets", n)
	}
}

// Row 48: where all other checks fail, the file itself keeps a draft from having two
// tickets, and a ticket from having two drafts.
func TestLastBarrier(t *testing.T) {
	f := open(t)
	var drafts []desk.Draft
	for _, subject := range []string{"a", "b"} {
		d := must(f.Prepare(t.Context(), f.alice, "s", subject, "body"))(t)
		must(f.Confirm(t.Context(), f.alice, d.ID, d.Hash))(t)
		drafts = append(drafts, d)
	}
	db := raw(t, f.path)
	for column, statement := range map[string]string{
		"tickets.draft": `INSERT INTO tickets SELECT 'T2', tenant, user, subject, body, status, created, draft FROM tickets WHERE draft = ?1`,
		"drafts.ticket": `UPDATE drafts SET ticket = (SELECT ticket FROM drafts WHERE id <> ?1) WHERE id = ?1`,
	} {
		_, err := db.ExecContext(t.Context(), statement, drafts[0].ID)
		if err == nil || !strings.Contains(err.Error(), "UNIQUE constraint failed: "+column) {
			t.Errorf("%s: %v", column, err)
		}
	}
	if got := [...]string{desk.TicketID(""), desk.TicketID("D"), desk.TicketID("草"), desk.TicketID("Dab")}; got != [...]string{"", "", "", "Tab"} {
		t.Errorf("ids of tickets: %q", got)
	}
}
