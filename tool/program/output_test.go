//go:build linux || darwin

package program_test

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/program"
)

// Report A19 (a), (b): endless and huge output, bounded in memory and in the
// result.
func TestOutputIsBounded(t *testing.T) {
	endless := sh("yes")
	endless.Programs["main"] = program.Entry{Argv: []string{"yes"}, Timeout: 300 * time.Millisecond}
	for name, tt := range map[string]struct {
		config program.Config
		total  int64
	}{
		"endless":  {endless, -1},
		"one line": {sh("head -c 150000000 /dev/zero | tr '\\0' x"), 150_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			tl := newTool(t, tt.config)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			o, r := execute(t.Context(), t, tl, main)
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
				t.Errorf("%d bytes were allocated", grown)
			}
			if len(r.Stdout) > program.DefaultMaxOutput || len(r.Stdout) < program.DefaultMaxOutput-100 || o.Facts.Omitted != 0 {
				t.Errorf("%d bytes of output, %d cut by the border", len(r.Stdout), o.Facts.Omitted)
			}
			marker := "\n[" + strconv.FormatInt(r.Omitted, 10) + " bytes omitted]\n"
			kept := strings.ReplaceAll(r.Stdout, marker, "")
			if len(kept) == len(r.Stdout) {
				t.Errorf("the omission is not stated: %.80q", r.Stdout)
			}
			if tt.total >= 0 && int64(len(kept))+r.Omitted != tt.total {
				t.Errorf("%d kept, %d omitted", len(kept), r.Omitted)
			}
			if r.TimedOut != (tt.total < 0) {
				t.Errorf("timed out: %v", r.TimedOut)
			}
		})
	}
}

// Report A19 (c), (d), report A40: bytes, colours, progress bars, split runes.
func TestOutputIsClean(t *testing.T) {
	c := sh(`printf '\033[31mred\033[0m\n 1%%\r100%%\n\000\377\376ok\n'; printf '\344'; printf '\270\255\n'`)
	o, r := execute(t.Context(), t, newTool(t, c), main)
	if want := "red\n100%\n\ufffdok\n中\n"; r.Stdout != want {
		t.Errorf("stdout %q, want %q", r.Stdout, want)
	}
	_, r = execute(t.Context(), t, newTool(t, sh("head -c 300000 /dev/urandom")), main)
	if !utf8.ValidString(r.Stdout) || strings.ContainsAny(r.Stdout, "\x00\x1b\r") {
		t.Errorf("random bytes are not clean")
	}
	if !json.Valid([]byte(o.Text)) {
		t.Errorf("text %q", o.Text)
	}
}

// What is told is clean; what verifiers get is all that was printed, so that no
// carriage return and no escape sequence can hide a part of it.
func TestFactsHoldTheOutputAsItWasPrinted(t *testing.T) {
	c := sh(`printf 'the answer is 41, NOT 42\r42\n\377'; printf '\033[8mhidden\033[0m\r' >&2`)
	o, told := execute(t.Context(), t, newTool(t, c), main)
	kept := keptOf(t, o)
	if told.Stdout != "42\n\ufffd" || kept.Stdout != "the answer is 41, NOT 42\r42\n\ufffd" {
		t.Errorf("told %q, kept %q", told.Stdout, kept.Stdout)
	}
	if told.Stderr != "hidden" || kept.Stderr != "\x1b[8mhidden\x1b[0m\r" {
		t.Errorf("told %q, kept %q", told.Stderr, kept.Stderr)
	}
}

// Control characters cost six bytes each in JSON: the facts still fit.
func TestFactsAreBounded(t *testing.T) {
	c := sh(`head -c 200000 /dev/zero | tr '\0' '\033' | tee /dev/stderr`)
	c.MaxOutput = 128 << 10
	o, _ := execute(t.Context(), t, newTool(t, c), main)
	kept := keptOf(t, o)
	if len(o.Warnings) > 0 || len(kept.Stdout) < 64<<10 || !strings.Contains(kept.Stdout, " bytes omitted]") || kept.Omitted < 200_000 {
		t.Errorf("%q: %d bytes of output kept, %d omitted", o.Warnings, len(kept.Stdout), kept.Omitted)
	}
}

func keptOf(t *testing.T, o tool.Outcome) report {
	t.Helper()
	var kept report
	if err := json.Unmarshal(o.Data, &kept); err != nil {
		t.Fatalf("%v: %d bytes of facts", err, len(o.Data))
	}
	return kept
}

// Report A28: the head and the tail end between characters.
func TestOutputIsCutBetweenCharacters(t *testing.T) {
	for _, lead := range []string{"", "a", "ab"} {
		c := sh(`printf '` + lead + `'; yes 汉 | head -n 20000 | tr -d '\n'`)
		_, r := execute(t.Context(), t, newTool(t, c), main)
		if !utf8.ValidString(r.Stdout) || strings.Contains(r.Stdout, "\ufffd") || !strings.HasSuffix(r.Stdout, "汉") {
			t.Errorf("lead %q: %.60q", lead, r.Stdout)
		}
		kept := len(r.Stdout) - len("\n["+strconv.FormatInt(r.Omitted, 10)+" bytes omitted]\n")
		if int64(kept)+r.Omitted != int64(len(lead)+3*20_000) {
			t.Errorf("lead %q: %d kept, %d omitted", lead, kept, r.Omitted)
		}
	}
}
