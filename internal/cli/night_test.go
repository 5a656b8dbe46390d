package cli

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Whoever comes to a run whose process was killed is told by each screen what
// is so, and what to type next.
func TestScreensAfterAKill(t *testing.T) {
	dir := counting(t, "once")
	killedRun(t, dir)
	run, effect := shown(t, dir).Run, shown(t, dir).Effects[0].ID
	says := func(out string, want ...string) {
		t.Helper()
		for _, line := range want {
			if !strings.Contains(out, line) {
				t.Errorf("nothing says %q:\n%s", line, out)
			}
		}
	}

	if runtime.GOOS == "linux" { // elsewhere nobody knows it before the lease ends
		says(succeed(t, process(t, dir, "runs", "ls")), " running, but process ", " has ended ")
	}
	says(succeed(t, process(t, dir, "runs", "show", run)), "\nto go on: holdfast work --once\n")
	succeed(t, process(t, dir, "say", "s1", "And date it."))
	says(succeed(t, process(t, dir, "runs", "ls")), ", 1 signal to take up ")
	says(succeed(t, process(t, dir, "runs", "show", run)), ", 1 signal to take up\n")
	says(failure(t, process(t, dir, "effects", "resolve", effect, "--no-effect", "--note", "it never left")),
		"is running: nothing is to be found out yet", "holdfast work --once takes the run over")
	says(succeed(t, process(t, dir, "work", "--once")),
		run+": effect "+effect+" is unknown; `holdfast effects show "+effect+"` shows it\n", "\nwork: nothing can go on any more\n")
	says(succeed(t, process(t, dir, "runs", "show", run)),
		"\neffect "+effect+" of call call_1 (run_program) is unknown: ", "\nto say what was found out: holdfast effects resolve "+effect+" ")
	says(succeed(t, process(t, dir, "run", "--session", "s1", "Do it again.")),
		"\nhint: a call did not run, since nobody knows what became of effect "+effect+", ",
		": `holdfast effects show "+effect+"` shows where to look, `holdfast effects resolve "+effect+" --landed|--no-effect --note TEXT` records what was found\n")
	says(succeed(t, process(t, dir, "effects", "resolve", effect, "--landed", "--note", "it is on the statement")),
		"\nrun "+run+" has stopped (answered): nothing goes on by this\n")
	if out := succeed(t, process(t, dir, "runs", "show", run)); strings.Contains(out, "to say what was found out") {
		t.Errorf("what was found out is asked for again:\n%s", out)
	}
}

// failure is the standard error of a command that fails.
func failure(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errors strings.Builder
	cmd.Stderr = &errors
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitFailure {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return errors.String()
}
