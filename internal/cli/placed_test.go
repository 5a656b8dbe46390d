package cli

import (
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

// The commands of a hint look where the command looked that failed, whoever wrote it.
func TestHintsLookInTheSamePlace(t *testing.T) {
	const both = "wait for it, drive it with holdfast work, or end it with holdfast runs cancel run_1"
	for _, tt := range []struct {
		line       []string
		hint, want string
	}{
		{[]string{"run"}, both, both},
		{[]string{"run", "--db", "a b.db", "-c", "x.yaml"}, both,
			"wait for it, drive it with holdfast work -c x.yaml --db 'a b.db', or end it with holdfast runs cancel -c x.yaml --db 'a b.db' run_1"},
		{[]string{"runs", "show", "--db", "a.db"}, "holdfast runs ls lists what is there", "holdfast runs ls --db a.db lists what is there"},
		{[]string{"runs", "show", "--db", "a.db"}, "holdfast runs show --db b.db run_1", "holdfast runs show --db b.db run_1"},
		{[]string{"memory", "show", "-c", "x.yaml"}, "holdfast memory ls --all", "holdfast memory ls -c x.yaml --all"},
		{[]string{"run", "--db", "a.db"}, "look at it with holdfast effects", "look at it with holdfast effects"},
		{[]string{"desk", "ask"}, both, "wait for it, drive it with holdfast work --db desk.db.runs.db, or end it with holdfast runs cancel --db desk.db.runs.db run_1"},
		{[]string{"desk", "approve"}, "holdfast desk show-draft D1", "holdfast desk show-draft D1"},
		{[]string{"desk", "approve", "--db", "a.db", "--user", "bob"}, "holdfast desk show-draft D1", "holdfast desk show-draft --db a.db --user bob D1"},
		{[]string{"work", "--db", "a.db.runs.db"}, "holdfast desk init makes one", "holdfast desk init --db a.db makes one"},
		{[]string{"runs", "show", "--db", "a.db"}, "holdfast sessions show 'x --db b.db' shows it", "holdfast sessions show --db a.db 'x --db b.db' shows it"},
		{[]string{"runs", "show", "--db", "a.db"}, `holdfast sessions show 'it'\''s holdfast runs ls' shows it`, `holdfast sessions show --db a.db 'it'\''s holdfast runs ls' shows it`},
		{[]string{"runs", "show", "--db", "a.db"}, `holdfast sessions show $'\x07\' holdfast runs ls' shows it`, `holdfast sessions show --db a.db $'\x07\' holdfast runs ls' shows it`},
		{[]string{"runs", "show", "--db", "a.db"}, "the run's journal: holdfast runs ls, or another's", "the run's journal: holdfast runs ls --db a.db, or another's"},
		{[]string{"work", "--db", "a.db"}, "install holdfast, then holdfast doctor", "install holdfast, then holdfast doctor --db a.db"},
	} {
		a := &app{env: func(string) string { return "" }}
		cmd, flags, err := a.rootCommand().Find(tt.line)
		if err == nil {
			err = cmd.ParseFlags(flags)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := asError(placed(cmd, &kernel.Error{Code: kernel.CodeConflict, Hint: tt.hint})).Hint; got != tt.want {
			t.Errorf("%v: %q, want %q", tt.line, got, tt.want)
		}
	}
}
