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
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"weak"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

type runFunc = func(context.Context, tool.Call) (tool.Result, error)

func ofEffect(effect kernel.EffectClass, run runFunc) fake {
	s := spec("deed", emptySchema)
	s.Effect = effect
	return fake{spec: s, run: run}
}

func returning(r tool.Result, err error) runFunc {
	return func(context.Context, tool.Call) (tool.Result, error) { return r, err }
}

// keyed has a business key.
type keyed struct{ fake }

func (keyed) Key(tool.Call) (string, error) { return "k", nil }

// wordy is an error that runs code when it is asked for its text.
type wordy func() string

func (w wordy) Error() string { return w() }

// exiting is an error that ends the goroutine that looks into it.
type exiting struct{}

func (exiting) Error() string { return "secret" }

func (exiting) Unwrap() error { runtime.Goexit(); return nil }

const doubt = "the effect may have taken place; its outcome is unknown"

// Row 64 and design section 5: what a return means, by class.
func TestExecuteClassifies(t *testing.T) {
	busy := &tool.Error{Message: "busy", Transient: true}
	busyBefore := &tool.Error{Message: "busy", Transient: true, Disposition: kernel.DidNotHappen, Code: kernel.CodeConflict}
	for _, tt := range []struct {
		name   string
		tool   tool.Tool
		status kernel.Status
		disp   kernel.Disposition
		code   kernel.Code
		text   string
	}{
		{"result", ofEffect(kernel.Once, returning(tool.Result{Text: "done"}, nil)), kernel.StatusOK, kernel.Landed, "", "done"},
		{"own doubt", ofEffect(kernel.Once, returning(tool.Result{Text: "sent?", Disposition: kernel.InDoubt}, nil)), kernel.StatusOK, kernel.InDoubt, "", "sent?"},
		{"no such disposition", ofEffect(kernel.Once, returning(tool.Result{Text: "x", Disposition: "perhaps"}, nil)), kernel.StatusOK, kernel.InDoubt, "", "x"},
		{"empty result", ofEffect(kernel.Read, returning(tool.Result{Text: " \x00\n"}, nil)), kernel.StatusOK, kernel.Landed, "", "(no output)"},
		{"error result", ofEffect(kernel.Once, returning(tool.Result{Text: "no", IsError: true}, nil)), kernel.StatusError, kernel.Landed, "", "no"},
		{"error result of a read", ofEffect(kernel.Read, returning(tool.Result{Text: "no", IsError: true}, nil)), kernel.StatusError, kernel.DidNotHappen, "", "no"},

		{"plain error", ofEffect(kernel.Once, returning(tool.Result{}, errors.New("boom"))), kernel.StatusError, kernel.InDoubt, tool.CodeFailed, doubt},
		{"plain error, undeclared class", ofEffect("", returning(tool.Result{}, errors.New("boom"))), kernel.StatusError, kernel.InDoubt, tool.CodeFailed, doubt},
		{"plain error of a read", ofEffect(kernel.Read, returning(tool.Result{}, errors.New("boom"))), kernel.StatusError, kernel.DidNotHappen, tool.CodeFailed, `{"status":"error","code":"TOOL_FAILED","message":"boom"}`},
		{"kernel error", ofEffect(kernel.Idempotent, returning(tool.Result{}, &kernel.Error{Code: kernel.CodeNotFound, Message: "gone"})), kernel.StatusError, kernel.InDoubt, kernel.CodeNotFound, "gone; the effect may"},

		{"transient", ofEffect(kernel.Once, returning(tool.Result{}, busy)), kernel.StatusError, kernel.InDoubt, tool.CodeFailed, doubt},
		{"transient, wrapped", ofEffect(kernel.Once, returning(tool.Result{}, fmt.Errorf("call: %w", busyBefore))), kernel.StatusRetryable, kernel.DidNotHappen, kernel.CodeConflict, "busy"},
		{"transient read", ofEffect(kernel.Read, returning(tool.Result{}, busy)), kernel.StatusRetryable, kernel.DidNotHappen, tool.CodeFailed, "busy"},
		{"transient, idempotent", ofEffect(kernel.Idempotent, returning(tool.Result{}, busy)), kernel.StatusRetryable, kernel.InDoubt, tool.CodeFailed, doubt},
		{"transient, keyed", keyed{ofEffect(kernel.Once, returning(tool.Result{}, busy))}, kernel.StatusRetryable, kernel.InDoubt, tool.CodeFailed, doubt},
		{"permanent", ofEffect(kernel.Read, returning(tool.Result{}, &tool.Error{Message: "no"})), kernel.StatusError, kernel.DidNotHappen, tool.CodeFailed, "no"},
		{"fatal", ofEffect(kernel.Once, returning(tool.Result{}, &tool.Error{Message: "lost", Fatal: true, Transient: true, Disposition: kernel.DidNotHappen})), kernel.StatusFatal, kernel.DidNotHappen, tool.CodeFailed, "lost"},
		{"landed, then failed", ofEffect(kernel.Once, returning(tool.Result{}, &tool.Error{Message: "sent, no receipt", Disposition: kernel.Landed})), kernel.StatusError, kernel.Landed, tool.CodeFailed, "sent, no receipt"},
		{"text of its own", ofEffect(kernel.Once, returning(tool.Result{Text: "half of it", Data: json.RawMessage(`1`)}, &tool.Error{Code: tool.CodeTimeout})), kernel.StatusError, kernel.InDoubt, tool.CodeTimeout, "half of it"},

		{"panic", ofEffect(kernel.Once, func(context.Context, tool.Call) (tool.Result, error) { panic("secret") }), kernel.StatusError, kernel.InDoubt, kernel.CodeInternal, doubt},
		{"panic of a read", ofEffect(kernel.Read, func(context.Context, tool.Call) (tool.Result, error) { panic("secret") }), kernel.StatusError, kernel.DidNotHappen, kernel.CodeInternal, "failed unexpectedly"},
		{"goexit", ofEffect(kernel.Once, func(context.Context, tool.Call) (tool.Result, error) { runtime.Goexit(); panic("no") }), kernel.StatusError, kernel.InDoubt, kernel.CodeInternal, doubt},
		{"error that panics", ofEffect(kernel.Once, returning(tool.Result{}, (*tool.Error)(nil))), kernel.StatusError, kernel.InDoubt, kernel.CodeInternal, doubt},
		{"error that panics in words", ofEffect(kernel.Once, returning(tool.Result{}, wordy(func() string { panic("secret") }))), kernel.StatusError, kernel.InDoubt, kernel.CodeInternal, doubt},
		{"error that exits", ofEffect(kernel.Once, returning(tool.Result{}, wordy(func() string { runtime.Goexit(); return "" }))), kernel.StatusError, kernel.InDoubt, kernel.CodeInternal, doubt},
		{"error that exits, of a read", ofEffect(kernel.Read, returning(tool.Result{}, exiting{})), kernel.StatusError, kernel.DidNotHappen, kernel.CodeInternal, "failed unexpectedly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := tool.Border{}.Execute(t.Context(), bind(t, tt.tool, `{}`), tool.Call{})
			if o.Facts.Status != tt.status || o.Facts.Disposition != tt.disp || o.Facts.Code != tt.code {
				t.Errorf("facts %+v, want %s %s %q", o.Facts, tt.status, tt.disp, tt.code)
			}
			if !strings.Contains(o.Text, tt.text) || strings.Contains(o.Text, "secret") {
				t.Errorf("text %q, want %q", o.Text, tt.text)
			}
			if tt.disp != kernel.InDoubt && strings.Contains(o.Text, "unknown") {
				t.Errorf("text %q doubts what is known", o.Text)
			}
			if o.IsError != (tt.status != kernel.StatusOK) || o.Facts.Size != len(o.Text) || o.Facts.Digest == "" {
				t.Errorf("%+v", o)
			}
		})
	}
}

