package cli

import (
	"context"
	"fmt"
	"os"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// deskPolicy is a version of a policy as the desk prints it. Who else may see it
// is for the operator who imports it, not for the person who lists it.
type deskPolicy struct {
	ID        string     `json:"policy_id"`
	Version   string     `json:"version"`
	Title     string     `json:"title"`
	ValidFrom *time.Time `json:"valid_from"` // null: always
	Source    *string    `json:"source"`
	Tenant    string     `json:"tenant"`
}

func toDeskPolicy(tenant string, p desk.Policy) deskPolicy {
	var from *time.Time
	if p.ValidFrom.Unix() > 0 {
		from = &p.ValidFrom
	}
	return deskPolicy{p.ID, p.Version, p.Title, from, orNoText(p.Source), tenant}
}

// deskImport is what became of a file.
type deskImport struct {
	deskPolicy

	Viewers    []string `json:"viewers"`
	Characters int      `json:"characters"`
	Changed    bool     `json:"changed"`
	Notice     *string  `json:"notice"`
}

func (a *app) deskPoliciesCommand(flags *deskFlags) *cobra.Command {
	return group("policies", "Import policies, and list them", "desk policies import and desk policies ls",
		a.deskPoliciesImportCommand(flags), a.deskPoliciesListCommand(flags))
}

func (a *app) deskPoliciesImportCommand(flags *deskFlags) *cobra.Command {
	var over retrieval.Front
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Import versions of policies from Markdown, text, HTML and PDF, all files or none",
		Args:  atLeastOne("one FILE", "name Markdown, text, HTML or PDF files"),
		RunE: func(cmd *cobra.Command, files []string) error {
			return a.desk(cmd.Context(), flags, func(ctx context.Context, db *sqlite.DB, _ desk.Identity) error {
				return interruptibly(ctx, func(ctx context.Context) error { return a.importPolicies(ctx, flags, db, files, over) })
			})
		},
	}
	cmd.Flags().StringVar(&over.Tenant, "tenant", "", "the `TENANT` whose policies they are")
	cmd.Flags().StringArrayVar((*[]string)(&over.Viewers), "viewer", nil, "a `USER` who may see them; none: everybody of the tenant")
	cmd.Flags().StringVar(&over.Version, "version", "", "the `VERSION`")
	cmd.Flags().StringVar(&over.ValidFrom, "valid-from", "", "the `DATE` since when they are in force; none: always")
	cmd.Flags().StringVar(&over.ID, "id", "", "the policy's `ID`, for one file")
	cmd.Flags().StringVar(&over.Title, "title", "", "the `TITLE`, for one file")
	return cmd
}

func (a *app) importPolicies(ctx context.Context, flags *deskFlags, db *sqlite.DB, files []string, over retrieval.Front) error {
	tenants, policies, err := parseFiles(ctx, files, over)
	if err != nil {
		return err
	}
	changed, err := db.PutPolicies(ctx, tenants, policies)
	if err != nil {
		return err
	}
	unembedded, err := db.Unembedded(ctx)
	if err != nil {
		return err
	}
	list := make([]deskImport, len(policies))
	for i, p := range policies {
		list[i] = deskImport{toDeskPolicy(tenants[i], p), append([]string{}, p.Viewers...), utf8.RuneCountInString(p.Body), changed[i], nil}
		if changed[i] && unembedded > 0 {
			list[i].Notice = orNoText(a.deskSay(flags, noticeUnembedded))
		}
	}
	return writeJSON(a.stdout, list)
}

func parseFiles(ctx context.Context, files []string, over retrieval.Front) (tenants []string, policies []desk.Policy, err error) {
	if len(files) > 1 && (over.ID != "" || over.Title != "") {
		return nil, nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "--id and --title are for one file", Hint: "give each file its own in front matter"}
	}
	type version struct{ tenant, id, version string }
	from := map[version]string{}
	text := 0
	for _, name := range files {
		if err := desk.CheckImport(len(files), text); err != nil {
			return nil, nil, err
		}
		tenant, p, err := parseFile(ctx, name, over)
		if err != nil {
			return nil, nil, err
		}
		text += len(p.Body)
		this := version{tenant, p.ID, p.Version}
		if first, twice := from[this]; twice {
			return nil, nil, &kernel.Error{
				Code:    kernel.CodeInvalidArgument,
				Message: fmt.Sprintf("%q and %q are both version %s of policy %s", first, name, p.Version, p.ID), Hint: "nothing was imported; give each file its own id or version",
			}
		}
		from[this] = name
		tenants, policies = append(tenants, tenant), append(policies, p)
	}
	return tenants, policies, nil
}

func parseFile(ctx context.Context, name string, over retrieval.Front) (string, desk.Policy, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return "", desk.Policy{}, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%q is no regular file", name), Hint: "nothing was imported; name files, not folders"}
	}
	file, err := os.Open(name)
	if err != nil {
		return "", desk.Policy{}, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%q cannot be read", name), Hint: "nothing was imported: " + err.Error()}
	}
	defer file.Close()
	return retrieval.Parse(ctx, name, file, over)
}

func (a *app) deskPoliciesListCommand(flags *deskFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the policies in force that the person may see",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.desk(cmd.Context(), flags, func(ctx context.Context, db *sqlite.DB, who desk.Identity) error {
				all, err := db.Policies(ctx, who)
				if err != nil {
					return err
				}
				list := make([]deskPolicy, len(all))
				for i := range all {
					list[i] = toDeskPolicy(who.Tenant, all[i])
				}
				return writeJSON(a.stdout, list)
			})
		},
	}
}
