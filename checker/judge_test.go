package checker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockchaos/history"
	"lockchaos/internal/golden"
)

// TestJudge judges the cases in testdata. Each says which outcome and which
// kinds of finding it wants; the golden file beside it holds every word.
func TestJudge(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for _, c := range parseCases(t, string(text)) {
				t.Run(c.name, func(t *testing.T) { judgeCase(t, c, &out) })
			}
			golden.Check(t, strings.TrimSuffix(file, ".txt")+".golden", out.String())
		})
	}
}

func judgeCase(t *testing.T, c testCase, out *bytes.Buffer) {
	v, err := Judge(c.h)
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != c.outcome {
		t.Errorf("outcome %s, want %s", v.Outcome, c.outcome)
	}
	if got := kindsOf(v); !slices.Equal(got, c.ids) {
		t.Errorf("findings %v, want %v", got, c.ids)
	}
	again, err := JudgeWith(c.h, Options{ChunkOps: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v.Findings, again.Findings) {
		t.Error("the findings depend on the size of the chunks")
	}
	for _, f := range v.Findings {
		hasNamed(t, c.h, f)
	}
	print(out, c.name, v)
	if c.h.Header.NeedsEach != (history.Phases{}) {
		for _, f := range v.Faults {
			fmt.Fprintf(out, "around %s (lasts: %t): %+v\n", f.ID, f.Lasts, f.Phases)
		}
		fmt.Fprintln(out)
	}
}

var timeInWords = regexp.MustCompile(`(\w+) at ([\d.]+ ms)`)

// hasNamed finds an event of the finding for every time that its words give,
// but for the end of a lease, which is no event.
func hasNamed(t *testing.T, h *history.History, f Finding) {
	t.Helper()
	for _, m := range timeInWords.FindAllStringSubmatch(f.Words, -1) {
		if m[1] != "ended" && !slices.ContainsFunc(f.Events, func(seq int64) bool { return ms(h.Events[seq-1].T) == m[2] }) {
			t.Errorf("%s has no event at %s: %v: %s", f.ID, m[2], f.Events, f.Words)
		}
	}
}

func kindsOf(v *Verdict) []string {
	var kinds []string
	for _, f := range v.Findings {
		if !slices.Contains(kinds, f.ID) {
			kinds = append(kinds, f.ID)
		}
	}
	return kinds
}

func print(w *bytes.Buffer, name string, v *Verdict) {
	fmt.Fprintf(w, "== %s\n%s: lock %s, resource %s", name, v.Outcome, v.Lock, v.Resource)
	if v.Stalled > 0 {
		fmt.Fprintf(w, ", stalled %s", ms(v.Stalled))
	}
	if v.Margin != nil {
		fmt.Fprintf(w, ", margin %s", ms(*v.Margin))
	}
	fmt.Fprintf(w, "\n%+v\n", v.Counts)
	for _, f := range v.Findings {
		fmt.Fprintf(w, "- %s", f.ID)
		if f.Cause != "" {
			fmt.Fprintf(w, " (%s)", f.Cause)
		}
		fmt.Fprintf(w, ", %s", f.Blame)
		if f.Contained {
			fmt.Fprint(w, ", contained")
		}
		if f.Late {
			fmt.Fprint(w, ", late")
		}
		fmt.Fprintf(w, ", at %s lasted %s count %d grants %v events %v\n  %s\n",
			ms(f.At), ms(f.Lasted), f.Count, f.Grants, f.Events, f.Words)
	}
	fmt.Fprint(w, "oracles:")
	for _, o := range v.Oracles {
		fmt.Fprintf(w, " %s %s/%s (%d)", o.Property, o.Sweep, o.Porcupine, o.Ops)
	}
	fmt.Fprint(w, "\n\n")
}

func TestMalformed(t *testing.T) {
	call := history.Event{Seq: 1, Kind: history.Call, Do: history.Acquire, Op: 1}
	ret := history.Event{Seq: 2, Kind: history.Return, Do: history.Acquire, Op: 1, Result: history.OK}
	ret3, write, other := ret, ret, call
	ret3.Seq, write.Do, other.Seq = 3, history.Write, 2
	early := ret
	early.T = -1
	for name, events := range map[string][]history.Event{
		"gap in the sequence":       {call, ret3},
		"time goes back":            {call, early},
		"return without call":       {{Seq: 1, Kind: history.Return, Do: history.Acquire, Op: 1}},
		"two returns":               {call, ret, ret3},
		"two calls":                 {call, other},
		"returns as something else": {call, write},
		"ledger without call":       {{Seq: 1, Kind: history.Ledger, Do: history.Write, Op: 1}},
		"fault without step":        {{Seq: 1, Kind: history.Fault}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Judge(&history.History{Header: history.Header{TTL: 1}, Events: events})
			var m *MalformedError
			if !errors.As(err, &m) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := Judge(&history.History{}); err == nil {
		t.Error("judged a history without a ttl")
	}
}

func TestDecides(t *testing.T) {
	want := map[string]string{
		"none": "double-grant stale-holder stale-write lost-update token-regression foreign-release " +
			"foreign-extend silent-loss silent-reacquire",
		"fence":      "stale-write lost-update token-regression",
		"fence-read": "stale-write lost-update token-regression",

		"fence-greater":          "stale-write lost-update token-regression",
		"fence-greater-or-equal": "stale-write lost-update token-regression",

		"version": "lost-update",
		"atomic":  "lost-update",
	}
	for guard, ids := range want {
		var got []string
		for _, id := range IDs() {
			if Decides(guard, id) {
				got = append(got, id)
			}
		}
		if strings.Join(got, " ") != ids {
			t.Errorf("%s: %v", guard, got)
		}
	}
}

// TestManyFindings: what is not told one by one is counted.
func TestManyFindings(t *testing.T) {
	text := "== many\nwant violated:\nttl=100000\nwarmup\n"
	for i := range 30 {
		text += fmt.Sprintf("%d-%d w%d acquire ok\n", 10+2*i, 11+2*i, i+1)
	}
	for _, o := range []Options{{MaxFindings: 7}, {MaxFindings: 1}} {
		v, err := JudgeWith(parseCases(t, text)[0].h, o)
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		for _, f := range v.Findings {
			if f.ID != DoubleGrant {
				continue
			}
			told += f.Number()
		}
		if told != 30*29/2 {
			t.Errorf("%+v: %d pairs are told or counted, want %d", o, told, 30*29/2)
		}
	}
}

// TestManyCauses: what is counted keeps its cause, and each cause is told for itself.
func TestManyCauses(t *testing.T) {
	text := "== many\nwant violated:\nfaults=2\nwarmup\n" +
		"5 fault f1 hold start w1>n1\n999 fault f1 hold proved w1>n1\n1000 fault f1 hold heal w1>n1\n1001 fault f1 hold healed w1>n1\n" +
		"1002 fault f2 clock-rate start n1\n1003 fault f2 clock-rate proved n1\n3000 fault f2 clock-rate heal n1\n3001 fault f2 clock-rate healed n1\n"
	for i := range 20 {
		at := 10 + 100*i
		text += fmt.Sprintf("%d-%d w1 acquire ok\n%d-%d w2 acquire ok\n%d-%d w1 release lost\n%d-%d w2 release ok\n",
			at, at+1, at+2, at+3, at+4, at+5, at+6, at+7)
	}
	h := parseCases(t, text)[0].h
	for most, want := range map[int]string{
		100: "10 10", 3: "3 3 7 7", 1: "1 1 9 9",
	} {
		v, err := JudgeWith(h, Options{MaxFindings: most})
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, f := range v.Findings {
			if f.ID != DoubleGrant {
				continue
			}
			kind := f.Kind()
			if f.More > 0 {
				kind += " more"
			}
			count[kind] += f.Number()
		}
		var got []string
		for _, more := range []string{"", " more"} {
			for _, cause := range []string{CauseStaleMessage, CauseEarlyExpiry} {
				if n := count[DoubleGrant+"/"+cause+more]; n > 0 {
					got = append(got, fmt.Sprint(n))
				}
			}
		}
		if strings.Join(got, " ") != want || count[DoubleGrant] > 0 {
			t.Errorf("at most %d: %s, want %s: %v", most, got, want, count)
		}
	}
}

func TestPorcupineLimits(t *testing.T) {
	text := "== long\nwant safe:\nttl=100\nwarmup\n"
	for i := range 40 {
		text += fmt.Sprintf("%d-%d w%d acquire ok token=%d\n", 10+4*i, 11+4*i, i+1, i+1)
		text += fmt.Sprintf("%d-%d w%d release ok\n", 12+4*i, 13+4*i, i+1)
	}
	h := parseCases(t, text)[0].h
	v, err := JudgeWith(h, Options{ChunkOps: 1000, MaxChunkOps: 10})
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != Inconclusive || v.Oracles[0].Porcupine != answerUnknown {
		t.Errorf("%s %+v", v.Outcome, v.Oracles)
	}
	if v, err = JudgeWith(h, Options{ChunkOps: 10, MaxChunkOps: 10}); err != nil || v.Outcome != Safe {
		t.Errorf("%+v %v", v, err)
	}
	if v.Oracles[0].Chunks < 8 {
		t.Errorf("%+v", v.Oracles)
	}
}

// TestDisagreement: oracles that contradict each other are an error. Spans out
// of order mislead the sweep and not Porcupine.
func TestDisagreement(t *testing.T) {
	r, err := assemble(parseCases(t, "== x\nwant safe:\nwarmup\n10-11 w1 acquire ok\n12-13 w1 release ok\n")[0].h)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(r.locks[0].promises)
	_, err = r.judge(Options{}.filled())
	var d *DisagreementError
	if !errors.As(err, &d) || d.Report.Property != PropertyMutex {
		t.Fatalf("got %v", err)
	}
}

// TestPartOfAChunk: a chunk too large for Porcupine is condemned by a part of it.
func TestPartOfAChunk(t *testing.T) {
	text := "== long\nwant violated:\nttl=1000\nwarmup\n"
	for i := range 40 {
		text += fmt.Sprintf("%d-%d w%d acquire ok\n", 10+4*i, 11+4*i, i+1)
	}
	v, err := JudgeWith(parseCases(t, text)[0].h, Options{MaxChunkOps: 10})
	if err != nil || v.Outcome != Violated || v.Oracles[0].Porcupine != AnswerIllegal || len(v.Reasons) > 0 {
		t.Fatalf("%+v %v", v, err)
	}
}

func TestVisualise(t *testing.T) {
	text := "== x\nwant violated:\nwarmup\n10-12 w1 acquire ok token=7\n20-22 w2 acquire ok token=7\n" +
		"23-24 w1 write ok v=2\n25-26 w2 write ok v=2\n"
	h := parseCases(t, text)[0].h
	for _, property := range []string{PropertyMutex, PropertyBeliefs, PropertyTokens, PropertyCounter} {
		var out bytes.Buffer
		found, err := Visualise(h, property, Options{}, &out)
		if err != nil || !found || !bytes.Contains(out.Bytes(), []byte("w1")) {
			t.Errorf("%s: %v %v, %d bytes", property, found, err, out.Len())
		}
	}
	found, err := Visualise(parseCases(t, "== y\nwant safe:\nwarmup\n")[0].h, PropertyMutex, Options{}, &bytes.Buffer{})
	if found || err != nil {
		t.Error(found, err)
	}
}
