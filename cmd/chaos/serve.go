package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"lockchaos/cluster/sim"
	"lockchaos/internal/secret"
	"lockchaos/results"
	"lockchaos/serve"
	"lockchaos/serve/play"
)

type serveFlags struct {
	addr    string
	results string
	public  bool
	token   string
	hosts   []string
}

// Limits of the server: of a simulation in real time, and of the last answers
// after a signal.
const (
	playLimit  = 5 * time.Second
	closeLimit = 2 * time.Second
)

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show saved runs, their trend and a playground of the simulation on a local web page",
		Example: "  chaos serve\n  chaos serve --addr 127.0.0.1:9000 --results /tmp/runs\n" +
			"  chaos serve --addr 0.0.0.0:8080 --public --token-file token --host bench.example.com",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.serve(cmd.Context(), cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	cmd.Flags().StringVar(&f.results, "results", results.DefaultRoot, "directory that runs are saved under")
	cmd.Flags().BoolVar(&f.public, "public", false, "allow an address that other machines can reach; it needs a token")
	addTokenFile(cmd.Flags(), &f.token)
	cmd.Flags().StringSliceVar(&f.hosts, "host", nil, "a name that the server may be called by, beside its addresses and localhost")
	return cmd
}

func (f serveFlags) serve(ctx context.Context, out io.Writer) error {
	if err := serve.CheckAddr(f.addr, f.public); err != nil {
		return usage(fmt.Errorf("--addr %q: %w", f.addr, err))
	}
	token, err := secret.Read(f.token)
	if err != nil {
		return usage(err)
	}
	if err := token.MayListen(f.addr); err != nil {
		return usage(fmt.Errorf("--addr %w", err))
	}
	if info, err := os.Stat(f.results); err == nil && !info.IsDir() {
		return usage(fmt.Errorf("--results %q: not a directory", f.results))
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", f.addr)
	if err != nil {
		return usage(fmt.Errorf("--addr: %w", err))
	}
	if err := serve.CheckAddr(l.Addr().String(), f.public); err != nil { // a name may lead anywhere
		return errors.Join(usage(fmt.Errorf("--addr %q: %w", f.addr, err)), l.Close())
	}
	worker := play.NewWorker(playerCommand, playLimit)
	defer worker.Close()
	machine := results.ThisMachine("simulated")
	machine.Clock = "simulated"
	s := &http.Server{
		Handler:           serve.New(serve.Options{Root: f.results, Hosts: f.hosts, Public: f.public, Token: token, Simulator: worker, Machine: machine}),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	if _, err := fmt.Fprintf(out, "http://%s/ shows %s; Ctrl-C ends it\n", l.Addr(), f.results); err != nil {
		return harness(errors.Join(err, l.Close()))
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	select {
	case err := <-ended:
		return harness(fmt.Errorf("serve: %w", err))
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if err := s.Shutdown(last); err != nil {
		_ = s.Close() // whoever still reads has had time
	}
	return nil // a signal is how it is ended
}

// player is the name of the command that simulates for serve.
const player = "play-tasks"

// playerCommand starts this very program, even where its file is another by now.
func playerCommand() *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", player)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	return cmd
}

func playCommand() *cobra.Command {
	return &cobra.Command{
		Use: player, Hidden: true, Args: cobra.NoArgs,
		Short: "Simulate what is asked for on standard input; a child of serve",
		Run: func(cmd *cobra.Command, _ []string) {
			endWith(cmd.Context(), nothingToSave)
			sim.Main(func(bubble func(func())) int {
				return finish(harness(play.Loop(os.Stdin, os.Stdout, func() { os.Exit(results.ExitExpected) }, bubble, simWorld{})))
			})
		},
	}
}
