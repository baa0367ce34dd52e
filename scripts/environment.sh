# Sourced by the other scripts: `environment EXTRAS` makes .venv if there is none, installs the project
# with these extras if that has not been done for this pyproject.toml, and puts it on the PATH.

cd "$(dirname "${BASH_SOURCE[0]}")/.."

environment() {
    local extras=$1 python
    if [ ! -x .venv/bin/python ]; then
        python=$(find_python) || {
            echo "error: no Python 3.11, 3.12 or 3.13 found: install one and try again" >&2
            exit 1
        }
        echo "making an environment in .venv with $("$python" --version)" >&2
        "$python" -m venv .venv
    fi
    PATH="$PWD/.venv/bin:$PATH"
    local stamp=".venv/installed-$extras" wanted
    wanted=$(cksum pyproject.toml)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        echo "installing endtable[$extras] into .venv" >&2
        python -m pip install --quiet --disable-pip-version-check --editable ".[$extras]"
        echo "$wanted" >"$stamp"
    fi
}

find_python() {
    local candidate
    for candidate in python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    return 1
}
