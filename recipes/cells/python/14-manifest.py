# a SparkApplication as a dict, filled in from variables
# after: parameters build

# %% The manifest
def pod(**more):
    """What driver and executors have in common."""
    return {"cores": 1, "memory": "1g", "annotations": {"sidecar.istio.io/inject": "false"}, **more}


manifest = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "metadata": {"generateName": "mnist-"},
    "spec": {
        "type": "Python", "mode": "cluster", "image": img.ref, "sparkVersion": "3.5.7",
        "mainApplicationFile": "local:///opt/firesteel/spark.py",
        "arguments": ["trainer.lua", f"--epochs={epochs}"],
        "restartPolicy": {"type": "Never"},
        "driver": pod(serviceAccount="spark"),
        "executor": pod(instances=executors, gpu={"name": "nvidia.com/gpu", "quantity": gpus}),
    },
}
