package verify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/verify"
)

func ran(id, data string) verify.Result {
	return verify.Result{
		Evidence: id, Tool: "run_program", Disposition: kernel.Landed,
		Arguments: json.RawMessage(`{"program":"main"}`), Data: json.RawMessage(data),
	}
}

func with(r verify.Result, change func(*verify.Result)) verify.Result {
	change(&r)
	return r
}

// Rows 19 and 98: a verdict rests on what was stored of the run, and on
// nothing that the model says.
func TestProgram(t *testing.T) {
	good := ran("r1", `{"program":"main","exit_code":0,"stdout":"42\n"}`)
	tests := []struct {
		name     string
		results  []verify.Result
		verified bool
		finding  string // part of it
		evidence string
	}{
		{"nothing ran", nil, false, "main has not run", ""},
		{"another program ran", []verify.Result{ran("r1", `{"program":"lint","exit_code":0,"stdout":"42"}`)}, false, "main has not run", ""},
		{"another tool's result looks alike", []verify.Result{with(good, func(r *verify.Result) { r.Tool = "read_file" })}, false, "main has not run", ""},
		{"printed 42", []verify.Result{good}, true, "exited with 0 and printed", "r1"},
		{"no newline", []verify.Result{ran("r1", `{"program":"main","exit_code":0,"stdout":"42"}`)}, true, "exited with 0", "r1"},
		{"two newlines", []verify.Result{ran("r1", `{"program":"main","exit_code":0,"stdout":"42\n\n"}`)}, false, `printed "42\n", not "42"`, "r1"},
		{"leading space", []verify.Result{ran("r1", `{"program":"main","exit_code":0,"stdout":" 42"}`)}, false, `printed " 42"`, "r1"},
		{"wrong exit code", []verify.Result{ran("r1", `{"program":"main","exit_code":3,"stdout":"42\n"}`)}, false, "exited with 3, not 0", "r1"},
		{"the last one counts: worse", []verify.Result{good, ran("r2", `{"program":"main","exit_code":1,"stdout":""}`)}, false, "exited with 1", "r2"},
		{"the last one counts: better", []verify.Result{ran("r0", `{"program":"main","exit_code":1,"stdout":""}`), good}, true, "exited with 0", "r1"},
		{"another one after it", []verify.Result{good, ran("r2", `{"program":"lint","exit_code":1,"stdout":""}`)}, true, "exited with 0", "r1"},
		{"in doubt", []verify.Result{good, with(good, func(r *verify.Result) { r.Evidence = "r2"; r.Disposition = kernel.InDoubt })}, false, "unknown", "r2"},
		{"in doubt, without facts", []verify.Result{good, with(ran("r2", ""), func(r *verify.Result) { r.IsError = true; r.Disposition = kernel.InDoubt })}, false, "unknown", "r2"},
		{"did not start", []verify.Result{good, with(ran("r2", ""), func(r *verify.Result) { r.IsError = true; r.Disposition = kernel.DidNotHappen })}, false, "did not run", "r2"},
		{"failed without facts", []verify.Result{good, with(ran("r2", ""), func(r *verify.Result) { r.IsError = true })}, false, "failed", "r2"},
		{"timed out", []verify.Result{good, ran("r2", `{"program":"main","exit_code":0,"stdout":"42\n","timed_out":true}`)}, false, "timed out", "r2"},
		{"timed out, in doubt", []verify.Result{with(ran("r2", `{"program":"main","exit_code":-1,"signal":"terminated","stdout":"42\n","timed_out":true}`), func(r *verify.Result) { r.IsError = true; r.Disposition = kernel.InDoubt })}, false, "timed out", "r2"},
		{"interrupted read", []verify.Result{with(ran("r2", `{"program":"main","exit_code":-1,"signal":"terminated","stdout":"42\n","interrupted":true}`), func(r *verify.Result) { r.IsError = true; r.Disposition = kernel.DidNotHappen })}, false, "was interrupted", "r2"},
		{"ended by a signal", []verify.Result{ran("r2", `{"program":"main","exit_code":-1,"signal":"killed","stdout":"42\n"}`)}, false, "ended by a signal: \"killed\"", "r2"},
		{"other arguments", []verify.Result{good, with(good, func(r *verify.Result) {
			r.Evidence, r.Arguments = "r2", json.RawMessage(`{"program":"main","args":["--echo","42"]}`)
		})}, false, "main was run with arguments that the check does not name", "r2"},
		{"no arguments, said so", []verify.Result{with(good, func(r *verify.Result) { r.Arguments = json.RawMessage(`{"program":"main","args":[]}`) })}, true, "exited with 0", "r1"},
		{"timed out without an exit code", []verify.Result{ran("r2", `{"program":"main","exit_code":null,"stdout":"","timed_out":true}`)}, false, "timed out", "r2"},
	}
	want := "42"
	p := verify.Program{Tool: "run_program", Program: "main", Stdout: &want}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := p.Verify(t.Context(), verify.Facts{Results: tt.results, Answer: "It printed 42."})
			if err != nil {
				t.Fatal(err)
			}
			if v.Verified != tt.verified || !strings.Contains(v.Finding, tt.finding) {
				t.Errorf("got %v %q, want %v %q", v.Verified, v.Finding, tt.verified, tt.finding)
			}
			if got := strings.Join(v.Evidence, ","); got != tt.evidence {
				t.Errorf("evidence %q, want %q", got, tt.evidence)
			}
		})
	}
}

