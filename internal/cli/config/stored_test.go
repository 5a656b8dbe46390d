package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

// fill gives each field of v that can be set a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Struct:
		for field, f := range v.Fields() {
			if f.CanSet() && field.Type != reflect.TypeFor[config.Secret]() {
				fill(t, f)
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(3 * time.Second))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, elem)
		v.SetMapIndex(key, elem)
	default:
		t.Fatalf("a configuration holds a %s: say how it is kept", v.Type())
	}
}

// full is a configuration that says something in each of its fields.
func full(t *testing.T) *config.Config {
	t.Helper()
	c := new(config.Config)
	fill(t, reflect.ValueOf(c).Elem())
	c.File, c.Dir, c.Workspace = "/etc/agent/holdfast.yaml", "/etc/agent", "/srv/work"
	c.Model.Provider, c.Model.BaseURL = config.OpenAI, "https://example.test/v1"
	c.Memory.Project, c.Memory.User, c.Memory.State = "/srv/notes", "/srv/memory", "/srv/state"
	c.Skills[0] = "/srv/skills"
	c.PolicyPlaces, c.Places, c.PolicyDir = nil, nil, "/etc/agent/rules" // the places are not kept
	c.Policy[0].When, c.Policy[0].Risk = `user == "x"`, kernel.RiskLow
	c.Policy[0].Answer, c.Policy[0].OnExpiry, c.Policy[0].Approvers.Quorum = kernel.Ask, kernel.ExpiryEscalate, 1
	return c
}

var opaque = cmp.AllowUnexported(config.Secret{})

// What a run goes on with is what it was started with, whichever fields there
// will be.
func TestStoredKeepsEveryField(t *testing.T) {
	want := full(t)
	b, err := want.Stored()
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.FromStored(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, opaque); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if again, err := got.Stored(); err != nil || !bytes.Equal(b, again) {
		t.Errorf("kept again it is %s, %v, and was %s", again, err, b)
	}
}

