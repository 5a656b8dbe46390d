package archtest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-run/holdfast/internal/cli"
	"github.com/holdfast-run/holdfast/model/script"
)

// docSettings: every block marked yaml is a configuration that the command
// line accepts, or a script that can be played.
func docSettings(t *tree) []string {
	var found []string
	for _, d := range t.documents() {
		for _, b := range d.blocks {
			if b.language != "yaml" {
				continue
			}
			problem := ""
			if strings.HasPrefix(b.text, "steps:") {
				if _, err := script.Parse("script", []byte(b.text)); err != nil {
					problem = err.Error()
				}
			} else {
				problem = refusal(b.text)
			}
			if problem != "" {
				found = append(found, d.at(b.line)+": "+problem)
			}
		}
	}
	return found
}

// refusal asks the doctor about a configuration file.
func refusal(text string) string {
	dir, err := os.MkdirTemp("", "archtest")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "holdfast.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err.Error()
	}
	var out, errs bytes.Buffer
	cli.Main([]string{"doctor", "-c", file, "--json"}, strings.NewReader(""), &out, &errs)
	var report struct {
		Checks []struct{ Name, Status, Detail string }
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		return "the doctor does not answer: " + errs.String()
	}
	for _, c := range report.Checks {
		if c.Name == "config" && c.Status == "ok" {
			return ""
		}
		if c.Name == "config" {
			return strings.TrimPrefix(c.Detail, dir+string(filepath.Separator))
		}
	}
	return "the doctor says nothing of the file"
}

// docGo: every block marked go but a whole program (see docExample) stands in
// a Go file, line for line, whatever the indentation: so it compiles.
func docGo(t *tree) []string {
	var files []string
	for _, s := range t.sources {
		files = append(files, flat(t.text(s.path)))
	}
	all := strings.Join(files, "\n")
	var found []string
	for _, d := range t.documents() {
		for _, b := range d.blocks {
			if b.language == "go" && !strings.HasPrefix(b.text, "package ") && !strings.Contains(all, flat(b.text)) {
				found = append(found, d.at(b.line)+": no Go file holds this code")
			}
		}
	}
	return found
}

// flat drops the indentation of every line.
func flat(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
