package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
)

func (a *app) policySuggestCommand() *cobra.Command {
	var flags journalFlags
	var save, yes bool
	cmd := &cobra.Command{
		Use:   "suggest RUN CALL",
		Short: "Suggest a rule that always allows a call of the past, and show what it would have let through",
		Long: "Suggest writes the narrowest rule that allows the call again: its tool, its exact arguments, and whoever asked. It is\n" +
			"shown with every past call that it would have matched, and what was answered then. Nothing is saved without --save,\n" +
			"and then only after yes at a terminal, or with --yes.",
		Args: exactly(2, "a RUN and a CALL", "holdfast runs show RUN lists its calls"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.suggestRule(cmd.Context(), flags, args[0], args[1], save, yes)
		},
	}
	flags.add(cmd, "the configuration `FILE` with the rules, which the journal stands beside (default ./holdfast.yaml)", onlyUser, onlyTenant, oneObject)
	cmd.Flags().BoolVar(&save, "save", false, "add the rule to suggested.yaml in the folder of rules, whose rules come first")
	cmd.Flags().BoolVar(&yes, "yes", false, "with --save: without a question")
	return cmd
}

// suggested is what `policy suggest --json` prints.
type suggested struct {
	Rule    string      `json:"rule"` // as the file has it
	Matches []pastMatch `json:"matches"`
	Denied  string      `json:"denied"` // the rule that denies the call all the same; empty: none
	Saved   string      `json:"saved"`  // the file; empty: not saved
}

type pastMatch struct {
	Run  string    `json:"run"`
	Call string    `json:"call"`
	At   time.Time `json:"at"`
	Then string    `json:"then"`
}

func (a *app) suggestRule(ctx context.Context, flags journalFlags, run, call string, save, yes bool) error {
	b, c, err := a.openRules(flags.config)
	if err != nil {
		return err
	}
	defer b.release()
	out, err := a.suggestion(ctx, flags, b, c.Policy, run, call)
	if err != nil {
		return err
	}
	if !flags.json {
		newDisplay(a.stdout).suggested(out)
	}
	if save {
		if out.Saved, err = a.saveRule(ctx, c, out, yes); err != nil {
			return err
		}
	}
	if flags.json {
		return writeJSON(a.stdout, out)
	}
	if out.Saved != "" {
		newDisplay(a.stdout).printf("saved in %s; it counts for runs that start from now on\n", safeLine(out.Saved))
	}
	return nil
}

func (d *display) suggested(s *suggested) {
	d.printf("%s\n\n", safeLine(s.Rule))
	if s.Denied != "" {
		d.printf("it would change nothing: %s denies the call all the same\n", safeLine(s.Denied))
	}
	d.printf("it would have matched %d past decisions:\n", len(s.Matches))
	for i := range s.Matches {
		m := &s.Matches[i]
		d.printf("  %s  run %s, call %s: then %s\n", m.At.Format(time.RFC3339), safeLine(m.Run), safeLine(m.Call), m.Then)
	}
}

// suggestion makes the rule for a call, and tries it on the past.
func (a *app) suggestion(ctx context.Context, flags journalFlags, b *ruleBook, present []policy.Rule, run, call string) (*suggested, error) {
	reader, err := a.openReader(ctx, flags)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if _, err := findRun(ctx, reader, run, flags.who.sees); err != nil {
		return nil, err
	}
	var past []pastDecision
	var this *pastDecision
	err = pastDecisions(ctx, reader, flags.who, time.Time{}, func(p *pastDecision) error {
		past = append(past, *p)
		if p.head.Run == run && p.call.ID == call {
			this = p
		}
		return nil
	})
	if err == nil && this == nil {
		err = &kernel.Error{Code: kernel.CodeNotFound, Message: "the rules decided on no such call of that run", Hint: "holdfast runs show " + safeLine(run) + " lists its calls"}
	}
	if err != nil {
		return nil, err
	}
	rule, err := narrowest(this, b)
	if err != nil {
		return nil, err
	}
	alone, err := policy.NewRules([]policy.Rule{rule})
	if err != nil {
		return nil, err
	}
	denied, err := deniedStill(ctx, present, rule, this.request(b))
	if err != nil {
		return nil, err
	}
	matches := []pastMatch{}
	for i := range past {
		p := &past[i]
		if d, err := alone.Decide(ctx, p.request(b)); err == nil && d.Answer == kernel.Allow {
			matches = append(matches, pastMatch{Run: p.head.Run, Call: p.call.ID, At: p.at.UTC(), Then: string(p.decided.Answer)})
		}
	}
	return &suggested{Rule: "- " + yamlRule(rule), Matches: matches, Denied: denied}, nil
}

