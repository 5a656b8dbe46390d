package remote_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A person confirms a draft. The service makes the ticket, loses its answer, and
// cannot be asked: nobody knows. Later it can be.
func Example() {
	tickets := &service.Service{}
	server := httptest.NewServer(tickets)
	defer server.Close()
	dir := must(os.MkdirTemp("", "holdfast-example-"))
	defer os.RemoveAll(dir)

	ctx := context.Background()
	db := must(sqlite.Create(ctx, filepath.Join(dir, "desk.db"), sqlite.Options{}))
	defer db.Close()
	d := must(remote.Open(ctx, remote.Config{
		Drafts: db, Runs: filepath.Join(dir, "runs.db"), Service: server.URL, Promise: remote.PromiseLookup,
	}))
	defer d.Close()

	alice := must(desk.Fixture("alice"))
	draft := must(db.Prepare(ctx, alice, "s", "Review T1001", "The travel approval is still missing."))
	tickets.Fail(service.Fault{Kind: service.LoseResponse, Times: 1})
	tickets.Fail(service.Fault{Kind: service.NoLookup})
	fmt.Println(must(d.Submit(ctx, alice, draft.ID, draft.Hash)).State)

	tickets.Fail(service.Fault{})
	for _, found := range must(d.Check(ctx)) {
		fmt.Println(found.As, "because", found.Note)
	}
	again := must(d.Submit(ctx, alice, draft.ID, draft.Hash)) // another click
	fmt.Println(again.State, again.Remote)
	fmt.Println(len(tickets.Tickets()), "ticket,", tickets.Posts(), "request")
	// Output:
	// unknown
	// landed because the service has it as S-1
	// submitted S-1
	// 1 ticket, 1 request
}
