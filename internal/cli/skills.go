package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/skill"
)

func (a *app) skillsCommand() *cobra.Command {
	return group("skills", "List, show, check and install skills", "skills ls, skills show NAME, skills validate PATH or skills install FILE",
		a.skillsListCommand(), a.skillsShowCommand(), a.skillsValidateCommand(), a.skillsInstallCommand())
}

// skillFlags are those of the commands on skills.
type skillFlags struct {
	config string
	json   bool
}

func (f *skillFlags) add(cmd *cobra.Command, form string) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "the configuration `FILE` that names the folders (default ./holdfast.yaml)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print "+form)
}

func (a *app) skillsListCommand() *cobra.Command {
	var flags skillFlags
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the skills of the configured folders, with those that are left out and why",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return a.listSkills(flags) },
	}
	flags.add(cmd, oneArray)
	return cmd
}

func (a *app) skillsShowCommand() *cobra.Command {
	var flags skillFlags
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a skill: what it says of itself, its files and its instructions",
		Args:  exactly(1, "one NAME", "holdfast skills ls lists them"),
		RunE:  func(_ *cobra.Command, args []string) error { return a.showSkill(flags, args[0]) },
	}
	flags.add(cmd, oneObject)
	return cmd
}

func (a *app) skillsValidateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate PATH",
		Short: "Check the folder of one skill against the format",
		Args:  exactly(1, "the PATH of a folder", "a skill is a folder with a "+skill.ManifestName),
		RunE:  func(_ *cobra.Command, args []string) error { return a.validateSkill(args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print "+oneObject)
	return cmd
}

func (a *app) skillsInstallCommand() *cobra.Command {
	var flags skillFlags
	var to string
	var options skill.InstallOptions
	cmd := &cobra.Command{
		Use:   "install FILE",
		Short: "Install a skill from a .zip or .tar.gz file, whole or not at all",
		Long: "Install unpacks an archive that holds one folder, which is the skill, into the first configured folder of skills.\n" +
			"An archive that is anything else is refused and leaves nothing behind. Read a skill before a run may load it: its\n" +
			"instructions reach the model.",
		Args: exactly(1, "one FILE", "a skill is packed as one folder in a .zip or .tar.gz file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.installSkill(cmd.Context(), flags, args[0], to, options)
		},
	}
	flags.add(cmd, oneObject)
	cmd.Flags().StringVar(&to, "to", "", "the `FOLDER` to install it in (default: the first one that skills names)")
	cmd.Flags().BoolVar(&options.Replace, "replace", false, "put it in the place of a skill of the same name")
	return cmd
}

// skillFolders are the folders that the configuration names.
func (a *app) skillFolders(flags skillFlags) ([]string, error) {
	c, err := a.readConfig(flags.config)
	if err != nil {
		return nil, err
	}
	if len(c.Skills) == 0 {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "no skills are configured", Hint: "add skills: [./skills] to the configuration file"}
	}
	return c.Skills, nil
}

func (a *app) openSkills(flags skillFlags) (*skill.Catalog, error) {
	folders, err := a.skillFolders(flags)
	if err != nil {
		return nil, err
	}
	return skill.Open(folders...)
}

func (a *app) listSkills(flags skillFlags) error {
	catalog, err := a.openSkills(flags)
	if err != nil {
		return err
	}
	defer catalog.Close()
	rows := make([]skillRow, 0, len(catalog.Entries()))
	for _, e := range catalog.Entries() {
		rows = append(rows, newSkillRow(&e))
	}
	if flags.json {
		return writeJSON(a.stdout, rows)
	}
	return a.table("NAME\tSTATE\tDESCRIPTION", func(d *display) {
		for i := range rows {
			r := &rows[i]
			d.printf("%s\t%s\t%s\n", safeLine(r.Name), r.State, previewIn(r.Description, maxListed))
			if r.Reason != "" {
				d.printf("\t\t%s\n", safeLine(r.Reason))
			}
		}
	})
}

func (a *app) showSkill(flags skillFlags, name string) error {
	catalog, err := a.openSkills(flags)
	if err != nil {
		return err
	}
	defer catalog.Close()
	var broken *skill.Entry
	for _, e := range catalog.Entries() {
		switch {
		case e.Name != name:
		case e.State == skill.OK:
			return a.tellSkill(&e, flags.json)
		case broken == nil:
			broken = &e
		}
	}
	if broken != nil {
		return unfitSkill(broken)
	}
	return &kernel.Error{Code: kernel.CodeNotFound, Message: fmt.Sprintf("no skill is named %.80q", name), Hint: "holdfast skills ls lists them"}
}

