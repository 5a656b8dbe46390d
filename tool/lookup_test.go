package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

type lookupFunc = func(context.Context, tool.Call) (tool.Found, error)

// lookuper is a reconcilable tool whose runs nobody asks for.
type lookuper struct {
	fake
	lookup lookupFunc
}

func (l lookuper) Lookup(ctx context.Context, c tool.Call) (tool.Found, error) {
	return l.lookup(ctx, c)
}

func withLookup(lookup lookupFunc) lookuper {
	return lookuper{ofEffect(kernel.Reconcilable, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("a lookup ran the tool")
	}), lookup}
}

func finding(f tool.Found, err error) lookupFunc {
	return func(context.Context, tool.Call) (tool.Found, error) { return f, err }
}

// Row 64: what a tool finds of an effect, and that whatever says nothing
// clear leaves it unknown.
func TestLookupClassifies(t *testing.T) {
	present := func(r tool.Result) tool.Found { return tool.Found{Presence: kernel.Present, Result: r} }
	for _, tt := range []struct {
		name   string
		lookup lookupFunc
		found  kernel.Presence
		want   string // of the text, or of the warning where nothing is known
	}{
		{"present", finding(present(tool.Result{Text: "sent"}), nil), kernel.Present, "sent"},
		{"present and said to have landed", finding(present(tool.Result{Text: "sent", Disposition: kernel.Landed}), nil), kernel.Present, "sent"},
		{"present as an error result", finding(present(tool.Result{Text: "bounced", IsError: true}), nil), kernel.Present, "bounced"},
		{"present without words", finding(present(tool.Result{}), nil), kernel.Present, "(no output)"},
		{"absent", finding(tool.Found{Presence: kernel.Absent, Result: tool.Result{Text: "nothing"}}, nil), kernel.Absent, ""},
		{"unknown", finding(tool.Found{Presence: kernel.PresenceUnknown}, nil), kernel.PresenceUnknown, "cannot tell"},
		{"zero", finding(tool.Found{}, nil), kernel.PresenceUnknown, "cannot tell"},
		{"nonsense", finding(tool.Found{Presence: "perhaps"}, nil), kernel.PresenceUnknown, "cannot tell"},
		{"present and did not happen", finding(present(tool.Result{Disposition: kernel.DidNotHappen}), nil), kernel.PresenceUnknown, "present and not landed"},
		{"present and in doubt", finding(present(tool.Result{Disposition: kernel.InDoubt}), nil), kernel.PresenceUnknown, "present and not landed"},
		{"absent with an error", finding(tool.Found{Presence: kernel.Absent}, errors.New("the line is down")), kernel.PresenceUnknown, "the line is down"},
		{"classified error", finding(tool.Found{Presence: kernel.Present}, &tool.Error{Message: "the line is busy", Transient: true, Disposition: kernel.Landed}), kernel.PresenceUnknown, "the line is busy"},
		{"panic", func(context.Context, tool.Call) (tool.Found, error) { panic("hunter2") }, kernel.PresenceUnknown, "failed unexpectedly"},
		{"error that panics", finding(tool.Found{Presence: kernel.Present}, wordy(func() string { panic("hunter2") })), kernel.PresenceUnknown, "failed unexpectedly"},
		{"end of the goroutine", func(context.Context, tool.Call) (tool.Found, error) { runtime.Goexit(); return tool.Found{}, nil }, kernel.PresenceUnknown, "failed unexpectedly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, o := tool.Border{}.Lookup(t.Context(), bind(t, withLookup(tt.lookup), `{}`), tool.Call{})
			if found != tt.found {
				t.Fatalf("found %s, %+v", found, o)
			}
			said := o.Text
			if found == kernel.PresenceUnknown {
				said = strings.Join(o.Warnings, "\n")
				if strings.Contains(said, "hunter2") || strings.Contains(said, doubt) {
					t.Errorf("a panic's words are shown, or the lookup is taken for an effect: %s", said)
				}
			}
			if !strings.Contains(said, tt.want) || found == kernel.Absent && said != "" {
				t.Errorf("said %q", said)
			}
			if found == kernel.Present {
				if o.Facts.Disposition != kernel.Landed || o.Facts.Size != len(o.Text) || o.IsError != (tt.name == "present as an error result") {
					t.Errorf("%+v", o)
				}
			} else if o.Facts != (kernel.ResultFacts{}) {
				t.Errorf("facts without a result: %+v", o.Facts)
			}
		})
	}
}

