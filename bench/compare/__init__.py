"""Side-by-side benchmarks: a file a section, all with the same functions (see __main__.py). `bench/run` starts it."""
