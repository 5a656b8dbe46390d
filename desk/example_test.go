package desk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-run/holdfast"
	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval/hashed"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/model/script"
)

// An application has a desk of its own: its tenants, its tickets, its policies, an
// embedder, and people whom its login has made known. The model may prepare a
// draft; the ticket comes of the person's own confirmation of what the draft says.
func Example() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "desk"))
	defer os.RemoveAll(dir)
	// hashed needs no network and knows no meaning; retrieval/openai asks an endpoint.
	db := must(sqlite.Create(ctx, filepath.Join(dir, "desk.db"), sqlite.Options{Embedder: hashed.Embedder{}}))
	defer db.Close()
	rt := must(holdfast.Open(ctx, holdfast.Options{File: filepath.Join(dir, "runs.db")}))
	defer rt.Close()

	dana := desk.Identity{Tenant: "globex", User: "dana"} // as the login says
	must(db.PutPolicies(ctx, []string{"globex"}, []desk.Policy{
		{ID: "TR-7", Version: "1", Title: "Travel", Body: "A hotel above 150 a night needs the approval of a manager."},
	}))
	if err := db.AddTicket(ctx, dana, desk.Ticket{ID: "T42", Subject: "Hotel in Bergen", Body: "180 a night", Status: desk.Pending}); err != nil {
		panic(err)
	}

	agent := must(desk.Agent(appeals(), desk.Services{Tickets: db, Drafts: db, Policies: db}))
	run := must(rt.RunStart(ctx, holdfast.Start{Agent: agent, Question: "Why is T42 held up? Prepare an appeal.", Tenant: dana.Tenant, User: dana.User}))
	result := must(desk.ResultOf(ctx, db, dana, run))
	fmt.Println(result.Status, result.Cited, len(result.Tickets))

	draft := result.Drafts[0] // what the person reads
	fmt.Println(draft.Subject)
	first := must(db.Confirm(ctx, dana, draft.ID, draft.Hash))
	again := must(db.Confirm(ctx, dana, draft.ID, draft.Hash))
	fmt.Println(first.Already, again.Already, first.Ticket == again.Ticket, len(must(db.Tickets(ctx, dana))))
	// Output:
	// draft_prepared [TR-7] 0
	// Appeal for T42
	// false true true 2
}

// appeals is a fixed script and no real model.
func appeals() *script.Model {
	return must(script.New(script.Config{Script: &script.Script{Steps: []script.Step{
		{Calls: []script.Call{{ID: "1", Name: desk.GetTicket, Args: `{"ticket_id":"T42"}`}}},
		{Calls: []script.Call{{ID: "2", Name: desk.SearchPolicies, Args: `{"query":"hotel approval"}`}}},
		{Calls: []script.Call{{ID: "3", Name: desk.PrepareTicketDraft, Args: `{"subject":"Appeal for T42","body":"All hotels were full. The approval follows."}`}}},
		{Text: "T42 needs the approval of a manager, as TR-7 says. The draft is ready for you to confirm."},
	}}}))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
