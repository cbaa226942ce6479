package faults

import (
	"encoding"
	"fmt"
	"strings"
	"testing"

	"lockchaos/internal/golden"
)

var triggers = []string{
	"at 200ms", "at 0s", "at 0", "  at\t1h2m3.5s  ", "at 2562047h",
	"after w1 acquired", "after w12 acquired 3", "before w2 writes", "before w1 acquires", "before w1 reads 2",
	"after  w1   read", "after w1 wrote", "before w1 extends", "after w1 extended", "before w1 checks", "after w1 checked",
	"before w1 releases", "after w1 released", "after w1 acquired 007",
	"", "at", "at soon", "at -1s", "at 5", "at 1e300h", "at 2562048h", "at NaNs", "at 1s 2s", "At 1s",
	"after", "after w1", "after w1 acquired 0", "after w1 acquired -1", "after w1 acquired 99999999999999999999",
	"after w1 acquired twice", "after w1 acquires", "before w1 acquired", "after w1 slept", "after n1 acquired",
	"after w acquired", "after w1 acquired 1 2", "after w\u0661 acquired", "after w1 acquired\x00", "meanwhile",
	"after w1 acquired; at 3s", "\xff\xfe",
}

var orders = []string{
	"w2 acquires after w1 acquired", "w2 acquires 3 after w1 acquired 2", "w1 writes at 100ms", " w2  reads\tafter w1 read ",
	"", "w2 acquires", "w2 acquires before w1 acquires", "w2 acquired after w1 acquired", "w2 sleeps after w1 acquired",
	"w2 acquires 0 after w1 acquired", "w2 acquires after w1 acquires", "w2 acquires after w1 slept", "w2 acquires at noon",
	"after w1 acquired", "w2 acquires after w1 acquired after w1 read", "n1 acquires at 1s",
}

// text reads each line and says what became of it: the value in Go's words, or the error.
func text[T any](t *testing.T, lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		var v T
		err := any(&v).(encoding.TextUnmarshaler).UnmarshalText([]byte(line))
		if err != nil {
			fmt.Fprintf(&b, "%q\n    error: %v\n", line, err)
			continue
		}
		fmt.Fprintf(&b, "%q\n    %+v\n", line, fields(v))
		checkRoundTrip(t, line, v)
	}
	return b.String()
}

// fields shows a value past its String method.
func fields(v any) string {
	switch v := v.(type) {
	case Trigger:
		if v.Timed {
			return fmt.Sprint("at ", v.At)
		}
		return fmt.Sprintf("%+v", v.Point)
	case Order:
		return fmt.Sprintf("%+v waits for %s", v.Step, fields(v.After))
	}
	return ""
}

func checkRoundTrip[T any](t *testing.T, line string, v T) {
	t.Helper()
	b, err := any(v).(encoding.TextMarshaler).MarshalText()
	if err != nil {
		t.Errorf("%q: %v", line, err)
	}
	var again T
	if err := any(&again).(encoding.TextUnmarshaler).UnmarshalText(b); err != nil {
		t.Errorf("%q is written as %q, which is not read: %v", line, b, err)
	}
	if any(again) != any(v) || fmt.Sprint(v) != string(b) {
		t.Errorf("%q is written as %q and read as %+v, want %+v", line, b, again, v)
	}
}

func TestTriggers(t *testing.T) { golden.Check(t, "testdata/triggers.txt", text[Trigger](t, triggers)) }
func TestOrders(t *testing.T)   { golden.Check(t, "testdata/orders.txt", text[Order](t, orders)) }

func TestZeroTrigger(t *testing.T) {
	var none, some Trigger
	if err := some.UnmarshalText([]byte("at 0s")); err != nil {
		t.Fatal(err)
	}
	if !none.IsZero() || some.IsZero() {
		t.Errorf("IsZero: of none %v, of at 0s %v", none.IsZero(), some.IsZero())
	}
	if hits(&none, Point{}, 0) || hits(&some, Point{}, 0) {
		t.Error("a trigger without a point hits one")
	}
}

func FuzzTrigger(f *testing.F) {
	for _, s := range triggers {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v Trigger
		if v.UnmarshalText([]byte(s)) != nil {
			if v != (Trigger{}) {
				t.Errorf("%q: an error, and yet %+v", s, v)
			}
			return
		}
		if v.IsZero() || v.At < 0 || !v.Timed && (v.Point.Nth < 1 || v.Point.Host == "") {
			t.Errorf("%q is read as %+v", s, v)
		}
		checkRoundTrip(t, s, v)
	})
}

func FuzzOrder(f *testing.F) {
	for _, s := range orders {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var v Order
		if v.UnmarshalText([]byte(s)) != nil {
			return
		}
		if !v.Step.Before || v.After.IsZero() || !v.After.Timed && v.After.Point.Before {
			t.Errorf("%q is read as %+v", s, v)
		}
		checkRoundTrip(t, s, v)
	})
}
