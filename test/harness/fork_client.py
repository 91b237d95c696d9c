"""The command that stands for a program in a fork of `fork_server.py`: its socket, the name of the
program, arguments. It imports as little as possible."""

import json
import os
import socket
import sys

path, program, *arguments = sys.argv[1:]
message = json.dumps([program, arguments, os.getcwd(), dict(os.environ)])
with socket.socket(socket.AF_UNIX) as server:
    server.connect(path)
    socket.send_fds(server, [message.encode()], [0, 1, 2])
    code = server.recv(16)
if not code:
    print(f"{program} crashed", file=sys.stderr)
sys.exit(int(code or 70))
