"""Solvers: a game's contract in, arrays out. They name no game and write no file."""
