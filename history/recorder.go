package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// FlushEvery is the longest that an event stays in memory before it is written.
const FlushEvery = 50 * time.Millisecond

// Recorder writes a history as it happens. Its methods are safe for use by
// many goroutines. After the first failed write it keeps that error, which
// Err and Close return; a run must not be judged after one.
type Recorder struct {
	mu     sync.Mutex
	w      *bufio.Writer
	buf    []byte // one line
	keep   *History
	ended  bool
	header Header
	start  time.Time
	seq    int64
	op     int64
	err    error
	failed chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

// NewRecorder writes the header and starts the run's clock. It flushes to w
// every FlushEvery until Close; w stays open.
func NewRecorder(w io.Writer, h Header) (*Recorder, error) {
	h.Format, h.Version = Format, Version
	r := &Recorder{
		w: bufio.NewWriterSize(w, 64<<10), header: h, start: time.Now(),
		failed: make(chan struct{}), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := r.line(h); err != nil {
		return nil, err
	}
	if err := r.w.Flush(); err != nil {
		return nil, fmt.Errorf("write history: %w", err)
	}
	go r.flusher()
	return r, nil
}

// Keep has the recorder keep in h what it writes, too. To be called before the
// first event.
func (r *Recorder) Keep(h *History) {
	h.Header, r.keep = r.header, h
}

// Add stamps e with the next sequence number and the time, writes it, and
// returns it as written. What comes after End is dropped: it is the last line.
func (r *Recorder) Add(e Event) Event {
	r.Put(&e)
	return e
}

// Put is Add for an event in its place: it is stamped there, and not copied.
func (r *Recorder) Put(e *Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended { // a library may go on with what nobody waits for any more
		return
	}
	r.ended = e.Kind == End
	r.seq++
	e.Seq, e.T = r.seq, time.Since(r.start)
	r.buf = appendEvent(r.buf[:0], e)
	_, err := r.w.Write(r.buf)
	r.note(err)
	if r.keep != nil {
		r.keep.Events = append(r.keep.Events, *e)
		r.keep.Complete = e.Kind == End
	}
}

// NextOp returns a new operation number.
func (r *Recorder) NextOp() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.op++
	return r.op
}

// Flush writes out what is buffered.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(r.w.Flush())
	return r.err
}

// Err returns the first error of writing, if there was one.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Failed is closed at the first error of writing.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

// Close flushes and stops the recorder. It does not close the writer.
func (r *Recorder) Close() error {
	close(r.stop)
	<-r.done
	return r.Flush()
}

func (r *Recorder) flusher() {
	defer close(r.done)
	t := time.NewTicker(FlushEvery)
	defer t.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-t.C:
			_ = r.Flush() // kept, and returned by Err and Close
		}
	}
}

func (r *Recorder) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := r.w.Write(b); err != nil {
		return err
	}
	return r.w.WriteByte('\n')
}

func (r *Recorder) note(err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("write history: %w", err)
		close(r.failed)
	}
}
