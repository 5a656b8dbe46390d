package scripted

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// childVariable tells a process that it is the server.
const childVariable = "HOLDFAST_BENCH_SERVER"

// Child reports whether this process was started by Start, and serves then
// until its standard input ends. Call it first in TestMain.
func Child() (bool, error) {
	if os.Getenv(childVariable) == "" {
		return false, nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return true, err
	}
	fmt.Printf("http://%s\n", l.Addr())
	srv := &http.Server{Handler: newHandler(), ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
		_ = srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return true, err
	}
	return true, nil
}

// Server is a scripted server in a child process, so that what it spends does
// not count. It is safe for concurrent use. Close it.
type Server struct {
	url   string
	cmd   *exec.Cmd
	stdin io.Closer
}

// Start runs this program again as a server.
func Start() (*Server, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &Server{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server did not come up: %w", err), s.Close())
	}
	s.url = strings.TrimSpace(line)
	return s, nil
}

// Count is the base URL of a run of that many turns that is only counted.
func (s *Server) Count(turns int) string { return fmt.Sprintf("%s/count/%d/v1", s.url, turns) }

// Check is the base URL of a run whose every request is checked.
func (s *Server) Check(turns int) string { return fmt.Sprintf("%s/check/%d/v1", s.url, turns) }

// Stats returns the counts since the last time.
func (s *Server) Stats() (Stats, error) {
	var st Stats
	resp, err := http.Get(s.url + "/stats")
	if err != nil {
		return st, err
	}
	err = json.NewDecoder(resp.Body).Decode(&st)
	return st, errors.Join(err, resp.Body.Close())
}

// Close ends the server and waits for its process.
func (s *Server) Close() error {
	return errors.Join(s.stdin.Close(), s.cmd.Wait())
}
