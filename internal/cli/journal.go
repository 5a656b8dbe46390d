package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
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

// openJournal opens a journal that is there, for writing. One of an older
// version is brought up to date.
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

// identity is on whose behalf a command looks or acts, as --user and --tenant
// say. A name that was not given excludes nobody: without both a command has
// the view of whoever operates the journal.
type identity struct{ user, tenant string }

// sees reports whether what belongs to o is there for the identity. What it
// does not see reads like what is not there (row 43).
func (w identity) sees(o journal.Owner) bool {
	return (w.user == "" || w.user == o.User) && (w.tenant == "" || w.tenant == o.Tenant)
}

// reaches reports the same for what the identity acts on: what was started
// without a name is nobody's, and whoever acts on it may give theirs.
func (w identity) reaches(o journal.Owner) bool {
	return (w.user == "" || o.User == "" || w.user == o.User) && (w.tenant == "" || w.tenant == o.Tenant)
}

// orOperator is a name for the record where none was given.
func (w identity) orOperator() string {
	if w.user == "" {
		return "operator"
	}
	return w.user
}

// head returns a run that is there for whom the flags name.
func (f *journalFlags) head(ctx context.Context, j journal.Reader, run string, there func(journal.Owner) bool) (journal.Head, error) {
	h, err := j.Head(ctx, run)
	if err == nil && !there(h.Owner()) {
		err = journal.NotFound(run)
	}
	return h, err
}

// exactly takes n arguments. want says which, in the words of an error.
func exactly(n int, want, hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return usage(commandName(cmd)+" takes exactly "+want, hint)
	}
}

// commandName is how a command is called, without the program's name.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// group is a command that only has others below it. which asks for one.
func group(name, short, which string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("which one: "+which+"?", "holdfast "+name+" --help")
			}
			return usage(fmt.Sprintf("unknown command %s %.80q", name, args[0]), "holdfast "+name+" --help lists the commands")
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(below...)
	return cmd
}
