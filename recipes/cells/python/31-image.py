# an image with the worker, for functions on pods
# lua: image
