//go:build linux || darwin

package mcp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// An answer over 16 MiB fails its call at once, whose time would be an hour, and
// nothing else: a result has landed, what became of an error is not known, and the
// server is still the same.
func TestLongAnswers(t *testing.T) {
	child, _ := fixtureServer(t, "plain")
	child.Timeout = time.Hour
	servers := map[string]mcp.Server{"child": child}
	for name, kind := range map[string]string{"json": "application/json", "events": "text/event-stream"} {
		web := longServer(t, kind)
		servers[name] = mcp.Server{URL: web, Timeout: time.Hour, StartTimeout: time.Minute}
	}
	set, warnings := open(t, mcp.Config{Servers: servers, Backoff: time.Hour}).Snapshot(t.Context())
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	pid := mustCall(t, set, "mcp__child__pid", `{}`).Text
	for server, echo := range map[string]string{"child": "mcp__child__echo", "json": "mcp__json__greet", "events": "mcp__events__greet"} {
		answer := echo
		if server == "child" {
			answer = "mcp__child__answer"
		}
		for as, want := range map[string]kernel.Disposition{"long": kernel.Landed, "long last": kernel.Landed, "long error": kernel.InDoubt} {
			if server != "child" && as == "long last" {
				continue // its id is known
			}
			args := fmt.Sprintf(`{"name":%q}`, as)
			if server == "child" {
				args = fmt.Sprintf(`{"as":%q}`, as)
			}
			o := mustCall(t, set, answer, args)
			if !o.IsError || o.Facts.Disposition != want || !strings.Contains(o.Text, "it is over 16 MiB") {
				t.Errorf("%s, %s: %.300q, %+v", server, as, o.Text, o.Facts)
			}
		}
	}
	if o := mustCall(t, set, "mcp__child__pid", `{}`); o.Text != pid {
		t.Errorf("the server was started again: %q", o.Text)
	}
	for _, server := range []string{"json", "events"} {
		if o := mustCall(t, set, "mcp__"+server+"__greet", `{"name":"Ann"}`); o.Text != "hello Ann" {
			t.Errorf("%s: %q", server, o.Text)
		}
	}
}

// longServer answers what it is asked for in a way that no client keeps.
func longServer(t *testing.T, kind string) string {
	t.Helper()
	web := webServer(t, func(w http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return false
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, rest, _ := bytes.Cut(body, []byte(`"name":"long`))
		if !bytes.Contains(body, []byte(`"method":"tools/call"`)) || rest == nil {
			return true
		}
		_, id, _ := bytes.Cut(body, []byte(`"id":`))
		id = id[:bytes.IndexAny(id, ",}")]
		w.Header().Set("Content-Type", kind)
		begin, end := "", "\n"
		if kind == "text/event-stream" {
			begin, end = "event: message\nid: 1\ndata: ", "\n\n"
		}
		as, _, _ := bytes.Cut(rest, []byte(`"`))
		_, _ = io.WriteString(w, begin+longMessage(string(id), "long"+string(as))+end)
		return false
	})
	return web.URL
}
