"""Builds beyond one machine: shards as tasks of a Dask cluster, and a store between them.

    job.py        what is to be done: stages of tasks, each of which leaves one object in the store
    choice.py     which job builds a game, and how it is cut
    shards.py     the job of games in which no position comes again: shards of a solver's plan in arrays
                  that take memory only where they are used (`sparse.py`); what a shard reads is found
                  by making all moves (`survey.py`), and its place by `order.py`
    rounds.py     the job of games with loops: rounds in which shards send each other what they found;
                  `rounds_work.py` has the tasks, `rounds_letters.py` what they write to each other, and
                  `rounds_kernels.py` their loops
    whole.py      the job of a game that one worker solves
    recent.py     what tasks of a worker read last, decoded
    packing.py    the columns of the table from what a job left
    store.py      objects by name in a folder or in object storage; their form is in `objects.py`
    tasks.py      what runs on a worker
    engine.py     runs tasks on Dask, and again where something was lost
    build.py      from a game to its table: one file, or a folder of parts

Nothing else of the product imports Dask or fsspec, and this only when `--engine dask` is asked for.
"""
