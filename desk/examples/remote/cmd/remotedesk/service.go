package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
	"github.com/holdfast-run/holdfast/kernel"
)

// home is where the service is unless something else is said.
const home = "127.0.0.1:8090"

func serviceCommands() []command {
	var listen, at, during string
	var plain bool
	var times int
	address := func(f *flag.FlagSet) { f.StringVar(&at, "service", "http://"+home, "the service's `URL`") }
	return []command{
		{
			name: "service", about: "be the ticket service, until interrupted",
			flags: func(f *flag.FlagSet) {
				f.StringVar(&listen, "listen", home, "the `ADDRESS` to listen on")
				f.BoolVar(&plain, "plain", false, "take no notice of keys, as older services do")
			},
			run: func(ctx context.Context, _ []string, out io.Writer) error { return serve(ctx, listen, plain, out) },
		},
		{
			name: "fault", args: "KIND", about: "let something go wrong at the service: lose_request, lose_response, error_after, delay, duplicate, refuse, no_lookup; none",
			flags: func(f *flag.FlagSet) {
				address(f)
				f.IntVar(&times, "times", 0, "with how many requests; 0: with all from now on")
				f.StringVar(&during, "for", "", "how long delay waits, such as 20s")
			},
			run: func(ctx context.Context, args []string, out io.Writer) error {
				kind := service.FaultKind(args[0])
				if kind == "none" {
					kind = service.None
				}
				return request(ctx, http.MethodPut, at+"/fault", map[string]any{"fault": kind, "times": times, "for": during}, out)
			},
		},
		{
			name: "tickets", about: "list the tickets that the service has", flags: address,
			run: func(ctx context.Context, _ []string, out io.Writer) error {
				return request(ctx, http.MethodGet, at+"/tickets", nil, out)
			},
		},
	}
}

// serve is the service. It says where it is before it answers anybody.
func serve(ctx context.Context, listen string, plain bool, out io.Writer) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the service cannot listen on " + listen, Hint: "name a free address with --listen", Err: err}
	}
	server := &http.Server{Handler: &service.Service{Plain: plain}, ReadHeaderTimeout: 5 * time.Second}
	if err := show(out, map[string]string{"listening": "http://" + l.Addr().String()}); err != nil {
		return errors.Join(err, l.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(server.Close(), <-ended)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// request passes on what the service answers.
func request(ctx context.Context, method, url string, body any, out io.Writer) error {
	var text io.Reader = http.NoBody
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		text = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, text)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return &kernel.Error{Code: kernel.CodeConfiguration, Message: "the ticket service is not there", Hint: "start it: remotedesk service", Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "the service refuses: " + string(bytes.TrimSpace(answer)), Hint: "remotedesk without a command lists what it takes"}
	}
	_, err = out.Write(answer)
	return err
}
