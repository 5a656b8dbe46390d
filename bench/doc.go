// Package bench measures Holdfast against raw loops, other libraries and bare
// storage, side by side in one process. README.md says how to read it.
//
// It is a module of its own, so that the libraries it compares with never
// become dependencies of the product.
package bench