func (a *app) validateSkill(place string, asJSON bool) error {
	e, err := skill.Look(place)
	if err != nil {
		return err
	}
	if e.State != skill.OK {
		return unfitSkill(&e)
	}
	return a.tellSkill(&e, asJSON)
}

func (a *app) installSkill(ctx context.Context, flags skillFlags, archive, to string, o skill.InstallOptions) error {
	if to == "" {
		folders, err := a.skillFolders(flags)
		if err != nil {
			return err
		}
		to = folders[0]
	}
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	s, place, err := skill.Install(ctx, archive, to, o)
	if err != nil {
		return err
	}
	e := skill.Entry{Name: s.Name, State: skill.OK, Path: place, Reason: strings.Join(s.Notes, "; "), Skill: s}
	if flags.json {
		return writeJSON(a.stdout, newSkillDetail(&e))
	}
	d := newDisplay(a.stdout)
	d.printf("installed %s in %s\n", s.Name, safeLine(filepath.Dir(place)))
	for _, note := range s.Notes {
		d.printf("note: %s\n", safeLine(note))
	}
	d.printf("read it before a run may load it: holdfast skills validate %s\n", quoteArgument(place))
	return nil
}

func unfitSkill(e *skill.Entry) error {
	return &kernel.Error{
		Code:    kernel.CodeInvalidArgument,
		Message: fmt.Sprintf("%.80q is not a skill that can be loaded (%s): %s", e.Name, e.State, e.Reason),
		Hint:    "docs/skills.md says what a skill is",
	}
}

// tellSkill prints a skill, for programs or for people.
func (a *app) tellSkill(e *skill.Entry, asJSON bool) error {
	if asJSON {
		return writeJSON(a.stdout, newSkillDetail(e))
	}
	s, d := e.Skill, newDisplay(a.stdout)
	d.printf("skill %s: %s\n  path %s\n  description %s\n  revision %s\n", safeLine(s.Name), e.State, safeLine(e.Path), safeLine(s.Description), s.Digest)
	if s.License != "" {
		d.printf("  license %s\n", safeLine(s.License))
	}
	if s.Compatibility != "" {
		d.printf("  it needs %s\n", safeLine(s.Compatibility))
	}
	if s.AllowedTools != nil {
		d.printf("  once loaded, only these can be called beside its own two tools: %s\n", safeLine(strings.Join(s.AllowedTools, ", ")))
	}
	for _, f := range s.Files {
		d.printf("  file %s (%d bytes)\n", safeLine(f.Path), f.Size)
	}
	if e.Reason != "" {
		d.printf("  note: %s\n", safeLine(e.Reason))
	}
	d.printf("\n")
	for line := range strings.Lines(s.Body) {
		d.printf("    %s\n", safeLine(strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// skillRow is a skill as `skills ls --json` prints it.
type skillRow struct {
	Name        string `json:"name"`
	State       string `json:"state"`
	Path        string `json:"path"`
	Reason      string `json:"reason"`
	Description string `json:"description"`
}

func newSkillRow(e *skill.Entry) skillRow {
	r := skillRow{Name: e.Name, State: string(e.State), Path: e.Path, Reason: e.Reason}
	if e.Skill != nil {
		r.Description = e.Skill.Description
	}
	return r
}

// skillDetail is a skill as the other commands print it.
type skillDetail struct {
	skillRow
	License       string            `json:"license"`
	Compatibility string            `json:"compatibility"`
	Metadata      map[string]string `json:"metadata"`
	AllowedTools  []string          `json:"allowed_tools"` // null: it narrows nothing
	Digest        string            `json:"digest"`
	Files         []skillFile       `json:"files"`
	Body          string            `json:"body"`
}

type skillFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

func newSkillDetail(e *skill.Entry) skillDetail {
	s := e.Skill
	d := skillDetail{
		skillRow: newSkillRow(e), License: s.License, Compatibility: s.Compatibility, Metadata: s.Metadata,
		AllowedTools: s.AllowedTools, Digest: s.Digest, Files: make([]skillFile, 0, len(s.Files)), Body: s.Body,
	}
	if d.Metadata == nil {
		d.Metadata = map[string]string{}
	}
	for _, f := range s.Files {
		d.Files = append(d.Files, skillFile(f))
	}
	return d
}
