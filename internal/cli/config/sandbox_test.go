package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/internal/cli/config"
)

const sandboxed = `
tools: [run_program]
sandbox:
  require: landlock
  read: [data, /srv]
  limits: {cpu: 60s, memory_mb: 512, file_size_mb: 10, processes: 8, open_files: 64}
programs:
  main: [python3, main.py]
  fetch: {argv: [curl], sandbox: {network: true, read: [], limits: {cpu: 5s}}}
  deploy: {argv: [./deploy], sandbox: {enabled: false}}
`

func TestSandbox(t *testing.T) {
	path := write(t, sandboxed)
	c, err := config.Read(path, tools)
	if err != nil {
		t.Fatal(err)
	}
	limits := config.SandboxLimits{CPU: time.Minute, MemoryMB: 512, FileSizeMB: 10, Processes: 8, OpenFiles: 64}
	file := config.Sandbox{Require: "landlock", Read: []string{c.Dir + "/data", "/srv"}, Limits: limits}
	if diff := cmp.Diff(&file, c.Sandbox); diff != "" {
		t.Error(diff)
	}
	fetch := file
	fetch.Network, fetch.Read, fetch.Limits.CPU = new(true), []string{}, 5*time.Second
	deploy := file
	deploy.Enabled = new(false)
	for name, want := range map[string]config.Sandbox{"main": file, "fetch": fetch, "deploy": deploy} {
		if diff := cmp.Diff(want, c.Programs[name].Sandbox.Over(*c.Sandbox)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestSandboxRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"sandbox: {require: chroot}":                        `sandbox.require: "chroot" is not known`,
		"sandbox: {network: yes please}":                    "sandbox.network: must be true or false",
		"sandbox: {read: data}":                             "sandbox.read: must be a list",
		`sandbox: {write: ["a\0b"]}`:                        "sandbox.write[0]: must not hold a NUL",
		"sandbox: {limits: {cpu: 10ms}}":                    "sandbox.limits.cpu: must be from 1s",
		"sandbox: {limits: {memory_mb: 1}}":                 "sandbox.limits.memory_mb: must be a whole number from 16",
		"sandbox: {limits: {open_files: 3}}":                "sandbox.limits.open_files: must be a whole number from 16",
		"sandbox: {seccomp: true}":                          `unknown key "seccomp"`,
		"programs: {a: {argv: [a], sandbox: {require: 1}}}": "programs.a.sandbox.require",
	} {
		_, err := config.Read(write(t, text), tools)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// An empty list of a program's own is not the file's list, also once it was
// kept with a run.
func TestSandboxKeepsAnEmptyList(t *testing.T) {
	c, err := config.Read(write(t, sandboxed+"model: {provider: openai, name: m}"), tools)
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.Stored()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := config.FromStored(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := kept.Programs["fetch"].Sandbox.Over(*kept.Sandbox); len(got.Read) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestDiffOfSandboxes(t *testing.T) {
	same := config.Diff(read(t, ""), read(t, "sandbox: {require: none, network: false, enabled: true, read: []}"))
	if len(same) != 0 {
		t.Errorf("what means the same: %q", same)
	}
	got := config.Diff(read(t, ""), read(t, "sandbox: {require: bwrap, network: true, limits: {cpu: 1m}}"))
	want := []string{"sandbox.limits.cpu: (unset) -> 1m", "sandbox.network: false -> true", "sandbox.require: none -> bwrap"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
