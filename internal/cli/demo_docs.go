package cli

import (
	"context"
	"io"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"
)

// demoDocsName starts the documents of the demonstration: this program, as a
// child that speaks the Model Context Protocol.
const demoDocsName = "demo-docs"

func (a *app) demoDocsCommand() *cobra.Command {
	return &cobra.Command{
		Use:    demoDocsName,
		Short:  "Serve the documents of the demonstration over standard input and output",
		Hidden: true,
		Args:   noArguments,
		RunE:   func(cmd *cobra.Command, _ []string) error { return a.serveDemoDocs(cmd.Context()) },
	}
}

// demoDocs are the documents: topics, and what they say.
func demoDocs() map[string]string {
	return map[string]string{
		"run":  "docs/run.md: the program main may be run, whoever asks.",
		"edit": "docs/edit.md: the program main is edited by its owner.",
	}
}

type docsQuery struct {
	Query string `json:"query" jsonschema:"a topic, such as run"`
}

func (a *app) serveDemoDocs(ctx context.Context) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "holdfast-demo-docs", Version: readBuild().Version}, nil)
	sdk.AddTool(server, &sdk.Tool{
		Name: "search", Description: "Searches the documents of the demonstration for a topic.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
	}, func(_ context.Context, _ *sdk.CallToolRequest, in docsQuery) (*sdk.CallToolResult, any, error) {
		text, found := demoDocs()[strings.ToLower(strings.TrimSpace(in.Query))]
		if !found {
			text = "No document is about that; there are: edit, run."
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
	})
	return server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(a.stdin), Writer: keepOpen{a.stdout}})
}

// keepOpen is a writer that the one who opened it closes.
type keepOpen struct{ io.Writer }

// Close does nothing.
func (keepOpen) Close() error { return nil }
