# the same by an MPIJob of the MPI operator, without ssh
# after: image
# lua: mpi
