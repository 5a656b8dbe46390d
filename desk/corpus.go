package desk

import "embed"

//go:embed testdata/questions.jsonl testdata/policies
var corpus embed.FS

// Corpus returns invented policies, testdata/policies/*.md, and questions about
// them, testdata/questions.jsonl, to measure a search with.
func Corpus() embed.FS { return corpus }
