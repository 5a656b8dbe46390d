package desk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/kernel"
)

func travel() desk.Policy {
	return desk.Policy{ID: "P7", Version: "1", Title: "Travel", Body: "text", ValidFrom: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// Report A45: what names a policy, its tenant or its viewers is what it looks
// like, and takes up one place in a line.
func TestPolicyNames(t *testing.T) {
	id := func(s string) func(*desk.Policy, *string) { return func(p *desk.Policy, _ *string) { p.ID = s } }
	title := func(s string) func(*desk.Policy, *string) { return func(p *desk.Policy, _ *string) { p.Title = s } }
	version := func(s string) func(*desk.Policy, *string) { return func(p *desk.Policy, _ *string) { p.Version = s } }
	tenant := func(s string) func(*desk.Policy, *string) { return func(_ *desk.Policy, t *string) { *t = s } }
	viewer := func(s string) func(*desk.Policy, *string) {
		return func(p *desk.Policy, _ *string) { p.Viewers = []string{s} }
	}
	for name, change := range map[string]func(*desk.Policy, *string){
		"two lines": id("P1\nP2"), "a blank": id("P1 P9001"), "an ideographic blank": id("P1\u3000P2"), "a joiner": id("P1001\u200d"),
		"wide letters": id("Ｐ1001"), "a letter of Greek": id("Ρ1001"), "a letter of Cyrillic": id("АС-101"), "a radical": id("\u2f08事-1"),
		"a compatibility character": id("\ufa30"), "a path": id("../x"), "a flag": id("-"), "the end of a sentence": id("P1."),
		"a title of two lines": title("Travel\nP1001"), "a title of two paragraphs": title("Travel\u2029P1001"), "a title turned round": title("a\u202eb"),
		"a version of two lines": version("1\n2"), "a version with a tab": version("1\t2"),
		"a tenant that poses as another": tenant("acмe"), "a wide tenant": tenant("ａcme"), "no tenant": tenant(""),
		"a viewer that poses as another": viewer("аlice"), "a viewer of two lines": viewer("alice\nbob"),
	} {
		t.Run(name, func(t *testing.T) {
			p, whose := travel(), "acme"
			change(&p, &whose)
			err := p.Check(whose)
			if kernel.CodeOf(err) != kernel.CodeInvalidArgument {
				t.Fatalf("got %v", err)
			}
			if strings.ContainsAny(err.Error(), "\n\t\u200d\u202e\u2029") {
				t.Errorf("the message shows what must not be shown: %q", err)
			}
		})
	}
	for name, change := range map[string]func(*desk.Policy, *string){
		"a hyphen": id("AC-101"), "Chinese": id("差旅制度"), "an official number": id("财办〔2026〕12号"), "a standard": id("Q/ACME-001.2(b)"), "one digit": id("7"),
		"a wide blank": title("关于　差旅的规定"), "an emoji of several": title("Home 🧑\u200d💻"), "Persian": title("می\u200cخواهم"),
		"a version with a blank": version("2026 rev. 2"), "a Chinese tenant": tenant("某某公司 East"), "a Cyrillic tenant": tenant("Ромашка"), "a Chinese viewer": viewer("张三"),
	} {
		t.Run(name, func(t *testing.T) {
			p, whose := travel(), "acme"
			change(&p, &whose)
			if err := p.Check(whose); err != nil {
				t.Error(err)
			}
		})
	}
}

// Row 103: a version comes into force on its day, and never at once because no
// number holds that day.
func TestPolicyValidFrom(t *testing.T) {
	for _, from := range []time.Time{
		time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), time.Date(2200, 1, 1, 0, 0, 0, 0, time.FixedZone("", -3600)),
	} {
		p := travel()
		p.ValidFrom = from
		if err := p.Check("acme"); kernel.CodeOf(err) != kernel.CodeInvalidArgument {
			t.Errorf("%s: got %v", from, err)
		}
	}
	for _, from := range []time.Time{{}, time.Unix(0, 0), time.Date(2199, 12, 31, 0, 0, 0, 0, time.UTC)} {
		p := travel()
		p.ValidFrom = from
		if err := p.Check("acme"); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
	always, epoch := travel(), travel()
	always.ValidFrom, epoch.ValidFrom = time.Time{}, time.Unix(0, 0)
	if always.Hash() != epoch.Hash() {
		t.Error("always is another day than 1970")
	}
}
