package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build says what this binary was made from.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
}

// readBuild reads what the Go tool recorded. A build outside a repository
// knows no commit.
func readBuild() build {
	b := build{Version: "devel", Commit: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty {
		b.Commit += " with local changes"
	}
	return b
}

func (a *app) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if asJSON {
				return writeJSON(a.stdout, b)
			}
			_, err := fmt.Fprintf(a.stdout, "holdfast %s\ncommit %s\n%s %s/%s\n", b.Version, b.Commit, b.Go, runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object and nothing else")
	return cmd
}
