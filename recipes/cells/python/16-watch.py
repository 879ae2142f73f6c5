# live tables of pods and events of a namespace, below the cell

# %% Watch
from firesteel import k8s

k8s.watch("pods")
k8s.watch("events")
