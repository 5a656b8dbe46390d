//go:build linux || darwin

package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
)

// What the program reads when it is a server: what it is, where it notes the
// calls that reach it, and what a late one waits for.
const (
	modeVariable = "MCP_TEST_MODE"
	logVariable  = "MCP_TEST_LOG"
	gateVariable = "MCP_TEST_GATE"
	keyVariable  = "MCP_TEST_KEY"
)

// fixture is a small server, written line by line so that it can misbehave.
type fixture struct {
	mode    string
	out     *os.File
	mu      sync.Mutex
	changed bool
	asked   chan json.RawMessage // answers to its own questions
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params struct {
		Name         string          `json:"name"`
		Arguments    map[string]any  `json:"arguments"`
		Cursor       string          `json:"cursor"`
		Capabilities json.RawMessage `json:"capabilities"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func serve(mode string) int {
	f := &fixture{mode: mode, out: os.Stdout, asked: make(chan json.RawMessage, 1)}
	switch mode {
	case "noise":
		for i := range 20 {
			f.print(fmt.Sprintf("banner %d\n", i))
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	case "broken":
		fmt.Fprintln(os.Stderr, "cannot find the database")
		return 7
	case "leaky": // what is shortened is cut in the middle of a secret
		f.print(strings.Repeat("x", 60) + os.Getenv("TOKEN") + strings.Repeat("x", 400) + "\n")
		fmt.Fprint(os.Stderr, os.Getenv("TOKEN")+strings.Repeat("y", 790))
		return 7
	case "late":
		awaitGate()
	case "rug":
		raw, _ := os.ReadFile(os.Getenv(logVariable))
		f.changed = bytes.Contains(raw, []byte("call die"))
	case "quotes": // what bounds a quotation may fall into a secret
		key := os.Getenv(keyVariable)
		for cut := range len(key) {
			f.print(strings.Repeat("n", 70+cut) + key + strings.Repeat("n", 150) + "\n")
		}
		fmt.Fprint(os.Stderr, key+strings.Repeat("e", 790)) // 800 bytes of it are told
		if os.Getenv(gateVariable) != "" {
			return 7
		}
	case "chatty":
		f.print("Server v1 starting\n🚀 ready\n\n{\"level\":\"info\"}\n")
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch {
		case m.Method == "":
			f.asked <- bytes.Clone(in.Bytes())
		case m.ID != nil:
			go f.handle(m)
		}
	}
	return 0
}

// awaitGate waits for the test. Opening a pipe waits for somebody at its other
// end.
func awaitGate() {
	if gate, err := os.Open(os.Getenv(gateVariable)); err == nil {
		_ = gate.Close()
	}
}

func (f *fixture) print(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.WriteString(s)
}

// reply answers, in the chatty mode in pieces and with noise in between.
func (f *fixture) reply(id json.RawMessage, key string, value any) {
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, key: value})
	if err != nil {
		panic(err)
	}
	if f.mode != "chatty" {
		f.print(string(raw) + "\n")
		return
	}
	half := len(raw) / 2
	f.mu.Lock()
	defer f.mu.Unlock()
	_, _ = f.out.WriteString("a log line\r\n" + string(raw[:half]))
	_, _ = f.out.WriteString(string(raw[half:]) + "\r\n")
}

func (f *fixture) handle(m message) {
	switch m.Method {
	case "initialize":
		if f.mode == "capabilities" {
			note(string(m.Params.Capabilities))
		}
		f.reply(m.ID, "result", map[string]any{
			"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
			"serverInfo": map[string]any{"name": "fixture", "version": "1"},
		})
	case "tools/list":
		note("list")
		f.mu.Lock()
		slow := f.mode == "slow list" && f.changed
		f.mu.Unlock()
		if slow {
			awaitGate()
		}
		f.reply(m.ID, "result", f.list(m.Params.Cursor))
	case "tools/call":
		note("call " + m.Params.Name)
		f.call(m)
	default:
		f.reply(m.ID, "error", map[string]any{"code": -32601, "message": "method not found"})
	}
}

// note writes a line to the log that the test reads.
func note(text string) {
	path := os.Getenv(logVariable)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, text)
}

func toolOf(name string, schema any) map[string]any {
	return map[string]any{"name": name, "description": "does " + name, "inputSchema": schema}
}

func texts(names ...string) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = map[string]any{"type": "string", "maxLength": 120}
	}
	return map[string]any{"type": "object", "properties": properties, "required": names, "additionalProperties": false}
}

func (f *fixture) list(cursor string) map[string]any {
	t1, t2 := toolOf("t1", texts()), toolOf("t2", texts())
	page := func(next any, tools ...any) map[string]any {
		if tools == nil {
			tools = []any{}
		}
		result := map[string]any{"tools": tools}
		if next != nil {
			result["nextCursor"] = next
		}
		return result
	}
	switch {
	case f.mode == "huge pages":
		t := toolOf("t"+cursor, texts())
		t["description"] = strings.Repeat("x", 3<<20)
		return page(cursor+"x", t)
	case f.mode == "pages-b" && cursor == "c1":
		return page("c1", t2)
	case f.mode == "pages-c" && cursor == "c1":
		return page("c2")
	case f.mode == "pages-d" && cursor == "c1":
		return page("", t2)
	case strings.HasPrefix(f.mode, "pages-") && cursor == "":
		return page("c1", t1)
	case strings.HasPrefix(f.mode, "pages-"):
		return page(nil, t2)
	case f.mode == "names":
		long := strings.Repeat("x", 50)
		return page(nil, toolOf(long+"-one-and-more", texts()), toolOf(long+"-two-and-more", texts()),
			toolOf("a.b/c", texts()), toolOf("a_b_c", texts()), toolOf("查询", texts()), toolOf("search", texts()))
	case f.mode == "schemas":
		return page(nil, foreignTools()...)
	case f.mode == "hints":
		return page(nil, hinted("search", map[string]any{"readOnlyHint": true}), hinted("wipe", map[string]any{"destructiveHint": true}),
			hinted("plain", map[string]any{"readOnlyHint": true}))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed {
		again := toolOf("echo", texts("text", "more"))
		return page(nil, again, toolOf("added", texts()))
	}
	return page(nil, toolOf("echo", texts("text")), toolOf("environment", texts()), toolOf("die", texts()), toolOf("hang", texts()),
		toolOf("answer", texts("as")), toolOf("change", texts()), toolOf("ask", texts()), toolOf("child", texts()), toolOf("pid", texts()), toolOf("attack", texts("as")))
}

func hinted(name string, hints map[string]any) map[string]any {
	t := toolOf(name, texts())
	t["annotations"] = hints
	return t
}

func (f *fixture) call(m message) {
	block := func(text string) any { return map[string]any{"type": "text", "text": text} }
	say := func(blocks ...any) { f.reply(m.ID, "result", map[string]any{"content": blocks}) }
	switch m.Params.Name {
	case "environment":
		raw, _ := json.Marshal(map[string]any{"env": os.Environ(), "args": os.Args})
		say(block(string(raw)))
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(3)
	case "pid":
		say(block(strconv.Itoa(os.Getpid())))
	case "hang":
	case "change":
		f.mu.Lock()
		f.changed = true
		f.mu.Unlock()
		for range 100 {
			f.print(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		}
		say(block("changed"))
	case "ask":
		f.print(`{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}}}` + "\n")
		say(block(string(<-f.asked)))
	case "child":
		cmd := exec.Command("sleep", "3600")
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		say(block(strconv.Itoa(cmd.Process.Pid)))
	case "answer":
		f.answer(m, say, block)
	case "attack":
		f.attack(m, func(text string) { say(block(text)) })
	default:
		say(block(fmt.Sprint(m.Params.Name, " ", m.Params.Arguments["text"])))
	}
}

func (f *fixture) answer(m message, say func(...any), block func(string) any) {
	switch as := m.Params.Arguments["as"]; as {
	case "five":
		say(block("1"), block("2"), block("3"), block("4"), block("5"))
	case "four":
		say(block("1"), block("2"), block("3"), block("4"))
	case "image":
		say(map[string]any{"type": "image", "data": "AAAA", "mimeType": "image/png"})
	case "environment":
		key := os.Getenv(keyVariable)
		f.reply(m.ID, "result", map[string]any{"content": []any{block("it is " + key), map[string]any{
			"type": "resource", "resource": map[string]any{"uri": "file:///k", "text": key},
		}}, "structuredContent": map[string]any{"deep": []any{map[string]any{key: "a " + key}}, "log": os.Getenv(logVariable)}})
	case "structured":
		f.reply(m.ID, "result", map[string]any{"content": []any{block("42")}, "structuredContent": map[string]any{"n": 42}})
	case "blank":
		say(block(" \n"))
	case "none":
		say()
	case "long", "long last", "long error":
		f.print(longMessage(string(m.ID), as.(string)) + "\n")
	case "failure":
		f.reply(m.ID, "result", map[string]any{"content": []any{block("no such page")}, "isError": true})
	case "refusal":
		f.reply(m.ID, "error", map[string]any{"code": -32602, "message": "the argument is not known"})
	case "fault":
		f.reply(m.ID, "error", map[string]any{"code": -32603, "message": "the token s3cret-value has expired"})
	default:
		n, _ := strconv.Atoi(fmt.Sprint(as))
		say(block(strings.Repeat("文", n)))
	}
}

// longMessage is an answer of over 16 MiB, whose id comes first or last. Quotes and
// braces in its text must not be taken for its own.
func longMessage(id, as string) string {
	text := strings.Repeat(`\"id\":7,{[`, 17<<20/10)
	switch as {
	case "long error":
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"` + text + `"}}`
	case "long last":
		return `{"result":{"content":[{"type":"text","text":"` + text + `"}],"id":8},"jsonrpc":"2.0","id": ` + id + `}`
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"` + text + `"}]}}`
}

