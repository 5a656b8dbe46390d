package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/engine"
	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/policy"
	"github.com/holdfast-run/holdfast/tool"
)

func (a *app) policyCommand() *cobra.Command {
	return group("policy", "Explain and test the rules, try them on past calls, suggest one", "policy explain, policy test, policy recheck or policy suggest",
		a.policyExplainCommand(), a.policyTestCommand(), a.policyRecheckCommand(), a.policySuggestCommand())
}

// ruleBook are the rules of a configuration and the tools that they are about.
type ruleBook struct {
	rules   *policy.Rules
	places  []string
	tools   *tool.Set
	servers map[string]config.MCPServer
	release func()
}

// openRules reads the rules and makes the tools, as a run would have them. The
// tools of servers are not started: rules see their names and arguments.
func (a *app) openRules(file string) (*ruleBook, *config.Config, error) {
	c, err := a.readConfig(file)
	if err != nil {
		return nil, nil, err
	}
	rules, err := policy.NewRules(c.Policy)
	if err != nil {
		return nil, nil, err
	}
	tools, release, err := buildTools(c)
	if err != nil {
		return nil, nil, err
	}
	agent := &engine.Agent{Tools: tools}
	if release, err = withSkills(agent, c, release); err != nil {
		return nil, nil, err
	}
	tools = agent.Tools
	return &ruleBook{rules: rules, places: c.PolicyPlaces, tools: tools, servers: c.MCP, release: release}, c, nil
}

// request is a call as the rules see it. A tool of a server has the class that is
// configured for it; that and the risk of any other tool that is not here are the
// gravest.
func (b *ruleBook) request(name string, args json.RawMessage, who identity) policy.Request {
	r := policy.Request{
		Tool: name, Arguments: args, User: who.user, Tenant: who.tenant,
		Effect: b.tools.EffectOf(name, args), Risk: kernel.RiskHigh, Argv: b.tools.Argv(name, args), Normal: b.tools.Normal(name, args),
	}
	if spec, ok := b.tools.Spec(name); ok {
		r.Risk = spec.Risk
	} else if class, ok := b.configured(name); ok {
		r.Effect, r.Risk = class, kernel.RiskOf(class)
	}
	return r
}

// configured is the class that the configuration gives a tool of a server.
func (b *ruleBook) configured(name string) (kernel.EffectClass, bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", false
	}
	server, original, _ := strings.Cut(rest, "__") // no server's name holds that
	class, ok := b.servers[server].Effects[original]
	return class, ok
}

// place is where the rule of that position stands; empty for the default.
func (b *ruleBook) place(position int) string {
	if position < 1 || position > len(b.places) {
		return ""
	}
	return b.places[position-1]
}

func (a *app) policyExplainCommand() *cobra.Command {
	var file string
	var who identity
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain TOOL ARGS",
		Short: "Say what the rules answer to a call, and why",
		Long: "Explain decides on a call as a run would: ARGS is the JSON object of its arguments. It runs nothing and asks nobody. The\n" +
			"exit code is 0 for allow, and 1 for ask and deny.",
		Args: exactly(2, "a TOOL and its ARGS", `such as holdfast policy explain run_program '{"program":"main"}'`),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.explainPolicy(file, who, asJSON, args[0], json.RawMessage(args[1]))
		},
	}
	addRuleFlags(cmd, &file, &asJSON, oneObject)
	addAsker(cmd, &who)
	return cmd
}

func addRuleFlags(cmd *cobra.Command, file *string, asJSON *bool, object string) {
	cmd.Flags().StringVarP(file, "config", "c", "", "the configuration `FILE` with the rules (default ./holdfast.yaml, if it is there)")
	cmd.Flags().BoolVar(asJSON, "json", false, "print "+object)
}

func addAsker(cmd *cobra.Command, who *identity) {
	cmd.Flags().StringVar(&who.user, "user", "", "the `NAME` of who asks")
	cmd.Flags().StringVar(&who.tenant, "tenant", "", "the `NAME` of whose data it is")
}

