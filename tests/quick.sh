#!/usr/bin/env bash
# Format, lint, types and the fast part of the tests.
set -e
cd "$(dirname "$0")/.."
python=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python)}
"$python" -m ruff format .
"$python" -m ruff check .
"$python" -m mypy
"$python" -m pytest -n "${WORKERS:-2}" -m "not slow" tests/spec tests/tasks/test_cube.py tests/cli/test_main.py \
    tests/cli/test_reference.py tests/leaderboard/test_stats.py tests/leaderboard/test_rounding.py \
    tests/test_{identity,imports,parameters,plan,registry,style,wording}.py "$@"
