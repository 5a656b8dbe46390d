package sqlite_test

import (
	"bufio"
	"context"
	"database/sql/driver"
	"fmt"
	"os"
	"os/exec"
	"testing"

	driversqlite "modernc.org/sqlite"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/sqlite"
	"github.com/holdfast-run/holdfast/kernel"
)

// confirmAndStall is the name of a process that confirms a draft and stands still
// in the middle of it: confirmer.
const confirmAndStall = "confirm-and-stall"

// Case 37, and the faults of the ticket assistant: a process that is killed
// while it confirms, at any place of the transaction, leaves no ticket and no
// link, and confirming again makes one ticket.
func TestCrashWhileConfirming(t *testing.T) {
	for name, place := range map[string]string{
		"before the ticket is inserted":                       "BEFORE INSERT ON main.tickets",
		"between the insert and the update":                   "BEFORE UPDATE OF ticket ON main.drafts",
		"after both, before the audit":                        "AFTER UPDATE OF ticket ON main.drafts",
		"after everything is written, before it is committed": "AFTER INSERT ON main.audit",
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			d := prepare(t, f)
			killConfirming(t, f.path, place, d)

			after := must(f.Draft(t.Context(), f.alice, d.ID))(t)
			if after != d {
				t.Errorf("the draft is %+v, and was %+v", after, d)
			}
			if n := tickets(t, f); n != 1 {
				t.Errorf("%d tickets", n)
			}
			if c := must(f.Confirm(t.Context(), f.alice, d.ID, d.Hash))(t); c.Already {
				t.Errorf("confirmed before: %+v", c)
			}
			if n := tickets(t, f); n != 2 {
				t.Errorf("%d tickets", n)
			}
		})
	}
}

// killConfirming kills a process that confirms a draft at that place.
func killConfirming(t *testing.T, path, place string, d desk.Draft) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, confirmAndStall, path, place, d.ID, d.Hash)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "there\n" {
		t.Errorf("the process says %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
}

// confirmer confirms a draft and stands still at a place of the transaction,
// after it has said that it is there. Temporary triggers belong to its
// connection: the file stays as it is.
func confirmer(args []string) int {
	path, place, id, hash := args[0], args[1], args[2], args[3]
	driversqlite.MustRegisterScalarFunction("stall", 0, func(*driversqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		fmt.Println("there")
		select {}
	})
	driversqlite.RegisterConnectionHook(func(conn driversqlite.ExecQuerierContext, _ string) error {
		_, err := conn.ExecContext(context.Background(), "CREATE TEMP TRIGGER stalls "+place+" BEGIN SELECT stall(); END", nil)
		return err
	})
	clock := newClock() // at which the draft is not late
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{Now: clock.Now})
	if err == nil {
		_, err = db.Confirm(context.Background(), desk.Identity{Tenant: "acme", User: "alice"}, id, hash)
	}
	fmt.Fprintln(os.Stderr, "it did not stand still:", err)
	return 1
}

// Case 37: what fails between the insert and the update leaves neither.
func TestFailureWhileConfirming(t *testing.T) {
	f := open(t)
	d := prepare(t, f)
	file := raw(t, f.path)
	run := func(statement string) {
		t.Helper()
		if _, err := file.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE TRIGGER fails BEFORE UPDATE OF ticket ON drafts BEGIN SELECT RAISE(ABORT, 'injected'); END`)
	_, err := f.Confirm(t.Context(), f.alice, d.ID, d.Hash)
	wantCode(t, kernel.CodeLocalStorage, err)
	if n, after := tickets(t, f), must(f.Draft(t.Context(), f.alice, d.ID))(t); n != 1 || after.Ticket != "" {
		t.Errorf("%d tickets, and the draft is %+v", n, after)
	}
	run(`DROP TRIGGER fails`)
	must(f.Confirm(t.Context(), f.alice, d.ID, d.Hash))(t)
	if n := tickets(t, f); n != 2 {
		t.Errorf("%d tickets", n)
	}
}
