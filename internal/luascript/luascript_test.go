package luascript

import "testing"

// The name is the one under which a server knows the script: with another, each
// call would be refused first and sent again in full.
func TestNew(t *testing.T) {
	const known = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" // what SCRIPT LOAD answers
	if s := New(0, "return 1"); s.Hash != known || s.KeyCount != 0 || s.Src != "return 1" {
		t.Errorf("%+v", s)
	}
}
