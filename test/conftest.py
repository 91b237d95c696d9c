"""What all tests need."""

import signal

# A shell that starts a job in the background has it ignore Ctrl-C, and children inherit that; the
# tests that interrupt something need what Python does otherwise.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
