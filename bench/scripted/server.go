package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
)

// Stats are what a server has seen.
type Stats struct {
	Requests int64 `json:"requests"`
	Bytes    int64 `json:"bytes"` // of request bodies
}

// server plays the script. The number of results in a request says which turn
// it is, so that the server keeps no state but its counts.
type server struct {
	requests, bytes atomic.Int64
}

// newHandler serves
//
//	POST /count/TURNS/v1/chat/completions   counts only
//	POST /check/TURNS/v1/chat/completions   refuses a history that is not exactly the script's
//	GET  /stats                             the counts since the last time
func newHandler() http.Handler {
	s := &server{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{mode}/{turns}/v1/chat/completions", s.complete)
	mux.HandleFunc("GET /stats", s.stats)
	return mux
}

func (s *server) stats(w http.ResponseWriter, _ *http.Request) {
	// A client that is gone gets no counts.
	_ = json.NewEncoder(w).Encode(Stats{s.requests.Swap(0), s.bytes.Swap(0)})
}

func (s *server) complete(w http.ResponseWriter, r *http.Request) {
	turns, err := strconv.Atoi(r.PathValue("turns"))
	if err != nil || turns < 1 {
		http.Error(w, "no number of turns", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.requests.Add(1)
	s.bytes.Add(int64(len(body)))
	done := bytes.Count(body, []byte(`"role":"tool"`))
	if r.PathValue("mode") == "check" {
		if err := check(body, done); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	rep := reply{tokens: len(body) / 4, n: done, call: done < turns-1, answer: Answer(turns)}
	if bytes.Contains(body, []byte(`"stream":true`)) {
		rep.stream(w)
		return
	}
	rep.plain(w)
}

// reply is one turn of the script: a call, or the answer.
type reply struct {
	tokens int
	n      int
	call   bool
	answer string
}

const envelope = `{"id":"chatcmpl-scripted","object":%q,"created":1760000000,"model":"scripted","service_tier":"default","system_fingerprint":"fp_0",`

func (r reply) usage() string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":20,"total_tokens":%d,`+
		`"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}}`, r.tokens, r.tokens+20)
}

func (r reply) plain(w http.ResponseWriter) {
	message, finish := fmt.Sprintf(`"content":%q`, r.answer), "stop"
	if r.call {
		message = fmt.Sprintf(`"content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]`,
			callID(r.n), ToolName, arguments(r.n))
		finish = "tool_calls"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, envelope+`"choices":[{"index":0,"message":{"role":"assistant",%s,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":%q}],"usage":%s}`,
		"chat.completion", message, finish, r.usage())
}

// stream sends one chunk a flush, as endpoints do.
func (r reply) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(choices, usage string) {
		_, _ = fmt.Fprintf(w, "data: "+envelope+`"choices":[%s],"usage":%s}`+"\n\n", "chat.completion.chunk", choices, usage)
		_ = http.NewResponseController(w).Flush()
	}
	delta := func(delta, finish string) {
		send(fmt.Sprintf(`{"index":0,"delta":{%s},"logprobs":null,"finish_reason":%s}`, delta, finish), "null")
	}
	finish := `"stop"`
	if r.call {
		finish = `"tool_calls"`
		delta(fmt.Sprintf(`"role":"assistant","content":null,"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]`,
			callID(r.n), ToolName), "null")
		for _, piece := range pieces(arguments(r.n), 3) {
			delta(fmt.Sprintf(`"tool_calls":[{"index":0,"function":{"arguments":%q}}]`, piece), "null")
		}
	} else {
		delta(`"role":"assistant","content":"","refusal":null`, "null")
		for _, piece := range pieces(r.answer, 6) {
			delta(fmt.Sprintf(`"content":%q`, piece), "null")
		}
	}
	delta("", finish)
	send("", r.usage())
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func pieces(s string, size int) (out []string) {
	for len(s) > size {
		out, s = append(out, s[:size]), s[size:]
	}
	return append(out, s)
}
