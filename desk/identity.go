package desk

import (
	"slices"
	"strings"

	"github.com/holdfast-run/holdfast/kernel"
)

// Identity says who acts, and in whose data. It comes from the host: an
// application makes it of its own verified login. The zero value is nobody, and
// is refused everywhere.
type Identity struct {
	Tenant string `json:"tenant"`
	User   string `json:"user"`
	// Through is the agent's call that acts for them, as RUN/CALL, for the audit.
	// Empty: they act themselves. It decides nothing.
	Through string `json:"-"`
}

// Check refuses an identity that names nobody or no tenant, as
// INVALID_ARGUMENT: nothing is looked up for it.
func (i Identity) Check() error {
	if !kernel.IsName(i.Tenant) || !kernel.IsName(i.User) {
		return &kernel.Error{
			Code: kernel.CodeInvalidArgument, Message: "an identity needs a tenant and a user", Hint: "take both from the login of who acts",
		}
	}
	return nil
}

// Fixtures are people to try the desk with. They are no login: whoever can run
// the program can name any of them.
func Fixtures() []Identity {
	return []Identity{
		{Tenant: "acme", User: "alice"}, {Tenant: "acme", User: "bob"}, {Tenant: "other", User: "mallory"},
	}
}

// Fixture returns the person of that name among the fixtures: UNKNOWN_USER when
// there is none.
func Fixture(user string) (Identity, error) {
	people := Fixtures()
	if i := slices.IndexFunc(people, func(p Identity) bool { return p.User == user }); i >= 0 {
		return people[i], nil
	}
	names := make([]string, len(people))
	for i, p := range people {
		names[i] = p.User
	}
	return Identity{}, &kernel.Error{
		Code: CodeUnknownUser, Message: "there is no such person among the fixtures",
		Hint: "name one of them with --user: " + strings.Join(names, ", "),
	}
}
