package faults

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"lockchaos/locks"
)

func everything() Hammer {
	h := Hammer{For: locks.Duration(10 * time.Second), Every: locks.Duration(100 * time.Millisecond),
		Lasts: locks.Duration(200 * time.Millisecond), Weights: map[string]int{}}
	for _, k := range Kinds() {
		h.Weights[k.Name] = 1
	}
	return h
}

// The same seed draws the same schedule, and another seed another one. No two
// faults start or end at one instant, all end in time, every kind comes, and no
// host or node is stopped twice at a time.
func TestHammer(t *testing.T) {
	hosts, nodes := []string{"w1", "w2", "w3"}, []string{"n1", "n2", "n3", "n4", "n5"}
	h := everything()
	kinds := map[string]int{}
	for seed := range int64(50) {
		specs := h.Draw(seed, hosts, nodes)
		if !reflect.DeepEqual(specs, h.Draw(seed, hosts, nodes)) {
			t.Fatalf("seed %d draws two schedules", seed)
		}
		if reflect.DeepEqual(specs, h.Draw(seed+1, hosts, nodes)) {
			t.Fatalf("seeds %d and %d draw one schedule", seed, seed+1)
		}
		checkDrawn(t, seed, h, specs)
		for _, s := range specs {
			kinds[s.Kind]++
		}
	}
	for _, k := range Kinds() {
		if kinds[k.Name] == 0 {
			t.Errorf("%s was never drawn", k.Name)
		}
	}
}

func checkDrawn(t *testing.T, seed int64, h Hammer, specs []Spec) {
	t.Helper()
	at := map[time.Duration]bool{}
	type span struct{ from, to time.Duration }
	stopped := map[string][]span{}
	for _, s := range specs {
		k, _ := Find(s.Kind)
		from, to := s.From.At, s.From.At+s.For.D()
		if at[from] || k.Heals && at[to] {
			t.Errorf("seed %d: two things at one instant: %+v", seed, s)
		}
		at[from] = true
		if k.Heals {
			at[to] = true
		}
		if to > h.For.D()+time.Millisecond+time.Duration(5*len(specs))*time.Microsecond || k.Heals == (s.For == 0) {
			t.Errorf("seed %d: %s from %s for %s, the hammer is over at %s", seed, s.Kind, from, s.For, h.For)
		}
		if k.Link() {
			continue
		}
		for _, name := range slices.Concat(s.Hosts, s.Nodes) {
			for _, o := range stopped[name] {
				if from < o.to && o.from < to {
					t.Errorf("seed %d: %s is stopped twice at %s", seed, name, from)
				}
			}
			stopped[name] = append(stopped[name], span{from, to})
		}
	}
}

// A kind without weight is not drawn.
func TestHammerWeights(t *testing.T) {
	h := everything()
	for name := range h.Weights {
		h.Weights[name] = 0
	}
	h.Weights["delay"] = 3
	for _, s := range h.Draw(1, []string{"w1"}, []string{"n1"}) {
		if s.Kind != "delay" || s.Latency <= 0 || s.Jitter > s.Latency {
			t.Errorf("drawn: %+v", s)
		}
	}
}
