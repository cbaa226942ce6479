package drawing

import (
	"encoding/json"
	"os"
	"testing"

	"lockchaos/checker"
)

func TestTry(t *testing.T) {
	b, _ := os.ReadFile(os.Getenv("TL"))
	var tl checker.Timeline
	if err := json.Unmarshal(b, &tl); err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/try.html", []byte("<!doctype html><meta charset=utf-8><style>body{margin:12px}"+CSS+"</style>"+Timeline(&tl, "t")), 0o644)
}
