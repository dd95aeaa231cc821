"""An app that needs what a closed service may lack: shared memory, and code made at run time."""

import ctypes
import mmap
import os
from multiprocessing import shared_memory

BLOCK = shared_memory.SharedMemory(create=True, size=1000)


@ctypes.CFUNCTYPE(ctypes.c_int)
def callback():
    """C code calls it through a page that ctypes makes executable."""
    return 7


async def app(scope, receive, send):
    """Answers what the process has got."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": message["type"] + ".complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()
    is_shared = BLOCK.name in os.listdir("/dev/shm")
    body = f"nice={os.nice(0)} shared={is_shared} callback={callback()}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
