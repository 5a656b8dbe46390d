package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/internal/cli/config"
)

// Row 72: the context section, whole and in part, and what is wrong in it.
func TestReadContext(t *testing.T) {
	for text, want := range map[string]config.Context{
		"": {},
		"context: {window: 128000, reserve: 8000, notices: {max: 4, chars: 240}, summarize: model, summary_tokens: 2000}": {
			Window: 128000, Reserve: 8000, Notices: config.NoticeLimits{Max: 4, Chars: 240}, Summarize: config.ByModel, SummaryTokens: 2000,
		},
		"context: {notices: {max: 64}}": {Notices: config.NoticeLimits{Max: 64}},
	} {
		if diff := cmp.Diff(want, read(t, text).Context); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"{window: 0}":                   "context.window",
		"{window: 8000, reserve: 8000}": "leaves nothing",
		"{reserve: -1}":                 "context.reserve",
		"{notices: {max: 0}}":           "context.notices.max",
		"{notices: {max: 65}}":          "context.notices.max",
		"{notices: {chars: 4097}}":      "context.notices.chars",
		"{summarize: both}":             "context.summarize",
		"{summary_tokens: 127}":         "context.summary_tokens",
		"{windows: 1}":                  "windows",
	} {
		_, err := config.Read(write(t, "context: "+text), tools)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
