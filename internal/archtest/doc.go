// Package archtest holds the shape of the repository and the truth of its
// documents. It has no code of its own: each rule is a function in a test file
// that lists what breaks it.
//
// TestRules runs every rule over this repository. TestEachRuleCanFail runs
// each over the small tree of the same name in testdata, which breaks it, so
// that a rule which has stopped looking is found out.
package archtest
