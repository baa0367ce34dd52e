# Sourced by the other scripts: `environment EXTRAS` makes .venv if there is none, installs the project
# with these extras if that has not been done for this pyproject.toml, and puts it on the PATH. After it,
# `tools` sees to it that programs from outside are there that tests need, and says so where that cannot be.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset PYTHONDONTWRITEBYTECODE  # many containers set it; without bytecode everything starts slowly

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
        install --editable ".[$extras]"
        echo "$wanted" >"$stamp"
    fi
}

# Installs Python's packages. uv takes a few seconds and pip most of a minute, but uv does not know pip's
# settings: whoever has an index of packages of their own is served by pip, as everybody for whom uv fails.
install() {
    local pip=(python -m pip --quiet --disable-pip-version-check)
    if ! "${pip[@]}" config get global.index-url >/dev/null 2>&1 && [ -z "${PIP_INDEX_URL:-}" ] &&
        "${pip[@]}" install --no-compile uv 2>/dev/null &&
        UV_LINK_MODE=copy uv pip install --quiet --python .venv/bin/python "$@"; then
        return
    fi
    # The one that comes with Python is often old, and takes three times as long to choose versions.
    "${pip[@]}" install --upgrade pip || true
    "${pip[@]}" install "$@"
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

tools() {
    local missing why problems=() python
    python=$(find_python)
    mapfile -t missing < <("$python" tests/tools.py)
    if [ ${#missing[@]} -gt 0 ]; then
        why=$(install_packages "${missing[@]}")
        mapfile -t missing < <("$python" tests/tools.py)
        [ ${#missing[@]} = 0 ] || problems+=("what is in the packages ${missing[*]} ($why)")
    fi
    if command -v npm >/dev/null; then
        why=$(install_node_modules)
        [ -z "$why" ] || problems+=("h5wasm ($why)")
    fi
    [ ${#problems[@]} -gt 0 ] || return 0
    if [ "${ENDTABLE_TOOLS:-}" = required ]; then
        printf 'error: all tests are required here, and some cannot be run without %s\n' "${problems[@]}" >&2
        exit 1
    fi
    printf 'some tests are left out, for want of %s\n' "${problems[@]}" >&2
}

# Installs Debian's packages, all in one call since that is what takes time. Prints why it could not.
install_packages() {
    local as_root=()
    if [ -n "${ENDTABLE_CHROMIUM:-}" ] && ! command -v "$ENDTABLE_CHROMIUM" >/dev/null; then
        echo "ENDTABLE_CHROMIUM is '$ENDTABLE_CHROMIUM', which is no program: expected the path of a Chromium"
    elif ! command -v apt-get >/dev/null; then
        echo "there is no apt-get to install them with"
    elif [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
        echo "only root may install them"
    else
        [ "$(id -u)" = 0 ] || as_root=(sudo -n)
        as_root+=(env DEBIAN_FRONTEND=noninteractive)
        echo "installing, for the tests: $*" >&2
        local install=("${as_root[@]}" apt-get install --quiet --quiet --yes --no-install-recommends)
        # The lists of packages are missing or old in most containers: only then are they fetched. The
        # Chromium without windows is the smaller one; not every system has it.
        "${install[@]}" "$@" >/dev/null 2>&1 || {
            "${as_root[@]}" apt-get update --quiet --quiet >/dev/null || true
            "${install[@]}" "$@" >/dev/null 2>&1 ||
                "${install[@]}" "${@/#chromium-headless-shell/chromium}" >/dev/null || true
        }
        echo "apt-get could not install them"
    fi
}

# Installs what the reader in JavaScript needs, if that has not been done. Prints why it could not.
install_node_modules() {
    local folder=scripts/readers wanted
    wanted=$(cksum $folder/package.json)
    [ "$(cat $folder/node_modules/installed 2>/dev/null)" != "$wanted" ] || return 0
    if npm install --prefix $folder --no-package-lock --no-audit --no-fund --loglevel error >&2; then
        echo "$wanted" >$folder/node_modules/installed
    else
        echo "npm could not install what $folder/package.json names"
    fi
}
