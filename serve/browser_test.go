package serve_test

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"lockchaos/results"
)

// What is told of a page in a real browser.

// tab is one page of a browser, and what it has done.
type tab struct {
	ctx context.Context

	mu       sync.Mutex
	requests []string
	errors   []string
}

// browsers are the names of the browser, the first of which is Debian's.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

func browser(t *testing.T) *tab {
	t.Helper()
	var path string
	for _, name := range browsers {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Fatalf("no browser to test the page in, none of %s: make deps-test installs it", strings.Join(browsers, ", "))
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path),
		chromedp.NoSandbox, // it may be root, and loads only our own pages
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-gpu", true), chromedp.WindowSize(1300, 1400), chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	x := &tab{}
	x.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Listen(x.ctx, x.heard); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *tab) heard(event any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		x.requests = append(x.requests, e.Request.URL)
	case *log.EventEntryAdded:
		x.errors = append(x.errors, fmt.Sprint(e.Entry.Level, ": ", e.Entry.Text, " ", e.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		x.errors = append(x.errors, fmt.Sprint("console.", e.Type))
	case *runtime.EventExceptionThrown:
		x.errors = append(x.errors, fmt.Sprint("exception: ", e.ExceptionDetails.Text))
	}
}

func (x *tab) do(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(x.ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// eval is what a page says of itself.
func (x *tab) eval(t *testing.T, js string) string {
	t.Helper()
	return ask(t, x, chromedp.Evaluate[string]("String("+js+")"))
}

func ask[T any](t *testing.T, x *tab, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(x.ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// until waits for something to be true of the page.
func (x *tab) until(t *testing.T, js string) {
	t.Helper()
	ask(t, x, chromedp.Poll[bool](js, chromedp.WithPollingTimeout(20*time.Second)))
}

// clean tells that nothing went wrong in the page, and that it has asked nobody
// but the server, or nobody at all where that is "".
func (x *tab) clean(t *testing.T, server string) {
	t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.errors {
		t.Error("the browser says ", e)
	}
	if len(x.requests) == 0 {
		t.Error("the browser asked for nothing at all: the test does not see what it asks for")
	}
	for _, r := range x.requests {
		u, err := url.Parse(r)
		if own := err == nil && (u.Scheme == "http" && "http://"+u.Host == server || u.Scheme == "file" && server == ""); !own {
			t.Errorf("the page asked for %s", r)
		}
	}
}

// The report of a run says what its verdict says.
func TestReportInBrowser(t *testing.T) {
	root := t.TempDir()
	batch := saved(t, root, "")
	s := server(t, root)
	x := browser(t)
	for _, guard := range []string{"none", "fence"} {
		k := results.Key{Scenario: "single/pause-after-acquire", Guard: guard, Trial: 1}
		var a results.Assessment
		if err := results.Load(filepath.Join(root, batch, k.Path()), results.VerdictFile, &a); err != nil {
			t.Fatal(err)
		}
		x.do(t, chromedp.Navigate(s.URL+"/runs/"+batch+"/"+k.Path()+"/"))
		if got, want := x.eval(t, `document.querySelector("section.cell h2 .tag").className`), "tag "+string(a.Verdict.Outcome); got != want {
			t.Errorf("guard %s: the page says %q, the verdict %q", guard, got, want)
		}
		text := x.eval(t, `document.body.textContent`)
		c, story := a.Verdict.Counts, a.Verdict.Story()
		for _, want := range []string{
			fmt.Sprintf("%d acquires were answered and %d granted; the resource accepted %d writes and refused %d reads and writes; the counter is at %d after %d increments",
				c.Acquires, c.Grants, c.Writes, c.Refused, c.Final, c.Increment),
			a.Repeat, a.Verdict.Findings[0].Kind(),
		} {
			if !strings.Contains(text, want) {
				t.Errorf("guard %s: the page does not say %q", guard, want)
			}
		}
		if story != nil && !strings.Contains(text, story.Words[:30]) {
			t.Errorf("guard %s: the page does not tell %q", guard, story.Words)
		}
		// It is drawn, and with the style: a lane is a box with a colour of its own.
		if n := x.eval(t, `document.querySelectorAll("svg.pic:not(.lat) .lane").length`); n != "5" {
			t.Errorf("guard %s: %s lanes, expected those of 3 hosts, a node and the resource", guard, n)
		}
		if tall := x.eval(t, `document.querySelector("svg.pic").getBoundingClientRect().height > 200`); tall != "true" {
			t.Errorf("guard %s: the timeline is not drawn", guard)
		}
		if fill := x.eval(t, `getComputedStyle(document.querySelector("svg.pic .lane")).fill`); fill != "rgb(246, 247, 249)" {
			t.Errorf("guard %s: a lane is %s: the style is missing", guard, fill)
		}
	}
	// Porcupine's picture is a script, which works in an origin of its own.
	x.do(t, chromedp.Navigate(s.URL+"/runs/"+batch+"/single.pause-after-acquire/none/t1/porcupine-counter.html"))
	if n := x.eval(t, `document.querySelectorAll("svg rect").length > 5`); n != "true" {
		t.Error("Porcupine's picture is not drawn")
	}
	if origin := x.eval(t, `window.origin`); origin != "null" {
		t.Errorf("Porcupine's picture has the origin %s", origin)
	}
	x.clean(t, s.URL)
}

// The list, the trend and the playground from a click to the next: the stale holder
// is violated until the fence is switched on, and safe again where the pause is
// dragged to be short.
func TestPlaygroundInBrowser(t *testing.T) {
	root := t.TempDir()
	saved(t, root, "quick")
	s := server(t, root)
	x := browser(t)
	x.do(t, chromedp.Navigate(s.URL), chromedp.Click(`nav a[href="/trend"]`), chromedp.WaitVisible(`svg.trend rect`),
		chromedp.Click(`nav a[href="/playground"]`), chromedp.WaitVisible(`#result [data-outcome="violated"]`), chromedp.WaitVisible(`#strip .hit`))
	pictures := x.eval(t, `document.querySelectorAll("#result svg.pic:not(.lat)").length`)
	if pictures != "1" {
		t.Errorf("%s timelines", pictures)
	}
	const choose = `(() => { const s = document.querySelector("[name=guard]"); s.value = "%s"; s.dispatchEvent(new Event("input", {bubbles: true})); })()`
	const outcome = `document.querySelector("#result [data-outcome]").dataset.outcome === "%s"`
	x.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(choose, "fence")))
	x.until(t, fmt.Sprintf(outcome, "safe"))
	if text := x.eval(t, `document.querySelector("#result").textContent`); !strings.Contains(text, "the guard at the resource held (stale operations refused: 1)") || !strings.Contains(text, "guards: [fence]") {
		t.Errorf("with a fence it says %s", text)
	}
	if where := x.eval(t, `location.search`); !strings.Contains(where, "guard=fence") {
		t.Errorf("the address is %s", where)
	}
	x.do(t, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(choose, "none")))
	x.until(t, fmt.Sprintf(outcome, "violated"))

	x.drag(t, `#bar-pause i`, `#strip`) // its end to the left edge
	x.until(t, fmt.Sprintf(outcome, "safe"))
	if long := x.eval(t, `Number(document.querySelector("[name=pause_for]").value) < 300`); long != "true" {
		t.Error("the pause was not dragged")
	}
	x.clean(t, s.URL)
}

// drag moves the mouse from the middle of one element to 40 points right of the
// left edge of another.
func (x *tab) drag(t *testing.T, from, to string) {
	t.Helper()
	x.do(t, chromedp.ScrollIntoView(to))
	at := ask(t, x, chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => {
		const a = document.querySelector(%q).getBoundingClientRect(), b = document.querySelector(%q).getBoundingClientRect();
		return [a.x + a.width / 2, a.y + a.height / 2, b.x + 40];
	})()`, from, to)))
	x.do(t, chromedp.DragAndDropXY(at[0], at[1], at[2], at[1], 4))
}
