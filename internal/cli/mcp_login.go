package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
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
			c, err := a.readConfig(flags.config)
			if err != nil {
				return err
			}
			redirect := defaultRedirect
			if o := c.MCP[args[0]].OAuth; o != nil && o.Redirect != "" {
				redirect = o.Redirect
			}
			return a.withServersOf(cmd.Context(), c, nil, func(ctx context.Context, s *mcp.Servers) error {
				return a.loginMCP(ctx, flags, s, args[0], redirect)
			})
		},
	}
	flags.add(cmd, oneObject)
	return cmd
}

// browserTime bounds how long a browser is waited for.
const browserTime = 10 * time.Minute

// defaultRedirect is where browsers come back to; port 0 is one that is free.
const defaultRedirect = "http://127.0.0.1:0/callback"

func (a *app) loginMCP(ctx context.Context, flags mcpFlags, s *mcp.Servers, server, redirect string) error {
	ctx, cancel := context.WithTimeout(ctx, browserTime)
	defer cancel()
	b, err := awaitBrowser(ctx, redirect)
	if err != nil {
		return err
	}
	defer b.close()
	visit := func(ctx context.Context, page string) (mcp.Returned, error) {
		if _, err := fmt.Fprintf(a.stderr, "open this page in a browser of this machine, log in and grant access:\n\n  %s\n\nwaiting for the browser to come back\n", safeLine(page)); err != nil {
			return mcp.Returned{}, err
		}
		return b.visited(ctx, page)
	}
	if err := s.Login(ctx, server, b.address, visit); err != nil {
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

// browser is the place that a browser comes back to.
type browser struct {
	address string // of it
	back    chan mcp.Returned
	web     *http.Server
	served  chan struct{}
}

// awaitBrowser listens at an address of this machine.
func awaitBrowser(ctx context.Context, redirect string) (*browser, error) {
	u, err := url.Parse(redirect)
	if err != nil {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the redirect address is none", Err: err}
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "nothing can listen at " + u.Host + " for the browser", Hint: "end what listens there", Err: err}
	}
	if _, port, err := net.SplitHostPort(l.Addr().String()); err == nil {
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	b := &browser{address: u.String(), back: make(chan mcp.Returned), served: make(chan struct{})}
	b.web = &http.Server{Handler: b.callback(u.Path), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(b.served)
		_ = b.web.Serve(l) // it ends when it is closed
	}()
	return b, nil
}

// close lets the browser have its page, and ends.
func (b *browser) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = b.web.Shutdown(ctx)
	_ = b.web.Close()
	<-b.served
}

// callback hands on what browsers come back with.
func (b *browser) callback(path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		q := r.URL.Query()
		back := mcp.Returned{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss"), Refused: q.Get("error")}
		select {
		case b.back <- back:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("You can close this page and go back to the terminal.\n"))
	})
}

// visited waits for the browser that was sent to a page. One that knows nothing of
// that page is somebody else's.
func (b *browser) visited(ctx context.Context, page string) (mcp.Returned, error) {
	u, err := url.Parse(page)
	if err != nil {
		return mcp.Returned{}, err
	}
	for {
		select {
		case r := <-b.back:
			if r.State == u.Query().Get("state") {
				return r, nil
			}
		case <-ctx.Done():
			return mcp.Returned{}, &kernel.Error{Code: kernel.CodeCancelled, Message: "no browser came back"}
		}
	}
}