// explained is what `policy explain --json` prints.
type explained struct {
	Answer string     `json:"answer"`
	Rule   string     `json:"rule"`
	Place  string     `json:"place"`
	Reason string     `json:"reason"`
	Risk   string     `json:"risk"`
	Effect string     `json:"effect"`
	Valid  string     `json:"invalid"` // why the arguments are not acceptable whatever the rules say; empty: they are
	Policy string     `json:"policy"`
	Rules  []ruleLook `json:"rules"`
}

type ruleLook struct {
	Position int    `json:"position"`
	Rule     string `json:"rule"`
	Place    string `json:"place"`
	Outcome  string `json:"outcome"`
	Doubt    string `json:"doubt,omitempty"`
	Decided  bool   `json:"decided"`
}

func (a *app) explainPolicy(file string, who identity, asJSON bool, name string, args json.RawMessage) error {
	if err := kernel.CheckArguments(string(args)); err != nil {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "ARGS is not one JSON object: " + err.Error(), Hint: `write it like '{"path":"a.txt"}'`}
	}
	b, _, err := a.openRules(file)
	if err != nil {
		return err
	}
	defer b.release()
	r := b.request(name, args, who)
	e := b.rules.Explain(context.Background(), r)
	out := b.explained(&r, &e)
	if asJSON {
		err = writeJSON(a.stdout, out)
	} else {
		newDisplay(a.stdout).explained(name, &out)
	}
	if err == nil && e.Answer != kernel.Allow {
		err = exitError(exitFailure)
	}
	return err
}

func (b *ruleBook) explained(r *policy.Request, e *policy.Explanation) explained {
	out := explained{
		Answer: string(e.Answer), Rule: e.Rule, Reason: e.Reason, Risk: string(r.Risk), Effect: string(r.Effect), Policy: b.rules.Hash(), Rules: []ruleLook{},
	}
	if e.Risk != "" {
		out.Risk = string(e.Risk)
	}
	if _, here := b.tools.Spec(r.Tool); here {
		if err := b.tools.Check(r.Tool, r.Arguments); err != nil {
			out.Valid = asError(err).Message
		}
	}
	for _, l := range e.Rules {
		if l.Decided {
			out.Place = b.place(l.Position)
		}
		out.Rules = append(out.Rules, ruleLook{
			Position: l.Position, Rule: config.RuleText(l.Rule), Place: b.place(l.Position), Outcome: string(l.Outcome), Doubt: l.Doubt, Decided: l.Decided,
		})
	}
	return out
}

func (d *display) explained(name string, e *explained) {
	d.printf("%s %s: %s\n", e.Answer, safeLine(name), safeLine(e.Rule)+pick(e.Place != "", ", "+safeLine(e.Place), ""))
	if e.Reason != "" {
		d.printf("  reason: %s\n", safeLine(e.Reason))
	}
	d.printf("  risk %s, effect %s\n", e.Risk, e.Effect)
	if e.Valid != "" {
		d.printf("  but a run would refuse these arguments first: %s\n", safeLine(e.Valid))
	}
	looked := slices.DeleteFunc(slices.Clone(e.Rules), func(l ruleLook) bool { return l.Outcome == string(policy.OtherTool) })
	d.printf("rules about the tool: %d of %d\n", len(looked), len(e.Rules))
	for _, l := range looked {
		d.printf("  %s %3d %s (%s)%s\n", pick(l.Decided, ">", " "), l.Position, safeLine(l.Rule), safeLine(l.Place), ": "+lookWords(&l))
	}
}

func lookWords(l *ruleLook) string {
	switch policy.LookOutcome(l.Outcome) {
	case policy.Matched:
		return pick(l.Decided, "decides", "matches, and another one counts")
	case policy.NotMet:
		return "its condition does not hold"
	case policy.Undecided:
		return fmt.Sprintf("whether its condition holds cannot be told: %s", safeLine(l.Doubt))
	case policy.Unasked:
		return "not looked at: the rule that counts leaves it nothing to say"
	case policy.OtherTool:
	}
	return "about another tool"
}
