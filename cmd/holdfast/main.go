// Command holdfast runs tool-calling agents that act on real systems.
package main

import (
	"os"

	"github.com/holdfast-run/holdfast/internal/cli"
)

func main() {
	os.Exit(cli.Process(os.Args[1:]))
}
