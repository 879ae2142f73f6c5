# SPDX-License-Identifier: MIT
"""The API of the real server, by the cases that the sandbox passes, too (tests/wire/api.py)."""
import functools
import json
import pathlib

import apicases
import images
import place


@functools.cache
def server():
    return apicases.Server(json.loads(pathlib.Path(place.KUBECONFIG).read_text(encoding="utf-8")), images.BUSYBOX)


globals().update(apicases.cases(server))
