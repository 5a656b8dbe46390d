package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// deskAnswers is what a model at the desk does for T1001: as the script draft.
func deskAnswers() []stub.Step {
	return []stub.Step{
		stub.Calls(stub.Call{ID: "c1", Name: "get_ticket", Args: `{"ticket_id":"T1001"}`}),
		stub.Calls(stub.Call{ID: "c2", Name: "search_policies", Args: `{"query":"报销"}`}),
		stub.Calls(stub.Call{ID: "c3", Name: "prepare_ticket_draft", Args: `{"subject":"复核 T1001","body":"按 P1001 申请复核。"}`}),
		stub.Text("草稿已备好，请查看。依据：P1001。"),
	}
}

// liveDesk is a folder with a desk, and a model on this machine.
func liveDesk(t *testing.T) (dir string, server *stub.Server) {
	t.Helper()
	server, err := stub.Start(stub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	dir = project(t, map[string]string{"live.yaml": fmt.Sprintf("model: {provider: openai, name: m, base_url: %q}\n", server.OpenAIURL())})
	deskOutput[map[string]any](t, dir, "init")
	return dir, server
}

// askLive is a question to the model of liveDesk.
func askLive(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	return withKey(process(t, dir, "desk", "ask", "--mode", "live", "-c", "live.yaml", "--session", "s", "请为 T1001 准备草稿"))
}

func withKey(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-test")
	return cmd
}

// deskOutput is what a command of the desk prints, which succeeds.
func deskOutput[T any](t *testing.T, dir string, args ...string) (v T) {
	t.Helper()
	return printed[T](t, process(t, dir, append([]string{"desk"}, args...)...))
}

func printed[T any](t *testing.T, cmd *exec.Cmd) (v T) {
	t.Helper()
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil {
		t.Fatalf("%v: %v: %s%s", cmd.Args, err, out, stderrOf(err))
	}
	return v
}

func stderrOf(err error) []byte {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.Stderr
	}
	return nil
}

// killAt asks, and kills the process when its request number n, from 0, is
// under way.
func killAt(t *testing.T, server *stub.Server, n int, cmd *exec.Cmd) {
	t.Helper()
	steps := deskAnswers()[:n+1]
	steps[n].Stall = stub.Never()
	server.Play(steps...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-server.Arrived(n)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it was not killed")
	}
}

// A question whose process is killed is gone on with by the person's next one,
// wherever it was: each stops with a reason, and one draft and no ticket come
// of all of them.
func TestKilledAskIsGoneOnWith(t *testing.T) {
	for n, place := range []string{"before anything was read", "a ticket read", "policies found", "a draft prepared"} {
		t.Run(place, func(t *testing.T) {
			dir, server := liveDesk(t)
			killAt(t, server, n, askLive(t, dir))
			server.Play(deskAnswers()[n:]...) // for what was left
			server.Play(deskAnswers()[3])     // and the next question of the same conversation
			cmd := askLive(t, dir)
			cmd.Args[len(cmd.Args)-1] = "好了吗？"
			out, err := cmd.Output() // it looks nothing up: its answer is unsupported
			var r deskReport
			if e := json.Unmarshal(out, &r); e != nil {
				t.Fatalf("%v, %v: %s", err, e, out)
			}
			if len(r.Taken) != 1 || r.Taken[0].Stop != "verified_success" || r.Taken[0].Run == r.Run {
				t.Errorf("taken up: %+v", r.Taken)
			}
			wantOneDraft(t, dir)
			if r := deskOutput[deskReport](t, dir, "ask", "--session", "s", "q"); len(r.Taken) != 0 {
				t.Errorf("taken up again: %+v", r.Taken)
			}
		})
	}
}

