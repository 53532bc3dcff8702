package temporaldev

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/cors"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// webUI serves Temporal's UI on a listener of ours. The UI module's own server is not used: it binds the port itself
// and ends the process if that fails.
type webUI struct {
	listener net.Listener
	server   *http.Server
}

// newWebUI owns l from here on.
func newWebUI(l net.Listener, temporalAddress, namespace string, log *slog.Logger) (*webUI, error) {
	handler, err := uiHandler(temporalAddress, namespace)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the web UI: %w", err), l.Close())
	}
	return &webUI{listener: l, server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}, nil
}

func uiHandler(temporalAddress, namespace string) (http.Handler, error) {
	// NotifyOnNewVersion stays off: it would ask public sites for releases.
	conf, err := config.NewConfigProviderWithRefresh(&config.Config{
		TemporalGRPCAddress: temporalAddress, DefaultNamespace: namespace, EnableUI: true, HideLogs: true,
		DisableNewsFetch: true, CORS: config.CORS{CookieInsecure: true},
	})
	if err != nil {
		return nil, fmt.Errorf("configure: %w", err)
	}
	all, err := ui.Assets()
	if err != nil {
		return nil, fmt.Errorf("open the assets: %w", err)
	}
	assets, err := fs.Sub(all, "local")
	if err != nil {
		return nil, fmt.Errorf("open the assets: %w", err)
	}
	const secureCookie = false // plain http on loopback
	e := echo.New()
	e.Use(
		middleware.Recover(),
		middleware.Gzip(),
		cors.CORSMiddleware(cors.CORSConfig{ConfigProvider: conf}), // no other origin is allowed
		middleware.Secure(),
		csrf.EnsureTokenCookie(secureCookie), // before the check that reads it
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(conf, secureCookie)),
	)
	route.SetHealthRoute(e)
	forward := []api.Middleware{headers.WithForwardHeaders([]string{"Caller-Type"})}
	if err := route.SetAPIRoutes(e, conf, forward); err != nil {
		return nil, fmt.Errorf("set the API routes: %w", err)
	}
	if err := route.SetUIRoutes(e, "", assets, conf); err != nil {
		return nil, fmt.Errorf("set the page routes: %w", err)
	}
	route.SetRenderRoute(e, "/")
	return e, nil
}

func (w *webUI) address() string { return w.listener.Addr().String() }

func (w *webUI) serve(failed chan<- error) {
	go func() {
		if err := w.server.Serve(w.listener); !errors.Is(err, http.ErrServerClosed) {
			report(failed, fmt.Errorf("the web UI ended: %w", err))
		}
	}()
}

// close ends the UI whether or not it was served.
func (w *webUI) close() error {
	if err := w.server.Close(); err != nil {
		return fmt.Errorf("stop the web UI: %w", err)
	}
	if err := w.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("stop the web UI: %w", err)
	}
	return nil
}
