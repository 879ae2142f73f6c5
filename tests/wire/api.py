#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The API of the sandbox, by the cases that the real API server passes, too (tests/cluster/case_api.py)."""
import functools
import json

import apicases
from sandbox import Sandbox
from tap import run


@functools.cache
def server():
    box = Sandbox()

    def forget():
        """The history of the sandbox moves on, until it does not reach back to its first changes."""
        for i in range(2100):
            made("PUT", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt",
                 {"metadata": {"name": "kube-root-ca.crt"}, "data": {"n": str(i)}})
    made = apicases.Server(json.loads(box.kubectl("config", "view", "--raw", "-o", "json").out), "host", forget)
    return made


run(apicases.cases(server))