// What is found is told as what the tool returns, cleaned and bounded, to the
// byte: the model cannot tell the two apart.
func TestLookupTellsWhatRunTells(t *testing.T) {
	for _, r := range []tool.Result{
		{Text: "sent\x1b[31m", Data: json.RawMessage(`{"id":7}`)},
		{Text: strings.Repeat("x", 100<<10)},
		{Text: "refused by the other side", IsError: true, Disposition: kernel.Landed},
		{Text: "x", Data: json.RawMessage(`{`)},
	} {
		tl := withLookup(finding(tool.Found{Presence: kernel.Present, Result: r}, nil))
		tl.run = returning(r, nil)
		bound := bind(t, tl, `{}`)
		ran := tool.Border{}.Execute(t.Context(), bound, tool.Call{})
		found, looked := tool.Border{}.Lookup(t.Context(), bound, tool.Call{})
		if found != kernel.Present || fmt.Sprintf("%+v", looked) != fmt.Sprintf("%+v", ran) {
			t.Errorf("found %s\n%+v\nran\n%+v", found, looked, ran)
		}
	}
}

// An effect that is there has landed, whatever the class of the call was.
func TestLookupFindsWhatLanded(t *testing.T) {
	tl := withLookup(finding(tool.Found{Presence: kernel.Present, Result: tool.Result{Text: "bounced", IsError: true}}, nil))
	for _, effect := range []kernel.EffectClass{kernel.Read, kernel.Idempotent, kernel.Reconcilable, kernel.Once} {
		bound, _ := newSet(t, tl).Bind("deed", effect)
		if found, o := (tool.Border{}).Lookup(t.Context(), bound, tool.Call{}); found != kernel.Present || o.Facts.Disposition != kernel.Landed {
			t.Errorf("%s: found %s, %+v", effect, found, o)
		}
	}
}

// The tool is asked about the call as it was run, and nothing is run.
func TestLookupPassesTheCall(t *testing.T) {
	var got tool.Call
	tl := withLookup(func(_ context.Context, c tool.Call) (tool.Found, error) {
		got = c
		return tool.Found{Presence: kernel.Absent}, nil
	})
	c := tool.Call{ID: "call_1", Run: "r1", Session: "s", Tenant: "t", User: "u", Turn: 3, Attempt: 2, Key: "k", Arguments: json.RawMessage(`{}`)}
	found, o := tool.Border{}.Lookup(t.Context(), bind(t, tl, `{}`), c)
	if found != kernel.Absent || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c) {
		t.Errorf("found %s, %+v, asked %+v", found, o, got)
	}
}

// Tools that cannot be asked are not asked; a tool that cannot any more leaves
// a recorded reconcilable call unknown.
func TestLookupWithoutALookuper(t *testing.T) {
	bound, _ := newSet(t, fake{spec: spec("deed", emptySchema)}).Bind("deed", kernel.Reconcilable)
	for name, b := range map[string]tool.Binding{"none": bound, "zero": {}} {
		found, o := tool.Border{}.Lookup(t.Context(), b, tool.Call{})
		if found != kernel.PresenceUnknown || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "cannot be asked") {
			t.Errorf("%s: found %s, %+v", name, found, o)
		}
	}
}

func TestLookupAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := false
	tl := withLookup(func(context.Context, tool.Call) (tool.Found, error) {
		asked = true
		return tool.Found{Presence: kernel.Absent}, nil
	})
	if found, o := (tool.Border{}).Lookup(ctx, bind(t, tl, `{}`), tool.Call{}); asked || found != kernel.PresenceUnknown {
		t.Errorf("asked %v, found %s, %+v", asked, found, o)
	}
}

// An answer counts only while its time lasts: what is absent after a timeout may
// be on its way.
func TestLookupIgnoresALateAnswer(t *testing.T) {
	tl := withLookup(func(ctx context.Context, _ tool.Call) (tool.Found, error) {
		<-ctx.Done()
		return tool.Found{Presence: kernel.Absent}, nil
	})
	tl.spec.Limits.Timeout = time.Millisecond
	found, o := tool.Border{}.Lookup(t.Context(), bind(t, tl, `{}`), tool.Call{})
	if found != kernel.PresenceUnknown || !strings.Contains(o.Warnings[0], "timed out after 1ms") {
		t.Errorf("found %s, %+v", found, o)
	}
}

