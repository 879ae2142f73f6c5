# SPDX-License-Identifier: MIT
"""Images from a notebook to a pod, through the cluster's registries."""
from place import NODE, PLAIN, Place


def test_built_pushed_and_run(t):
    place = Place(t)
    with open(f"{place.dir}/greet.lua", "w", encoding="utf-8") as f:
        f.write('print("hello from the image", arg[1])\n')
    done = place.run(f"""
-- %% Build and push effects="cluster"
img = image.build {{ add = {{ "greet.lua" }}, tag = "{NODE}:{PLAIN}/{place.namespace}/greet:1" }}
img = img:push {{ insecure = true }}
-- %% Run effects="cluster"
pod = k8s.create {{
  apiVersion = "v1", kind = "Pod", metadata = {{ name = "greet" }},
  spec = {{ restartPolicy = "Never", containers = {{ {{
    name = "main", image = img.ref, args = {{ "greet.lua", "you" }}, imagePullPolicy = "Always" }} }} }},
}}
expect(pod):reaches("Succeeded", "90s")
print(pod:logs())
""")
    assert done.code == 0, done
    assert "hello from the image\tyou" in done.out, done
    pulled = place.get("pod", "greet")["status"]["containerStatuses"][0]
    assert pulled["imageID"].startswith(f"{NODE}:{PLAIN}/{place.namespace}/greet@sha256:"), pulled
