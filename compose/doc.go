// Package compose holds the stack of containers that the bench runs in, and the
// tests of it: see README.md.
package compose
