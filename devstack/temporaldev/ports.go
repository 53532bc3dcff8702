package temporaldev

import (
	"context"
	"fmt"
	"net"
	"strconv"
)

// PortInUseError says that a port asked for cannot be bound.
type PortInUseError struct {
	// Port is the number that was asked for.
	Port int
	// Option is the field of Options that asked for it: Port or UIPort.
	Option string
	// Err is the answer of the operating system.
	Err error
}

// Error names the port and the option.
func (e *PortInUseError) Error() string {
	return fmt.Sprintf("port %d (%s) cannot be used: %v", e.Port, e.Option, e.Err)
}

// Unwrap gives the answer of the operating system.
func (e *PortInUseError) Unwrap() error { return e.Err }

// ports holds a listener on every port that the server will use, so that no two parts are given the same one and a
// taken port is known before anything is started. The server binds its ports itself, therefore release comes right
// before its start; only the UI takes its listener over.
type ports struct {
	services map[string]net.Listener
	ui       net.Listener
	numbers  map[string]int
}

// The server's listeners. "http" is the frontend's HTTP API, the others are gRPC.
func serviceNames() []string { return []string{"frontend", "history", "matching", "worker", "http"} }

func reservePorts(ctx context.Context, opts Options) (*ports, error) {
	p := &ports{services: map[string]net.Listener{}, numbers: map[string]int{}}
	for _, name := range serviceNames() {
		want := 0
		if name == "frontend" {
			want = opts.Port
		}
		l, err := listen(ctx, want, "Port")
		if err != nil {
			p.release()
			return nil, err
		}
		p.services[name] = l
		p.numbers[name] = l.Addr().(*net.TCPAddr).Port
	}
	if opts.UIPort == NoUI {
		return p, nil
	}
	l, err := listen(ctx, opts.UIPort, "UIPort")
	if err != nil {
		p.release()
		return nil, err
	}
	p.ui = l
	return p, nil
}

func listen(ctx context.Context, port int, option string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, &PortInUseError{Port: port, Option: option, Err: err}
	}
	return l, nil
}

func (p *ports) address(service string) string {
	return net.JoinHostPort(host, strconv.Itoa(p.numbers[service]))
}

// takeUI hands the UI's listener to the caller, who closes it.
func (p *ports) takeUI() net.Listener {
	l := p.ui
	p.ui = nil
	return l
}

// release closes what is still held. Closing a listener that never accepted a connection leaves no waiting state, so
// the port can be bound again at once.
func (p *ports) release() {
	for name, l := range p.services {
		_ = l.Close()
		delete(p.services, name)
	}
	if p.ui != nil {
		_ = p.ui.Close()
		p.ui = nil
	}
}
