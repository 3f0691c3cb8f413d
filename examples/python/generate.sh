#!/bin/sh
# Generates the Python package platform_api and installs it, into the active virtual environment or into .venv.
# PLATFORM: the command that runs the program `platform`.
set -eu
cd "$(dirname "$0")"

rm -rf build protos requirements.txt src
${PLATFORM:-npx --no platform} proto export protos --root platform_api --no-value-rules

if [ -z "${VIRTUAL_ENV:-}" ]; then
  python3 -m venv .venv
  . .venv/bin/activate
fi
python -m pip install --quiet grpcio-status grpcio-tools

# The package depends on these versions or newer ones: older ones refuse to load generated code.
python -m pip freeze | sed -n -E '/^(googleapis-common-protos|grpcio|grpcio-status|protobuf)==/s/==/>=/p' >requirements.txt

# Files of google/* are in the packages that pyproject.toml names: a program must not have two copies of them.
mkdir src
cd protos
python -m grpc_tools.protoc --proto_path=. --python_out=../src --pyi_out=../src --grpc_python_out=../src \
  $(find platform_api -name '*.proto')
cd ..
find src/platform_api -type d -exec touch '{}/__init__.py' ';'
touch src/platform_api/py.typed
python -m pip install --quiet .
