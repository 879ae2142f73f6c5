-- live tables of pods and events of a namespace, below the cell

-- %% Watch
k8s.watch("pods")
k8s.watch("events")