// Report A36: one of two parallel calls dereferences nil.
func TestExecuteContainsAPanic(t *testing.T) {
	var log bytes.Buffer
	b := tool.Border{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	bothStarted := make(chan struct{})
	var started sync.WaitGroup
	started.Add(2)
	go func() { started.Wait(); close(bothStarted) }()
	arrive := func() { started.Done(); <-bothStarted }

	bad := ofEffect(kernel.Read, func(context.Context, tool.Call) (tool.Result, error) {
		arrive()
		var p *tool.Result
		return *p, nil
	})
	good := ofEffect(kernel.Read, func(context.Context, tool.Call) (tool.Result, error) {
		arrive()
		return tool.Result{Text: "fine"}, nil
	})
	var outcomes [2]tool.Outcome
	var wg sync.WaitGroup
	for i, tl := range []tool.Tool{bad, good} {
		wg.Go(func() {
			outcomes[i] = b.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{ID: fmt.Sprint("call_", i), Run: "r1", Arguments: json.RawMessage(`{"k":"hunter2"}`)})
		})
	}
	wg.Wait()
	if o := outcomes[0]; !o.IsError || o.Facts.Code != kernel.CodeInternal || strings.Contains(o.Text, "goroutine") || strings.Contains(o.Text, ".go") {
		t.Errorf("the panicking call: %+v", o)
	}
	if outcomes[1].Text != "fine" {
		t.Errorf("the other call: %+v", outcomes[1])
	}
	if got := log.String(); !strings.Contains(got, "border_test.go") || !strings.Contains(got, "call_0") || strings.Contains(got, "hunter2") {
		t.Errorf("log %q", got)
	}
}

