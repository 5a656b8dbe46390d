package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool/mcp"
)

// logins keeps what logins to MCP servers brought: a file a server, which only its
// owner reads, in the user's configuration folder.
type logins struct{ dir string }

// newTokens is nil where the user has no such folder.
func newTokens() mcp.TokenStore {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil
	}
	return logins{filepath.Join(dir, "holdfast", "mcp")}
}

// path is the file of a server. Another address is another server.
func (t logins) path(server, url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(t.dir, server+"-"+hex.EncodeToString(sum[:])[:16]+".json")
}

// Load reads what was saved. A file that others may read is refused.
func (t logins) Load(server, url string) (*mcp.Login, error) {
	path := t.path(server, url)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // there is none, as the contract says
	case err != nil:
		return nil, t.failed("read", err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return nil, &kernel.Error{Code: kernel.CodeConfiguration, Message: "the login of the mcp server " + server + " may be read by others", Hint: "chmod 600 " + path}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, t.failed("read", err)
	}
	var login mcp.Login
	if err := json.Unmarshal(b, &login); err != nil {
		return nil, t.failed("understood", err)
	}
	return &login, nil
}

// Save writes a file of its own and moves it into place.
func (t logins) Save(server, url string, login *mcp.Login) error {
	b, err := json.Marshal(login)
	if err != nil {
		return t.failed("written", err)
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return t.failed("written", err)
	}
	f, err := os.CreateTemp(t.dir, ".login-*") // 0600
	if err != nil {
		return t.failed("written", err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), t.path(server, url))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return t.failed("written", err)
	}
	return nil
}

// failed says what could not be done, and nothing of what the file holds.
func (t logins) failed(what string, err error) error {
	if full := noRoom("a login of an mcp server", err); full != nil {
		return full
	}
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: "a login of an mcp server cannot be " + what, Hint: "look at " + t.dir, Err: err}
}
