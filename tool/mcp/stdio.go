//go:build linux || darwin

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-run/holdfast/internal/process"
	"github.com/holdfast-run/holdfast/tool"
)

// The bounds of what is read of a child.
const (
	maxStderr   = 4 << 10         // bytes of standard error that are kept, of each end
	maxTail     = 800             // bytes of it that are told
	maxNoise    = 5               // lines that are no messages and are told
	maxLogged   = 100             // such lines that are logged
	maxNoisy    = 200             // bytes of one of them
	childGrace  = 2 * time.Second // from the end of its input to SIGTERM, and from there to SIGKILL
	writeTime   = 10 * time.Second
	deathNotice = 500 * time.Millisecond // from the end of the output to that of the process
)

// child is a server that runs as a child process. It is a transport and the
// connection too: messages are lines of its standard input and output, and what
// else it prints there is passed over.
type child struct {
	server *server
	proc   *process.Process
	lines  chan line
	quit   chan struct{} // closed by Close
	once   sync.Once
	told   atomic.Bool // to end, while it was there

	writing sync.Mutex

	mu    sync.Mutex
	first []string // lines that were no messages
	count int      // of them
	fault string   // why it is not read any more, though it goes on
}

// line is a message, or why there are no more.
type line struct {
	message jsonrpc.Message
	err     error
}

// launch starts the server's program.
func (s *server) launch() (*child, error) {
	env := maps.Clone(s.config.Env)
	if env == nil {
		env = map[string]string{}
	}
	for name, variable := range s.config.EnvFrom {
		value := s.source.config.Getenv(variable)
		if value == "" {
			return nil, plain("the environment has no " + variable + ", which holds its " + name)
		}
		env[name] = value
	}
	p, err := process.Command{
		Argv: s.config.Command, Dir: s.source.config.Dir, Env: process.Environment(env), MaxOutput: maxStderr,
	}.Start()
	if err != nil {
		return nil, plain(s.redact("it cannot be started: " + err.Error()))
	}
	c := &child{server: s, proc: p, lines: make(chan line), quit: make(chan struct{})}
	return c, nil
}

// Connect begins to read what the server prints.
func (c *child) Connect(context.Context) (sdk.Connection, error) {
	go c.scan()
	return c, nil
}

// scan reads messages until there are no more.
func (c *child) scan() {
	r := bufio.NewReaderSize(c.proc.Stdout, 64<<10)
	for {
		message, err := c.next(r)
		if message != nil && !c.deliver(line{message: message}) {
			return
		}
		if err != nil {
			c.deliver(line{err: err})
			return
		}
	}
}

func (c *child) deliver(l line) bool {
	select {
	case c.lines <- l:
		return true
	case <-c.quit:
		return false
	}
}

// next reads a line and returns the message on it; nil where it holds none.
func (c *child) next(r *bufio.Reader) (jsonrpc.Message, error) {
	var whole []byte
	for {
		piece, err := r.ReadSlice('\n')
		whole = append(whole, piece...)
		switch {
		case len(whole) > maxMessage:
			return c.overlong(r, whole, err)
		case !errors.Is(err, bufio.ErrBufferFull):
			return c.decode(bytes.TrimSpace(whole)), err
		}
	}
}

// overlong reads to the end of a line that is too long, and returns what stands for
// an answer on it: its call fails at once, and alone.
func (c *child) overlong(r *bufio.Reader, head []byte, err error) (jsonrpc.Message, error) {
	var e envelope
	e.take(head)
	for size := len(head); errors.Is(err, bufio.ErrBufferFull); {
		var piece []byte
		piece, err = r.ReadSlice('\n')
		e.take(piece)
		if size += len(piece); size > maxSkipped {
			return nil, c.giveUp("a line of its output is too long: " + tooLongNo)
		}
	}
	if refusal := e.refusal(); refusal != nil {
		// From here, where nothing is read meanwhile, it could wait for a server that
		// waits for us.
		c.server.source.spawn(func() { _ = c.Write(context.Background(), refusal) })
	}
	if answer := e.standIn(e.id); answer != nil {
		if message, bad := jsonrpc.DecodeMessage(answer); bad == nil {
			return message, err
		}
	}
	c.note("(a line of over 16 MiB)")
	return nil, err
}

// giveUp notes why the server is not read any more.
func (c *child) giveUp(fault string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
	return plain(fault)
}

