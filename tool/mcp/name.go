//go:build linux || darwin

package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// The bounds of names, in bytes.
const (
	maxExposed = 64
	suffixSize = 8 // hexadecimal digits of a hash
)

var serverName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,38}[A-Za-z0-9])?$`)

// legalServer reports whether a server may be named like this. Without a double "_" in it a
// server's name ends where its tool's begins.
func legalServer(name string) bool {
	return serverName.MatchString(name) && !strings.Contains(name, "__")
}

// exposedName is what models call a tool: mcp__SERVER__TOOL. Where that is not
// legal as it is, or too long, characters give way and a hash of both names
// follows, so that the name depends on nothing but them.
func exposedName(server, tool string) string {
	plain := "mcp__" + server + "__" + tool
	legal := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, plain)
	if legal == plain && len(plain) <= maxExposed {
		return plain
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	room := maxExposed - suffixSize - 1
	if len(legal) > room {
		legal = legal[:room]
	}
	return legal + "_" + hex.EncodeToString(sum[:])[:suffixSize]
}
