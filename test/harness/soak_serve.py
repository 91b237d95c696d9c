"""``make soak-serve``: clients of all kinds at a server, which loses none of them, and no memory.

The server is a process of its own, with a tiny model. First, many requests come at once: each gets
an answer, or is told that the server is busy. Then clients stream, leave early, and send what is
not valid, until the time is over; the memory of the server must not grow meanwhile.
"""

import argparse
import asyncio
import json
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import serving_models

SLOTS, QUEUE, AT_ONCE = 4, 64, 12
MOST_GROWTH = 0.05
"""Growth of the resident size from the second quarter of the time to the last."""
_SERVER = "from graphc.tools.gc_serve import main, exit_with; exit_with(main)"


class SoakClient:
    """Sends requests to `port`, and counts what comes back."""

    def __init__(self, port: int, seed: int):
        self.port, self.random = port, random.Random(seed)
        self.results: Counter[str] = Counter()

    async def send(self, body: bytes, path: str = "/v1/completions", read: int = -1) -> bytes:
        """The answer to `body`, or its first `read` bytes, after which the client leaves."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            head = (
                f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + body)
            await writer.drain()
            return await reader.read(read) if read >= 0 else await reader.read()
        finally:
            writer.close()

    async def complete(self, count: int, **fields: object) -> None:
        """One completion of `count` tokens: an answer, or 429."""
        prompt = [self.random.randrange(2, 90) for _ in range(self.random.randrange(1, 60))]
        body = {"prompt": prompt, "max_tokens": count, "min_tokens": count, **fields}
        answer = await self.send(json.dumps(body).encode())
        status = answer[9:12].decode()
        content = answer.partition(b"\r\n\r\n")[2]
        if status == "200" and not fields.get("stream"):
            found = json.loads(content)["usage"]["completion_tokens"]
            assert found == count, content
        elif status == "200":
            assert b"data: [DONE]" in content, content[-200:]
        elif status == "500":  # a token behind which logits are NaN was drawn
            assert b'"invalid_logits"' in content, content
        self.results[status] += 1

    async def leave(self) -> None:
        """A stream that nobody reads to its end."""
        body = {"prompt": "a", "max_tokens": 100, "min_tokens": 100, "stream": True}
        await self.send(json.dumps(body).encode(), read=self.random.randrange(1, 600))
        self.results["left"] += 1

    async def break_rules(self) -> None:
        """An invalid body, and its error."""
        bodies = (b"{", b"[]", b'{"prompt": []}', b'{"prompt": "a", "max_tokens": -1}', b"\xff")
        answer = await self.send(self.random.choice(bodies))
        assert answer[9:12] == b"400", answer
        self.results["400"] += 1

    async def any(self) -> None:
        """One of these, by chance."""
        kinds: list[Callable[[], Awaitable[None]]] = [
            lambda: self.complete(self.random.randrange(1, 30)),
            lambda: self.complete(20, temperature=1.3, seed=5, frequency_penalty=0.5),
            lambda: self.complete(10, stream=True),
            self.leave, self.break_rules,
        ]  # fmt: skip
        await self.random.choice(kinds)()


async def burst(client: SoakClient, count: int) -> None:
    """`count` requests at once."""
    await asyncio.gather(*(client.complete(4) for _ in range(count)))
    assert sum(client.results.values()) == count
    assert set(client.results) <= {"200", "429"}, client.results


async def soak(client: SoakClient, seconds: float, sample: Callable[[], float]) -> list[float]:
    """The samples of the memory, while clients send for `seconds`."""
    end, samples = time.monotonic() + seconds, list[float]()

    async def run() -> None:
        while time.monotonic() < end:
            await client.any()

    async def watch() -> None:
        while time.monotonic() < end:
            samples.append(sample())
            await asyncio.sleep(1)

    await asyncio.gather(watch(), *(run() for _ in range(AT_ONCE)))
    return samples


def resident_bytes(process: int) -> float:
    """The resident size of `process`."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Clients of all kinds at a server.")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--burst", type=int, default=10_000, metavar="REQUESTS")
    flags = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as name:
        folder = serving_models.write_folder(Path(name), tokenizer=True)
        command = [sys.executable, "-c", _SERVER, str(folder), "--port=0", f"--slots={SLOTS}",
                   f"--queue={QUEUE}", "--prefill-chunk=8"]  # fmt: skip
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            line = next(each for each in server.stderr if " at http://" in each)
            found = re.search(r":(\d+)/v1", line)
            assert found is not None
            client = SoakClient(int(found[1]), 0)
            begin = time.monotonic()
            asyncio.run(burst(client, flags.burst))
            seconds = time.monotonic() - begin
            print(f"{flags.burst} at once, {seconds:.0f} s: {dict(client.results)}", flush=True)
            client.results.clear()
            sizes = asyncio.run(
                soak(client, 60 * flags.minutes, lambda: resident_bytes(server.pid))
            )
        finally:
            server.terminate()
            server.wait()
    quarter = len(sizes) // 4
    early, late = (statistics.median(sizes[n * quarter :][:quarter]) for n in (1, 3))
    print(f"{dict(client.results)}; {early / 1e6:.1f} MB, then {late / 1e6:.1f} MB")
    return int(late > early * (1 + MOST_GROWTH))


if __name__ == "__main__":
    sys.exit(main())
