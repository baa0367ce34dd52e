"""Tables over HTTP, and a page to explore them; needs the extra `serve`.

A request goes through these files, in this order:

    server.py      a port to listen on, until Ctrl-C
    app.py         routes: parse, one call, render
    requests.py    what a request carries, and the limits on it
    errors.py      errors as status codes and JSON
    static/        the page: served as it is, without a build step
"""
