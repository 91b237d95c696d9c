"""Properties of programs: liveness, dispatches, the memory that a run takes."""
