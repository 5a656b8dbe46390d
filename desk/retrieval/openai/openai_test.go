package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-run/holdfast/desk"
	"github.com/holdfast-run/holdfast/desk/retrieval/openai"
	"github.com/holdfast-run/holdfast/kernel"
)

const key = "sk-very-secret"

// connect returns an embedder of two dimensions at a server with this handler.
func connect(t *testing.T, h http.HandlerFunc, change ...func(*openai.Config)) *openai.Embedder {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c := openai.Config{BaseURL: server.URL + "/v1", Key: key, Model: "m", Dimensions: 2}
	for _, f := range change {
		f(&c)
	}
	e, err := openai.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func answers(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
}

// The request is what the wire wants, and vectors come back in the order of the
// texts, in whatever order the answer has them.
func TestEmbed(t *testing.T) {
	var got string
	e := connect(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.Join([]string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)}, " ")
		fmt.Fprint(w, `{"object":"list","data":[{"index":1,"embedding":[0,2]},{"index":0,"embedding":[3e0,-4]}],"usage":{}}`)
	}, func(c *openai.Config) { c.AskDimensions = true })
	vectors, err := e.Embed(t.Context(), []string{"报销", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float32{{3, -4}, {0, 2}}, vectors); diff != "" {
		t.Error(diff)
	}
	if want := `POST /v1/embeddings Bearer ` + key + ` application/json {"model":"m","input":["报销","b"],"encoding_format":"float","dimensions":2}`; got != want {
		t.Errorf("sent %s\nwant %s", got, want)
	}
}

// More texts than fit into one request are several, each with its own indexes.
func TestBatches(t *testing.T) {
	var sizes []int
	e := connect(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		sizes = append(sizes, len(in.Input))
		parts := make([]string, len(in.Input))
		for i := range parts {
			parts[i] = fmt.Sprintf(`{"index":%d,"embedding":[1,%d]}`, i, len(in.Input[i]))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(parts, ","))
	})
	texts := make([]string, desk.MaxEmbedTexts+3)
	vectors, err := desk.Embed(t.Context(), e, texts)
	if err != nil || len(vectors) != len(texts) {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	if diff := cmp.Diff([]int{desk.MaxEmbedTexts, 3}, sizes); diff != "" {
		t.Error(diff)
	}
	if vectors, err := desk.Embed(t.Context(), e, nil); err != nil || len(vectors) != 0 || len(sizes) != 2 {
		t.Errorf("no texts: %d vectors, %d requests, %v", len(vectors), len(sizes), err)
	}
	_, err = e.Embed(t.Context(), texts)
	wantCode(t, kernel.CodeInvalidArgument, err)
}

func wantCode(t *testing.T, want kernel.Code, err error) {
	t.Helper()
	if got := kernel.CodeOf(err); got != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What the endpoint does wrong is refused, and no error has the key, the URL or
// the endpoint's words.
func TestRefused(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"a refusal that quotes the key": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad key "+key, http.StatusUnauthorized) },
		"a redirect":                    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v2", http.StatusFound) },
		"no JSON":                       answers(`<html>` + key),
		"too few":                       answers(`{"data":[{"index":0,"embedding":[1,2]}]}`),
		"too many":                      answers(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2]},{"index":2,"embedding":[1,2]}]}`),
		"an index twice":                answers(`{"data":[{"index":0,"embedding":[1,2]},{"index":0,"embedding":[1,2]}]}`),
		"an unknown index":              answers(`{"data":[{"index":0,"embedding":[1,2]},{"index":2,"embedding":[1,2]}]}`),
		"a negative index":              answers(`{"data":[{"index":0,"embedding":[1,2]},{"index":-1,"embedding":[1,2]}]}`),
		"no index":                      answers(`{"data":[{"embedding":[1,2]},{"index":1,"embedding":[1,2]}]}`),
		"another length":                answers(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1,2,3]}]}`),
		"no length":                     answers(`{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[]}]}`),
		"NaN":                           answers(`{"data":[{"index":0,"embedding":[1,NaN]},{"index":1,"embedding":[1,2]}]}`),
		"null":                          answers(`{"data":[{"index":0,"embedding":[1,null]},{"index":1,"embedding":[1,2]}]}`),
		"too large a number":            answers(`{"data":[{"index":0,"embedding":[1,1e39]},{"index":1,"embedding":[1,2]}]}`),
		"base64":                        answers(`{"data":[{"index":0,"embedding":"AACAPw=="},{"index":1,"embedding":[1,2]}]}`),
		"over the cap":                  answers(strings.Repeat(" ", 2000)),
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"data"`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := connect(t, h, func(c *openai.Config) { c.ResponseCap = 1000 })
			_, err := desk.Embed(t.Context(), e, []string{"a", "b"})
			wantCode(t, desk.CodeEmbeddingFailed, err)
			for ; err != nil; err = errors.Unwrap(err) {
				if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, "secret") || strings.Contains(text, "127.0.0.1:") {
					t.Errorf("the error tells too much: %s", text)
				}
			}
		})
	}
}

// An endpoint that does not answer costs its timeout, and a caller who goes away nothing.
func TestNoAnswer(t *testing.T) {
	arrived := make(chan struct{})
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done() // until the client is gone
	}
	hurried := connect(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, func(c *openai.Config) { c.Timeout = 20 * time.Millisecond })
	_, err := hurried.Embed(t.Context(), []string{"a"})
	wantCode(t, desk.CodeEmbeddingFailed, err)

	patient := connect(t, hang, func(c *openai.Config) { c.Timeout = time.Minute })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-arrived; cancel() }()
	if _, err = patient.Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	e, err := openai.New(openai.Config{BaseURL: server.URL, Model: "m", Dimensions: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Embed(t.Context(), []string{"a"})
	wantCode(t, desk.CodeEmbeddingFailed, err)
	if strings.Contains(err.Error(), server.URL) {
		t.Errorf("the error shows the URL: %v", err)
	}
}

func TestValidate(t *testing.T) {
	good := openai.Config{Key: key, Model: "m", Dimensions: 2}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*openai.Config){
		"no key":             func(c *openai.Config) { c.Key = "" },
		"a key of two lines": func(c *openai.Config) { c.Key += "\nX-Evil: 1" },
		"no URL":             func(c *openai.Config) { c.BaseURL = "api" },
		"another scheme":     func(c *openai.Config) { c.BaseURL = "file:///etc" },
		"credentials":        func(c *openai.Config) { c.BaseURL = "https://u:" + key + "@host" },
		"no model":           func(c *openai.Config) { c.Model = " " },
		"no dimensions":      func(c *openai.Config) { c.Dimensions = 0 },
		"too many":           func(c *openai.Config) { c.Dimensions = desk.MaxDimensions + 1 },
		"a negative timeout": func(c *openai.Config) { c.Timeout = -1 },
		"a negative cap":     func(c *openai.Config) { c.ResponseCap = -1 },
	} {
		c := good
		change(&c)
		_, err := openai.New(c)
		if kernel.CodeOf(err) != kernel.CodeConfiguration || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", good, good, good, good); strings.Contains(shown, "secret") {
		t.Errorf("printing shows the key: %s", shown)
	}
}