// A check may name the arguments; then these count, in their order, and no
// others.
func TestProgramWithArguments(t *testing.T) {
	p := verify.Program{Tool: "run_program", Program: "main", Args: []string{"--port", "80"}}
	for args, want := range map[string]bool{
		`,"args":["--port","80"]`:      true,
		`,"args":["80","--port"]`:      false,
		`,"args":["--port","80","-v"]`: false,
		`,"args":["--port","80 "]`:     false,
		`,"args":[]`:                   false,
		``:                             false,
	} {
		r := with(ran("r1", `{"program":"main","exit_code":0,"stdout":""}`), func(r *verify.Result) {
			r.Arguments = json.RawMessage(`{"program":"main"` + args + `}`)
		})
		if v, err := p.Verify(t.Context(), verify.Facts{Results: []verify.Result{r}}); err != nil || v.Verified != want {
			t.Errorf("%s: got %+v, %v, want %v", args, v, err, want)
		}
	}
}

func TestProgramWithoutStdoutLooksAtTheExitCodeAlone(t *testing.T) {
	p := verify.Program{Tool: "run_program", Program: "main", ExitCode: 7}
	v, err := p.Verify(t.Context(), verify.Facts{Results: []verify.Result{ran("r1", `{"program":"main","exit_code":7}`)}})
	if err != nil || !v.Verified {
		t.Errorf("got %+v, %v", v, err)
	}
}

