"""Settings of a worker's sockets, which both servers make alike."""

import socket

# Bytes that the kernel takes of an answer before the gateway reads them, where it allows so many.
SEND_BYTES = 512 * 1024


def prepare(connection: socket.socket) -> None:
    """Prepares a connection of the gateway."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
