# SPDX-License-Identifier: MIT
"""Images from a notebook to a pod, through the cluster's registries."""
import json

from place import FOLDER, KUBECONFIG, NODE, PLAIN, TLS, Place

GREET = """
-- %% Build and push effects="cluster"
img = image.build { add = { "greet.lua" }, tag = "REPOSITORY/greet:1" }:push()
-- %% Run effects="cluster" timeout="10m"
pod = k8s.create {
  apiVersion = "v1", kind = "Pod", metadata = { name = "greet" },
  spec = { restartPolicy = "Never", containers = { {
    name = "main", image = img.ref, args = { "greet.lua", "you" }, imagePullPolicy = "Always" } } },
}
expect(pod):reaches("Succeeded", "9m")
print(pod:logs())
"""


def greet(place, host, **registry):
    """Built, pushed and run, with what the kubeconfig says of the registry."""
    with open(KUBECONFIG, encoding="utf-8") as f:
        config = json.load(f)
    config["clusters"][0]["cluster"]["extensions"] = [
        {"name": "firesteel/registry", "extension": {"host": host, **registry}}]
    place.env["KUBECONFIG"] = f"{place.dir}/kubeconfig"
    with open(place.env["KUBECONFIG"], "w", encoding="utf-8") as f:
        json.dump(config, f)
    with open(f"{place.dir}/greet.lua", "w", encoding="utf-8") as f:
        # an image of its own: the node names one that it has after the registry that it came from first
        f.write(f'print("hello from the image", arg[1]) -- {place.namespace}\n')
    return place.run(GREET.replace("REPOSITORY", place.namespace))


def assert_greeted(place, done, host):
    assert done.code == 0, done
    assert "hello from the image\tyou" in done.out, done
    pulled = place.get("pod", "greet")["status"]["containerStatuses"][0]
    assert pulled["imageID"].startswith(f"{host}/{place.namespace}/greet@sha256:"), pulled


def test_over_plain_http(t):
    place, host = Place(t), f"{NODE}:{PLAIN}"
    assert_greeted(place, greet(place, host, insecure=True), host)


def test_over_tls_with_an_authority_of_its_own(t):
    place, host = Place(t), f"{NODE}:{TLS}"
    assert_greeted(place, greet(place, host, ca=f"{FOLDER}/ca.crt"), host)


def test_over_tls_with_an_authority_that_nobody_told_of(t):
    place, host = Place(t), f"{NODE}:{TLS}"
    done = greet(place, host)
    assert done.code and "certificate" in done.out + done.err, done
    assert place.find("pod", "greet") is None
