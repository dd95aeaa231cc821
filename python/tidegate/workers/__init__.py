"""The processes of a worker pool: one preload process, its parents, their workers.

    preload  loads what stays across reloads (`preload`), forks parents; never imports the app
    parent   imports the app once, forks workers that share its memory; one a generation of code
    worker   answers requests on a Unix socket of its own

Tidegate (Rust) starts the preload process, orders every fork over the control socket, and is the
only client of the workers. Nothing here decides when a process starts or ends; that is the
supervisor's. Nothing here starts a thread in a process that forks. Only the standard library is
imported, so that any Python from 3.10 on can run a pool.
"""
