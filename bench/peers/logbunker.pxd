# Types of logbunker.py for Cython.
cimport cython


@cython.locals(
    counts=dict, line=bytes, key=tuple,
    offset=cython.longlong, number=cython.longlong, flushed=cython.double,
)
cpdef parse(path, queue)


@cython.locals(rows=list, counts=dict, offset=cython.longlong)
cpdef upsert(folder, queue)
