package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

func (a *app) mcpLoginCommand() *cobra.Command {
	var flags mcpFlags
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in to an HTTP server by OAuth, and keep what that brings for runs",
		Long: "Login prints the address of a page, waits on this machine for the browser that comes back from it, and keeps the token in a\n" +
			"file that only you can read, in the folder holdfast/mcp of your configuration folder. It prints no token.",
		Args: exactly(1, "one SERVER", "holdfast mcp ls lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withServers(cmd.Context(), flags, nil, func(ctx context.Context, s *mcp.Servers) error {
				return a.loginMCP(ctx, flags, s, args[0])
			})
		},
	}
	flags.add(cmd, oneObject)
	return cmd
}

// browserTime bounds how long a browser is waited for.
const browserTime = 10 * time.Minute

func (a *app) loginMCP(ctx context.Context, flags mcpFlags, s *mcp.Servers, server string) error {
	ctx, cancel := context.WithTimeout(ctx, browserTime)
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return &kernel.Error{Code: kernel.CodeInternal, Message: "nothing can listen on this machine for the browser", Err: err}
	}
	back := make(chan mcp.Returned, 1)
	web := &http.Server{Handler: callback(back), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = web.Serve(l) // it ends when it is closed
	}()
	defer func() {
		_ = web.Close()
		<-served
	}()
	visit := func(ctx context.Context, page string) (mcp.Returned, error) {
		if _, err := fmt.Fprintf(a.stderr, "open this page in a browser of this machine, log in and grant access:\n\n  %s\n\nwaiting for the browser to come back\n", safeLine(page)); err != nil {
			return mcp.Returned{}, err
		}
		select {
		case r := <-back:
			return r, nil
		case <-ctx.Done():
			return mcp.Returned{}, &kernel.Error{Code: kernel.CodeCancelled, Message: "no browser came back"}
		}
	}
	if err := s.Login(ctx, server, "http://"+l.Addr().String()+"/callback", visit); err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, struct {
			Server string `json:"server"`
			Saved  bool   `json:"saved"`
		}{server, true})
	}
	newDisplay(a.stdout).printf("logged in to %s; runs use it from now on\n", safeLine(server))
	return nil
}

// callback takes the first browser that comes back with a code or an error.
func callback(back chan<- mcp.Returned) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		select {
		case back <- mcp.Returned{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss")}:
		default:
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("You can close this page and go back to the terminal.\n"))
	})
	return mux
}
