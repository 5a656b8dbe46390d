// Package ranking splits texts into words and orders documents by them: BM25
// over words, cosine over vectors, and both fused. It knows no storage and no
// permission: it is given what a person may see, and counts nothing else.
//
// Its functions are pure and safe for concurrent use.
package ranking
