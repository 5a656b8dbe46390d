package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/prompt/memory"
)

func (a *app) memoryCommand() *cobra.Command {
	return group("memory", "List, show, propose, confirm and forget what is remembered",
		"memory ls, memory show ID, memory propose TEXT, memory confirm ID or memory forget ID",
		a.memoryListCommand(), a.memoryShowCommand(), a.memoryProposeCommand(), a.memoryConfirmCommand(), a.memoryForgetCommand())
}

// memoryFlags are those of the commands on memory, which need no journal.
type memoryFlags struct {
	config string
	who    identity
	json   bool
}

const memoryUser = "only what is of the user `NAME` or of the project; the rest is not there"

func (f *memoryFlags) add(cmd *cobra.Command, user, object string) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "the configuration `FILE` that says where memory is (default ./holdfast.yaml)")
	cmd.Flags().StringVar(&f.who.user, "user", "", user)
	cmd.Flags().StringVar(&f.who.tenant, "tenant", "", "only what is of the tenant `NAME` or of the project; the rest is not there")
	cmd.Flags().BoolVar(&f.json, "json", false, "print "+object)
}

// again are the flags that find the same memory from the same place.
func (f *memoryFlags) again() string {
	if f.config == "" {
		return ""
	}
	return " -c " + quoteArgument(f.config)
}

func (a *app) memoryListCommand() *cobra.Command {
	var flags memoryFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what is remembered, and what is only proposed",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.listMemory(cmd.Context(), flags, all)
		},
	}
	flags.add(cmd, memoryUser, oneArray)
	cmd.Flags().BoolVar(&all, "all", false, "also what is forgotten")
	return cmd
}

func (a *app) memoryShowCommand() *cobra.Command {
	var flags memoryFlags
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show an entry: its exact text, whose it is, who wrote it and who decided on it",
		Args:  exactly(1, "one ID", "holdfast memory ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showMemory(cmd.Context(), flags, args[0])
		},
	}
	flags.add(cmd, memoryUser, oneObject)
	return cmd
}

// openMemory opens the memory that the configuration names.
func (a *app) openMemory(flags memoryFlags) (*memory.Memory, *config.Config, error) {
	c, err := a.readConfig(flags.config)
	if err != nil {
		return nil, nil, err
	}
	if !remembers(c) {
		return nil, nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "no memory is configured", Hint: "add memory: {project: ./memory, user: ~/.holdfast/memory} to the configuration file"}
	}
	m, err := openMemory(c)
	return m, c, err
}

// remembers reports whether an entry is there for the identity: what is of the
// project, once somebody confirmed it or where nobody is known to have proposed
// it, and what is its own (invariant I15).
func (w identity) remembers(e *memory.Entry) bool {
	if e.Scope == memory.Project && (e.State == memory.Confirmed || e.Owner == memory.Owner{}) {
		return true
	}
	return (w.user == "" || w.user == e.Owner.User) && (w.tenant == "" || w.tenant == e.Owner.Tenant)
}

// blind hides from one identity which other one had what is the project's now
// remembered.
func (w identity) blind(e *memory.Entry) {
	if w.user != "" && w.user != e.Owner.User || w.tenant != "" && w.tenant != e.Owner.Tenant {
		e.Owner = memory.Owner{}
	}
}

func findMemory(ctx context.Context, m *memory.Memory, w identity, id string) (memory.Entry, error) {
	e, err := m.Find(ctx, id, w.remembers)
	return e, listedBy(err, id, ofMemory)
}

func (a *app) listMemory(ctx context.Context, flags memoryFlags, all bool) error {
	m, c, err := a.openMemory(flags)
	if err != nil {
		return err
	}
	found, err := m.List(ctx)
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(e memory.Entry) bool {
		return !flags.who.remembers(&e) || !all && e.State == memory.Forgotten && e.Problem == ""
	})
	for i := range found {
		flags.who.blind(&found[i])
	}
	if flags.json {
		list := make([]remembered, 0, len(found))
		for i := range found {
			list = append(list, newRemembered(&found[i]))
		}
		return writeJSON(a.stdout, list)
	}
	err = a.table("ID\tSTATE\tSCOPE\tOF\tAUTHOR\tCREATED\tTEXT", func(d *display) {
		for i := range found {
			e := &found[i]
			d.printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", safeLine(e.ID), e.State, e.Scope, orDash(safeLine(e.Owner.User)), orDash(safeLine(e.Author)),
				stampOrDash(e.Created), pick(e.Problem == "", previewIn(e.Text, maxListed), "("+previewIn(e.Problem, maxListed)+")"))
		}
	})
	if err != nil || !c.Memory.AgentsMD {
		return err
	}
	return a.sayNotes(ctx, c)
}

// sayNotes says which AGENTS.md goes with requests beside the memory.
func (a *app) sayNotes(ctx context.Context, c *config.Config) error {
	path, text, err := memory.AgentsFile{Workspace: c.Workspace}.Read(ctx)
	if err != nil || path == "" {
		return err
	}
	newDisplay(a.stdout).printf("beside it, as notes that nobody confirmed: %s (%d bytes)\n", safeLine(path), len(text))
	return nil
}

func (a *app) showMemory(ctx context.Context, flags memoryFlags, id string) error {
	m, _, err := a.openMemory(flags)
	if err != nil {
		return err
	}
	e, err := findMemory(ctx, m, flags.who, id)
	if err != nil {
		return err
	}
	return a.tellMemory(flags, &e, describeMemory(&e)+nextOfMemory(&e, flags))
}

// tellMemory prints an entry, for programs or for people.
func (a *app) tellMemory(flags memoryFlags, e *memory.Entry, text string) error {
	flags.who.blind(e)
	if flags.json {
		return writeJSON(a.stdout, newRemembered(e))
	}
	newDisplay(a.stdout).printf("%s", text)
	return nil
}

// remembered is an entry as --json prints it.
type remembered struct {
	ID        string     `json:"id"`
	State     string     `json:"state"`
	Scope     string     `json:"scope"`
	Tenant    string     `json:"tenant"`
	User      string     `json:"user"`
	Author    string     `json:"author"`
	Source    string     `json:"source"`
	Created   *time.Time `json:"created"`
	Text      *string    `json:"text"`
	Hash      string     `json:"hash"`
	File      string     `json:"file"`
	DecidedBy string     `json:"decided_by"`
	DecidedAt *time.Time `json:"decided_at"`
	Problem   string     `json:"problem"`
}

func newRemembered(e *memory.Entry) remembered {
	return remembered{
		ID: e.ID, State: string(e.State), Scope: string(e.Scope), Tenant: e.Owner.Tenant, User: e.Owner.User,
		Author: e.Author, Source: e.Source, Created: orNull(e.Created), Text: textOf([]byte(e.Text)), Hash: e.Hash, File: e.File,
		DecidedBy: e.By, DecidedAt: orNull(e.At), Problem: e.Problem,
	}
}