// wantOneDraft expects one draft that nobody confirmed, of one revision, and no
// ticket but the fixture.
func wantOneDraft(t *testing.T, dir string) {
	t.Helper()
	drafts := deskOutput[[]deskDraft](t, dir, "drafts")
	if len(drafts) != 1 || drafts[0].Status != "pending" || drafts[0].Revision != 1 {
		t.Errorf("drafts %+v", drafts)
	}
	if tickets := deskOutput[[]deskTicket](t, dir, "tickets"); len(tickets) != 1 {
		t.Errorf("tickets %+v", tickets)
	}
}

// Where the key is not there any more, what was left is ended, with the reason;
// and nobody's question touches what somebody else's left.
func TestKilledAskThatCannotGoOnEnds(t *testing.T) {
	dir, server := liveDesk(t)
	// By an address that is not taken for this machine's own, it needs a key.
	keyed := strings.Replace(server.OpenAIURL(), "127.0.0.1", "0.0.0.0", 1)
	if err := os.WriteFile(filepath.Join(dir, "live.yaml"), fmt.Appendf(nil, "model: {provider: openai, name: m, base_url: %q}\n", keyed), 0o600); err != nil {
		t.Fatal(err)
	}
	killAt(t, server, 3, askLive(t, dir))
	bob := process(t, dir, "desk", "--user", "bob", "ask", "--session", "s", "T1002 怎么样了？")
	if out, _ := bob.Output(); !strings.Contains(string(out), `"taken_up":[]`) { // of bob's own ticket the script knows nothing: it fails
		t.Errorf("bob's question: %s", out)
	}
	r := deskOutput[deskReport](t, dir, "ask", "--session", "s", "T1001 为什么待补材料？")
	if len(r.Taken) != 1 {
		t.Fatalf("taken up: %+v", r.Taken)
	}
	if r.Taken[0].Stop != "cancelled" {
		t.Errorf("taken up: %+v", r.Taken)
	}
	wantOneDraft(t, dir)
	shown := printed[record](t, process(t, dir, "runs", "show", "--db", "desk.db.runs.db", "--json", r.Taken[0].Run))
	if !strings.Contains(shown.Detail, "its process ended") {
		t.Errorf("the reason is %q", shown.Detail)
	}
	if server.Count() != 4 {
		t.Errorf("%d requests", server.Count())
	}
}

// A run of another program in the desk's journal, of the same person and killed as
// well, is not a question at the desk: it is neither gone on with nor ended, and its
// own program still can.
func TestKilledRunOfAnotherProgramStays(t *testing.T) {
	dir, server := liveDesk(t)
	killAt(t, server, 0, withKey(process(t, dir, "run", "-c", "live.yaml", "--db", "desk.db.runs.db", "--tenant", "acme", "--user", "alice", "Hello")))
	if r := deskOutput[deskReport](t, dir, "ask", "--session", "s", "q"); len(r.Taken) != 0 {
		t.Errorf("taken up: %+v", r.Taken)
	}
	held := deskAnswers()[0]
	held.Stall = stub.Never()
	server.Play(held)
	killed := askLive(t, dir)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	<-server.Arrived(1)
	if err := killed.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = killed.Wait() // killed
	server.Play(deskAnswers()...)
	r := printed[deskReport](t, withKey(process(t, dir, "desk", "ask", "--session", "s", "q")))
	if len(r.Taken) != 1 || r.Taken[0].Stop != "verified_success" {
		t.Errorf("taken up: %+v", r.Taken)
	}
	left := printed[[]head](t, process(t, dir, "runs", "ls", "--json", "--state", "running", "--db", "desk.db.runs.db"))
	if len(left) != 1 || left[0].Question != "Hello" {
		t.Fatalf("left: %+v", left)
	}
	server.Play(stub.Text("Hello."))
	if out := succeed(t, withKey(process(t, dir, "work", "--once", "--db", "desk.db.runs.db"))); !strings.Contains(out, "stop: answered") {
		t.Errorf("work: %s", out)
	}
}

