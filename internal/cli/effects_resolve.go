package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"github.com/holdfast-run/holdfast/journal"
	"github.com/holdfast-run/holdfast/kernel"
)

// resolveFlags are what somebody found out about an effect.
type resolveFlags struct {
	landed, noEffect, stillUnknown bool
	result, evidence               string // files
	note, by                       string
}

func (a *app) resolveCommand() *cobra.Command {
	var flags journalFlags
	var found resolveFlags
	cmd := &cobra.Command{
		Use:   "resolve ID",
		Short: "Record what became of an effect that is unknown",
		Long: "Resolve appends what somebody found out about an effect, with who, when and the evidence's hash. Nothing is run by it.\n" +
			"--landed lets nothing repeat it; --no-effect lets it be asked for again; --still-unknown keeps it as it is.",
		Args: exactly(1, "one ID", "holdfast effects ls --unknown lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			as, err := found.finding()
			if err != nil {
				return err
			}
			if err := checkWords(cmd, "note", found.note); err != nil {
				return err
			}
			return a.resolve(cmd.Context(), flags, found, journal.Resolution{Effect: args[0], As: as, Note: found.note})
		},
	}
	flags.add(cmd, besideConfig, "the `NAME` of who found out; what is of another user is not there", onlyTenant, oneObject)
	f := cmd.Flags()
	f.BoolVar(&found.landed, "landed", false, "it took place")
	f.BoolVar(&found.noEffect, "no-effect", false, "it did not, and never will")
	f.BoolVar(&found.stillUnknown, "still-unknown", false, "nobody could find out")
	f.StringVar(&found.result, "result", "", "with --landed: a `FILE` with what the call came to, for the model")
	f.StringVar(&found.evidence, "evidence", "", "the `FILE` that shows it, of which the SHA-256 is recorded")
	f.StringVar(&found.note, "note", "", "how it was found out, as a `TEXT` for the record (required)")
	f.StringVar(&found.by, "by", "", "the `NAME` of who found out, where --user is not theirs")
	return cmd
}

// finding is the one of the switches that is set.
func (r *resolveFlags) finding() (kernel.Finding, error) {
	var found []kernel.Finding
	for _, f := range []struct {
		set bool
		as  kernel.Finding
	}{{r.landed, kernel.FoundLanded}, {r.noEffect, kernel.FoundNoEffect}, {r.stillUnknown, kernel.FoundUnknown}} {
		if f.set {
			found = append(found, f.as)
		}
	}
	switch {
	case len(found) != 1:
		return "", usage("effects resolve takes exactly one of --landed, --no-effect and --still-unknown", "find out first; --still-unknown where nobody can")
	case r.result != "" && found[0] != kernel.FoundLanded:
		return "", usage("--result is for an effect that took place", "give it with --landed")
	}
	return found[0], nil
}

func (a *app) resolve(ctx context.Context, flags journalFlags, found resolveFlags, r journal.Resolution) error {
	r.ID, r.At, r.By = "resolve_"+ulid.Make().String(), time.Now().UTC(), found.by
	if r.By == "" {
		r.By = flags.who.orOperator()
	}
	var err error
	if r.Evidence, err = fileHash(found.evidence); err != nil {
		return err
	}
	if r.Result, err = readResult(found.result); err != nil {
		return err
	}
	j, err := a.openJournal(ctx, flags)
	if err != nil {
		return err
	}
	defer j.Close()
	if _, err := findEffect(ctx, j, r.Effect, flags.who.reaches); err != nil {
		return err
	}
	e, err := j.Resolve(ctx, r)
	if err != nil {
		return err
	}
	if flags.json {
		return writeJSON(a.stdout, newEffect(&e))
	}
	d := newDisplay(a.stdout)
	d.printf("effect %s: %s\n", safeLine(e.ID), e.State)
	h, err := j.Head(ctx, e.Run)
	if err != nil {
		return err
	}
	if h.State == journal.Waiting && h.WaitingFor != string(kernel.WaitResolution) {
		d.printf("run %s is %s\n", safeLine(h.Run), standingOf(&h, time.Now()))
		return nil
	}
	d.goesOn(&h, flags)
	return nil
}

// fileHash is the SHA-256 of a file, in hex; empty without a file.
func fileHash(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := openGiven(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", unreadableFile(path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// maxResolved bounds a result that a person gives, in bytes.
const maxResolved = 64 << 10

// readResult reads what a call came to; nil without a file.
func readResult(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := openGiven(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxResolved+1))
	switch {
	case err != nil:
		return nil, unreadableFile(path, err)
	case len(b) == 0 || len(b) > maxResolved || !utf8.Valid(b):
		return nil, &kernel.Error{Code: kernel.CodeInvalidArgument, Message: fmt.Sprintf("%s is not valid UTF-8 of 1 to %d bytes", path, maxResolved), Hint: "write what the model is to be told, as the tool would have"}
	}
	return b, nil
}

// openGiven opens a regular file that a person named: nothing that could keep
// the command waiting.
func openGiven(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadableFile(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, unreadableFile(path, errors.New("it is not a regular file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadableFile(path, err)
	}
	return f, nil
}

func unreadableFile(path string, err error) error {
	why := err.Error()
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		why = pathErr.Err.Error()
	}
	return &kernel.Error{Code: kernel.CodeInvalidArgument, Message: "cannot read " + path + ": " + why, Hint: "give a file that is there", Err: err}
}
