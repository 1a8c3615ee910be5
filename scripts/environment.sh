# Sourced by reproduce.sh and test.sh: makes .venv from pinned requirements, by pip alone.
# usage: . scripts/environment.sh requirements.txt

fail() { echo "error: $*" >&2; exit 2; }

make_environment() {
    local requirements=$1 python=${PYTHON:-python3} stamp
    command -v "$python" > /dev/null || fail "no $python found; install Python 3.10 or newer"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
        || fail "$("$python" --version) is too old; give a newer one by PYTHON=python3.11"
    if [ ! -x .venv/bin/python ]; then
        echo "making .venv"
        rm -rf .venv
        if ! "$python" -m venv .venv > /dev/null 2>&1; then
            debian_package python3-venv
            "$python" -m venv .venv || fail "python3 -m venv failed; install your system's python3-venv package"
        fi
    fi
    stamp=$(cat requirements*.txt | cksum | cut -d' ' -f1)-$requirements
    if [ "$(cat .venv/installed 2> /dev/null)" != "$stamp" ]; then
        echo "installing $requirements (a few minutes the first time)"
        .venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt -r "$requirements" \
            || fail "pip could not install $requirements; see its message above"
        echo "$stamp" > .venv/installed
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
