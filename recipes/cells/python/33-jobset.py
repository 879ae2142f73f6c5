# the same as a JobSet, which Kueue admits as a whole
# after: image
# lua: jobset
