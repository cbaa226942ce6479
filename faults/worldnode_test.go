package faults

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// server is what the fake world knows of one node.
type server struct {
	readOnly bool
	scripts  int
}

func (w *world) SyncNode(_ context.Context, n string) (string, error) {
	return w.do("sync", n, "synced", false)
}
func (w *world) CutPower(_ context.Context, n string) (string, error) {
	return w.do("cut power of", n, "12 bytes cut", false)
}
func (w *world) EvictKeys(_ context.Context, n string) (string, error) {
	return w.do("evict", n, "evicted: lock", false)
}
func (w *world) FreeMemory(_ context.Context, n string) (string, error) {
	return w.do("free", n, "no bound", true)
}
func (w *world) SlowNode(_ context.Context, n string, latency time.Duration) (string, error) {
	return w.do(fmt.Sprint("slow ", latency), n, "PING took long", false)
}
func (w *world) HurryNode(_ context.Context, n string) (string, error) {
	return w.do("hurry", n, "PING took a moment", true)
}

func (w *world) server(n string) *server {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.servers[n] == nil {
		w.servers[n] = &server{scripts: 2}
	}
	return w.servers[n]
}

// answer is a node's reply to a command that faults send.
func (w *world) answer(n, command string) (any, error) {
	s := w.server(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	does := w.mode != idle
	switch command {
	case "REPLICAOF 127.0.0.1 1":
		s.readOnly = does
	case "REPLICAOF NO ONE":
		s.readOnly = s.readOnly && w.mode == mute
	case "DEL " + probeKey:
		if s.readOnly {
			return nil, errors.New("READONLY You can't write against a read only replica.")
		}
		return int64(0), nil
	case "SCRIPT LOAD " + probeScript:
		s.scripts++
		return "sha", nil
	case "INFO memory":
		return fmt.Sprintf("# Memory\r\nnumber_of_cached_scripts:%d\r\n", s.scripts), nil
	case "SCRIPT FLUSH SYNC":
		if does {
			s.scripts = 0
		}
	case "SCRIPT EXISTS sha":
		return []any{int64(min(s.scripts, 1))}, nil
	}
	return "OK", nil
}
