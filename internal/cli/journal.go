package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// journalFlags say which journal to use, who looks, and how to print.
type journalFlags struct {
	config, db string
	who        identity
	json       bool
}

const besideConfig = "the configuration `FILE` that the journal stands beside (default ./holdfast.yaml)"

// add declares the flags. config says what the file is for, user and tenant
// what their names are for, and object what --json prints.
func (f *journalFlags) add(cmd *cobra.Command, config, user, tenant, object string) {
	f.addPlace(cmd, config, object)
	cmd.Flags().StringVar(&f.who.user, "user", "", user)
	cmd.Flags().StringVar(&f.who.tenant, "tenant", "", tenant)
}

// addPlace declares the flags of a command to which nobody is anybody.
func (f *journalFlags) addPlace(cmd *cobra.Command, config, object string) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", config)
	cmd.Flags().StringVar(&f.db, "db", "", "the journal's `FILE` (default .holdfast/journal.db beside the configuration file)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print "+object)
}

// The words of flags that several commands have.
const (
	onlyUser   = "only what is of the user `NAME`; the rest is not there"
	onlyTenant = "only what is of the tenant `NAME`; the rest is not there"
	oneObject  = "one JSON object and nothing else"
	oneArray   = "a JSON array of objects as one line, and nothing else"
)

// path is where the journal is.
func (f *journalFlags) path(a *app) (string, error) {
	if f.db != "" {
		return f.db, nil
	}
	file, err := a.configFile(f.config)
	if err != nil {
		return "", err
	}
	return journalBeside(file), nil
}

// again are the flags that find the same journal from the same place.
func (f *journalFlags) again() string {
	line := ""
	if f.config != "" {
		line += " -c " + quoteArgument(f.config)
	}
	if f.db != "" {
		line += " --db " + quoteArgument(f.db)
	}
	return line
}

// openReader opens the journal for reading alone, so that a run that is under
// way in another process is not disturbed.
func (a *app) openReader(ctx context.Context, flags journalFlags) (*sqlite.Reader, error) {
	path, err := flags.path(a)
	if err != nil {
		return nil, err
	}
	return sqlite.OpenReader(ctx, path, sqlite.Options{})
}

// openJournal opens a journal that is there, for writing. One of an older version is
// brought up to date.
func (a *app) openJournal(ctx context.Context, flags journalFlags) (*sqlite.Journal, error) {
	path, err := flags.path(a)
	if err != nil {
		return nil, err
	}
	reader, err := sqlite.OpenReader(ctx, path, sqlite.Options{})
	switch {
	case err == nil:
		if err := reader.Close(); err != nil {
			return nil, err
		}
	case kernel.CodeOf(err) == kernel.CodeNotFound:
		return nil, err
	}
	return sqlite.Open(ctx, path, sqlite.Options{})
}
