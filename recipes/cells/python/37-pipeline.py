# a graph of steps: prepare, train, check, and a clean-up that always runs
# lua: pipeline
