# values that -p and -f change, at the top

# %% tags=["parameters"]
epochs = 5
executors = 2  # executor pods, one rank each
gpus = 0  # for each executor; its trainer uses none
tag = "firesteel/mnist:latest"  # goes to --registry's or the context's
