# SPDX-License-Identifier: MIT
"""A client of a served model that asks all the time: on a new connection each time, and on one that it keeps. It begins when it
has got an answer: a Service that is new takes a moment until the nodes know it."""
import http.client
import json
import threading
import time

from tap import eventually

PAUSE = 0.02
PATIENCE = 30


class Asker:
    """From start to end it asks http://HOST:PORT for predictions of the model, and keeps what was not answered with 200."""

    def __init__(self, host, port, model, *inputs):
        self.place, self.path, self.body = (host, port), f"/v2/models/{model}/infer", json.dumps({"inputs": inputs})
        self.answers, self.troubles, self.stopped = 0, [], False
        self.threads = [threading.Thread(target=self.ask_on, args=(keeps,), daemon=True) for keeps in (True, False)]

    def start(self):
        eventually(self.gets_answer, PATIENCE)
        for thread in self.threads:
            thread.start()
        return self

    def gets_answer(self):
        try:
            return self.ask(http.client.HTTPConnection(*self.place, timeout=PATIENCE), False)
        except (OSError, http.client.HTTPException):
            return False

    def ask(self, connection, keeps):
        connection.request("POST", self.path, self.body, {} if keeps else {"Connection": "close"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise http.client.HTTPException(f"{answer.status} {text}")
        return True

    def ask_on(self, keeps):
        connection = None
        while not self.stopped:
            began = time.time()
            if not keeps or not connection:
                connection = http.client.HTTPConnection(*self.place, timeout=PATIENCE)
            try:
                self.answers += self.ask(connection, keeps)
            except (OSError, http.client.HTTPException) as e:
                self.troubles.append((round(began, 1), "kept" if keeps else "new", repr(e)))
                connection = None
            time.sleep(PAUSE)

    def end(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        return self.answers, self.troubles