func TestExecuteTimeout(t *testing.T) {
	wait := func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	for _, tt := range []struct {
		effect kernel.EffectClass
		disp   kernel.Disposition
	}{{kernel.Read, kernel.DidNotHappen}, {kernel.Once, kernel.InDoubt}} {
		tl := ofEffect(tt.effect, wait)
		tl.spec.Limits.Timeout = time.Millisecond
		o := tool.Border{}.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{})
		if o.Facts.Code != tool.CodeTimeout || o.Facts.Disposition != tt.disp || !strings.Contains(o.Text, "timed out after 1ms") {
			t.Errorf("%s: %+v", tt.effect, o)
		}
		if strings.Contains(o.Text, doubt) != (tt.disp == kernel.InDoubt) {
			t.Errorf("%s: text %q", tt.effect, o.Text)
		}
	}
}

// A result that comes within the grace is a fact, late as it is.
func TestExecuteKeepsALateResult(t *testing.T) {
	tl := ofEffect(kernel.Once, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{Text: "sent"}, nil
	})
	tl.spec.Limits.Timeout = time.Millisecond
	if o := (tool.Border{}).Execute(t.Context(), bind(t, tl, `{}`), tool.Call{}); o.Text != "sent" || o.Facts.Disposition != kernel.Landed {
		t.Errorf("%+v", o)
	}
}

// Report A11's wording: interrupted is neither refused nor proven harmless.
func TestExecuteInterrupted(t *testing.T) {
	for _, tt := range []struct {
		effect kernel.EffectClass
		disp   kernel.Disposition
		text   string
	}{
		{kernel.Read, kernel.DidNotHappen, `"interrupted"`},
		{kernel.Once, kernel.InDoubt, `"interrupted: may have taken effect"`},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		tl := ofEffect(tt.effect, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			cancel()
			<-ctx.Done()
			return tool.Result{}, fmt.Errorf("stopped: %w", ctx.Err())
		})
		o := tool.Border{}.Execute(ctx, bind(t, tl, `{}`), tool.Call{})
		if o.Facts.Code != kernel.CodeCancelled || o.Facts.Disposition != tt.disp || !strings.Contains(o.Text, tt.text) {
			t.Errorf("%s: %+v", tt.effect, o)
		}
	}
}

// Row 54: nothing begins after the end, and what did not begin is not said to
// have perhaps taken effect.
func TestExecuteAfterTheEnd(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	for _, effect := range []kernel.EffectClass{kernel.Read, kernel.Once} {
		for _, tt := range []struct {
			ctx  context.Context
			code kernel.Code
			want string
		}{
			{cancelled, kernel.CodeCancelled, `{"status":"error","code":"CANCELLED","message":"not run: interrupted before it began"}`},
			{late, tool.CodeTimeout, `{"status":"error","code":"TIMEOUT","message":"not run: the run's time was over"}`},
		} {
			ran := false
			tl := ofEffect(effect, func(context.Context, tool.Call) (tool.Result, error) { ran = true; return tool.Result{}, nil })
			o := tool.Border{}.Execute(tt.ctx, bind(t, tl, `{}`), tool.Call{})
			if ran || o.Facts.Disposition != kernel.DidNotHappen || o.Facts.Code != tt.code || !o.IsError || o.Text != tt.want {
				t.Errorf("%s: ran %v, %+v, want %s", effect, ran, o, tt.want)
			}
		}
	}
}

