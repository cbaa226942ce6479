// Package golden compares what a test got with a file that holds what is
// right. A test that imports it has the flag -update, which writes the files
// anew. Only tests import it.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares got with the file at path.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		i := 0
		for i < len(g) && i < len(w) && g[i] == w[i] {
			i++
		}
		t.Errorf("%s differs from line %d on; look at it, and run go test -update if what comes now is right:\n%s",
			path, i+1, strings.Join(g[min(i, len(g)):min(i+5, len(g))], "\n"))
	}
}
