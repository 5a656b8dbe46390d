package cli

import (
	"errors"
	"io"
	"log" //nolint:depguard // to silence it
	"os"
)

// Process is Main for a process that is Holdfast and nothing else. First of
// all it takes the providers' keys out of the environment and closes the
// process to others of the same user, so that no program that a model may run
// finds a key in its parent. Where the system does not let it, doctor says so.
//
// It also silences the log package's default logger: net/http writes what a
// server sends unasked to it, and no byte of a server's belongs on a screen
// unescaped. Nothing in this program logs through it.
func Process(args []string) int {
	log.SetOutput(io.Discard)
	env, err := takeKeys()
	return execute(args, &app{
		stdin: os.Stdin, stdout: &output{w: os.Stdout}, stderr: os.Stderr,
		env: env, exposed: errors.Join(err, closeProcess()),
	})
}

// takeKeys moves the keys out of the environment and returns what reads it
// from then on.
func takeKeys() (env func(string) string, err error) {
	keys := map[string]string{}
	names := []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			keys[name] = value
			err = errors.Join(err, os.Unsetenv(name))
		}
	}
	if len(keys) > 0 {
		err = errors.Join(err, erase(names))
	}
	return func(name string) string {
		if key, taken := keys[name]; taken {
			return key
		}
		return os.Getenv(name)
	}, err
}
