-- an image with the worker, for functions on pods

-- %% Worker image effects="cluster"
worker = image.build { tag = "firesteel/worker:latest" }:push()
