// Package modeltest is the suite that every model passes.
//
// [Run] is for adapters of a wire: it makes models against stub servers
// (package stub) and looks at both ends. [Contract] is the part that needs no
// wire; Run includes it, and a model without a wire passes it alone.
package modeltest