// A result that cannot be read concludes nothing, one way or the other, and an
// older good one does not stand in for it.
func TestProgramUnreadableIsAnError(t *testing.T) {
	good := ran("r1", `{"program":"main","exit_code":0,"stdout":"42\n"}`)
	bad := map[string]verify.Result{
		"no JSON":               ran("r2", `{"program":`),
		"an array":              ran("r2", `[]`),
		"null":                  ran("r2", `null`),
		"no program":            ran("r2", `{"exit_code":0,"stdout":"42"}`),
		"no exit code":          ran("r2", `{"program":"main","stdout":"42"}`),
		"exit code is text":     ran("r2", `{"program":"main","exit_code":"0","stdout":"42"}`),
		"exit code is true":     ran("r2", `{"program":"main","exit_code":true,"stdout":"42"}`),
		"exit code is 0.5":      ran("r2", `{"program":"main","exit_code":0.5,"stdout":"42"}`),
		"no stdout":             ran("r2", `{"program":"main","exit_code":0}`),
		"arguments are no list": with(good, func(r *verify.Result) { r.Arguments = json.RawMessage(`{"program":"main","args":"42"}`) }),
		"nothing at all":        {Evidence: "r2", Tool: "run_program"},
		"facts only as wished": with(ran("r2", ""), func(r *verify.Result) {
			r.Arguments = json.RawMessage(`{"program":"main","exit_code":0,"stdout":"42"}`)
		}),
	}
	want := "42"
	p := verify.Program{Tool: "run_program", Program: "main", Stdout: &want}
	for name, r := range bad {
		t.Run(name, func(t *testing.T) {
			v, err := p.Verify(t.Context(), verify.Facts{Results: []verify.Result{good, r}})
			if kernel.CodeOf(err) != kernel.CodeInvalidArgument {
				t.Errorf("got %+v, %v, want INVALID_ARGUMENT", v, err)
			}
		})
	}
}

// A finding about output that was cut says so. What was cut from standard
// error does not matter.
func TestProgramCutOutput(t *testing.T) {
	want := "42"
	p := verify.Program{Tool: "run_program", Program: "main", Stdout: &want}
	r := ran("r1", `{"program":"main","exit_code":0,"stdout":"4\n[9 bytes omitted]\n2","omitted_bytes":9}`)
	v, err := p.Verify(t.Context(), verify.Facts{Results: []verify.Result{r}})
	if err != nil || v.Verified || !strings.Contains(v.Finding, "9 bytes of its output were not kept") {
		t.Errorf("got %+v, %v", v, err)
	}
	long := strings.Repeat("4", 50)
	q := verify.Program{Tool: "run_program", Program: "main", Stdout: &long}
	if v, err := q.Verify(t.Context(), verify.Facts{Results: []verify.Result{r}}); err != nil || v.Verified ||
		v.Finding != "what was recorded of the output of main was cut at 21 bytes and cannot be judged: 50 bytes are expected" {
		t.Errorf("got %+v, %v", v, err)
	}
	r = ran("r1", `{"program":"main","exit_code":0,"stdout":"42\n","omitted_bytes":9}`)
	if v, err := p.Verify(t.Context(), verify.Facts{Results: []verify.Result{r}}); err != nil || !v.Verified {
		t.Errorf("got %+v, %v", v, err)
	}
}

// Report A28: a finding quotes a bounded part of the output, cut between runes.
func TestProgramFindingIsBounded(t *testing.T) {
	want := strings.Repeat("汉", 500)
	p := verify.Program{Tool: "run_program", Program: "main", Stdout: &want}
	data, err := json.Marshal(map[string]any{"program": "main", "exit_code": 0, "stdout": "a" + strings.Repeat("汉", 5000)})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Verify(t.Context(), verify.Facts{Results: []verify.Result{ran("r1", string(data))}})
	if err != nil || v.Verified {
		t.Fatalf("got %+v, %v", v, err)
	}
	if len(v.Finding) > 2000 || !utf8.ValidString(v.Finding) || strings.Contains(v.Finding, "\uFFFD") {
		t.Errorf("finding of %d bytes: %q", len(v.Finding), v.Finding)
	}
}

func ExampleProgram() {
	want := "42"
	p := verify.Program{Tool: "run_program", Program: "main", Stdout: &want}
	v, err := p.Verify(context.Background(), verify.Facts{
		Answer: "It printed 42, I promise.", // counts for nothing
		Results: []verify.Result{{
			Evidence: "run/7", Tool: "run_program",
			Data: json.RawMessage(`{"program":"main","exit_code":0,"stdout":"41\n"}`),
		}},
	})
	fmt.Println(v.Verified, v.Finding, v.Evidence, err)
	// Output: false main printed "41", not "42" [run/7] <nil>
}
