# SPDX-License-Identifier: MIT
"""The cluster itself: what pods find in it."""
from place import Place, pod

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def test_names_services_and_the_api_server(t):
    place = Place(t)
    place.create(
        pod("web", "sh", "-c", "echo here I am >/tmp/index.html; exec httpd -f -p 8080 -h /tmp"),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
         "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}})
    place.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    place.create(pod("visitor", "sh", "-ec", f"""
        nslookup web.{place.namespace}.svc.cluster.local
        wget -q -O- http://web/
        wget -q -O- --header "Authorization: Bearer $(cat {ACCOUNT}/token)" https://kubernetes.default.svc/version
    """))
    end = place.ended("visitor")
    log = place.kubectl("logs", "visitor").out
    assert end == "Succeeded", log
    service = place.get("service", "web")["spec"]["clusterIP"]
    assert service in log and "here I am" in log and '"gitVersion": "v1.34' in log, log


def test_a_pod_that_fails(t):
    place = Place(t)
    place.create(pod("wrong", "sh", "-c", "echo no; exit 3"))
    assert place.ended("wrong") == "Failed"
    assert place.get("pod", "wrong")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
