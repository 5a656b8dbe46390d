package cli

import (
	"bytes"
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// docs/models.md: an endpoint whose authority only SSL_CERT_FILE knows is asked,
// and without that it is told nothing, once.
func TestAnAuthorityOfOnesOwn(t *testing.T) {
	model := stub.New(stub.Options{})
	secure := httptest.NewUnstartedServer(model)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	dir := project(t, map[string]string{
		"ca.pem":        string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})),
		"holdfast.yaml": "model: {provider: openai, name: m, base_url: " + secure.URL + "/v1}\n",
	})
	ask := func(how string, env ...string) (out string, err error) {
		var b bytes.Buffer
		cmd := process(t, dir, "run", how, "Hello?")
		cmd.Env = append(append(cmd.Env, "OPENAI_API_KEY=sk-test"), env...)
		cmd.Stdout, cmd.Stderr = &b, &b
		err = cmd.Run()
		return b.String(), err
	}

	out, err := ask("--json=false")
	if err == nil || !strings.Contains(out, "tls: the endpoint's certificate is of an authority that this machine does not trust\n") || !strings.Contains(out, "in SSL_CERT_FILE\n") || model.Count() != 0 {
		t.Errorf("without its authority: %v, %d requests:\n%s", err, model.Count(), out)
	}
	out, err = ask("--json")
	if err == nil || !strings.Contains(out, `"detail":"tls"`) || !strings.Contains(out, `"requests":1,`) || !strings.Contains(out, `"last_good":"harness","first_bad":"network"`) {
		t.Errorf("without its authority: %v, %s", err, out)
	}
	model.Play(stub.Answer(stub.Reply{Text: "hello there"}))
	out, err = ask("--json", "SSL_CERT_FILE=ca.pem")
	if err != nil || !strings.Contains(out, `"text":"hello there"`) || model.Count() != 1 {
		t.Errorf("with it: %v, %d requests:\n%s", err, model.Count(), out)
	}
}
