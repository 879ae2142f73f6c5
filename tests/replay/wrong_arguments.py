#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every function of the API is called with what it does not expect. Whatever it says of that, it names no line of our library."""
import json

from apipage import entries
from kernel import Kernel, cell
from tap import run

# Calls that would wait, ask a person, start programs or go to a registry.
LEFT_OUT = {"input", "secret", "sh", "firesteel.sleep", "firesteel.magic.bash", "firesteel.versions", "image.pull"}
# An object of each type whose methods are called.
OBJECTS = """{
  expectation = { function() return expect(1) end, function() return expect "x" end, function() return expect {} end, function() return expect(print) end },
  progress = { function() return display.progress(3) end },
  flow = { function() return pipeline { "p", steps = { one = { call = function() return {} end } } } end },
}"""
CALLS = """
local makes = { function() return nil end, function() return {} end, function() return { 1, 2 } end, function() return { {} } end,
  function() return { x = {} } end, function() return "x" end, function() return 0.5 end, function() return -1 end, function() return true end,
  function() return function() end end }
said, called, known = {}, 0, {}
local function try(name, fn, ...)
  called = called + 1
  local ok, why = pcall(fn, ...)
  why = tostring(why):gsub("\\n.*", "")
  if not ok and why:find "%.lua:%d+" and not known[why] then
    known[why] = true
    said[#said + 1] = name .. ": " .. why
  end
end
local function each(name, options, fn)
  for _, one in ipairs(makes) do
    try(name, fn, one())
    for _, two in ipairs(makes) do
      try(name, fn, one(), two())
      for _, three in ipairs(makes) do try(name, fn, one(), two(), three()) end
    end
    for _, option in ipairs(options) do
      try(name, fn, { [option] = one() })
      for _, two in ipairs(makes) do try(name, fn, two(), { [option] = one() }) end
    end
  end
end
local objects = OBJECTS
for _, entry in ipairs(ENTRIES) do
  local name, options = entry[1], entry[2]
  local owner, method = name:match "^(.-):(.*)$"
  for _, make in ipairs(owner and objects[owner] or {}) do
    each(name, options, function(...) local o = make() return o[method](o, ...) end)
  end
  if not owner then each(name, options, load("return " .. name)()) end
end
"""


def test_no_message_names_a_line_of_the_library(t):
    told, _ = entries()
    calls = [(e["name"], [o["name"] for o in e["options"]]) for e in told if e["kind"] == "function" and not e["trainer"] and e["name"] not in LEFT_OUT]
    listed = ",\n".join(f"{{{json.dumps(name)}, {{{', '.join(map(json.dumps, options))}}}}}" for name, options in calls)
    source = CALLS.replace("OBJECTS", OBJECTS).replace("ENTRIES", "{" + listed + "}")
    k = Kernel(t, cell(source) + cell("expect(called):at_least(50000)\nexpect(table.concat(said, '\\n')):equals ''"), headless=True)
    assert k.finish(120) == 0, k.of("error")


run(globals())
