#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""k8s.why in situations on a real cluster, beside those that client-situations replays.

usage: why.py [--record] [WORD...]     the cases whose names contain a word

--record writes them into tests/situations/recorded-*, as the cluster has them now: objects, events, logs.
"""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "engines"))
import engines  # noqa: E402  pylint: disable=wrong-import-position


def main():
    words = [word for word in sys.argv[1:] if word != "--record"]
    if words[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    return engines.run(*words, FIRESTEEL_CLUSTER_FILES="situations", **({"FIRESTEEL_RECORD": "1"} if "--record" in sys.argv else {}))


if __name__ == "__main__":
    sys.exit(main())