// What a zero Binding stands for is not run.
func TestExecuteWithoutATool(t *testing.T) {
	none, found := newSet(t).Bind("none", kernel.Read)
	o := tool.Border{}.Execute(t.Context(), none, tool.Call{})
	if found || !o.IsError || o.Facts.Code != kernel.CodeUnknownTool || o.Facts.Disposition != kernel.DidNotHappen {
		t.Errorf("%+v", o)
	}
}

// turncoat says something else of itself each time it is asked.
type turncoat struct {
	asked *int
	run   runFunc
}

func (c turncoat) Spec() tool.Spec {
	s := spec("deed", emptySchema)
	if *c.asked++; *c.asked == 1 {
		s.Effect = kernel.Once
		s.Limits.MaxResult = 256
		return s
	}
	s.Name, s.Limits = "other", tool.Limits{MaxResult: 4096, Timeout: time.Nanosecond}
	return s
}

func (c turncoat) Effect(json.RawMessage) kernel.EffectClass {
	if *c.asked++; *c.asked > 2 {
		return kernel.Read
	}
	return kernel.Once
}

func (c turncoat) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	return c.run(ctx, call)
}

// Invariant I10: a tool that relabels itself after the decision is judged by
// the description and the class that were recorded.
func TestExecuteKeepsTheRecordedDescription(t *testing.T) {
	tl := turncoat{asked: new(int), run: returning(tool.Result{}, errors.New("the connection was lost"))}
	set := newSet(t, tl)
	recorded := set.EffectOf("deed", nil)
	for range 3 { // from now on it says that it only reads
		if now := set.EffectOf("deed", nil); now != kernel.Read {
			t.Fatalf("the tool does not relabel itself: %s", now)
		}
	}
	bound, _ := set.Bind("deed", recorded)
	if o := (tool.Border{}).Execute(t.Context(), bound, tool.Call{}); o.Facts.Disposition != kernel.InDoubt || !strings.Contains(o.Text, doubt) {
		t.Errorf("a lost call is taken for a read: %+v", o)
	}
	tl.run = returning(tool.Result{Text: strings.Repeat("x", 3000)}, nil)
	*tl.asked = 0
	bound, _ = newSet(t, tl).Bind("deed", "no such class")
	if o := (tool.Border{}).Execute(t.Context(), bound, tool.Call{}); len(o.Text) > 256 || o.IsError {
		t.Errorf("its own limit counts: %d bytes, %+v", len(o.Text), o.Facts)
	}
}

// A call has one outcome, also where its tool returns after it was abandoned.
func TestExecuteInPlaceHasOneOutcome(t *testing.T) {
	release := make(chan struct{})
	tl := ofEffect(kernel.Once, func(context.Context, tool.Call) (tool.Result, error) {
		<-release
		return tool.Result{Text: "too late"}, nil
	})
	tl.spec.Limits.Timeout = time.Millisecond
	var lost []tool.Outcome
	o := tool.Border{Grace: time.Millisecond}.ExecuteInPlace(t.Context(), bind(t, tl, `{}`), tool.Call{}, func(o tool.Outcome) {
		lost = append(lost, o)
		close(release)
	})
	if len(lost) != 1 || lost[0].Facts.Code != tool.CodeTimeout || o.Text != lost[0].Text || o.Facts != lost[0].Facts {
		t.Errorf("lost %+v, returned %+v", lost, o)
	}
}

// A tool that ignores its context does not hold up the run.
func TestExecuteAbandons(t *testing.T) {
	var log bytes.Buffer
	release, ended := make(chan struct{}), make(chan struct{})
	tl := ofEffect(kernel.Once, func(context.Context, tool.Call) (tool.Result, error) {
		defer close(ended)
		<-release
		return tool.Result{Text: "too late"}, nil
	})
	tl.spec.Limits.Timeout = time.Millisecond
	b := tool.Border{Grace: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	o := b.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{ID: "call_7"})
	if o.Facts.Code != tool.CodeTimeout || o.Facts.Disposition != kernel.InDoubt || !strings.Contains(o.Text, doubt) {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(log.String(), "tool abandoned") || !strings.Contains(log.String(), "call_7") {
		t.Errorf("log %q", log.String())
	}
	close(release)
	<-ended
}

// Nor does its error.
func TestExecuteAbandonsAnError(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	tl := ofEffect(kernel.Once, returning(tool.Result{}, wordy(func() string {
		defer close(ended)
		<-release
		return "too late"
	})))
	tl.spec.Limits.Timeout = time.Millisecond
	o := tool.Border{Grace: time.Millisecond}.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{})
	if o.Facts.Code != tool.CodeTimeout || o.Facts.Disposition != kernel.InDoubt {
		t.Errorf("%+v", o)
	}
	close(release)
	<-ended
}

