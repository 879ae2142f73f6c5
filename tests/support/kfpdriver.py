# SPDX-License-Identifier: MIT
"""Drives a PipelineSpec as Kubeflow's drivers do, one container at a time: resolves inputs, fills placeholders, follows
conditions, loops, retries and the exit handler. What runs a container is given: run(container, args, outputs) returns
(exit code, {output: its text})."""
import json
import re


class Failed(Exception):
    pass


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def value_of(text, kind):
    if kind in ("LIST", "STRUCT", "BOOLEAN"):
        return json.loads(text)
    return {"NUMBER_INTEGER": int, "NUMBER_DOUBLE": float}.get(kind, str)(text)


def holds(condition, inputs):
    """The small part of CEL that we write."""
    text = condition.replace("&&", " and ").replace("||", " or ").replace("!(", " not (")
    return eval(text, {"__builtins__": {}}, {"double": float, "inputs": type("Inputs", (), {"parameter_values": inputs})})


class Driver:
    def __init__(self, spec, run, run_id):
        self.spec, self.run, self.run_id, self.log, self.outputs = spec, run, run_id, [], {}

    def start(self, **parameters):
        definitions = self.spec["root"].get("inputDefinitions", {}).get("parameters", {})
        values = {name: parameters.get(name, d.get("defaultValue")) for name, d in definitions.items()}
        self.dag(self.spec["root"]["dag"], values)

    def resolve(self, source, given, done):
        if "runtimeValue" in source:
            return source["runtimeValue"]["constant"].replace("{{$.pipeline_job_uuid}}", self.run_id)
        if "componentInputParameter" in source:
            return given[source["componentInputParameter"]]
        of = source["taskOutputParameter"]
        return done[of["producerTask"]][of["outputParameterKey"]]

    def dag(self, dag, given):
        """Returns the outputs of its tasks."""
        done, failure = {}, None
        waiting = dict(dag["tasks"])
        while waiting:
            name = next(n for n, task in sorted(waiting.items()) if not set(task.get("dependentTasks", [])) & set(waiting))
            task = waiting.pop(name)
            if failure and task.get("triggerPolicy", {}).get("strategy") != "ALL_UPSTREAM_TASKS_COMPLETED":
                continue
            try:
                done[name] = self.task(name, task, given, done)
            except Failed as e:
                failure = failure or e
        if failure:
            raise failure
        return done

    def task(self, name, task, given, done):
        inputs = {key: self.resolve(source, given, done) for key, source in task.get("inputs", {}).get("parameters", {}).items()}
        condition = task.get("triggerPolicy", {}).get("condition")
        if condition and not holds(condition, inputs):
            self.log.append((name, "skipped"))
            return {}
        component = self.spec["components"][task["componentRef"]["name"]]
        iterator = task.get("parameterIterator")
        if not iterator:
            return self.component(name, component, inputs, task)
        items = iterator["items"]
        items = json.loads(items["raw"]) if "raw" in items else inputs[items["inputParameter"]]
        parts = [self.component(name, component, inputs | {iterator["itemInput"]: item}, task) for item in items]
        return {key: [part[key] for part in parts] for key in component.get("outputDefinitions", {}).get("parameters", {})}

    def component(self, name, component, inputs, task):
        if "dag" in component:
            done = self.dag(component["dag"], inputs)
            outputs = component["dag"].get("outputs", {}).get("parameters", {})
            return {key: done[o["valueFromParameter"]["producerSubtask"]][o["valueFromParameter"]["outputParameterKey"]]
                    for key, o in outputs.items()}
        for _ in range(1 + task.get("retryPolicy", {}).get("maxRetryCount", 0)):
            code, outputs = self.container(component, inputs)
            self.log.append((name, code))
            if code == 0:
                self.outputs.setdefault(name, []).append(outputs)
                return outputs
        raise Failed(name)

    def container(self, component, inputs):
        container = self.spec["deploymentSpec"]["executors"][component["executorLabel"]]["container"]
        definitions = component.get("inputDefinitions", {}).get("parameters", {})
        wanted = component.get("outputDefinitions", {}).get("parameters", {})
        assert set(definitions) <= set(inputs), (definitions, inputs)

        def fill(match):
            kind, key = match[1], match[2]
            return text_of(inputs[key]) if kind == "inputs" else f"/outputs/{key}"
        args = [re.sub(r"\{\{\$\.(inputs|outputs)\.parameters\['([^']+)'\](?:\.output_file)?\}\}", fill, a) for a in container["args"]]
        assert not any("{{$" in a for a in args), args
        code, texts = self.run(container, args, list(wanted))
        return code, {key: value_of(texts[key], d["parameterType"]) for key, d in wanted.items()} if code == 0 else {}
