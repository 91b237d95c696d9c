"""The command line of `tools.stubs`."""

from .generate import main

raise SystemExit(main())
