// Package tlsproxy puts TLS before a server of a test that speaks plain TCP, with an authority made for the test.
//
// It ends TLS and looks at nothing inside. It is for tests only.
package tlsproxy
