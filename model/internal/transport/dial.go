package transport

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// writeSize is how much of a request's body is given to the kernel at once.
const writeSize = 64 << 10

// dialer opens connections that share the buffers through which bodies are
// written. net/http would take a new one of 32 KiB for each request.
//
// It serves plain HTTP/1.1 alone: a model on this machine or behind a proxy on
// it. Over TLS, net/http writes to a connection of its own that this one is
// below, and no body comes here whole.
type dialer struct {
	net.Dialer
	buffers sync.Pool // of *[writeSize]byte
}

func newDialer() *dialer {
	return &dialer{Dialer: net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}}
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return conn{c, d}, nil
}

// conn is a connection that net/http may hand a whole body to.
type conn struct {
	net.Conn
	dialer *dialer
}

// ReadFrom writes all of r.
func (c conn) ReadFrom(r io.Reader) (n int64, err error) {
	buf, ok := c.dialer.buffers.Get().(*[writeSize]byte)
	if !ok {
		buf = new([writeSize]byte)
	}
	defer c.dialer.buffers.Put(buf)
	for {
		read, err := r.Read(buf[:])
		if read > 0 {
			written, failed := c.Write(buf[:read])
			n += int64(written)
			if failed != nil {
				return n, failed
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
