# SPDX-License-Identifier: MIT
"""The token of a kubeconfig, for a proxy that is reached by plain HTTP: there nobody is told who we are, as with kubectl, so the
proxy says it to the server."""
import re


def bearer_of(kubeconfig_text):
    found = re.search(r'"?\btoken"?:\s*"?([\w.~+/=-]+)', kubeconfig_text)
    return {"Authorization": f"Bearer {found[1]}"} if found else {}