// A lookup that ignores its context holds nothing up, and has one answer.
func TestLookupAbandons(t *testing.T) {
	var log bytes.Buffer
	release, ended := make(chan struct{}), make(chan struct{})
	tl := withLookup(func(context.Context, tool.Call) (tool.Found, error) {
		defer close(ended)
		<-release
		return tool.Found{Presence: kernel.Absent}, nil
	})
	tl.spec.Limits.Timeout = time.Millisecond
	b := tool.Border{Grace: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	if found, o := b.Lookup(t.Context(), bind(t, tl, `{}`), tool.Call{ID: "call_7"}); found != kernel.PresenceUnknown {
		t.Errorf("found %s, %+v", found, o)
	}
	if !strings.Contains(log.String(), "tool=deed") || !strings.Contains(log.String(), "call_7") {
		t.Errorf("log %q", log.String())
	}
	close(release)
	<-ended

	again := make(chan struct{})
	tl.lookup = func(context.Context, tool.Call) (tool.Found, error) {
		<-again
		return tool.Found{Presence: kernel.Absent}, nil
	}
	var lost []kernel.Presence
	found, _ := b.LookupInPlace(t.Context(), bind(t, tl, `{}`), tool.Call{}, func(p kernel.Presence, _ tool.Outcome) {
		lost = append(lost, p)
		close(again)
	})
	if len(lost) != 1 || lost[0] != kernel.PresenceUnknown || found != lost[0] {
		t.Errorf("lost %v, returned %s", lost, found)
	}
}

// A typed tool finds what it would have told, and cannot look for what it does
// not understand.
func TestReconcilable(t *testing.T) {
	booked := map[string]bool{}
	book := func(_ context.Context, _ tool.Call, in order) (map[string]string, error) {
		booked[in.Item] = true
		return map[string]string{"booked": in.Item}, nil
	}
	look := func(_ context.Context, _ tool.Call, in order) (kernel.Presence, map[string]string, error) {
		switch {
		case in.Item == "fog":
			return "", nil, errors.New("the line is down")
		case booked[in.Item]:
			return kernel.Present, map[string]string{"booked": in.Item}, nil
		}
		return kernel.Absent, map[string]string{"never": "told"}, nil
	}
	tl, err := tool.Reconcilable(orderSpec(""), book, look)
	if err != nil {
		t.Fatal(err)
	}
	set := newSet(t, tl)
	if got := set.EffectOf("order", nil); got != kernel.Reconcilable {
		t.Errorf("class %s", got)
	}
	bound, _ := set.Bind("order", kernel.Reconcilable)
	lookup := func(args string) (kernel.Presence, tool.Outcome) {
		return tool.Border{}.Lookup(t.Context(), bound, tool.Call{Arguments: json.RawMessage(args)})
	}
	const args = `{"item":"tea","count":1}`
	if found, o := lookup(args); found != kernel.Absent || o.Text != "" {
		t.Errorf("before: %s, %+v", found, o)
	}
	ran := run(t, tl, args)
	if found, o := lookup(args); found != kernel.Present || o.Text != ran.Text || string(o.Data) != string(ran.Data) || o.Facts != ran.Facts {
		t.Errorf("after: %s, %+v, ran %+v", found, o, ran)
	}
	for _, args := range []string{`{"item":"fog","count":1}`, `{"item":7,"count":1}`, `{"item":"tea","count":1,"new":2}`, ``} {
		if found, o := lookup(args); found != kernel.PresenceUnknown || len(o.Warnings) != 1 {
			t.Errorf("%s: %s, %+v", args, found, o)
		}
	}
}

func TestReconcilableKeepsAResult(t *testing.T) {
	r := tool.Result{Text: "as it is", IsError: true, Data: json.RawMessage(`1`)}
	tl, err := tool.Reconcilable(orderSpec(kernel.Reconcilable),
		func(context.Context, tool.Call, order) (tool.Result, error) { return r, nil },
		func(context.Context, tool.Call, order) (kernel.Presence, tool.Result, error) {
			return kernel.Present, r, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	const args = `{"item":"tea","count":1}`
	found, o := tool.Border{}.Lookup(t.Context(), bind(t, tl, args), tool.Call{Arguments: json.RawMessage(args)})
	if found != kernel.Present || o.Text != r.Text || !o.IsError || string(o.Data) != `1` {
		t.Errorf("found %s, %+v", found, o)
	}
}

func TestReconcilableRefuses(t *testing.T) {
	fn := func(context.Context, tool.Call, order) (int, error) { return 0, nil }
	look := func(context.Context, tool.Call, order) (kernel.Presence, int, error) { return kernel.Absent, 0, nil }
	for name, f := range map[string]func() (tool.Tool, error){
		"class":     func() (tool.Tool, error) { return tool.Reconcilable(orderSpec(kernel.Once), fn, look) },
		"no lookup": func() (tool.Tool, error) { return tool.Reconcilable[order, int](orderSpec(""), fn, nil) },
		"no run":    func() (tool.Tool, error) { return tool.Reconcilable[order, int](orderSpec(""), nil, look) },
		"no name":   func() (tool.Tool, error) { return tool.Reconcilable(tool.Spec{Description: "Orders."}, fn, look) },
		"in a set": func() (tool.Tool, error) {
			tl, _ := tool.Func(orderSpec(kernel.Reconcilable), fn)
			return tl, inSet(tl)
		},
	} {
		if _, err := f(); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func inSet(tl tool.Tool) error { _, err := tool.NewSet(tl); return err }
