-- %% Objects effects="cluster"
kept = k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "kept" }, data = { b = "2" } }
made = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "old-" }, data = { a = "1" } }
print(made.name)
-- %% Waits
while not fs.exists "go" do firesteel.sleep(0.05) end
-- %% More effects="cluster"
more = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "more" }, data = { of = made.name } }
-- %% Remove effects="destructive"
kept:delete()
made:delete()
more:delete()
