# a training script as a file: MNIST, sharded by rank, ready for many ranks
# cells: 10-mnist.lua: The trainer
