# Shortcuts; .ci/run knows the details.
.PHONY: build test race lint fuzz bench demo ci

build: ; CGO_ENABLED=0 go build -o holdfast ./cmd/holdfast
test:  ; go test ./...
race:  ; go test -race ./...
lint:  ; .ci/run lint
fuzz:  ; .ci/run fuzz
bench: ; cd bench && go test -run '^$$' -bench . ./...
demo:  ; go run ./cmd/holdfast demo
ci:    ; .ci/run
