"""Builds beyond one machine: shards as tasks of a Dask cluster, and a store between them.

    job.py        what is to be done: stages of tasks, each of which leaves one object in the store
    acyclic.py    the job of games in which no position comes again: shards of a solver's plan
    rounds.py     the job of games with loops: rounds in which shards send each other what they found
    store.py      objects by name in a folder or in object storage, every byte checked when it is read
    engine.py     runs the tasks of a job on Dask, and does again what was lost
    table.py      the table from what the store holds: one file, or a folder of parts

Nothing else of the product imports Dask or fsspec, and this only when `--engine dask` is asked for.
"""
