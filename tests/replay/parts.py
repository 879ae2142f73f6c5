#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The parts of the cells' library (script/parts.lua): each is loaded when one of its names is used, whatever came before."""
import os
import pathlib
import re

from kernel import Kernel
from reads import used
from tap import BUILD, SOURCE, run

LIB = {path.name: path for path in pathlib.Path(SOURCE, "script/api").rglob("*.lua")}
LIB["workerwords.lua"] = pathlib.Path(BUILD, "trainer", "workerwords.lua")  # made by the build


def source(name):
    return LIB[name].read_text(encoding="utf-8")


def parts():
    """[(files, names)], of which the first part has no names; as the build has written them."""
    text = pathlib.Path(BUILD, "script", "api", "lib_parts.c").read_text(encoding="utf-8")
    return [tuple(re.findall(r'"(.+?)\\n"', one) for one in part) for part in re.findall(r'\{((?:\s*"[^"]*")+),((?:\s*"[^"]*")+)\}', text)]


def says(k, text):
    r = k.run(text)
    assert r.state == "ok", (text, r)
    return r.out


def test_every_file_is_in_one_part(t):
    files = [name for files, _ in parts() for name in files]
    assert sorted(files) == sorted(name[:-4] for name in LIB if name.endswith(".lua")), files
    names = [name for _, names in parts() for name in names]
    assert len(names) == len(set(names)), names


def made_by(text):
    """The fields of `core` and its tables that a file makes."""
    names = re.findall(r"^function (core\.(?:hooks\.)?\w+)\(|^(core\.(?:hooks\.)?\w+) =", text, re.M)
    return {a or b for a, b in names} - {"core.record"}  # it is C's, and steps.lua adds to it


def test_what_a_part_uses_of_another_one_is_named(t):
    texts = {name: source(name + ".lua") for files, _ in parts() for name in files}
    makes = {name: made_by(text) for name, text in texts.items()}
    for number, (files, names) in enumerate(parts()):
        made = set().union(*(makes[name] for name in files))
        if number == 0:
            continue
        hooks = {name for name in made if name.startswith("core.hooks.")}
        assert hooks <= set(names), f"C asks for {hooks - set(names)}"
        for name, text in texts.items():
            uses = set(re.findall(r"\bcore\.\w+", text)) & made
            assert name in files or uses <= set(names), f"{name}.lua uses {uses - set(names)} of {files}"


def test_each_name_is_there_when_it_is_the_first_to_be_used(t):
    for files, names in parts()[1:]:
        for name in names:
            if name.startswith(("core.", "expectation.")):
                continue
            k = Kernel(t)
            assert says(k, f"print(type({name}))").strip() in ("table", "function"), (files, name)
            assert says(k, f"print({name.split('.')[0]} == rawget(_G, '{name.split('.')[0]}'))") == "true\n", name
            k.end()


def test_methods_that_another_part_adds_are_there(t):
    k = Kernel(t)
    assert says(k, "print(pcall(function() expect({ kind = 'Pod' }):fires(1) end))").startswith("false\t"), "and not: there is no such check"
    assert "has no check" not in says(k, "print(select(2, pcall(function() expect({ kind = 'Pod' }):fires(1) end)))")
    assert "did you mean fires?" in says(Kernel(t), "print(select(2, pcall(function() expect(1):firs(1) end)))")
    assert "did you mean plot?" in says(Kernel(t), "print(select(2, pcall(function() display.plott {} end)))")


def test_a_kernel_loads_what_it_uses(t):
    k = Kernel(t)
    first = float(says(k, 'print(collectgarbage "count")'))
    says(k, "return json.encode {}")
    second = float(says(k, 'collectgarbage() print(collectgarbage "count")'))
    says(k, "help 'sh'")
    all_of_it = float(says(k, 'collectgarbage() print(collectgarbage "count")'))
    assert first < all_of_it / 2 and second < all_of_it / 2, (first, second, all_of_it)