// A tool that has returned is not abandoned, whether the end of its context came
// with that or before it.
func TestExecuteAbandonsNothingThatIsBack(t *testing.T) {
	const grace = time.Second
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			tl := ofEffect(kernel.Once, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				if late {
					<-ctx.Done()
					time.Sleep(grace / 2)
				}
				return tool.Result{Text: "done"}, nil
			})
			b := tool.Border{Grace: grace, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			o := b.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{})
			time.Sleep(2 * grace)
			synctest.Wait()
			if o.Text != "done" || log.Len() > 0 {
				t.Errorf("late %v: %q, log %q", late, o.Text, log.String())
			}
		})
	}
}

// The context of a call ends with it: what a tool has begun within it does not
// go on behind it.
func TestExecuteEndsTheContext(t *testing.T) {
	var kept []context.Context
	tl := ofEffect(kernel.Read, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		kept = append(kept, ctx)
		return tool.Result{Text: "done"}, ctx.Err()
	})
	o := tool.Border{}.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{})
	if o.IsError || !errors.Is(kept[0].Err(), context.Canceled) {
		t.Errorf("%q; the context of a call that is over says %v", o.Text, kept[0].Err())
	}
}

// A tool that keeps its context, for what goes on behind the call, keeps nothing
// else of it.
func TestExecuteLeavesNothingInTheContext(t *testing.T) {
	var kept []context.Context
	tl := ofEffect(kernel.Read, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		kept = append(kept, ctx, context.WithoutCancel(ctx))
		return tool.Result{Text: "done", Data: json.RawMessage(`{"rows":[1,2,3,4,5,6,7,8,9]}`)}, nil
	})
	b := bind(t, tl, `{}`)
	execute := func() (arguments, data weak.Pointer[byte]) {
		c := tool.Call{Arguments: json.RawMessage(strings.Repeat(" ", 1000) + "{}")}
		o := tool.Border{}.ExecuteInPlace(t.Context(), b, c, func(tool.Outcome) {})
		return weak.Make(&c.Arguments[0]), weak.Make(&o.Data[0])
	}
	arguments, data := execute()
	runtime.GC()
	if arguments.Value() != nil || data.Value() != nil {
		t.Errorf("arguments kept: %v, result kept: %v", arguments.Value() != nil, data.Value() != nil)
	}
	runtime.KeepAlive(kept)
}

// Report A28: of a text that is far too long only the two ends are looked at,
// and the count of what is left out holds.
func TestExecuteBoundsHugeResults(t *testing.T) {
	const size = 1000
	for _, unit := range []string{"\x1b]", "\x1b[31m", "汉", "line\n", "\xff", "x\r"} {
		text := "head" + strings.Repeat(unit, 1<<20) + "tail"
		tl := ofEffect(kernel.Read, returning(tool.Result{Text: text}, nil))
		tl.spec.Limits.MaxResult = size
		o := tool.Border{}.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{})
		if len(o.Text) > size || o.Facts.Omitted < int64(len(text)-5*size) || o.Facts.Omitted > int64(len(text)) || !strings.HasSuffix(o.Text, "tail") {
			t.Errorf("%q: %d bytes, %d of %d omitted: %.40q", unit, len(o.Text), o.Facts.Omitted, len(text), o.Text)
		}
		failing := ofEffect(kernel.Read, returning(tool.Result{}, errors.New(text)))
		failing.spec.Limits.MaxResult = size
		if o := (tool.Border{}).Execute(t.Context(), bind(t, failing, `{}`), tool.Call{}); len(o.Text) > size || !json.Valid([]byte(o.Text)) {
			t.Errorf("%q as an error: %d bytes: %.40q", unit, len(o.Text), o.Text)
		}
	}
}

