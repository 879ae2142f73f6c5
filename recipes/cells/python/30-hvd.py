# a function on two ranks of this machine, Horovod's way; results in their order
# lua: hvd
