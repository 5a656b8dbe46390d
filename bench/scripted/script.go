// Package scripted is the model endpoint that every loop is measured against:
// a Chat Completions server in a process of its own, whose script is the same
// for all of them.
package scripted

import (
	"fmt"
	"strings"
)

// What every loop is set up with.
const (
	Model        = "scripted"
	Instructions = "Look every entry up before you answer."
	Question     = "How many entries are there?"
	ToolName     = "lookup"
	ToolText     = "Returns the entry of that number."
	ToolSchema   = `{"type":"object","properties":{"n":{"type":"integer","description":"number of the entry"}},"required":["n"],"additionalProperties":false}`
	MaxTokens    = 1024
)

// EntrySize is the size of an entry in bytes.
const EntrySize = 2048

// Entry is what the tool returns for n: text with quotes and line ends, as
// files and JSON have them, and different for each n.
func Entry(n int64) string {
	var b strings.Builder
	b.Grow(EntrySize + 80)
	for line := 0; b.Len() < EntrySize; line++ {
		fmt.Fprintf(&b, "entry %06d line %02d: {\"state\": \"open\", \"owner\": \"nobody\", \"note\": \"größer\"}\n", n, line)
	}
	return strings.ToValidUTF8(b.String()[:EntrySize], "")
}

// Entries are the first n entries, made beforehand so that no loop pays for
// making them.
func Entries(n int) []string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = Entry(int64(i))
	}
	return entries
}

// Answer is the model's answer in a run of that many turns.
func Answer(turns int) string {
	return fmt.Sprintf("There are %d entries, and I have looked at every one of them.", turns-1)
}

func callID(n int) string    { return fmt.Sprintf("call_%06d", n) }
func arguments(n int) string { return fmt.Sprintf(`{"n":%d}`, n) }