// Report A19 (c): no control character but \n and \t reaches a request as
// itself. A typed result keeps it as an escape, so that nothing is lost.
func TestExecuteShowsNoControlCharacter(t *testing.T) {
	var all strings.Builder
	for r := range rune(0xa1) {
		all.WriteRune(r)
	}
	text := "\x1b[31mred\u009b0m\x1b]0;t\a" + all.String()
	echo, err := tool.Func(spec("deed", emptySchema), func(context.Context, tool.Call, struct{}) (string, error) { return text, nil })
	if err != nil {
		t.Fatal(err)
	}
	for name, tl := range map[string]tool.Tool{
		"typed": echo,
		"plain": ofEffect(kernel.Read, returning(tool.Result{Text: text}, nil)),
		"error": ofEffect(kernel.Read, returning(tool.Result{}, errors.New(text))),
		"own":   ofEffect(kernel.Read, returning(tool.Result{Text: text}, &tool.Error{Message: text})),
	} {
		o := tool.Border{}.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{Arguments: json.RawMessage(`{}`)})
		if i := strings.IndexFunc(o.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%s: a control character at %d of %q", name, i, o.Text)
		}
		if name != "typed" {
			continue
		}
		var kept struct{ Result string }
		if err := json.Unmarshal([]byte(o.Text), &kept); err != nil || kept.Result != text {
			t.Errorf("the content became %q, %v", kept.Result, err)
		}
	}
}

// Reports A19 (e) and A28: whatever a tool returns is bounded and clean.
func TestExecuteBoundsResults(t *testing.T) {
	tl := ofEffect(kernel.Read, returning(tool.Result{Text: "\x1b[31m" + strings.Repeat("汉", 20000) + "\xff"}, nil))
	tl.spec.Limits.MaxResult = 1000
	o := tool.Border{}.Execute(t.Context(), bind(t, tl, `{}`), tool.Call{})
	want := int64(3*20000 + 3)
	checkExcerpt(t, strings.TrimSuffix(o.Text, "\ufffd")+"", o.Facts.Omitted+3, 1000, int(want))
	if !strings.HasSuffix(o.Text, "汉\ufffd") {
		t.Errorf("tail %q", o.Text[len(o.Text)-10:])
	}

	long := errors.New(strings.Repeat(`"`, 100_000))
	failing := ofEffect(kernel.Once, returning(tool.Result{}, long))
	failing.spec.Limits.MaxResult = 4096
	if o := (tool.Border{}).Execute(t.Context(), bind(t, failing, `{}`), tool.Call{}); len(o.Text) > 4096 || !json.Valid([]byte(o.Text)) && o.Facts.Omitted == 0 {
		t.Errorf("error text of %d bytes", len(o.Text))
	}
}

func TestExecuteDropsFactsThatAreNotJSON(t *testing.T) {
	big := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for name, data := range map[string]json.RawMessage{"broken": json.RawMessage(`{`), "bytes": json.RawMessage("\"\xff\""), "big": big} {
		o := tool.Border{}.Execute(t.Context(), bind(t, ofEffect(kernel.Read, returning(tool.Result{Text: "x", Data: data}, nil)), `{}`), tool.Call{})
		if o.Data != nil || len(o.Warnings) != 1 || o.Text != "x" {
			t.Errorf("%s: %d bytes of data, warnings %q", name, len(o.Data), o.Warnings)
		}
	}
	o := tool.Border{}.Execute(t.Context(), bind(t, ofEffect(kernel.Read, returning(tool.Result{Text: "x", Data: json.RawMessage(`{"a":1}`)}, nil)), `{}`), tool.Call{})
	if string(o.Data) != `{"a":1}` || o.Warnings != nil {
		t.Errorf("%+v", o)
	}
}

// traced is a context of the embedding program with a value.
type traced struct{ context.Context }

func (c traced) Value(key any) any {
	if key == (traced{}) {
		return "trace"
	}
	return c.Context.Value(key)
}

// Row 32: identity and the like reach the tool as the host gave them, and so do
// the values of its context.
func TestExecutePassesTheCall(t *testing.T) {
	want := tool.Call{ID: "c", Run: "r", Session: "s", Tenant: "t", User: "u", Turn: 2, Attempt: 1, Key: "k"}
	tl := ofEffect(kernel.Read, func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the tool has no deadline")
		}
		if got := ctx.Value(traced{}); got != "trace" {
			t.Errorf("the context has the value %v", got)
		}
		return tool.Result{Text: fmt.Sprintf("%+v", c)}, nil
	})
	if o := (tool.Border{}).Execute(traced{t.Context()}, bind(t, tl, `{}`), want); o.Text != fmt.Sprintf("%+v", want) {
		t.Errorf("call %s", o.Text)
	}
}
