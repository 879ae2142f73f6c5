# SPDX-License-Identifier: MIT
"""onnxcheck FOLDER TOLERANCE: predicts the examples of a packaged model with onnxruntime, and prints as JSON whether it
gives what the package says: {name, same, examples, values, apart, first: {example, output, expected, got}, version}."""
import json
import os
import sys

import numpy
import onnxruntime

folder, tolerance = sys.argv[1], float(sys.argv[2])


def read(name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return json.load(f)


about = read("package.json")
if "onnx" not in about:
    sys.exit("the package has no ONNX form: " + about.get("onnx_missing", "it was not written"))
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(os.path.join(folder, about["onnx"]), options, providers=["CPUExecutionProvider"])
TYPES = {"tensor(int64)": numpy.int64, "tensor(float)": numpy.float32}
found = {"name": about["name"], "same": True, "examples": 0, "values": 0, "apart": 0.0, "version": onnxruntime.__version__}


def array(t, port):
    values = [float("nan") if v is None else v for v in t["data"]]
    rows = t["shape"][0]
    shape = [rows] + [n for n in port.shape[1:]] if all(isinstance(n, int) for n in port.shape[1:]) else t["shape"]
    return numpy.asarray(values, dtype="float64").astype(TYPES[port.type]).reshape(shape)


def compare(number, tensor, got):
    want = numpy.asarray([float("nan") if v is None else v for v in tensor["data"]], dtype="float64")
    got = numpy.asarray(got, dtype="float64").reshape(-1)
    for i, (a, b) in enumerate(zip(want, got)):
        apart = 0.0 if a == b or (a != a and b != b) else abs(a - b) / max(1, abs(a), abs(b))
        found["values"] += 1
        if not apart <= tolerance and found["same"]:
            found["same"] = False
            found["first"] = {"example": number, "output": f"{tensor['name']}[{i}]", "expected": f"{a:.9g}", "got": f"{b:.9g}"}
        if apart == apart:
            found["apart"] = max(found["apart"], apart)
    if len(want) != len(got) and found["same"]:
        found["same"] = False
        found["first"] = {"example": number, "output": tensor["name"], "expected": f"{len(want)} values", "got": f"{len(got)} values"}


for number, example in enumerate(read(about["examples"]), 1):
    # With a predict.lua what it asked the model for is compared: onnxruntime has the model alone.
    for call in example["calls"] if "predict" in about else [example]:
        ports = session.get_inputs()
        named = {t["name"]: t for t in call["inputs"]}
        given = [named.get(p.name, call["inputs"][k]) for k, p in enumerate(ports)]
        outputs = session.run(None, {p.name: array(t, p) for p, t in zip(ports, given)})
        for tensor, got in zip(call["outputs"], outputs):
            compare(number, tensor, got)
    found["examples"] += 1
print(json.dumps(found))
