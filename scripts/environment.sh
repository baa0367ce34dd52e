# Sourced by the other scripts: `environment EXTRAS` makes .venv if there is none, installs the project
# with these extras if that has not been done for this pyproject.toml, and puts it on the PATH. After it,
# `browser` sees to it that there is a Chromium, and says so where that cannot be.

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
        # The one that comes with Python is often old, and takes three times as long to choose versions.
        python -m pip install --quiet --disable-pip-version-check --upgrade pip || true
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

browser() {
    python tests/chromium.py >/dev/null && return  # it also says where the tests look
    local as_root=() why
    if [ -n "${ENDTABLE_CHROMIUM:-}" ]; then
        why="ENDTABLE_CHROMIUM is '$ENDTABLE_CHROMIUM', which is no program"
    elif ! command -v apt-get >/dev/null; then
        why="there is no Chromium on the PATH, and no apt-get to install it with"
    elif [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
        why="there is no Chromium on the PATH, and only root may install it"
    else
        [ "$(id -u)" = 0 ] || as_root=(sudo -n)
        as_root+=(env DEBIAN_FRONTEND=noninteractive)
        echo "installing Chromium, for the tests of the page" >&2
        local install=("${as_root[@]}" apt-get install --quiet --quiet --yes --no-install-recommends)
        # The lists of packages are missing or old in most containers: only then are they fetched. The
        # package without windows is the smaller one; not every system has it.
        "${install[@]}" chromium-headless-shell >/dev/null 2>&1 || {
            "${as_root[@]}" apt-get update --quiet --quiet >/dev/null || true
            "${install[@]}" chromium-headless-shell >/dev/null 2>&1 || "${install[@]}" chromium >/dev/null || true
        }
        python tests/chromium.py >/dev/null && return
        why="there is no Chromium on the PATH, and apt-get could not install it"
    fi
    why+="; install the package chromium (or chromium-browser, google-chrome), or set ENDTABLE_CHROMIUM to its path"
    if [ "${ENDTABLE_BROWSER:-}" = required ]; then
        echo "error: the tests in a browser are required here, and cannot be run: $why" >&2
        exit 1
    fi
    echo "the tests in a browser are left out: $why" >&2
}