// deniedStill is the present rule that denies a call whatever is put in front of
// it; empty where the rule in front lets it through.
func deniedStill(ctx context.Context, present []policy.Rule, first policy.Rule, r policy.Request) (string, error) {
	rules, err := policy.NewRules(append([]policy.Rule{first}, present...))
	if err != nil {
		return "", err
	}
	d, err := rules.Decide(ctx, r)
	if err != nil || d.Answer != kernel.Deny {
		return "", err
	}
	// By its present position, which is one less.
	if rules, err = policy.NewRules(present); err != nil {
		return "", err
	}
	d, err = rules.Decide(ctx, r)
	return d.Rule, err
}

// narrowest is the rule for exactly that call of that person.
func narrowest(p *pastDecision, b *ruleBook) (policy.Rule, error) {
	var canonical bytes.Buffer
	var args map[string]any
	dec := json.NewDecoder(bytes.NewReader(p.request(b).Normal))
	dec.UseNumber()
	enc := json.NewEncoder(&canonical)
	enc.SetEscapeHTML(false)
	if err := errors.Join(dec.Decode(&args), enc.Encode(args)); err != nil {
		return policy.Rule{}, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the call's arguments are no JSON object", Err: err}
	}
	when := "args == " + visible(strings.TrimSpace(canonical.String()))
	for _, who := range []struct{ name, value string }{{"user", p.head.User}, {"tenant", p.head.Tenant}} {
		if who.value != "" {
			quoted, err := json.Marshal(who.value)
			if err != nil {
				return policy.Rule{}, err
			}
			when += " && " + who.name + " == " + visible(string(quoted))
		}
	}
	r := policy.Rule{Answer: kernel.Allow, Tool: p.call.Name, When: when}
	if err := r.Validate(); err != nil {
		return r, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "no rule can be made of this call: " + err.Message, Hint: "write one by hand: see docs/policy.md"}
	}
	return r, nil
}

// visible escapes what does not show inside the texts of an expression, which
// stays the same: in a file of rules it would mislead a reader, be folded into a
// space, or be no YAML.
func visible(expression string) string {
	var b strings.Builder
	for _, r := range expression {
		switch {
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// yamlRule writes a rule on one line, so that it can be added to a list.
func yamlRule(r policy.Rule) string {
	return fmt.Sprintf("{%s: %s, when: '%s'}", r.Answer, r.Tool, strings.ReplaceAll(r.When, "'", "''"))
}

// saveRule adds a rule behind those of policy/suggested.yaml, where somebody
// says yes.
func (a *app) saveRule(ctx context.Context, c *config.Config, s *suggested, yes bool) (string, error) {
	path := filepath.Join(c.PolicyDir, config.SuggestedRules)
	if s.Denied != "" {
		return "", &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the rule was not saved: " + s.Denied + " denies the call all the same",
			Hint: "a rule that denies wins wherever it stands: change that one first"}
	}
	if !yes {
		in, out := terminal(a.stdin), terminal(a.stderr)
		if in == nil || out == nil {
			return "", &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "there is no terminal to ask at", Hint: "look at the rule, and add --yes"}
		}
		ctx, stop := untilInterrupted(ctx, func() {})
		defer stop()
		line, err := newPerson(in, out, newDisplay(io.Discard)).ask(ctx, "\ntype yes to add this rule to "+safeLine(path)+": ")
		if err != nil {
			return "", err
		}
		if line != "yes" {
			return "", nil
		}
	}
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", unsaved(path, err)
	}
	if len(before) > 0 && !bytes.HasSuffix(before, []byte("\n")) {
		before = append(before, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", unsaved(path, err)
	}
	if err := replaceFile(path, append(before, s.Rule+"\n"...), 0o644); err != nil {
		return "", unsaved(path, err)
	}
	return path, nil
}

// replaceFile puts new content in the place of a file at once.
func replaceFile(path string, content []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".suggested-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func unsaved(path string, err error) error {
	if full := noRoom(fmt.Sprintf("the rule was not saved: %.200q", path), err); full != nil {
		return full
	}
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: fmt.Sprintf("the rule was not saved: %.200q cannot be written", path), Hint: "check the rights of the folder", Err: err}
}
