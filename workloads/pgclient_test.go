package workloads

import (
	"net"
	"testing"
	"time"
)

// An idle connection is looked at while another reads from it: pgx may.
func TestQuiet(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c := tracked{TCPConn: conn.(*net.TCPConn)}

	reading := make(chan struct{})
	go func() {
		close(reading)
		_, _ = conn.Read(make([]byte, 1)) // until the end of the test
	}()
	<-reading
	looked := make(chan bool, 1)
	for range 100 { // the reader may need a moment to begin
		go func() { looked <- quiet(c) }()
		select {
		case q := <-looked:
			if !q {
				t.Fatal("a connection on which nothing has come is not quiet")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("it waits for the other reader")
		}
	}
}

// What a server says last is seen, and so is its end.
func TestNotQuiet(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, last := range []string{"farewell", ""} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = server.Write([]byte(last))
		_ = server.Close()
		deadline := time.Now().Add(10 * time.Second)
		for quiet(tracked{TCPConn: conn.(*net.TCPConn)}) {
			if time.Now().After(deadline) {
				t.Fatalf("after %q and the end it is still quiet", last)
			}
		}
	}
}