def test_a_part_that_could_not_be_loaded_is_tried_again(t):
    k = Kernel(t, "", "--memory", "16M")
    out = says(k, """
        local kept = {}
        for _, size in ipairs { 100000, 1000, 10 } do
          pcall(function() while true do kept[#kept + 1] = ("x"):rep(size) .. #kept end end)
        end
        local ok, why = pcall(function() return study end)
        kept = nil
        collectgarbage()
        print(ok, why, type(study), type(tune))""")
    assert out.startswith("false\t") and "memory" in out and out.endswith("\ttable\ttable\n"), out


def test_help_lists_all_in_one_order(t):
    names = "for _, one in ipairs((firesteel.api())) do io.write(one.name, ' ') end"
    k = Kernel(t)
    says(k, "local _ = study, json, k8s.jobs, pipeline, display.plot")
    assert says(k, names) == says(Kernel(t), names)


def test_a_notebooks_own_names(t):
    found = used(t, "print(type(json), type(k8s), type(display.plot))", "image = 5", "print(image)", "model = nil", "print(model)",
                 "study = study", "tune.mine = 1", "print(tune.mine, #runs.compare {})")
    assert found[0] == ([], [], {}), "the library is no global of the notebook: %s" % found
    assert found[1] == ([], ["image"], {}) and found[2] == (["image"], [], {}), found
    assert found[3] == ([], ["model"], {}) and found[4] == (["model"], [], {}), found
    assert found[5] == ([], [], {}) and found[6] == ([], ["tune.mine"], {}) and found[7] == ([], [], {}), found
    k = Kernel(t)
    assert says(k, "image, run = 5, 'mine' print(image, run, type(image))") == "5\tmine\tnumber\n"
    assert says(k, "print(model and type(model), image, run)") == "table\t5\tmine\n", "image.lua and model.lua are one part"
    says(k, "image = nil")
    assert says(k, "print(image)") == "nil\n"


def test_all_of_it_is_in_the_table_of_globals(t):
    for way in "local n = 0 for name in pairs(_ENV) do if name == 'tune' or name == 'k8s' then n = n + 1 end end print(n)", \
            "print((rawget(_G, 'tune') and 1 or 0) + (rawget(_G, 'k8s') and 1 or 0))", \
            "local n = 0 for name in next, _G do if name == 'tune' or name == 'k8s' then n = n + 1 end end print(n)":
        assert says(Kernel(t), way) == "2\n", way


def test_a_part_that_is_being_loaded_is_loaded_whole(t):
    """The interrupt comes while workerapi.lua looks for words."""
    k = Kernel(t)
    cell = k.insert("""local gmatch = string.gmatch
function string.gmatch(...)
  string.gmatch = gmatch
  print "started"
  local from = os.clock()
  while os.clock() < from + 0.3 do end
  return gmatch(...)
end
_ = help "sh" """)
    k.start(cell)
    k.wait(lambda e: e["type"] == "stream" and "started" in e["text"])
    assert k.ask(type="interrupt")["ok"]
    assert k.done(cell)["state"] == "cancelled"
    assert says(k, "print(json.encode { 1 }, type(tune.uniform), type(k8s.jobs), type(display.plot))") == "[1]\tfunction\tfunction\tfunction\n"
    count = "print(#firesteel.api())"
    assert says(k, count) == says(Kernel(t), count), "a file that ran twice tells of all twice"


def test_the_library_does_without_what_a_notebook_replaces(t):
    k = Kernel(t)
    says(k, "table, string, pairs, type, setmetatable, display, print_ = 1, 2, 3, 4, 5, 6, print")
    assert says(k, "print_(json.encode { a = { 1, 2 } }, csv.encode { { a = 1 } })") == '{"a":[1,2]}\ta\n1\n\n'
    assert "sh(command" in says(k, "help 'sh'")


if __name__ == "__main__":
    run(globals())
