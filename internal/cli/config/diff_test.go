package config_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

func read(t *testing.T, text string) *config.Config {
	t.Helper()
	c, err := config.Read(write(t, text), tools)
	if err != nil {
		t.Fatal(err)
	}
	c.File, c.Dir, c.Workspace = "/etc/agent/holdfast.yaml", "/etc/agent", "/srv/work" // the same for all
	c.Model.Provider = config.OpenAI
	return c
}

func TestDiff(t *testing.T) {
	const programs = "programs: {main: [python3, main.py]}\n"
	long := strings.Repeat("Always be careful. ", 10)
	for _, tt := range []struct {
		name     string
		old, now string
		want     []string
	}{
		{"nothing", "", "", nil},
		{"what means the same", programs + "unknown: tell\npolicy: [{ask: multiply, expires: 24h, approvers: {quorum: 1}}]",
			"programs: {main: {argv: [python3, main.py], effect: once}}\nlimits: {last_turn: run}\npolicy: [{ask: multiply, grant: 900s, on_expiry: refuse}]", nil},
		{"several, in order", "model: {name: a}\nlimits: {turns: 8, retry: {wait: 3s}}\nengine: {lease: 10s}",
			"model: {name: b}\nlimits: {turns: 50, retry: {wait: 1m, per_run: 20}}\nengine: {lease: 1m}\nunknown: wait",
			[]string{"engine.lease: 10s -> 1m", "limits.retry.wait: 3s -> 1m", "limits.turns: 8 -> 50", "model.name: a -> b", "unknown: tell -> wait"}},
		{"context", "context: {window: 64000}", "context: {window: 128000, reserve: 8000, notices: {max: 4, chars: 100}, summarize: model}",
			[]string{"context.notices.chars: 240 -> 100", "context.reserve: 0 -> 8000", "context.summarize: digest -> model", "context.window: 64000 -> 128000"}},
		{"context as it is anyway", "", "context: {reserve: 0, notices: {max: 4, chars: 240}, summarize: digest, summary_tokens: 1024}", nil},
		{"set and unset", "instructions: Be brief.", "limits: {last_turn: reads}",
			[]string{"instructions: Be brief. -> (unset)", "limits.last_turn: run -> reads"}},
		{"lists", "tools: [multiply]", "tools: [multiply, read_file]", []string{"tools: [multiply] -> [multiply, read_file]"}},
		{"programs", programs, "programs: {main: {argv: [python3, 'a, b', \"\"], effect: read}, lint: [lint]}",
			[]string{"programs.lint.argv: (unset) -> [lint]", "programs.lint.effect: (unset) -> once", `programs.main.argv: [python3, main.py] -> [python3, "a, b", ""]`, "programs.main.effect: once -> read"}},
		{"output", "tools: [run_program]\n" + programs + "verify: {program: main}", "tools: [run_program]\n" + programs + `verify: {program: main, stdout: ""}`,
			[]string{`verify.stdout: (unset) -> ""`}},
		{"verification", "tools: [run_program]\n" + programs, "tools: [run_program]\n" + programs + "verify: {program: main, when: each_turn}",
			[]string{"verify.exit_code: (unset) -> 0", "verify.on_unverified: (unset) -> stop", "verify.program: (unset) -> main", "verify.when: (unset) -> each_turn"}},
		{"a long text", "instructions: " + long + "Use euros, and say so.", "instructions: " + long + "Use dollars.",
			[]string{"instructions: …ays be careful. Use euros, and say so. -> …ays be careful. Use dollars."}},
		{"a long text's beginning", "instructions: x" + long, "instructions: y",
			[]string{"instructions: x" + long[:159] + "… -> y"}},
		{"nothing moves the cursor", "instructions: a", "instructions: \"a\\e[2J\\nb\\u202Ec\"", []string{`instructions: a -> "a\x1b[2J\nb\u202ec"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, config.Diff(read(t, tt.old), read(t, tt.now))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Of a policy the rules are shown that changed, not those that moved.
func TestDiffOfPolicies(t *testing.T) {
	const ask = "{ask: run_program, expires: 24h, on_expiry: refuse, grant: 15m}"
	for _, tt := range []struct {
		name     string
		old, now string
		want     []string
	}{
		{"a rule came in between", "{allow: multiply}, {deny: '*_file'}", "{allow: multiply}, {ask: run_program}, {deny: '*_file'}",
			[]string{"policy rule 2: (unset) -> " + ask}},
		{"a rule went", "{deny: write_file}, {allow: '*'}", "{allow: '*'}", []string{"policy rule 1: {deny: write_file} -> (unset)"}},
		{"a rule changed", "{allow: multiply}, {ask: run_program}", "{allow: multiply}, {allow: run_program}",
			[]string{"policy rule 2: " + ask + " -> {allow: run_program}"}},
		{"who may decide", "{ask: run_program}", "{ask: run_program, expires: 90s, on_expiry: escalate, approvers: {not_asker: true, quorum: 2, from: [ann, 'b, c'], escalate: [eve, fay]}}",
			[]string{"policy rule 1: " + ask + " -> {ask: run_program, expires: 1m30s, on_expiry: escalate, grant: 15m, " +
				`approvers: {not_asker: true, quorum: 2, from: [ann, "b, c"], escalate: [eve, fay]}}`}},
		{"a reason", "{deny: multiply, reason: a}", "{deny: multiply, reason: \"b\\e\"}", []string{`policy rule 1: {deny: multiply, reason: "a"} -> {deny: multiply, reason: "b\x1b"}`}},
		{"all but one", "{allow: multiply}, {allow: read_file}, {deny: write_file}", "{ask: run_program}, {allow: list_files}, {deny: write_file}",
			[]string{"policy rule 1: {allow: multiply} -> " + ask, "policy rule 2: {allow: read_file} -> {allow: list_files}"}},
		{"twice the same", "{allow: multiply}, {allow: multiply}", "{allow: multiply}", []string{"policy rule 2: {allow: multiply} -> (unset)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, config.Diff(read(t, "policy: ["+tt.old+"]"), read(t, "policy: ["+tt.now+"]"))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDiffOfASecretQuery(t *testing.T) {
	before, now := read(t, ""), read(t, "")
	before.Model.BaseURL = "https://example.test/v1"
	now.Model.BaseURL, now.Model.SecretQuery = "https://example.test/v1?code=planted", true
	want := []string{"model.base_url: https://example.test/v1 -> https://example.test/v1?[secret]"}
	if diff := cmp.Diff(want, config.Diff(before, now)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if lines := config.Diff(now, now); len(lines) != 0 {
		t.Errorf("%q", lines)
	}
}

// No field changes in silence.
func TestDiffSeesEveryField(t *testing.T) {
	silent := []string{
		"Dir",  // shows in file and workspace
		"Kept", // says where the configuration comes from, not what it is
		"Model.SecretQuery",
		"PolicyDir", // its rules are what counts
	}
	var paths []string
	leaves(reflect.ValueOf(full(t)).Elem(), "", func(path string, _ reflect.Value) { paths = append(paths, path) })
	for _, path := range paths {
		if slices.Contains(silent, path) {
			continue
		}
		changed := full(t)
		leaves(reflect.ValueOf(changed).Elem(), "", func(at string, v reflect.Value) {
			if at == path {
				alter(v)
			}
		})
		if lines := config.Diff(full(t), changed); len(lines) == 0 {
			t.Errorf("a change of %s does not show", path)
		}
	}
	if len(paths) < 40 {
		t.Errorf("only %d fields: %v", len(paths), paths)
	}
	changed := full(t)
	x := changed.Programs["x"]
	x.Effect = kernel.Read
	changed.Programs = map[string]config.Program{"x": x}
	if lines := config.Diff(full(t), changed); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}

// leaves calls see with each value below v, but for those of maps, that can be
// changed.
func leaves(v reflect.Value, path string, see func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for field, f := range v.Fields() {
			if f.CanSet() && field.Type != reflect.TypeFor[config.Secret]() {
				leaves(f, strings.TrimPrefix(path+"."+field.Name, "."), see)
			}
		}
	case reflect.Pointer:
		leaves(v.Elem(), path, see)
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), see)
		}
	case reflect.Map:
	default:
		see(path, v)
	}
}

func alter(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "/other")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	default:
		v.SetInt(v.Int() + 2)
	}
}

// A configuration of a program's own that leaves an ask's defaults out is the
// same as one that writes them down.
func TestDiffKnowsTheDefaultsOfAnAsk(t *testing.T) {
	a, b := read(t, ""), read(t, "")
	a.Policy = []policy.Rule{{Answer: kernel.Ask, Tool: "x"}}
	b.Policy = []policy.Rule{a.Policy[0].WithDefaults()}
	if lines := config.Diff(a, b); len(lines) != 0 {
		t.Errorf("%q", lines)
	}
}