func configs() *rapid.Generator[*config.Config] {
	text := rapid.OneOf(rapid.StringMatching(`[a-z]{1,5}`), rapid.String())
	list := rapid.SliceOfN(text, 0, 3)
	span := func(low, high time.Duration) *rapid.Generator[time.Duration] {
		return rapid.Map(rapid.Int64Range(int64(low), int64(high)), func(n int64) time.Duration { return time.Duration(n) })
	}
	rule := rapid.Custom(func(t *rapid.T) policy.Rule {
		r := policy.Rule{
			Answer: rapid.SampledFrom([]kernel.Answer{kernel.Allow, kernel.Ask, kernel.Deny}).Draw(t, "answer"),
			Tool:   rapid.StringMatching(`[a-z*]{1,4}`).Draw(t, "tool"), Reason: text.Draw(t, "reason"),
		}
		r.When = rapid.SampledFrom([]string{"", `user == "x"`, `args.n > 1 && "é" in args.l`}).Draw(t, "when")
		r.Risk = rapid.SampledFrom([]kernel.Risk{"", kernel.RiskLow, kernel.RiskHigh}).Draw(t, "risk")
		if r.Answer == kernel.Ask {
			r.Expires, r.Grant = span(time.Second, policy.MaxExpires).Draw(t, "expires"), span(time.Second, policy.MaxGrant).Draw(t, "grant")
			r.OnExpiry = rapid.SampledFrom([]kernel.OnExpiry{kernel.ExpiryRefuse, kernel.ExpiryEscalate}).Draw(t, "on_expiry")
			r.Approvers.NotAsker = rapid.Bool().Draw(t, "not_asker")
			r.Approvers.From = rapid.SampledFrom([][]string{nil, {"ann"}, {"ann", "ben"}}).Draw(t, "from")
			if r.OnExpiry == kernel.ExpiryEscalate {
				r.Approvers.Escalate = []string{"eve"}
			}
		}
		return r
	})
	return rapid.Custom(func(t *rapid.T) *config.Config {
		c := config.Default("/somewhere")
		c.File = rapid.SampledFrom([]string{"", "/somewhere/holdfast.yaml"}).Draw(t, "file")
		c.Model.Provider = rapid.SampledFrom([]string{config.OpenAI, config.Anthropic, config.Script}).Draw(t, "provider")
		c.Model.Name, c.Instructions = text.Draw(t, "name"), text.Draw(t, "instructions")
		c.Model.BaseURL = rapid.SampledFrom([]string{"", "https://example.test/v1", "https://example.test/v1?v=1"}).Draw(t, "base_url")
		c.Model.Stream, c.Model.MaxTokens = rapid.Bool().Draw(t, "stream"), rapid.IntRange(0, 20000).Draw(t, "max_tokens")
		c.Tools = list.Draw(t, "tools")
		c.Programs = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}`), rapid.Custom(func(t *rapid.T) config.Program {
			return config.Program{Argv: list.Draw(t, "argv"), Effect: rapid.SampledFrom([]kernel.EffectClass{"", kernel.Read, kernel.Once}).Draw(t, "effect"), Timeout: span(0, time.Hour).Draw(t, "timeout")}
		}), 0, 2).Draw(t, "programs")
		c.Policy = rapid.SliceOfN(rule, 0, 4).Draw(t, "policy")
		c.Limits.Turns, c.Limits.Deadline = rapid.IntRange(1, 9).Draw(t, "turns"), span(1, 1000*time.Hour).Draw(t, "deadline")
		c.Engine.Lease = span(time.Second, 10*time.Minute).Draw(t, "lease")
		c.Memory = rapid.SampledFrom([]*config.Memory{nil, {AgentsMD: true}, {User: "/u", State: "/u"}, {Project: "/p", State: "/s", AgentsMD: true}}).Draw(t, "memory")
		c.Unknown = rapid.SampledFrom([]kernel.OnUnknown{kernel.UnknownTell, kernel.UnknownWait}).Draw(t, "unknown")
		if rapid.Bool().Draw(t, "context") {
			c.Context = config.Context{
				Window: rapid.IntRange(0, 1_000_000).Draw(t, "window"), Reserve: rapid.IntRange(0, 9000).Draw(t, "reserve"),
				Notices:   config.NoticeLimits{Max: rapid.IntRange(0, 64).Draw(t, "notices"), Chars: rapid.IntRange(0, 4096).Draw(t, "chars")},
				Summarize: rapid.SampledFrom([]string{"", config.Digest, config.ByModel}).Draw(t, "summarize"), SummaryTokens: rapid.IntRange(0, 16384).Draw(t, "summary"),
			}
		}
		if rapid.Bool().Draw(t, "verify") {
			stdout := text.Draw(t, "stdout")
			c.Verify = &config.Verify{Program: "main", Args: list.Draw(t, "args"), Stdout: &stdout, Continue: rapid.Bool().Draw(t, "continue")}
		}
		return c
	})
}

// Keeping a configuration loses nothing, and equal ones are equal bytes.
func TestStoredRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := configs().Draw(t, "config")
		b, err := c.Stored()
		if err != nil {
			t.Fatal(err)
		}
		got, err := config.FromStored(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		c.Kept = true
		if diff := cmp.Diff(c, got, opaque, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-want +got)\n%s", b, diff)
		}
		if lines := config.Diff(got, c); len(lines) != 0 {
			t.Fatalf("it differs from itself: %q", lines)
		}
		again, err := got.Stored()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%s, then %s, %v", b, again, err)
		}
	})
}

// A relative file is kept by its place: whoever goes on starts elsewhere.
func TestStoredHasAbsolutePaths(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("agent.yaml", []byte("model: {provider: script, name: play.yaml}\nworkspace: ."), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Read("agent.yaml", tools)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.FromStored(b)
	if err != nil {
		t.Fatal(err)
	}
	if dir = c.Dir; got.File != filepath.Join(dir, "agent.yaml") || got.Workspace != dir || got.Dir != dir || got.Model.Name != filepath.Join(dir, "play.yaml") {
		t.Errorf("kept in %s: %+v", dir, got)
	}
	if lines := config.Diff(got, c); len(lines) != 0 {
		t.Errorf("the file differs from itself: %q", lines)
	}
}

// Invariant I12: no secret is kept, whichever way it came in.
func TestStoredHoldsNoSecret(t *testing.T) {
	const key, query, password = "sk-planted-secret", "planted-query", "planted-password"
	c := config.Default(t.TempDir())
	if err := c.Complete(env("OPENAI_API_KEY", key, "OPENAI_MODEL", "m", "OPENAI_BASE_URL", "https://example.test/v1?code="+query)); err != nil {
		t.Fatal(err)
	}
	other := *c // as a program could make it
	other.Model.BaseURL = "https://me:" + password + "@example.test/v1"
	other.Model.SecretQuery = false
	for _, c := range []*config.Config{c, &other} {
		b, err := c.Stored()
		if err != nil {
			t.Fatal(err)
		}
		for _, lines := range []string{string(b), fmt.Sprint(config.Diff(c, config.Default("/elsewhere"))), fmt.Sprint(config.Diff(config.Default("/elsewhere"), c))} {
			for _, secret := range []string{key, query, password} {
				if strings.Contains(lines, secret) {
					t.Errorf("%q shows in %s", secret, lines)
				}
			}
			if !strings.Contains(lines, "https://example.test/v1") {
				t.Errorf("the address is lost in %s", lines)
			}
		}
	}
}

// A run that goes on takes the key from the environment, and nothing else: not
// another model, not another place for its secrets.
func TestCompleteOfAKeptConfiguration(t *testing.T) {
	start := func(text string, env func(string) string) *config.Config {
		t.Helper()
		c, err := config.Read(write(t, text), tools)
		if err == nil {
			err = c.Complete(env)
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Stored()
		if err != nil {
			t.Fatal(err)
		}
		kept, err := config.FromStored(b)
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	now := env("OPENAI_API_KEY", "new", "OPENAI_MODEL", "other", "OPENAI_BASE_URL", "https://other.test", "ANTHROPIC_API_KEY", "a", "ANTHROPIC_MAX_TOKENS", "128")

	c := start("", env("OPENAI_API_KEY", "old", "OPENAI_MODEL", "m"))
	if err := c.Complete(now); err != nil {
		t.Fatal(err)
	}
	want := config.Model{Provider: config.OpenAI, Name: "m", Profile: kernel.Strict, Stream: true, MaxTokens: 4096, Key: config.NewSecret("new")}
	if c.Model != want {
		t.Errorf("got %+v, want %+v", c.Model, want)
	}
	if err := start("", env("OPENAI_API_KEY", "old", "OPENAI_MODEL", "m")).Complete(env("ANTHROPIC_API_KEY", "a")); err == nil || !strings.Contains(err.Error(), "no key for the provider openai") {
		t.Errorf("without its key: %v", err)
	}
	if err := start("model: {provider: script, name: play.yaml}", env()).Complete(env()); err != nil {
		t.Errorf("a script: %v", err)
	}
	local := start("model: {provider: anthropic, name: m, base_url: \"http://127.0.0.1:1\"}", env())
	if err := local.Complete(now); err != nil || local.Model.MaxTokens != 4096 || local.Model.Key != config.NewSecret("a") {
		t.Errorf("a local server: %+v, %v", local.Model, err)
	}
}

// The query of a URL from the environment comes from there again, and from the
// same URL alone.
func TestCompleteTakesTheQueryAgain(t *testing.T) {
	const base = "https://example.test/v1"
	for now, ok := range map[string]bool{
		base + "?code=old": true, base + "?code=new": true, base: false, "": false,
		"https://evil.test/v1?code=old": false, base + "/x?code=old": false, "%zz?x=1": false,
	} {
		c := config.Default("/somewhere")
		if err := c.Complete(env("OPENAI_API_KEY", "k", "OPENAI_MODEL", "m", "OPENAI_BASE_URL", base+"?code=old")); err != nil {
			t.Fatal(err)
		}
		b, err := c.Stored()
		if err != nil {
			t.Fatal(err)
		}
		kept, err := config.FromStored(b)
		if err != nil {
			t.Fatal(err)
		}
		err = kept.Complete(env("OPENAI_API_KEY", "k", "OPENAI_BASE_URL", now))
		switch {
		case ok && (err != nil || kept.Model.BaseURL != now):
			t.Errorf("%s: %q, %v", now, kept.Model.BaseURL, err)
		case !ok && (kernel.CodeOf(err) != kernel.CodeConfiguration || !strings.Contains(err.Error(), "OPENAI_BASE_URL")):
			t.Errorf("%s: %v", now, err)
		case !ok && strings.Contains(err.Error(), "code="):
			t.Errorf("%s: the error shows a query: %v", now, err)
		}
	}
}

func TestStoredRefuses(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"no model":     func(c *config.Config) { c.Model.Provider = "" },
		"broken path":  func(c *config.Config) { c.Workspace = "/srv/\xff" },
		"broken file":  func(c *config.Config) { c.File = "/srv/\xff" },
		"broken model": func(c *config.Config) { c.Model.Name = "/srv/\xff" },
	} {
		c := full(t)
		change(c)
		if b, err := c.Stored(); kernel.CodeOf(err) != kernel.CodeConfiguration {
			t.Errorf("%s: %s, %v", name, b, err)
		}
	}
}

// The form is what journals hold: a change of it is a new version.
func TestStoredForm(t *testing.T) {
	const form = `{"version":1,"file":"/etc/agent/holdfast.yaml","dir":"/etc/agent",` +
		`"model":{"provider":"openai","name":"m","base_url":"https://example.test/v1","profile":"strict","stream":true,"max_tokens":4096},` +
		`"instructions":"Be <brief> & \"exact\".\n","workspace":"/srv/work","tools":["multiply","run_program"],` +
		`"programs":{"lint":{"argv":["lint"]},"main":{"argv":["python3","main.py"],"effect":"read","timeout":"10s"}},` +
		`"policy":[{"allow":"multiply"},{"ask":"run_program","reason":"why","expires":"24h","on_expiry":"escalate","grant":"15m",` +
		`"approvers":{"not_asker":true,"quorum":2,"from":["ann","ben"],"escalate":["eve","fay"]}},{"deny":"*_file"}],` +
		`"limits":{"turns":8,"calls":12,"deadline":"30s","request_timeout":"15s","repeat":3,"tokens":0,"retry":{"attempts":4,"per_run":20,"wait":"3s"}},` +
		`"verify":{"program":"main","args":["-x"],"exit_code":0,"stdout":"42","when":"each_turn","on_unverified":"continue"},` +
		`"engine":{"lease":"10s"},"memory":{"project":"/srv/notes","state":"/srv/memory","agents_md":true},"unknown":"wait"}`
	stdout := "42"
	c := config.Default("/etc/agent")
	c.File, c.Workspace, c.Instructions = "/etc/agent/holdfast.yaml", "/srv/work", "Be <brief> & \"exact\".\n"
	c.Model.Provider, c.Model.Name, c.Model.BaseURL, c.Model.MaxTokens = config.OpenAI, "m", "https://example.test/v1", 4096
	c.Tools = append(c.Tools, "run_program")
	c.Programs = map[string]config.Program{
		"main": {Argv: []string{"python3", "main.py"}, Effect: kernel.Read, Timeout: 10 * time.Second},
		"lint": {Argv: []string{"lint"}},
	}
	c.Policy = append(c.Policy, policy.Rule{
		Answer: kernel.Ask, Tool: "run_program", Reason: "why", Expires: 24 * time.Hour, OnExpiry: kernel.ExpiryEscalate, Grant: 15 * time.Minute,
		Approvers: kernel.Approvers{NotAsker: true, Quorum: 2, From: []string{"ann", "ben"}, Escalate: []string{"eve", "fay"}},
	}, policy.Rule{Answer: kernel.Deny, Tool: "*_file"})
	c.Verify = &config.Verify{Program: "main", Args: []string{"-x"}, Stdout: &stdout, EachTurn: true, Continue: true}
	c.Memory = &config.Memory{Project: "/srv/notes", State: "/srv/memory", AgentsMD: true}
	c.Unknown, c.Kept = kernel.UnknownWait, true
	if b, err := c.Stored(); err != nil || string(b) != form {
		t.Errorf("%v\ngot  %s\nwant %s", err, b, form)
	}
	got, err := config.FromStored([]byte(form))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, got, opaque); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestFromStoredRefuses(t *testing.T) {
	b, err := full(t).Stored()
	if err != nil {
		t.Fatal(err)
	}
	change := func(old, now string) string {
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("%s is not in %s", old, b)
		}
		return strings.Replace(string(b), old, now, 1)
	}
	for name, tt := range map[string]struct {
		text string
		code kernel.Code
		want string
	}{
		"newer":             {`{"version":2,"of":"the future"}`, kernel.CodeVersion, "form 2, and this program knows 1"},
		"nothing":           {``, kernel.CodeConfiguration, "not JSON"},
		"no version":        {change(`"version":1`, `"version":0`), kernel.CodeConfiguration, "names no form"},
		"unknown key":       {change(`"tools"`, `"toolz"`), kernel.CodeConfiguration, "another form"},
		"another type":      {change(`"stream":true`, `"stream":1`), kernel.CodeConfiguration, "another form"},
		"bad duration":      {change(`"lease":"3s"`, `"lease":"3"`), kernel.CodeConfiguration, "another form"},
		"lease":             {change(`"lease":"3s"`, `"lease":"1h"`), kernel.CodeConfiguration, "engine.lease"},
		"two":               {string(b) + `{}`, kernel.CodeConfiguration, "not JSON"},
		"relative file":     {change(`"file":"/`, `"file":"`), kernel.CodeConfiguration, "not absolute"},
		"relative memory":   {change(`"user":"/`, `"user":"`), kernel.CodeConfiguration, "not absolute"},
		"relative folder":   {change(`"dir":"/`, `"dir":"`), kernel.CodeConfiguration, "not absolute"},
		"no workspace":      {change(`"workspace":"/srv/work"`, `"workspace":""`), kernel.CodeConfiguration, "not absolute"},
		"provider":          {change(`"provider":"openai"`, `"provider":"x"`), kernel.CodeConfiguration, "provider"},
		"rule":              {change(`"ask":"x"`, `"ask":"a b"`), kernel.CodeConfiguration, "policy rule 1"},
		"two answers":       {change(`"ask":"x"`, `"ask":"x","deny":"x"`), kernel.CodeConfiguration, "several answers"},
		"no answer":         {change(`"ask":"x"`, `"ask":""`), kernel.CodeConfiguration, "policy rule 1"},
		"asking of a grant": {change(`"ask":"x"`, `"allow":"x"`), kernel.CodeConfiguration, "policy rule 1"},
	} {
		c, err := config.FromStored([]byte(tt.text))
		if c != nil || kernel.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v, want %s that says %q", name, c, err, tt.code, tt.want)
		}
	}
}

// Whatever bytes a journal holds, they are a configuration that can be kept
// again, or an error with its code.
func FuzzFromStored(f *testing.F) {
	c := config.Default("/somewhere")
	c.Model.Provider = config.OpenAI
	b, err := c.Stored()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := config.FromStored(b)
		if err != nil {
			if code := kernel.CodeOf(err); code != kernel.CodeConfiguration && code != kernel.CodeVersion {
				t.Errorf("got %v", err)
			}
			return
		}
		again, err := c.Stored()
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !json.Valid(again) {
			t.Errorf("kept again it is %s", again)
		}
		if _, err := config.FromStored(again); err != nil {
			t.Errorf("%s, then %s: %v", b, again, err)
		}
	})
}
