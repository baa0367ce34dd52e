"""Where Chromium is: the one place that knows, for the tests and for scripts/environment.sh.

`python tests/chromium.py` prints the path, or fails. It needs nothing but Python.
"""

from __future__ import annotations

import os
import shutil
import sys

VARIABLE = "ENDTABLE_CHROMIUM"
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without its windows: it takes three quarters of the time."""


def find_chromium() -> str | None:
    """The executable that ENDTABLE_CHROMIUM names, else the first of `NAMES` on the PATH."""
    if given := os.environ.get(VARIABLE):
        return shutil.which(given)
    return next(filter(None, map(shutil.which, NAMES)), None)


if __name__ == "__main__":
    sys.exit(print(found) if (found := find_chromium()) else 1)