// foreignTools have the schemas of report A38.
func foreignTools() []any {
	node := map[string]any{"type": "object", "properties": map[string]any{
		"name": map[string]any{"type": "string"}, "next": map[string]any{"$ref": "#/$defs/node"},
	}, "required": []any{"name"}}
	object := func(more map[string]any) map[string]any {
		more["type"] = "object"
		return more
	}
	withOutput := toolOf("bad_output", texts("text"))
	withOutput["outputSchema"] = map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/none"}}}
	return []any{
		toolOf("refs", object(map[string]any{"properties": map[string]any{"root": map[string]any{"$ref": "#/$defs/node"}}, "required": []any{"root"}, "$defs": map[string]any{"node": node}})),
		toolOf("any_of", object(map[string]any{"anyOf": []any{
			map[string]any{"properties": map[string]any{"id": map[string]any{"type": "integer"}}, "required": []any{"id"}},
			map[string]any{"properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []any{"name"}},
		}})),
		toolOf("nullable", object(map[string]any{"properties": map[string]any{"who": map[string]any{"type": []any{"string", "null"}}, "user_id": map[string]any{"type": "string"}}})),
		toolOf("bare", map[string]any{"type": "object"}),
		toolOf("yes", true),
		withOutput,
		toolOf("contradiction", object(map[string]any{"properties": map[string]any{"x": map[string]any{"enum": []any{"A"}, "type": "null"}}})),
		toolOf("dangling", object(map[string]any{"properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/none"}}})),
		toolOf("outside", object(map[string]any{"properties": map[string]any{"x": map[string]any{"$ref": "https://example.com/x.json"}}})),
		toolOf("endless", object(map[string]any{"allOf": []any{map[string]any{"$ref": "#"}}})),
		toolOf("list", map[string]any{"type": "array"}),
		toolOf("draft7", map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
			"properties":           map[string]any{"pair": map[string]any{"type": "array", "items": []any{map[string]any{"type": "string"}, map[string]any{"type": "integer"}}, "additionalItems": false}},
			"definitions":          map[string]any{"t": map[string]any{"type": "string"}},
			"additionalProperties": false}),
	}
}
