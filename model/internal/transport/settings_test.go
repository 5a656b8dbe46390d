package transport

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

func testWire() *Wire { return &Wire{Provider: "openai", Env: "OPENAI", Host: "api.openai.com"} }

func good() Settings {
	return Settings{
		BaseURL: "https://example.com/v1", Key: "sk-secret", Name: "m", Profile: kernel.Strict,
		MaxTokens: 4096, MaxTokensCap: 16384, ResponseCap: 1_000_000,
	}
}

// Case 17 and rows 55, 82, 83.
func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Settings)
		hint   string // "-": accepted
	}{
		{"good", func(*Settings) {}, "-"},
		{"tokens 127", func(s *Settings) { s.MaxTokens = 127 }, ""},
		{"tokens 128", func(s *Settings) { s.MaxTokens = 128 }, "-"},
		{"tokens 16384", func(s *Settings) { s.MaxTokens = 16384 }, "-"},
		{"tokens 16385", func(s *Settings) { s.MaxTokens = 16385 }, ""},
		{"cap below tokens", func(s *Settings) { s.MaxTokensCap = 4095 }, ""},
		{"negative cap", func(s *Settings) { s.ResponseCap = -1 }, ""},
		{"profile", func(s *Settings) { s.Profile = "lax" }, ""},
		{"no name", func(s *Settings) { s.Name = " " }, "set OPENAI_MODEL"},
		{"no key", func(s *Settings) { s.Key = "" }, "set OPENAI_API_KEY"},
		{"no key at loopback", func(s *Settings) { s.Key, s.BaseURL = "", "http://127.0.0.2:1/v1" }, "-"},
		{"no key at loopback, IPv6", func(s *Settings) { s.Key, s.BaseURL = "", "http://[::1]:1" }, "-"},
		{"no key at localhost", func(s *Settings) { s.Key, s.BaseURL = "", "http://localhost:1" }, "-"},
		{"no key at a lookalike", func(s *Settings) { s.Key, s.BaseURL = "", "http://127.0.0.1.example.com" }, "set OPENAI_API_KEY"},
		{"key with a line end", func(s *Settings) { s.Key = "sk-secret\n" }, "set OPENAI_API_KEY"},
		{"key with a letter outside ASCII", func(s *Settings) { s.Key = "sk-secrét" }, "set OPENAI_API_KEY"},
		{"credentials", func(s *Settings) { s.BaseURL = "https://u:sk-secret@example.com" }, "set OPENAI_BASE_URL"},
		{"scheme", func(s *Settings) { s.BaseURL = "ftp://example.com" }, "set OPENAI_BASE_URL"},
		{"no host", func(s *Settings) { s.BaseURL = "https://" }, "set OPENAI_BASE_URL"},
		{"no URL", func(s *Settings) { s.BaseURL = "http://sk-secret:\n" }, "set OPENAI_BASE_URL"},
		{"query", func(s *Settings) { s.BaseURL = "https://example.com/v1?api-version=1" }, "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := good()
			tt.change(&s)
			err := s.Check(testWire())
			if (err == nil) != (tt.hint == "-") {
				t.Fatalf("got %v", err)
			}
			if err == nil {
				return
			}
			if kernel.CodeOf(err) != kernel.CodeConfiguration || strings.Contains(err.Error(), "secr") {
				t.Errorf("got %v", err)
			}
			if e, ok := errors.AsType[*kernel.Error](err); !ok || tt.hint != "" && e.Hint != tt.hint {
				t.Errorf("%+v, want the hint %q", err, tt.hint)
			}
		})
	}
}

func TestCleartext(t *testing.T) {
	for base, want := range map[string]bool{
		"http://example.com/v1": true, "http://192.168.1.7:8000": true, "http://127.0.0.1.example.com": true,
		"https://example.com": false, "http://127.0.0.1:1": false, "http://[::1]:1": false, "http://localhost": false,
	} {
		s := good()
		s.BaseURL = base
		if s.Cleartext() != want {
			t.Errorf("%s: %v", base, !want)
		}
		if s.Key = ""; s.Cleartext() {
			t.Errorf("%s: no key travels", base)
		}
	}
}

func TestRequestURL(t *testing.T) {
	tests := []struct{ base, path, want string }{
		{base: "https://h/v1", want: "https://h/v1/a/b"},
		{base: "https://h/v1/", want: "https://h/v1/a/b"},
		{base: "https://h", want: "https://h/a/b"},
		{base: "https://h/v1?x=1", want: "https://h/v1/a/b?x=1"},
		{base: "https://h/v1", path: "v1/messages", want: "https://h/v1/messages"},
		{base: "https://h/proxy/v1/", path: "v1/messages", want: "https://h/proxy/v1/messages"},
		{base: "https://h/dev1", path: "v1/messages", want: "https://h/dev1/v1/messages"},
	}
	for _, tt := range tests {
		path := "a/b"
		if tt.path != "" {
			path = tt.path
		}
		if got := requestURL(tt.base, path); got != tt.want {
			t.Errorf("requestURL(%q) = %q, want %q", tt.base, got, tt.want)
		}
	}
}

func TestMakerTellsServersApart(t *testing.T) {
	tests := []struct{ base, want string }{
		{"https://api.openai.com/v1", "openai"},
		{"https://API.openai.com:443/v1", "openai"},
		{"http://127.0.0.1:4711/v1", "openai@127.0.0.1"},
		{"https://Example.com/v1", "openai@example.com"},
	}
	for _, tt := range tests {
		if got := testWire().maker(tt.base); got != tt.want {
			t.Errorf("maker(%q) = %q, want %q", tt.base, got, tt.want)
		}
	}
}