// An interrupt while an earlier question is gone on with cancels that one, begins
// nothing, and ends the command in order.
func TestInterruptWhileTakingUp(t *testing.T) {
	dir, server := liveDesk(t)
	killAt(t, server, 3, askLive(t, dir))
	held := deskAnswers()[3]
	held.Stall = stub.Never()
	server.Play(held)
	cmd := askLive(t, dir)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-server.Arrived(4)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupt || !strings.Contains(errs.String(), `"code":"CANCELLED"`) {
		t.Errorf("%v: %s", err, &errs)
	}
	runs := printed[[]head](t, process(t, dir, "runs", "ls", "--json", "--db", "desk.db.runs.db"))
	if len(runs) != 1 || runs[0].Stop != "cancelled" {
		t.Errorf("runs: %+v", runs)
	}
	wantOneDraft(t, dir)
}

// What was left has no more time than the next question itself, which a person at a
// terminal is told. Its end says so in the record.
func TestTakingUpIsBounded(t *testing.T) {
	dir, server := liveDesk(t)
	killAt(t, server, 3, askLive(t, dir))
	held := deskAnswers()[3]
	held.Stall = stub.Never()
	server.Play(held)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	cmd := withKey(process(t, dir, "desk", "ask", "--deadline", "500ms", "--session", "s", "q")) // whatever becomes of it in that time
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	k := &keyboard{t: t, person: master}
	k.waitFor("is gone on with first, for 500ms at most", 1)
	_ = cmd.Wait()
	var r deskReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Taken) != 1 || r.Taken[0].Stop != "cancelled" {
		t.Fatalf("%v: %s", err, &out)
	}
	shown := printed[record](t, process(t, dir, "runs", "show", "--db", "desk.db.runs.db", "--json", r.Taken[0].Run))
	if !strings.Contains(shown.Detail, "had 500ms to go on with it") {
		t.Errorf("the reason is %q", shown.Detail)
	}
}

// A conversation has one question at a time: another process's is not taken for
// left, and not disturbed.
func TestSessionInUse(t *testing.T) {
	dir, server := liveDesk(t)
	goOn := make(chan struct{})
	steps := deskAnswers()
	steps[1].Stall = goOn
	server.Play(steps...)
	first := askLive(t, dir)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-server.Arrived(1)
	second, err := askLive(t, dir).CombinedOutput()
	if err == nil || !strings.Contains(string(second), `"code":"CONFLICT"`) ||
		!strings.Contains(string(second), "holdfast runs cancel --db desk.db.runs.db run_") || !strings.Contains(string(second), "holdfast work --db desk.db.runs.db") {
		t.Errorf("%v: %s", err, second)
	}
	close(goOn)
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	wantOneDraft(t, dir)
}

// An operator goes on with everybody's questions by the command of every journal.
func TestWorkGoesOnWithTheDesk(t *testing.T) {
	dir, server := liveDesk(t)
	killAt(t, server, 2, askLive(t, dir))
	server.Play(deskAnswers()[2:]...)
	out, err := withKey(process(t, dir, "work", "--once", "--db", "desk.db.runs.db")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "stop: verified_success") {
		t.Errorf("%v: %s", err, out)
	}
	wantOneDraft(t, dir)
}

// Questions of many processes at once, on one desk: each comes to its draft, and
// none takes what another one drives for left.
func TestManyProcessesAsk(t *testing.T) {
	const many = 12
	dir := t.TempDir()
	deskOutput[map[string]any](t, dir, "init")
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			out, err := process(t, dir, "desk", "ask", "--scenario", "draft", "--deadline", "10m", "--session", fmt.Sprint(i), "q").CombinedOutput()
			var r deskReport
			if e := json.Unmarshal(out, &r); err != nil || e != nil || r.Status != "draft_prepared" || len(r.Trace) != 3 || len(r.Taken) != 0 {
				t.Errorf("%v, %v: %s", err, e, out)
			}
		})
	}
	wg.Wait()
	if drafts := deskOutput[[]deskDraft](t, dir, "drafts"); len(drafts) != many {
		t.Errorf("%d drafts", len(drafts))
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
