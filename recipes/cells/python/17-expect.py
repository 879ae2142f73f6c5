# wait for a state; a failure ends it at once, with the cause
# after: deploy

# %% Wait timeout="45m"
from firesteel import expect

expect(app).reaches("COMPLETED", "10m")  # FAILED ends it at once, with the cause
