// Package retrieval reads policies from files, for the desk to find.
package retrieval
