package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	toxiclient "github.com/Shopify/toxiproxy/v2/client"
	"github.com/rs/zerolog"
)

// toxi is the embedded Toxiproxy server and a client of its API. The API knows
// no passwords, so it listens on the loopback address only.
type toxi struct {
	addr   string
	api    *toxiproxy.ApiServer
	http   *http.Server
	client *toxiclient.Client
}

func startToxi() (*toxi, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen on a free port of 127.0.0.1 for Toxiproxy: %w", err)
	}
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	// Not api.Listen: it takes an address, and a free port is known only once it is taken.
	srv := &http.Server{Handler: api.Routes(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(ln) }() // ends with close
	addr := ln.Addr().String()
	return &toxi{addr: addr, api: api, http: srv, client: toxiclient.NewClient(addr)}, nil
}

// key names a link among all in the process.
func (t *toxi) key(l *Link) string { return t.addr + "/" + l.name }

func (t *toxi) close() error { return t.http.Close() }

// addProxy makes the proxy of a link, with the gate on both directions. It is
// never enabled: the link accepts.
func (t *toxi) addProxy(ctx context.Context, l *Link) (*toxiproxy.Proxy, error) {
	p := toxiproxy.NewProxy(t.api, l.name, l.Addr(), l.upstream)
	if err := t.api.Collection.Add(p, false); err != nil {
		return nil, fmt.Errorf("%s: cannot add a proxy to Toxiproxy: %w", l.title, err)
	}
	err := l.controlled(ctx, "install the gate", func() error {
		for d, stream := range streams {
			attrs := toxiclient.Attributes{"link": t.key(l), "direction": d}
			// Past the API: a group of nodes has dozens of links.
			b, err := json.Marshal(map[string]any{"name": gateType + "_" + stream, "type": gateType, "stream": stream, "toxicity": 1, "attributes": attrs})
			if err == nil {
				_, err = p.Toxics.AddToxicJson(bytes.NewReader(b))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// removeProxy takes the proxy away. Its connections are the link's to close.
func (t *toxi) removeProxy(ctx context.Context, l *Link) error {
	return l.controlled(ctx, "remove the proxy", func() error { return t.api.Collection.Remove(l.name) })
}

// streams are Toxiproxy's words for the directions.
var streams = [directions]string{requests: "upstream", replies: "downstream"}

func (t *toxi) named(l *Link) *toxiclient.Proxy {
	p := t.client.NewProxy()
	p.Name = l.name
	return p
}

func (t *toxi) addLatency(l *Link, d delay) error {
	attrs := toxiclient.Attributes{"latency": millis(d.latency), "jitter": millis(d.jitter)}
	for _, stream := range streams {
		if _, err := t.named(l).AddToxic("latency_"+stream, "latency", stream, 1, attrs); err != nil {
			return err
		}
	}
	return nil
}

// removeLatency takes the latency away, if there is any.
func (t *toxi) removeLatency(l *Link) error {
	for _, stream := range streams {
		err := t.named(l).RemoveToxic("latency_" + stream)
		var api *toxiclient.ApiError
		if err != nil && !(errors.As(err, &api) && api.Status == http.StatusNotFound) {
			return err
		}
	}
	return nil
}

func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return max(1, d.Round(time.Millisecond).Milliseconds())
}
