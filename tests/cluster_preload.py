"""What workers of test clusters run first: they note what they write, and pause when they are told to.

The folder `ENDTABLE_NOTES` holds two files: to `log` each worker adds a line for each object that it
has written, its process and the name; `pauses` is JSON, seconds by process, and by "" for all others.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from builder.cluster import store as stores

_write = stores.Store.write


def _noted(store: stores.Store, name: str, *arguments: Any) -> None:
    notes, process = Path(os.environ["ENDTABLE_NOTES"]), str(os.getpid())
    try:
        pauses = json.loads((notes / "pauses").read_text())
    except OSError:
        pauses = {}
    time.sleep(pauses.get(process, pauses.get("", 0)))
    _write(store, name, *arguments)
    with (notes / "log").open("a") as log:
        log.write(f"{process} {name}\n")


stores.Store.write = _noted  # type: ignore[method-assign,assignment]  # to see it
