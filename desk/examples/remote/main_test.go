package remote_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/sqlite"
)

// part is what a process of the tests plays: it submits a draft.
type part struct {
	Dir, URL, Draft, Hash string
	Promise               remote.Promise
	Stuck                 bool // once it has confirmed, before it submits
}

// stuck keeps drafts, and does not return from a confirmation: it says on w that
// it is done.
type stuck struct {
	desk.DraftService
	w io.Writer
}

func (s stuck) Confirm(ctx context.Context, who desk.Identity, id, hash string) (desk.Confirmed, error) {
	if _, err := s.DraftService.Confirm(ctx, who, id, hash); err != nil {
		return desk.Confirmed{}, err
	}
	fmt.Fprintln(s.w, "confirmed")
	select {}
}

const partVariable = "HOLDFAST_REMOTE_PART"

func TestMain(m *testing.M) {
	text := os.Getenv(partVariable)
	if text == "" {
		goleak.VerifyTestMain(m)
		return
	}
	var p part
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.play(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (p part) play(ctx context.Context) error {
	db, err := sqlite.Open(ctx, filepath.Join(p.Dir, "desk.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	var drafts desk.DraftService = db
	if p.Stuck {
		drafts = stuck{db, os.Stdout}
	}
	d, err := remote.Open(ctx, remote.Config{Drafts: drafts, Runs: filepath.Join(p.Dir, "runs.db"), Service: p.URL, Promise: p.Promise})
	if err != nil {
		return err
	}
	who, err := desk.Fixture("alice")
	if err == nil {
		_, err = d.Submit(ctx, who, p.Draft, p.Hash)
	}
	return errors.Join(err, d.Close())
}

// start starts the process, which is ended with the test at the latest. What it
// says is on out.
func (p part) start(t *testing.T) (out *bufio.Reader, kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), partVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(pipe), func() {
		_ = cmd.Process.Kill() // SIGKILL
		_ = cmd.Wait()
	}
}
