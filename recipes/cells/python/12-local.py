# the training script here, on one rank, before it costs a cluster anything
# after: trainer

# %% Local mode
from firesteel import expect, trainer

job = trainer.run("trainer.lua", np=1, args=["--epochs=1"])
expect(job.output).contains("Model prediction for index 100: 6")
expect(job.metrics["val_accuracy"]).at_least(0.94)
