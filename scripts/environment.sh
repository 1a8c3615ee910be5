# Sourced by reproduce.sh and test.sh: makes .venv from pinned requirements, by pip alone.

fail() { echo "error: $*" >&2; exit 2; }

# A Python that all pinned requirements have wheels for.
fits() { command -v "$1" > /dev/null && "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 14))' 2> /dev/null; }

find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        fits "$PYTHON" || fail "PYTHON=$PYTHON is not a Python from 3.10 to 3.13"
        echo "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python3.10 python \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[0-3].*/bin/python; do
        if fits "$candidate"; then echo "$candidate"; return; fi
    done
    fail "no Python from 3.10 to 3.13 found ($(python3 --version 2> /dev/null || echo "no python3")); install one, or name it: PYTHON=/path/to/python3.12"
}

# The environment's Python; before there is one, any that can tell what needs no package.
python_without_installing() {
    if fits .venv/bin/python; then echo "$PWD/.venv/bin/python"; else find_python; fi
}

make_environment() {
    local requirements=$1 python stamp
    if ! fits .venv/bin/python; then
        python=$(find_python)
        echo "making .venv"
        rm -rf .venv
        if ! "$python" -m venv .venv > /dev/null 2>&1; then
            debian_package python3-venv
            "$python" -m venv .venv || fail "$python -m venv failed; install your system's python3-venv package"
        fi
    fi
    stamp=$(cat requirements*.txt | cksum | cut -d' ' -f1)
    if ! grep -qsx "$stamp $requirements" .venv/installed; then
        echo "installing $requirements (a few minutes the first time)"
        .venv/bin/pip install --quiet --disable-pip-version-check -r "$requirements" \
            || fail "pip could not install $requirements; see its message above"
        # what requirements-dev.txt names includes requirements.txt
        { echo "$stamp $requirements"; echo "$stamp requirements.txt"; } >> .venv/installed
    fi
    PATH="$PWD/.venv/bin:$PATH"
    export PATH PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"
}

# Installs a Debian package where that is possible without asking; never fails.
debian_package() {
    command -v apt-get > /dev/null || return 0
    if [ "$(id -u)" = 0 ]; then
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } > /dev/null 2>&1 || true
    elif command -v sudo > /dev/null && sudo -n true 2> /dev/null; then
        { sudo -n apt-get update && sudo -n apt-get install -y --no-install-recommends "$@"; } > /dev/null 2>&1 || true
    fi
}

# The official ROUGE script needs Perl with XML::Parser; without it only the comparison with it stays off.
perl_for_official_rouge() {
    perl -MXML::Parser -MDB_File -e1 2> /dev/null && return
    debian_package perl libxml-parser-perl
    perl -MXML::Parser -MDB_File -e1 2> /dev/null \
        || echo "note: Perl lacks XML::Parser, so the official ROUGE script stays off (ROUGE itself is computed in process)"
}
