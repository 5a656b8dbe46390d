package local

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// ownerName tells people which process it is, and is no other engine's: host,
// process id, what says whether that process is still the same one (empty where
// the system does not tell), and something random.
func ownerName() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // it does not fail
	return fmt.Sprintf("%s/%d/%s/%s", hostName(), os.Getpid(), incarnation(os.Getpid()), hex.EncodeToString(b[:]))
}

func hostName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "unknown host"
	}
	return strings.ReplaceAll(kernel.Clip(host, 100), "/", "_")
}

// OwnerGone reports that the process which owns a lease, by the name that an
// engine gives itself, has provably ended. False proves nothing: another
// machine's processes cannot be seen, nor those of most systems but Linux. It is
// safe for concurrent use.
func OwnerGone(owner string) bool { return gone(owner) }

// gone reports that the process which owns a lease has provably ended: it ran
// on this machine, seen from the same processes' names, and is not there now.
// Its lease need not be waited for.
func gone(owner string) bool {
	parts := strings.Split(owner, "/")
	if len(parts) != 4 || parts[0] != hostName() || parts[2] == "" {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	world, _, _ := strings.Cut(parts[2], ".")
	own, _, _ := strings.Cut(incarnation(os.Getpid()), ".")
	if world == "" || world != own {
		return false
	}
	now := incarnation(pid)
	return now != parts[2] && (now != "" || absent(pid))
}
