# an image of the trainer and its data, pushed to the cluster's registry
# after: parameters trainer

# %% Build and push
from firesteel import image, k8s

base = None if k8s.version()["sandbox"] else "apache/spark:3.5.7"  # the sandbox brings its own
img = image.build(from_=base, add=["trainer.lua", "data/mnist"], tag=tag).push()
img.ref
