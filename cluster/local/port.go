package local

import (
	"fmt"
	"syscall"
)

// port is a port of 127.0.0.1 that is kept for one node: bound, but not
// listened on. A server that sets SO_REUSEADDR, as Redis does, can listen on
// it; nobody else gets it while the node is down, and a connect is refused.
type port struct {
	number int
	fd     int
}

// reserve takes a free port, or the given one if it is not 0.
func reserve(number int) (*port, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot reserve a port: %w", err)
	}
	p := &port{number: number, fd: fd}
	if err := p.bind(); err != nil {
		p.free()
		return nil, fmt.Errorf("cannot reserve port %d of 127.0.0.1: %w", number, err)
	}
	return p, nil
}

func (p *port) bind() error {
	if err := syscall.SetsockoptInt(p.fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return err
	}
	if err := syscall.Bind(p.fd, &syscall.SockaddrInet4{Port: p.number, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	sa, err := syscall.Getsockname(p.fd)
	if err != nil {
		return err
	}
	p.number = sa.(*syscall.SockaddrInet4).Port // it is the family that was asked for
	return nil
}

func (p *port) addr() string { return fmt.Sprintf("127.0.0.1:%d", p.number) }

func (p *port) free() { _ = syscall.Close(p.fd) }
