"""Long answers, in one piece and in many, and an upload that is read to its end."""

BYTES = 200_000_000
PIECE = bytes(64 * 1024)
WHOLE = bytes(BYTES)


async def asgi(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("HTTP only")
    received = 0
    if scope["path"] == "/upload":
        more = True
        while more:
            message = await receive()
            received, more = received + len(message["body"]), message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"] == "/whole":
        await send({"type": "http.response.body", "body": WHOLE})
    elif scope["path"] == "/pieces":
        for _ in range(BYTES // len(PIECE)):
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    else:
        await send({"type": "http.response.body", "body": b"%d" % received})
