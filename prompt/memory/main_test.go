//go:build linux || darwin

package memory_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-run/holdfast/prompt/memory"
)

// writerEnv makes the test binary a writer of its own: see TestTwoProcesses.
const writerEnv = "HOLDFAST_TEST_MEMORY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		os.Exit(writeUntilKilled(dir))
	}
	goleak.VerifyTestMain(m)
}

// writeUntilKilled proposes, confirms and forgets, and says before and after
// each what it is about.
func writeUntilKilled(dir string) int {
	m, err := memory.Open(memory.Config{Project: dir + "/project", User: dir + "/user"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	who := os.Getenv("HOLDFAST_TEST_WHO")
	count, _ := strconv.Atoi(os.Getenv("HOLDFAST_TEST_COUNT"))
	for i := 0; count == 0 || i < count; i++ {
		e, err := m.Propose(ctx, memory.Proposal{Scope: memory.Project, Owner: memory.Owner{User: who}, Text: fmt.Sprintf("%s says %d", who, i), Author: who})
		if err == nil {
			fmt.Println("proposed", e.ID)
			e, err = m.Confirm(ctx, e, e.Hash, who)
		}
		if err == nil {
			fmt.Println("confirmed", e.ID)
		}
		if err == nil && i%2 == 1 {
			if _, err = m.Forget(ctx, e, who); err == nil {
				fmt.Println("forgot", e.ID)
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}
