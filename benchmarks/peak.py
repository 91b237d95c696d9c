"""Peak performance of this machine: f32 multiply-adds in registers.

::

    python -m graphc.benchmarks.peak --threads 2
"""

import argparse
import os
from collections.abc import Sequence

from graphc.profiling.peak import peak_gflops


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure the peak of this machine.")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), metavar="N")
    threads = parser.parse_args(arguments).threads
    print(f"{peak_gflops(threads):.0f} GFLOP/s on {threads} threads")


if __name__ == "__main__":
    main()
