package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// Unfit is a request that cannot be written for its wire.
func Unfit(err error) *model.Error {
	return &model.Error{Kind: kernel.FailRequest, Message: "the request does not fit the wire: " + err.Error()}
}

// Cut is an answer that ended early.
func Cut() *model.Error {
	return &model.Error{Kind: kernel.FailCut, Message: "the answer ended early"}
}

// Invalid is an answer that is not what the wire speaks. The message is fixed
// text, never a piece of the answer.
func Invalid(message string) *model.Error {
	return &model.Error{Kind: kernel.FailInvalid, Message: message}
}

func aborted() *model.Error {
	return &model.Error{Kind: kernel.FailAborted, Message: "the request was aborted"}
}

func tooLarge() *model.Error {
	return &model.Error{Kind: kernel.FailTooLarge, Message: "the answer is over the response cap"}
}

// Quota is an account that is out of quota.
func Quota() *model.Error {
	return &model.Error{Kind: kernel.FailQuota, Message: "the account is out of quota"}
}

// ContextTooLong is a request over the model's window.
func ContextTooLong() *model.Error {
	return &model.Error{Kind: kernel.FailContext, Message: "the request is longer than the model's window"}
}

// Filtered is a request that the provider refused to answer for what it says,
// or an answer that it broke off for that.
func Filtered() *model.Error {
	return &model.Error{Kind: kernel.FailFilter, Message: "the provider's content filter stopped the request"}
}

// Status is an error status, or an error event that means that status.
func Status(status int) *model.Error {
	e := &model.Error{Kind: kernel.FailStatus, Status: status}
	switch {
	case status/100 == 3:
		e.Message = "a redirect was refused"
	case status == http.StatusUnauthorized:
		e.Message = "the endpoint refused the key"
	case status == http.StatusForbidden:
		e.Message = "the key does not give the right to this"
	case status == http.StatusNotFound:
		e.Message = "no such model or path at this endpoint"
	case status == http.StatusRequestEntityTooLarge:
		e.Message = "the request is too large for the endpoint"
	case status == http.StatusTooManyRequests:
		e.Message = "the endpoint limits the rate"
	case status >= 500:
		e.Message = "the endpoint failed"
	default:
		e.Message = "the endpoint refused the request"
	}
	return e
}

// notSent says why a request never left.
func (x *Exchange) notSent(err error) *model.Error {
	if e := x.ended(); e != nil {
		return e
	}
	e := &model.Error{Kind: kernel.FailConnection, Message: "no connection to the endpoint"}
	var (
		dns     *net.DNSError
		timeout net.Error
	)
	switch message := untrusted(err); {
	case message != "":
		e.Kind, e.Message = kernel.FailTLS, message
	case errors.As(err, &dns):
		e.Message = "the endpoint's name was not resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = "the endpoint refused the connection"
	case alerted(err):
		e.Message = refusedTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Message = "no connection to the endpoint in time"
	}
	return e
}

// untrusted says why a TLS connection will not come about later either, and ""
// of any other error. Nothing of the certificate is told.
func untrusted(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		cert      *tls.CertificateVerificationError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return "the endpoint's certificate is of an authority that this machine does not trust"
	case errors.As(err, &host):
		return "the endpoint's certificate is for another host"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the endpoint's certificate has expired, or is not valid yet"
	case errors.As(err, &cert):
		return "the endpoint's certificate was not accepted"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the endpoint does not speak TLS"
	}
	return ""
}

// refusedTLS: Go does not tell what an alert says.
const refusedTLS = "the endpoint refused the TLS connection: it may want another version, or a certificate of this side"

// alerted tells an error that the other side of a TLS connection told this one.
func alerted(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}
