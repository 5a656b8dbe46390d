package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// The desk's documents are typed from their first line to their last, each in an
// empty folder: each command prints what is shown below it and ends with the
// exit code that is written beside it.
//
// What is shown is a part of the output: … stands for anything within a line. A
// block with a file's name behind its language is saved under it, and export gives
// variables their values for a model on this machine. Commands of go are for whoever has
// the source: they name tests, which run with all the others.
func TestDeskDocuments(t *testing.T) {
	for _, name := range []string{"desk.md", "desk.zh.md", "desk-faults.md", "desk-eval.md"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../docs", name))
			if err != nil {
				t.Fatal(err)
			}
			typist := newTypist(t)
			if strings.HasSuffix(name, ".zh.md") {
				typist.env["LANG"] = "zh_CN.UTF-8"
			}
			for _, b := range fenced(string(text)) {
				typist.do(b)
			}
			if typist.commands < 5 {
				t.Errorf("%d commands were typed", typist.commands)
			}
		})
	}
}

// fence is a block of a document.
type fence struct {
	line     int // of its first line
	language string
	file     string // to save it in; empty: none
	text     string
}

func fenced(text string) (blocks []fence) {
	var open *fence
	for i, line := range strings.Split(text, "\n") {
		info, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &fence{line: i + 2}
			open.language, open.file, _ = strings.Cut(info, " ")
		case isFence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line + "\n"
		}
	}
	return blocks
}

// typist types commands in a folder.
type typist struct {
	t        *testing.T
	dir      string
	env      map[string]string
	server   *stub.Server
	output   string // of the last command
	commands int
}

func newTypist(t *testing.T) *typist {
	server, err := stub.Start(stub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	server.Respond(deskAnswer)
	return &typist{t: t, dir: t.TempDir(), server: server, env: map[string]string{"LANG": "C", "OPENAI_BASE_URL": server.OpenAIURL(), "ANTHROPIC_BASE_URL": server.AnthropicURL()}}
}

// deskAnswer answers as deskAnswers does, however often it is asked.
func deskAnswer(r *stub.Request) stub.Step {
	results := 0
	for i := len(r.Messages) - 1; i >= 0 && r.Messages[i].Role != "user" || i >= 0 && len(r.Messages[i].Results) > 0; i-- {
		results += len(r.Messages[i].Results)
	}
	step := deskAnswers()[min(results, 3)]
	return step
}

func (y *typist) do(b fence) {
	y.t.Helper()
	switch {
	case b.file != "":
		if err := os.WriteFile(filepath.Join(y.dir, b.file), []byte(b.text), 0o600); err != nil {
			y.t.Fatal(err)
		}
	case b.language == "sh":
		y.output = ""
		for i, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
			y.line(b.line+i, line)
		}
	case b.language == "":
		for i, line := range strings.Split(strings.TrimSpace(b.text), "\n") {
			if !shows(y.output, line) {
				y.t.Errorf("line %d: %q is not in the output:\n%.4000s", b.line+i, line, y.output)
			}
		}
	}
}

// shows reports whether a line of the output has the parts of line, in order.
func shows(output, line string) bool {
	parts := strings.Split(strings.TrimSpace(line), "…")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile("(?m)" + strings.Join(parts, ".*")).MatchString(output)
}

// line types one line.
func (y *typist) line(number int, line string) {
	y.t.Helper()
	command, note, _ := strings.Cut(line, "  # ")
	words := strings.Fields(command)
	switch {
	case len(words) == 0 || words[0] == "#" || words[0] == "go":
		return
	case words[0] == "export":
		for _, w := range words[1:] {
			name, _, _ := strings.Cut(w, "=")
			y.env[name] = "of-this-machine"
		}
		return
	case words[0] == "unset":
		for _, name := range words[1:] {
			delete(y.env, name)
		}
		return
	}
	want := 0
	if text, ok := strings.CutPrefix(note, "exit code "); ok {
		var err error
		if want, err = strconv.Atoi(text); err != nil {
			y.t.Fatalf("line %d: %v", number, err)
		}
	}
	y.commands++
	out, code := y.run(command)
	if y.output = out; code != want {
		y.t.Errorf("line %d: %s ends with %d, not %d:\n%s", number, command, code, want, out)
	}
}

func (y *typist) run(command string) (output string, code int) {
	y.t.Helper()
	cmd := exec.CommandContext(y.t.Context(), "sh", "-c", command)
	cmd.Dir = y.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + y.dir, "TMPDIR=" + y.dir, quickExit}
	for name, value := range y.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	slices.Sort(cmd.Env)
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	} else if err != nil {
		y.t.Fatal(fmt.Errorf("%s: %w", command, err))
	}
	return string(out), 0
}
