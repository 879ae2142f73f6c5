# create what a manifest says, and a live table of it below the cell
# after: manifest

# %% Deploy
from firesteel import k8s

app = k8s.create(manifest)
app.watch()  # returns at once; the table below stays live
