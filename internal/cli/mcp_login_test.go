package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/oauth2"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// A login is kept in a file that only its owner may read, for one server at one
// address, and is not taken from a file that others may read.
func TestLoginsAreKeptForTheirOwner(t *testing.T) {
	store := logins{filepath.Join(t.TempDir(), "holdfast", "mcp")}
	if l, err := store.Load("web", "https://a.example"); l != nil || err != nil {
		t.Fatalf("%v %v", l, err)
	}
	want := &mcp.Login{Token: &oauth2.Token{AccessToken: "t0p-s3cret"}, Client: oauth2.Config{ClientID: "c"}}
	for range 2 { // the second one takes the place of the first
		if err := store.Save("web", "https://a.example", want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := store.Load("web", "https://a.example")
	if err != nil || got.Token.AccessToken != "t0p-s3cret" || got.Client.ClientID != "c" {
		t.Fatalf("%v %v", got, err)
	}
	if l, err := store.Load("web", "https://b.example"); l != nil || err != nil {
		t.Errorf("another address has the login too: %v %v", l, err)
	}
	files, err := os.ReadDir(store.dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	path := store.path("web", "https://a.example")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Load("web", "https://a.example"); kernel.CodeOf(err) != kernel.CodeConfiguration {
		t.Errorf("%v", err)
	}
}

// The browser that comes back first counts, and the page that it gets holds
// nothing of what it came with.
func TestBrowserComesBack(t *testing.T) {
	back := make(chan mcp.Returned, 1)
	h := callback(back)
	for _, code := range []string{"one", "two"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/callback?code="+code+"&state=s&iss=i", http.NoBody))
		if w.Code != http.StatusOK || w.Body.String() != "You can close this page and go back to the terminal.\n" {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	}
	if got := <-back; got != (mcp.Returned{Code: "one", State: "s", Issuer: "i"}) {
		t.Errorf("%+v", got)
	}
}
