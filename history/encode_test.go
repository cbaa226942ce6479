package history

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// The encoder by hand and encoding/json must agree on every event.
func TestAppendEvent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		e := randomEvent(rng)
		want, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendEvent(nil, &e)); got != string(want)+"\n" {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

// randomEvent fills each field, also ones that are added later, or leaves it empty.
func randomEvent(rng *rand.Rand) Event {
	words := []string{"", "", "w1", "ok", "a \"b\" \\ c", "<&>", "tab\tline\n", "é…\u2028", "\xff\xfe", "\x00\x7f"}
	var e Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(words[rng.IntN(len(words))])
		case reflect.Int, reflect.Int64:
			f.SetInt([]int64{0, 0, 1, -1, rng.Int64N(1 << 40), -1 << 62}[rng.IntN(6)])
		case reflect.Pointer:
			if rng.IntN(3) == 0 {
				f.Set(reflect.ValueOf(&FaultStep{ID: "f1", Name: "hold", Step: "start", Targets: []string{"w1>n1"}, Proof: words[rng.IntN(len(words))]}))
			}
		default:
			panic("appendEvent does not know fields of kind " + f.Kind().String())
		}
	}
	return e
}

func BenchmarkRecorder(b *testing.B) {
	r, err := NewRecorder(discard{}, Header{TTL: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	e := Event{Kind: Return, Do: Acquire, Host: "w1", Lock: "counter", Op: 17, Grant: 17, Owner: "0123456789abcdef",
		Token: 5, Validity: 299 * time.Millisecond, Result: OK, Backed: 1}
	for b.Loop() {
		r.Add(e)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
