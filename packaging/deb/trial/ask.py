"""ask.py PORT PATH [TOKEN]: prints status and body of an answer, and fails where none comes."""

import sys
import urllib.error
import urllib.request

port, path, *token = sys.argv[1:]
request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
if token:
    request.add_header("authorization", f"Bearer {token[0]}")
try:
    with urllib.request.urlopen(request, timeout=30) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
