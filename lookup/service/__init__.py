"""Tables over HTTP, and a page to explore them; needs the extra `serve`.

A request goes through these files, in this order:

    server.py      a port to listen on, until Ctrl-C
    connections.py what comes over a connection, and how long it may take
    workers.py     several processes on that port, if asked for
    arena.py       decoded tables that these have in memory once
    metrics.py     what is counted of every request
    access_log.py  what is written down of every request, if asked for
    limits.py      how often a client may ask, and how much all together
    app.py         routes: parse, one call, render
    requests.py    what a request carries, and the limits on it
    shelf.py       what answers for a name: a table, replaced or not, or a formula
    replies.py     answers as JSON and files, with what caches must know
    errors.py      errors as status codes and JSON
    openapi.py     all this described, with examples; schemas.py has its parts
    static/        the pages: served as they are, without a build step
"""
