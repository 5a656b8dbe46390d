package cli

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// checked runs the tests and then looks for goroutines that they left behind.
type checked struct{ m *testing.M }

func (c checked) Run() int {
	code := c.m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestMain makes the test binary the program too: called by the name holdfast
// it is holdfast, so that the scripts run real processes, and whatever it is
// called it serves the demonstration, which starts its own file.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == demoDocsName {
		os.Exit(Process(os.Args[1:]))
	}
	testscript.Main(checked{m}, map[string]func(){
		"holdfast": func() { os.Exit(Process(os.Args[1:])) },
	})
}

// TestScripts runs the command line as others do: real processes, real files,
// a real server on the loopback interface.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":     code,
			"fill":     fill,
			"play":     play,
			"requests": requests,
			"body":     body,
			"nowhere":  nowhere,
			"savehead": saveHead,
			"saverun":  saveRun,
			"saveid":   saveID,

			"savearchive": saveArchive,
			"savepair":    savePair,
			"sql":         runSQL,
		},
	})
}

type serverKey struct{}

// setup gives each script a stub server of its own.
func setup(env *testscript.Env) error {
	server, err := stub.Start(stub.Options{Reasoning: stub.AllowReasoning})
	if err != nil {
		return err
	}
	env.Defer(server.Close)
	env.Values[serverKey{}] = server
	binary, err := exec.LookPath("holdfast")
	if err != nil {
		return err
	}
	env.Setenv("HOLDFAST", binary)
	env.Vars = append(env.Vars, quickExit)
	env.Setenv("STUB_OPENAI", server.OpenAIURL())
	// The same server by an address that is not taken for this machine's own, so
	// that it needs a key.
	env.Setenv("STUB_KEYED", strings.Replace(server.OpenAIURL(), "127.0.0.1", "0.0.0.0", 1))
	env.Setenv("STUB_ANTHROPIC", server.AnthropicURL())
	return nil
}

func server(ts *testscript.TestScript) *stub.Server {
	return ts.Value(serverKey{}).(*stub.Server)
}

// code N COMMAND… runs a command and expects it to exit with N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND [ARGS…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// play FILE gives the stub server the answers of a YAML file.
func play(ts *testscript.TestScript, _ bool, args []string) {
	var steps []struct {
		Text     string
		Thinking string
		Calls    []stub.Call
		Stop     kernel.StopReason
		Usage    *kernel.Usage
		Status   int
		Body     string
	}
	ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(args[0])), &steps))
	for _, s := range steps {
		switch {
		case s.Status != 0:
			server(ts).Play(stub.Status(s.Status))
		case s.Body != "":
			server(ts).Play(stub.Bytes(s.Body))
		default:
			r := stub.Reply{Text: s.Text, Calls: s.Calls, Stop: s.Stop, Usage: s.Usage}
			if s.Thinking != "" {
				r.Thinking = []stub.Thinking{{Text: s.Thinking}}
			}
			server(ts).Play(stub.Answer(r))
		}
	}
}

// requests N expects the stub server to have been asked N times.
func requests(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(server(ts).Count()); got != args[0] {
		ts.Fatalf("%s requests, want %s", got, args[0])
	}
}

// body N PATTERN COUNT expects the pattern so often in what the stub server was
// sent as request N, from 0.
func body(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	sent := server(ts).Requests()
	if n >= len(sent) {
		ts.Fatalf("%d requests", len(sent))
	}
	if got := len(regexp.MustCompile(args[1]).FindAll(sent[n].Body, -1)); strconv.Itoa(got) != args[2] {
		ts.Fatalf("%d times, want %s: %s", got, args[2], sent[n].Body)
	}
}

// nowhere TEXT [FILE…] expects the text in no output of the last command, in no file
// of the script's directory but those that are named.
func nowhere(ts *testscript.TestScript, _ bool, args []string) {
	text := args[0]
	for _, out := range []string{"stdout", "stderr"} {
		if strings.Contains(ts.ReadFile(out), text) {
			ts.Fatalf("%s shows %q", out, text)
		}
	}
	root := ts.MkAbs(".")
	ts.Check(filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || slices.Contains(args[1:], filepath.Base(path)) {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), text) {
			return fmt.Errorf("%s holds %q", path, text)
		}
		return err
	}))
}

// saverun NAME keeps the run id of the last output in an environment variable.
func saveRun(ts *testscript.TestScript, _ bool, args []string) {
	out := ts.ReadFile("stdout")
	i := strings.LastIndex(out, "run_")
	if i < 0 || len(out) < i+30 {
		ts.Fatalf("no run id in the output")
	}
	ts.Setenv(args[0], out[i:i+30])
}

// saveid NAME PREFIX keeps the first id of the last output that begins with the
// prefix in an environment variable.
func saveID(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], ids(ts, args[1], 1)[0])
}

// savepair NAME NAME PREFIX does it with the first two, as they were asked: a list
// has the latest first.
func savePair(ts *testscript.TestScript, _ bool, args []string) {
	found := ids(ts, args[2], 2)
	ts.Setenv(args[0], found[1])
	ts.Setenv(args[1], found[0])
}

// ids are the ids of the last output that begin with a prefix, each once.
func ids(ts *testscript.TestScript, prefix string, least int) []string {
	var found []string
	for _, id := range regexp.MustCompile(`\b`+regexp.QuoteMeta(prefix)+`[0-9A-Za-z]+`).FindAllString(ts.ReadFile("stdout"), -1) {
		if !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	if len(found) < least {
		ts.Fatalf("%d ids %s… in the output", len(found), prefix)
	}
	return found
}

// savearchive NAME INDEX keeps the id of an archive that the last output lists;
// -1 is the last one.
func saveArchive(ts *testscript.TestScript, _ bool, args []string) {
	var out struct {
		Archives []struct {
			ID string `json:"id"`
		} `json:"archives"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &out))
	i, err := strconv.Atoi(args[1])
	ts.Check(err)
	if i < 0 {
		i += len(out.Archives)
	}
	ts.Setenv(args[0], out.Archives[i].ID)
}

// savehead NAME keeps the first line of the last output in an environment
// variable.
func saveHead(ts *testscript.TestScript, _ bool, args []string) {
	line, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	ts.Setenv(args[0], line)
}

// sql FILE STATEMENT changes a file as somebody would who gets at it.
func runSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	res, err := db.Exec(os.Expand(args[1], ts.Getenv))
	ts.Check(err)
	if n, err := res.RowsAffected(); err != nil || n == 0 && !strings.HasPrefix(args[1], "DROP") {
		ts.Fatalf("nothing was changed: %v", err)
	}
}
