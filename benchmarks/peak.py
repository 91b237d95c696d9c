"""Peak performance of this machine: multiply-adds in registers, in f32 and of 8-bit integers.

::

    python -m graphc.benchmarks.peak --threads 2
"""

import argparse
import os
from collections.abc import Sequence

from graphc.errors import UsageError
from graphc.profiling.peak import peak_gflops, peak_int8_gops


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure the peak of this machine.")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    threads = parser.parse_args(arguments).threads
    print(f"{peak_gflops(threads):.0f} GFLOP/s in f32 on {threads} threads")
    try:
        print(f"{peak_int8_gops(threads):.0f} Gop/s of 8-bit integers on {threads} threads")
    except UsageError as error:
        print(error)


if __name__ == "__main__":
    main()
