package cli

import (
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/journal"
)

// Names of a person's own are no ids, however they begin.
func TestKindOf(t *testing.T) {
	made := ulid.Make().String()
	unnamed := "a run\nof two lines"
	for id, want := range map[string]kind{
		"run_" + made:                    ofRun,
		"ses_" + made:                    ofSession,
		engine.ArchiveID("run_"+made, 7): ofArchive,
		engine.ArchiveID(unnamed, 7):     ofArchive,
		journal.ApprovalID("run_1", 7):   ofApproval,
		journal.EffectID("", "t", "k"):   ofEffect,
		"run":                            "",
		"run_":                           "",
		"run_1":                          "",
		"run_release_2026":               "",
		"run_2026.01":                    "",
		"run_" + made + "x":              "",
		"run_" + made + "\n":             "",
		"run_" + strings.ToLower(made):   "",
		"ntc_" + made:                    "",
		"":                               "",
	} {
		if got := kindOf(id); got != want {
			t.Errorf("%q is of %q, want %q", id, got, want)
		}
	}
}
