package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/internal/cli/config"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

func (a *app) mcpCommand() *cobra.Command {
	return group("mcp", "Look at MCP servers, call their tools, log in to them", "mcp ls, mcp tools, mcp call SERVER TOOL ARGS or mcp login SERVER",
		a.mcpListCommand(), a.mcpToolsCommand(), a.mcpCallCommand(), a.mcpLoginCommand())
}

// mcpFlags are the flags of the commands about servers.
type mcpFlags struct {
	config string
	json   bool
}

func (f *mcpFlags) add(cmd *cobra.Command, form string) {
	cmd.Flags().StringVarP(&f.config, "config", "c", "", "the configuration `FILE` (default ./holdfast.yaml, if it is there)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print "+form)
}

func (a *app) mcpListCommand() *cobra.Command {
	var flags mcpFlags
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "Start the configured servers and say how each one stands",
		Long: "Ls starts the configured servers and says how each one stands. It exits with 1 where one is not ready, however it prints,\n" +
			"so that a script sees at once that a run would go without its tools.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withServers(cmd.Context(), flags, nil, func(ctx context.Context, s *mcp.Servers) error {
				s.Settle(ctx)
				return a.showServers(ctx, flags, s.Summaries())
			})
		},
	}
	flags.add(cmd, oneArray)
	return cmd
}

func (a *app) mcpToolsCommand() *cobra.Command {
	var flags mcpFlags
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "Start the configured servers and list their tools, with those that are set aside",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withServers(cmd.Context(), flags, nil, func(ctx context.Context, s *mcp.Servers) error {
				s.Settle(ctx)
				return a.showTools(flags, s.Tools())
			})
		},
	}
	flags.add(cmd, oneArray)
	return cmd
}

func (a *app) mcpCallCommand() *cobra.Command {
	var flags mcpFlags
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL ARGS",
		Short: "Call a tool of a server yourself, outside of any run and policy",
		Long: "Call calls a tool by its own name at the server, with ARGS as one JSON object (- reads it from standard input).\n" +
			"It is your own act: no policy is asked, no run is made and nothing is journaled. At a terminal the call is shown first,\n" +
			"and only the line yes makes it.",
		Args: exactly(3, "SERVER, TOOL and ARGS", "holdfast mcp tools lists the tools"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callMCP(cmd.Context(), flags, args[0], args[1], args[2])
		},
	}
	flags.add(cmd, oneObject)
	return cmd
}

// withServers gives do the configured servers, and ends them.
func (a *app) withServers(ctx context.Context, flags mcpFlags, ask elicitor, do func(context.Context, *mcp.Servers) error) error {
	c, err := a.readConfig(flags.config)
	if err != nil {
		return err
	}
	return a.withServersOf(ctx, c, ask, do)
}

// withServersOf does that with the servers of a configuration.
func (a *app) withServersOf(ctx context.Context, c *config.Config, ask elicitor, do func(context.Context, *mcp.Servers) error) error {
	c.CompleteMCP(a.env)
	servers, err := buildMCP(c, ask, 0)
	if err != nil {
		return err
	}
	defer servers.Close() // never fails
	ctx, stop := untilInterrupted(ctx, func() {})
	defer stop()
	if err := do(ctx, servers); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return &kernel.Error{Code: kernel.CodeCancelled, Message: "interrupted"}
	}
	return nil
}

// showServers prints them, and fails where one is not ready.
func (a *app) showServers(ctx context.Context, flags mcpFlags, all []mcp.Summary) error {
	var err error
	if flags.json {
		err = writeJSON(a.stdout, all)
	} else {
		err = a.tableOfServers(all)
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	if slices.ContainsFunc(all, func(s mcp.Summary) bool { return s.State != mcp.Ready }) {
		return exitError(exitFailure)
	}
	return nil
}

func (a *app) tableOfServers(all []mcp.Summary) error {
	return a.table("SERVER\tSTATE\tTOOLS\tSET ASIDE\tREASON", func(d *display) {
		for i := range all {
			s := &all[i]
			d.printf("%s\t%s\t%d\t%d\t%s\n", safeLine(s.Server), s.State, s.Tools, s.Aside, orDash(safeLine(s.Reason)))
			for _, note := range s.Notes {
				d.printf("\t\t\t\t%s\n", safeLine(note))
			}
		}
	})
}

func (a *app) showTools(flags mcpFlags, all []mcp.Status) error {
	if flags.json {
		return writeJSON(a.stdout, all)
	}
	return a.table("NAME\tSERVER\tTOOL\tSTATE\tCLASS\tREASON", func(d *display) {
		for i := range all {
			s := &all[i]
			d.printf("%s\t%s\t%s\t%s\t%s\t%s\n", orDash(s.Name), safeLine(s.Server), orDash(safeLine(s.Tool)), s.State,
				orDash(string(s.Effect)), orDash(safeLine(s.Reason)))
		}
	})
}

func (a *app) callMCP(ctx context.Context, flags mcpFlags, server, name, given string) error {
	given, err := a.readText(given, "the arguments", "give less")
	if err != nil {
		return err
	}
	if err := kernel.CheckArguments(given); err != nil {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "ARGS is not one JSON object: " + err.Error(), Hint: `such as '{"query": "refunds"}'`}
	}
	var ask elicitor
	in, out := terminal(a.stdin), terminal(a.stderr)
	if in != nil && out != nil {
		p := newPerson(in, out, newDisplay(io.Discard))
		question := fmt.Sprintf("\ncall %s of the mcp server %s with\n  %s\ntype yes to call it; anything else does not: ", safeLine(name), safeLine(server), exactArguments([]byte(given)))
		line, err := p.ask(ctx, question)
		if err != nil || line != "yes" {
			return &kernel.Error{Code: kernel.CodeCancelled, Message: "nothing was called"}
		}
		ask = p.elicit
	}
	return a.withServers(ctx, flags, ask, func(ctx context.Context, s *mcp.Servers) error {
		o, err := s.Call(ctx, server, name, json.RawMessage(given))
		if err != nil {
			return err
		}
		return a.showCalled(flags, &o)
	})
}

// called is a result as --json prints it.
type called struct {
	Text        string             `json:"text"`
	IsError     bool               `json:"is_error"`
	Data        json.RawMessage    `json:"data"`
	Disposition kernel.Disposition `json:"disposition"`
	Code        kernel.Code        `json:"code"`
}

func (a *app) showCalled(flags mcpFlags, o *tool.Outcome) error {
	if flags.json {
		err := writeJSON(a.stdout, called{Text: o.Text, IsError: o.IsError, Data: o.Data, Disposition: o.Facts.Disposition, Code: o.Facts.Code})
		if err != nil {
			return err
		}
	} else {
		newDisplay(a.stdout).printf("%s\n", safeLines(o.Text))
	}
	if o.IsError {
		return exitError(exitFailure)
	}
	return nil
}
