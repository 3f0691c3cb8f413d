#!/bin/sh
# Generates the Java classes dev.platform.api.… and compiles them and the tour. Needs a JDK and Maven.
# PLATFORM: the command that runs the program `platform`.
set -eu
cd "$(dirname "$0")"

rm -rf protos target
${PLATFORM:-npx --no platform} proto export protos --no-value-rules
mvn --batch-mode --quiet compile
