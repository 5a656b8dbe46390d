// Package desk is the ticket desk, the reference application of Holdfast: a
// person asks why an expense claim is held up; an agent reads the person's own
// ticket and the policies that they may see, explains with citations, and
// prepares an appeal as a draft; the person reads the draft and confirms it, and
// one ticket comes of it, however often anybody confirms.
//
// The package holds the domain: types, the services that an application needs
// (implemented by desk/sqlite), the four tools of the agent and the agent itself.
// It uses public packages of Holdfast only.
//
// Two rules hold for every service. Identity comes from the host, never from a
// model: it is the first argument, and an empty tenant or user is refused. And
// what is not there and what somebody else owns are the same NOT_FOUND, in the
// same words.
package desk
