#!/bin/sh
# Generates the Go packages example.com/tour/platform/… into the folder platform. Needs Go and protoc.
# PLATFORM: the command that runs the program `platform`.
set -eu
cd "$(dirname "$0")"

rm -rf platform protos
${PLATFORM:-npx --no platform} proto export protos --go-module example.com/tour --no-value-rules

# go.mod has the versions of the generators. Packages of google/* are in the modules that it requires.
cd protos
protoc --proto_path=. $(find platform -name '*.proto') \
  --plugin="$(go tool -n protoc-gen-go)" --go_out=.. --go_opt=module=example.com/tour \
  --plugin="$(go tool -n protoc-gen-go-grpc)" --go-grpc_out=.. --go-grpc_opt=module=example.com/tour
