package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

var tools = []string{"list_files", "multiply", "propose_memory", "read_file", "run_program", "write_file"}

// write makes a configuration file and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "holdfast.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const whole = `
model: {provider: openai, name: gpt-x, base_url: "https://example.test/v1", profile: tolerant, stream: false, max_tokens: 1024}
instructions: |
  Be brief.
workspace: sub
tools: [multiply, run_program]
programs:
  main: [python3, main.py]
  lint: {argv: [lint, -v], effect: read, timeout: 2m}
policy:
  - {allow: multiply}
  - {ask: run_program, reason: "it starts a process", expires: 2h, on_expiry: escalate, grant: 5m, approvers: {not_asker: true, quorum: 2, from: [ann, ben], escalate: [eve, fay]}}
  - {ask: write_file, expires: 24h, on_expiry: refuse, grant: 15m, approvers: {not_asker: true, quorum: 1}}
  - {ask: read_file}
  - {deny: "*_file"}
limits: {turns: 3, calls: 4, deadline: 1m, request_timeout: 7s, repeat: 0, tokens: 5000, last_turn: reads, retry: {attempts: 2, per_run: 5, wait: 0s}}
verify: {program: main, args: [-x, "1"], exit_code: 1, stdout: "42", when: each_turn, on_unverified: continue}
engine: {lease: 1m}
memory: {project: notes, user: /srv/memory, agents_md: false}
unknown: wait
`

func TestReadEveryKey(t *testing.T) {
	path := write(t, whole)
	dir := filepath.Dir(path)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := config.Read(path, tools)
	if err != nil {
		t.Fatal(err)
	}
	stdout := "42"
	want := &config.Config{
		File: path,
		Dir:  dir,
		Model: config.Model{
			Provider: config.OpenAI, Name: "gpt-x", BaseURL: "https://example.test/v1",
			Profile: kernel.Tolerant, Stream: false, MaxTokens: 1024,
		},
		Instructions: "Be brief.\n",
		Workspace:    filepath.Join(dir, "sub"),
		Tools:        []string{"multiply", "run_program"},
		Programs: map[string]config.Program{
			"main": {Argv: []string{"python3", "main.py"}},
			"lint": {Argv: []string{"lint", "-v"}, Effect: kernel.Read, Timeout: 2 * time.Minute},
		},
		Policy: []policy.Rule{
			{Answer: kernel.Allow, Tool: "multiply"},
			{
				Answer: kernel.Ask, Tool: "run_program", Reason: "it starts a process",
				Expires: 2 * time.Hour, OnExpiry: kernel.ExpiryEscalate, Grant: 5 * time.Minute,
				Approvers: kernel.Approvers{NotAsker: true, Quorum: 2, From: []string{"ann", "ben"}, Escalate: []string{"eve", "fay"}},
			},
			{
				Answer: kernel.Ask, Tool: "write_file", Expires: 24 * time.Hour, OnExpiry: kernel.ExpiryRefuse, Grant: 15 * time.Minute,
				Approvers: kernel.Approvers{NotAsker: true, Quorum: 1},
			},
			// What the file leaves out is written down, so that a run keeps it.
			{Answer: kernel.Ask, Tool: "read_file", Expires: 24 * time.Hour, OnExpiry: kernel.ExpiryRefuse, Grant: 15 * time.Minute},
			{Answer: kernel.Deny, Tool: "*_file"},
		},
		Limits:         kernel.Limits{Turns: 3, Calls: 4, Deadline: time.Minute, Tokens: 5000, LastTurn: kernel.LastTurnReads},
		Retry:          kernel.Retry{Attempts: 2, PerRun: 5},
		RequestTimeout: 7 * time.Second,
		Verify:         &config.Verify{Program: "main", Args: []string{"-x", "1"}, ExitCode: 1, Stdout: &stdout, EachTurn: true, Continue: true},
		Engine:         config.Engine{Lease: time.Minute},
		Memory:         &config.Memory{Project: filepath.Join(dir, "notes"), User: "/srv/memory", State: "/srv/memory"},
		Unknown:        kernel.UnknownWait,
	}
	want.PolicyDir = filepath.Join(dir, "policy")
	want.Places = map[string]string{"programs.main": got.File + ":8", "programs.lint": got.File + ":9"}
	for line := 11; line <= 15; line++ {
		want.PolicyPlaces = append(want.PolicyPlaces, fmt.Sprintf("%s:%d", got.File, line))
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config.Secret{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What a file leaves out is the most careful choice: no tools, no rules, a
// strict profile, the kernel's limits.
func TestReadEmptyFile(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}"} {
		got, err := config.Read(write(t, text), tools)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got.Model.Profile != kernel.Strict || !got.Model.Stream || len(got.Tools)+len(got.Policy) != 0 || got.Verify != nil {
			t.Errorf("%q: %+v", text, got)
		}
		if got.Limits != kernel.DefaultLimits() || got.Retry != kernel.DefaultRetry() || got.RequestTimeout != 15*time.Second {
			t.Errorf("%q: limits %+v %+v", text, got.Limits, got.Retry)
		}
		if got.Engine.Lease != 10*time.Second || got.Unknown != kernel.UnknownTell || got.Kept {
			t.Errorf("%q: %+v", text, got)
		}
		if got.Workspace != got.Dir {
			t.Errorf("%q: workspace %q is not the file's folder", text, got.Workspace)
		}
	}
}

// Cases 17, 18 and row 22, and every other way to write a wrong file: the
// error names the line, what is wrong and what to do.
func TestReadRefuses(t *testing.T) {
	const limits = "limits: {turns: 2,\n  "
	tests := []struct {
		name string
		text string
		line int
		want string // part of the message
		hint string // part of the hint
	}{
		{"not a mapping", "[a]", 1, "must be a mapping, not a list", ""},
		{"text alone", "hello", 1, "must be a mapping, not text", ""},
		{"unknown key", "\nmodell: {}", 2, `unknown key "modell"`, "did you mean model?"},
		{"unknown key without a near one", "zzz: 1", 1, `unknown key "zzz"`, "known here: "},
		{"unknown nested key", limits + "repeats: 3}", 2, `limits: unknown key "repeats"`, "did you mean repeat?"},
		{"unknown deep key", "limits:\n  retry:\n    attempt: 1", 3, `limits.retry: unknown key "attempt"`, "did you mean attempts?"},
		{"a key in the file", "model:\n  api_key: sk-x", 2, `model: unknown key "api_key"`, "known here"},
		{"duplicate key", "tools: []\nmodel: {}\ntools: []", 3, "tools stands here and on line 1", "keep one"},
		{"duplicate nested key", limits + "turns: 3}", 2, "turns stands here and on line 1", "keep one"},
		{"duplicate program", "programs:\n  a: [x]\n  a: [y]", 3, "a stands here and on line 2", "keep one"},
		{"merge key", "model: {<<: {provider: openai}}", 1, "a key is not text", ""},
		{"number as a key", "programs: {1: [x]}", 1, "a key is not text", ""},
		{"alias", "instructions: &a hi\nworkspace: *a", 1, "anchors and aliases", "write the value out"},
		{"two documents", "tools: []\n---\ntools: []", 2, "a second document", "one document"},
		{"bad indentation", "model:\n  provider: openai\n name: x", 2, "not valid YAML", "indentation"},
		{"open bracket", "tools: [a", 1, "not valid YAML", ""},
		{"no value", "limits:\n  turns:", 2, "limits.turns: has no value", "remove the key"},
		{"null", "model: null", 1, "model: has no value", "remove the key"},

		{"provider", "model: {provider: opneai}", 1, `"opneai" is not known here`, "did you mean openai?"},
		{"provider as a number", "model: {provider: 1}", 1, "must be text", ""},
		{"name as a number", "model: {name: 4}", 1, "model.name: must be text, not the number 4", "quotes"},
		{"empty name", `model: {name: ""}`, 1, "model.name: is empty", ""},
		{"profile", "model: {profile: lax}", 1, "model.profile", "known here: strict, tolerant"},
		{"stream as text", `model: {stream: "true"}`, 1, "model.stream: must be true or false, not text", "without quotes"},
		{"stream by a tag", "model: {stream: !!bool garbage}", 1, `must be true or false, not "garbage"`, "without quotes"},
		{"stream as yes", "model: {stream: yes}", 1, "must be true or false", ""},
		{"stream as 1", "model: {stream: 1}", 1, "must be true or false, not the number 1", ""},
		{"max_tokens 127", "model: {max_tokens: 127}", 1, "from 128 to 16384, not 127", "give a number from 128 to 16384"},
		{"max_tokens 16385", "model: {max_tokens: 16385}", 1, "from 128 to 16384, not 16385", ""},
		{"max_tokens abc", "model: {max_tokens: abc}", 1, "must be a whole number, not text", "plain digits"},
		{"max_tokens as text", `model: {max_tokens: "4096"}`, 1, "must be a whole number, not text", ""},
		{"base_url with a key", "model: {base_url: \"https://example.test/v1?v=1&Api_Key=sk-x\"}", 1, "must not hold a key", "OPENAI_BASE_URL"},
		{"base_url with a key behind a semicolon", "model: {base_url: \"https://example.test/v1?v=1;k%65y=sk-x\"}", 1, "must not hold a key", ""},
		{"base_url with a token", "model: {base_url: \"https://example.test/v1?access_token=sk-x\"}", 1, "must not hold a key", "environment"},
		{"base_url without a scheme", "model: {base_url: example.test/v1}", 1, "model.base_url: must be an http or https URL", ""},
		{"base_url of a file", "model: {base_url: \"file:///etc/passwd\"}", 1, "must be an http or https URL", "https://host for anthropic"},
		{"base_url with a password", "model: {base_url: \"https://me:pw@example.test\"}", 1, "must not hold a name or a password", "environment"},
		{"base_url with a fragment", "model: {base_url: \"https://example.test/v1#x\"}", 1, "fragment", ""},
		{"script without a file", "model: {provider: script}", 1, "script file", "name: FILE"},

		{"turns 0", limits + "calls: 0}", 2, "limits.calls: must be a whole number from 1", ""},
		{"turns true", "limits: {turns: true}", 1, "must be a whole number, not a boolean", ""},
		{"turns 1.5", "limits: {turns: 1.5}", 1, "must be a whole number, not the number 1.5", ""},
		{"turns 1.0", "limits: {turns: 1.0}", 1, "must be a whole number, not the number 1.0", ""},
		{"turns -1", "limits: {turns: -1}", 1, "not -1", "give a number from 1"},
		{"turns too many", "limits: {turns: 99999999999999999999}", 1, "limits.turns: must be a whole number", ""},
		{"turns in octal", "limits: {turns: 010}", 1, "limits.turns", "plain digits"},
		{"turns in hex", "limits: {turns: 0x10}", 1, "limits.turns", "plain digits"},
		{"turns with _", "limits: {turns: 1_0}", 1, "limits.turns", ""},
		{"repeat 1", "limits: {repeat: 1}", 1, "at least 2, or 0 for off", "write 0"},
		{"tokens -1", "limits: {tokens: -1}", 1, "limits.tokens", ""},
		{"tokens beyond sums", "\nlimits: {tokens: 9223372036854775807}", 2, "limits.tokens: must be a whole number from 0 to 4611686018427387903", "give a number"},
		{"deadline NaN", "limits: {deadline: .nan}", 1, "limits.deadline: must be a duration, not the number .nan", "30s"},
		{"deadline inf", "limits: {deadline: .inf}", 1, "must be a duration, not the number .inf", "30s"},
		{"deadline inf in words", "limits: {deadline: infs}", 1, `"infs" is not a duration`, "30s"},
		{"deadline without a unit", "limits: {deadline: 30}", 1, "must be a duration, not the number 30", "30s"},
		{"deadline as text without a unit", `limits: {deadline: "30"}`, 1, "is not a duration", "30s"},
		{"deadline 0s", "limits: {deadline: 0s}", 1, "must be from 1ns to 10000h, not 0s", "give a time from 1ns to 10000h"},
		{"deadline -1s", "limits: {deadline: -1s}", 1, "must be from 1ns", ""},
		{"deadline beyond the clock", "limits: {deadline: 9999999h}", 1, "must be from 1ns to 10000h, not 9999999h", "give a time"},
		{"request_timeout 0s", "limits: {request_timeout: 0s}", 1, "limits.request_timeout", ""},
		{"last_turn", "limits: {last_turn: reed}", 1, "limits.last_turn", "known here: run, reads"},
		{"retry is a number", "limits: {retry: 3}", 1, "limits.retry: must be a mapping", ""},
		{"attempts 0", "limits: {retry: {attempts: 0}}", 1, "limits.retry.attempts: must be a whole number from 1", ""},
		{"per_run 0", "limits: {retry: {per_run: 0}}", 1, "limits.retry.per_run", ""},
		{"wait -1s", "limits: {retry: {wait: -1s}}", 1, "limits.retry.wait", ""},

		{"workspace is missing", "workspace: none", 1, `there is no directory "none"`, "relative to this file"},
		{"workspace is a file", "workspace: holdfast.yaml", 1, "is not a directory", ""},
		{"workspace is a list", "workspace: [a]", 1, "workspace: must be text", ""},
		{"unknown tool", "tools:\n  - multiply\n  - raed_file", 3, `tools[1]: unknown tool "raed_file"`, "did you mean read_file? known here: list_files, multiply"},
		{"tool twice", "tools: [multiply, multiply]", 1, "tools[1]: the tool multiply is listed twice", ""},
		{"tools as text", "tools: multiply", 1, "tools: must be a list", ""},
		{"tool as a mapping", "tools: [{name: multiply}]", 1, "tools[0]: must be text", ""},

		{"policy as a mapping", "policy: {allow: multiply}", 1, "policy: must be a list", ""},
		{"rule as text", "policy: [multiply]", 1, "policy rule 1: must be a mapping", ""},
		{"rule without an answer", "policy: [{reason: x}]", 1, "policy rule 1: a rule has exactly one of allow, ask and deny", "{allow: TOOL}"},
		{"rule with two answers", "policy: [{allow: multiply, deny: multiply}]", 1, "exactly one of allow, ask and deny", ""},
		{"rule with an unknown answer", "policy: [{alow: multiply}]", 1, `policy rule 1: unknown key "alow"`, "did you mean allow?"},
		{"rule for an unknown tool", "policy:\n- allow: multiply\n- deny: wirte_file", 3, `policy rule 2: unknown tool "wirte_file"`, "did you mean write_file?"},
		{"rule for no tool", "policy:\n- allow: multiply\n- deny: \"wirte_*\"", 3, `policy rule 2: no tool is named like "wirte_*"`, "write_file"},
		{"rule with a bad pattern", "policy: [{allow: \"[a-z]*\"}]", 1, "no tool name and no pattern", ""},

		{"run_program without programs", "\ntools: [run_program]", 2, "run_program is listed, but no programs", "add programs"},
		{"run_program with empty programs", "tools: [run_program]\nprograms: {}", 1, "run_program is listed, but no programs", ""},
		{"programs as a list", "programs: [main]", 1, "programs: must be a mapping", ""},
		{"program as a command line", "programs: {main: python3 main.py}", 1, "programs.main: must be a list or a mapping, not text", "no shell"},
		{"program with a number", "programs: {main: [sleep, 5]}", 1, "programs.main[1]: must be text", ""},
		{"program without items", "programs: {main: []}", 1, "programs.main: names no program", ""},
		{"program with a blank first item", `programs: {main: ["", x]}`, 1, "programs.main: names no program", ""},
		{"program with NUL", `programs: {main: ["a\0b"]}`, 1, "NUL", ""},
		{"program with a bad name", `programs: {"a b": [x]}`, 1, "cannot be named like this", ""},
		{"program without argv", "programs: {main: {effect: read}}", 1, "programs.main: argv is missing", ""},
		{"program with a bad effect", "programs: {main: {argv: [x], effect: reed}}", 1, "programs.main.effect", "did you mean read? known here: read, idempotent, once"},
		{"program that is reconcilable", "programs: {main: {argv: [x], effect: reconcilable}}", 1, "not reconcilable", "idempotent"},
		{"program with a long timeout", "programs: {main: {argv: [x], timeout: 13h}}", 1, "programs.main.timeout", ""},
		{"program with a bad timeout", "programs: {main: {argv: [x], timeout: 0s}}", 1, "programs.main.timeout", ""},
		{"program with too many items", "programs: {main: [" + strings.Repeat("a,", 65) + "]}", 1, "has 65 items", ""},

		{"verify without a program", "verify: {exit_code: 0}", 1, "verify: program is missing", ""},
		{"verify of an unknown program", "tools: [run_program]\nprograms: {main: [x]}\nverify:\n  program: mian", 4, `"mian" is not among programs`, "did you mean main?"},
		{"verify without any programs", "verify: {program: main}", 1, "no programs are configured", "add programs"},
		{"verify of more than is recorded", "programs: {main: [x]}\nverify: {program: main, stdout: \"" + strings.Repeat("4", 8192) + "\"}", 2, "verify.stdout: is longer than what a result records", "shorter"},
		{"verify with an argument that is a number", "verify: {program: main, args: [1]}", 1, "verify.args[0]: must be text", "quotes"},
		{"verify that nothing can run", "programs: {main: [x]}\nverify: {program: main}", 2, "nothing can run it", "add run_program"},
		{"verify with a number", "verify: {program: main, stdout: 42}", 1, "verify.stdout: must be text, not the number 42", "quotes"},
		{"verify with a bad exit code", "verify: {program: main, exit_code: 256}", 1, "verify.exit_code", ""},
		{"verify when", "verify: {program: main, when: never}", 1, "verify.when", "known here: answer, each_turn"},
		{"verify on_unverified", "verify: {program: main, on_unverified: retry}", 1, "verify.on_unverified", "known here: stop, continue"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.text)
			_, err := config.Read(path, tools)
			var e *kernel.Error
			if !errors.As(err, &e) || e.Code != kernel.CodeConfiguration {
				t.Fatalf("got %v, want CONFIGURATION", err)
			}
			if at := fmt.Sprintf("%s:%d: ", path, tt.line); !strings.HasPrefix(e.Message, at) || !strings.Contains(e.Message, tt.want) {
				t.Errorf("message %q, want %q and %q", e.Message, at, tt.want)
			}
			if e.Hint == "" || !strings.Contains(e.Hint, tt.hint) {
				t.Errorf("hint %q, want %q", e.Hint, tt.hint)
			}
		})
	}
}

func TestReadBounds(t *testing.T) {
	for _, text := range []string{
		"model: {max_tokens: 128}", "model: {max_tokens: 16384}", "limits: {turns: 1, calls: 1, repeat: 2, deadline: 1ns}",
		"tools: []", "policy: []", "programs: {}", `policy: [{allow: "*"}]`, `model: {base_url: "https://example.test/v1?api-version=1&region=eu"}`,
	} {
		if _, err := config.Read(write(t, text), tools); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A run of many turns may send each request about twice, unless the file says
// otherwise.
func TestRequestsFollowTheTurns(t *testing.T) {
	for text, want := range map[string]int{
		"limits: {turns: 8}": 20, "limits: {turns: 50}": 100, "limits: {turns: 50, retry: {per_run: 7}}": 7,
	} {
		c, err := config.Read(write(t, text), tools)
		if err != nil {
			t.Fatal(err)
		}
		if c.Retry.PerRun != want {
			t.Errorf("%q: %d requests a run, want %d", text, c.Retry.PerRun, want)
		}
	}
}

func TestReadRefusesTheFileItself(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(dir, "loop.yaml")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want, hint string }{
		{filepath.Join(dir, "none.yaml"), "no such file", "give an existing file with -c"},
		{dir, "it is not a regular file", "name a file"},
		{big, "it is over 1 MiB", "the right file"},
		{loop, "too many levels", "disk"},
	} {
		_, err := config.Read(tt.path, tools)
		var e *kernel.Error
		if !errors.As(err, &e) || e.Code != kernel.CodeConfiguration || !strings.Contains(e.Message, tt.want) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%s: got %+v", tt.path, e)
		}
	}
}

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

// Rows 82 and 83: unset values come from the environment, and set ones stay.
func TestComplete(t *testing.T) {
	tests := []struct {
		name string
		text string
		env  func(string) string
		want config.Model
	}{
		{"all from the environment", "", env("OPENAI_API_KEY", "k", "OPENAI_MODEL", "m", "OPENAI_BASE_URL", "http://127.0.0.1:1/v1"),
			config.Model{Provider: config.OpenAI, Name: "m", BaseURL: "http://127.0.0.1:1/v1", MaxTokens: 4096, Key: config.NewSecret("k")}},
		{"the other provider", "", env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_MODEL", "m", "ANTHROPIC_BASE_URL", "http://127.0.0.1:1", "ANTHROPIC_MAX_TOKENS", "128"),
			config.Model{Provider: config.Anthropic, Name: "m", BaseURL: "http://127.0.0.1:1", MaxTokens: 128, Key: config.NewSecret("k")}},
		{"the file wins", "model: {provider: anthropic, name: f, base_url: \"http://f\", max_tokens: 200}",
			env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_MODEL", "m", "ANTHROPIC_BASE_URL", "http://e", "ANTHROPIC_MAX_TOKENS", "128", "OPENAI_API_KEY", "o"),
			config.Model{Provider: config.Anthropic, Name: "f", BaseURL: "http://f", MaxTokens: 200, Key: config.NewSecret("k")}},
		{"upper bound", "model: {provider: anthropic, name: f}", env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_MAX_TOKENS", "16384"),
			config.Model{Provider: config.Anthropic, Name: "f", MaxTokens: 16384, Key: config.NewSecret("k")}},
		{"no key on this machine", "model: {provider: openai, name: m, base_url: \"http://127.0.0.1:1/v1\"}", env(),
			config.Model{Provider: config.OpenAI, Name: "m", BaseURL: "http://127.0.0.1:1/v1", MaxTokens: 4096}},
		{"no key on this machine by its name", "model: {provider: openai, name: m, base_url: \"http://LocalHost:1/v1\"}", env(),
			config.Model{Provider: config.OpenAI, Name: "m", BaseURL: "http://LocalHost:1/v1", MaxTokens: 4096}},
		{"another provider's setting is not read", "model: {provider: openai, name: f}", env("OPENAI_API_KEY", "k", "ANTHROPIC_MAX_TOKENS", "abc"),
			config.Model{Provider: config.OpenAI, Name: "f", MaxTokens: 4096, Key: config.NewSecret("k")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := config.Read(write(t, tt.text), tools)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Complete(tt.env); err != nil {
				t.Fatal(err)
			}
			tt.want.Profile, tt.want.Stream = kernel.Strict, true
			if c.Model != tt.want {
				t.Errorf("got %+v, want %+v", c.Model, tt.want)
			}
		})
	}
}

func TestCompleteRefuses(t *testing.T) {
	tests := []struct {
		name string
		text string
		env  func(string) string
		want string
	}{
		{"nothing", "", env(), "no model is configured"},
		{"two keys", "", env("OPENAI_API_KEY", "k", "ANTHROPIC_API_KEY", "k"), "keys of two"},
		{"no key", "model: {provider: openai, name: m}", env("ANTHROPIC_API_KEY", "k"), "no key for the provider openai"},
		{"no key for a host that sounds local", "model: {provider: openai, name: m, base_url: \"http://127.0.0.1.example.test\"}", env(), "no key for the provider openai"},
		{"no name", "model: {provider: anthropic}", env("ANTHROPIC_API_KEY", "k"), "the model has no name"},
		{"base URL", "model: {provider: openai, name: m}", env("OPENAI_API_KEY", "k", "OPENAI_BASE_URL", "nonsense"), "OPENAI_BASE_URL"},
		{"base URL for openai", "model: {provider: openai, name: m}", env("OPENAI_API_KEY", "k", "OPENAI_BASE_URL", "nonsense"), "write it as https://host/v1"},
		{"base URL for anthropic", "model: {provider: anthropic, name: m}", env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", "nonsense"), "write it as https://host."},
		{"a key with a space", "model: {provider: openai, name: m}", env("OPENAI_API_KEY", "sk-x "), "OPENAI_API_KEY: holds a space"},
		{"a key with a line break", "model: {provider: anthropic, name: m}", env("ANTHROPIC_API_KEY", "sk-x\n"), "to the key alone"},
		// Case 17
		{"tokens abc", "model: {provider: anthropic, name: m}", env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_MAX_TOKENS", "abc"), "ANTHROPIC_MAX_TOKENS"},
		{"tokens 127", "model: {provider: anthropic, name: m}", env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_MAX_TOKENS", "127"), "ANTHROPIC_MAX_TOKENS"},
		{"tokens 16385", "model: {provider: anthropic, name: m}", env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_MAX_TOKENS", "16385"), "ANTHROPIC_MAX_TOKENS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := config.Read(write(t, tt.text), tools)
			if err != nil {
				t.Fatal(err)
			}
			err = c.Complete(tt.env)
			var e *kernel.Error
			if !errors.As(err, &e) || e.Code != kernel.CodeConfiguration || !strings.Contains(e.Message+"; "+e.Hint+".", tt.want) || e.Hint == "" {
				t.Errorf("got %v, want CONFIGURATION with %q and a hint", err, tt.want)
			}
		})
	}
}

func TestScriptModelNeedsNoKey(t *testing.T) {
	path := write(t, "model: {provider: script, name: play.yaml}")
	c, err := config.Read(path, tools)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Complete(env()); err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(path), "play.yaml"); c.Model.Name != want || c.Model.MaxTokens != 4096 {
		t.Errorf("got %+v, want the script %s", c.Model, want)
	}
}

func TestDefault(t *testing.T) {
	c := config.Default("/somewhere")
	if len(c.Tools) != 1 || c.Tools[0] != "multiply" || len(c.Policy) != 1 || c.Policy[0].Answer != kernel.Allow || c.Policy[0].Tool != "multiply" {
		t.Errorf("got %+v", c)
	}
}

// Invariant I12: nothing that prints, encodes or logs a configuration shows
// the key.
func TestSecretIsNeverShown(t *testing.T) {
	const key = "sk-planted-secret"
	c := config.Default(t.TempDir())
	if err := c.Complete(env("OPENAI_API_KEY", key, "OPENAI_MODEL", "m")); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "key", c.Model.Key, "model", c.Model)
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		fmt.Sprint(c.Model), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c.Model), fmt.Sprintf("%q", c.Model.Key),
		fmt.Sprintf("%x", c.Model.Key), string(encoded), log.String(),
	} {
		if strings.Contains(shown, key) || strings.Contains(shown, fmt.Sprintf("%x", key)) {
			t.Errorf("the key shows in %s", shown)
		}
	}
	if c.Model.Key.Reveal() != key {
		t.Error("the key is lost")
	}
}

// Any file is either a configuration or a CONFIGURATION error with its place.
func FuzzRead(f *testing.F) {
	for _, text := range []string{whole, "a: &a [*a]", "programs: {? [x] : y}", "policy: [{allow: [}]", "!!binary x: y", "limits: {turns: !!int x}", "\xff\xfe", "- - - -"} {
		f.Add(text)
	}
	path := filepath.Join(f.TempDir(), "holdfast.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Read(path, tools)
		if err == nil {
			if c.Limits.Turns < 1 || c.Limits.Deadline <= 0 || c.RequestTimeout <= 0 {
				t.Errorf("accepted %+v", c)
			}
			return
		}
		var e *kernel.Error
		if !errors.As(err, &e) || e.Code != kernel.CodeConfiguration || !strings.HasPrefix(e.Message, path+":") {
			t.Errorf("got %v", err)
		}
	})
}