// givenUp is why the server is not read any more. Empty: it is, or it has ended.
func (c *child) givenUp() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// decode returns the message of a line, and notes one that is none.
func (c *child) decode(raw []byte) jsonrpc.Message {
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '{' {
		message, err := jsonrpc.DecodeMessage(raw)
		switch {
		case err == nil && c.heard(message):
			return nil
		case err == nil:
			return message
		}
	}
	c.note(string(raw))
	return nil
}

// heard notes a change of the list when it is read, and not when it is its turn:
// a result that was read after it must not overtake it. However often that is said,
// nobody else has to hear it.
func (c *child) heard(message jsonrpc.Message) bool {
	r, ok := message.(*jsonrpc.Request)
	if ok = ok && r.Method == "notifications/tools/list_changed"; ok {
		c.server.changed.Store(true)
	}
	return ok
}

func (c *child) note(text string) {
	c.mu.Lock()
	c.count++
	told, logged := len(c.first) < maxNoise, c.count <= maxLogged
	c.mu.Unlock()
	if !told && !logged {
		return
	}
	text = oneLine(c.server.redact(text), maxNoisy)
	if told {
		c.mu.Lock()
		c.first = append(c.first, text)
		c.mu.Unlock()
	}
	if logged {
		c.server.source.config.Logger.Info("mcp server printed what is no message", "server", c.server.name, "line", text)
	}
}

// noise quotes what the server printed that was no message.
func (c *child) noise() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == 0 {
		return ""
	}
	quoted := make([]string, 0, maxNoise+1)
	for _, text := range c.first {
		quoted = append(quoted, strconv.Quote(text))
	}
	if more := c.count - len(c.first); more > 0 {
		quoted = append(quoted, fmt.Sprintf("and %d more", more))
	}
	return "; it printed what is no message: " + strings.Join(quoted, ", ")
}

// complaint quotes the end of what the server printed to standard error.
func (c *child) complaint() string {
	e := c.proc.Stderr()
	last, secrets := e.Last(2*maxStderr), c.server.secrets.all
	if e.Omitted() > 0 && len(secrets) > 0 { // the rest of a secret may begin it
		last = last[min(len(last), len(secrets[0])):]
	}
	text := hide(tool.Clean(last), secrets)
	text = strings.TrimSpace(strings.ToValidUTF8(text[max(0, len(text)-maxTail):], ""))
	if text == "" {
		return ""
	}
	return "; standard error ends with: " + text
}

// ended reports whether the process is over, which it may be a moment after its
// output is.
func (c *child) ended(err error) bool {
	wait := deathNotice
	if errors.Is(err, context.DeadlineExceeded) {
		wait = 0
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.proc.Done():
		return true
	default:
	}
	select {
	case <-c.proc.Done():
		return true
	case <-timer.C:
		return false
	}
}

// obituary says how the process has ended.
func (c *child) obituary() string {
	r := c.proc.Wait()
	how := "it ended with exit code " + strconv.Itoa(r.ExitCode)
	if r.Signal != "" {
		how = "it was ended by a signal: " + r.Signal
	}
	return how + c.noise() + c.complaint()
}

// Read returns the next message.
func (c *child) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case l := <-c.lines:
		return l.message, l.err
	case <-c.quit:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends a message.
func (c *child) Write(ctx context.Context, message jsonrpc.Message) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	raw, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	// A child that does not read is lost: a message that is half written cannot
	// be followed by another one.
	if pipe, ok := c.proc.Stdin.(interface{ SetWriteDeadline(t time.Time) error }); ok {
		_ = pipe.SetWriteDeadline(time.Now().Add(writeTime)) // a pipe that is closed fails below
	}
	_, err = c.proc.Stdin.Write(append(raw, '\n'))
	return err
}

// Close ends the reading, and asks the server to end by closing its standard
// input. It does not wait for that: stop does.
func (c *child) Close() error {
	c.once.Do(func() {
		close(c.quit)
		select {
		case <-c.proc.Done():
		default:
			c.told.Store(true)
		}
	})
	_ = c.proc.Stdin.Close() // only a pipe's end
	return nil
}

// stop ends the process and its group.
func (c *child) stop() {
	_ = c.Close()
	timer := time.NewTimer(childGrace)
	defer timer.Stop()
	select {
	case <-c.proc.Done():
	case <-timer.C:
	}
	c.proc.Stop(childGrace)
	_ = c.proc.Stdout.Close()
}

// SessionID is empty: a child is one session.
func (c *child) SessionID() string { return "" }
