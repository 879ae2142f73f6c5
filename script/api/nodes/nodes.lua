-- SPDX-License-Identifier: MIT
-- k8s.nodes: the nodes, what pods have asked of them, and who holds their GPUs.
local core = ...

local nodes = { __name = "nodes" }
nodes.__index = nodes
nodes.__tostring = function(n) return (rawget(n, "text"):gsub("\n$", "")) end

function nodes.__display(n)
  return { ["text/plain"] = rawget(n, "text"), ["application/vnd.firesteel.table+json"] = rawget(n, "table") }
end

function k8s.nodes(options)
  local result = core.call("k8s.nodes", core.check("k8s.nodes", options or {}))
  local made = setmetatable(result.items, nodes)
  rawset(made, "table", result.table)
  rawset(made, "text", result.text)
  return made
end

core.api [[
k8s.nodes{selector: string=, context: string=} -> table
  The nodes, those with GPUs or other devices first: what pods have asked of each, and who holds its devices. Pods that may not be
  read are missing, and the table says so. In the workbench `:gpus` shows the same.
  selector: of nodes, "gpu=a100"
  context: another cluster's
  result: {{name, state, cpu = {asked, all}, memory = {asked, all} in bytes, devices = {["nvidia.com/gpu"] = {asked, all}}, holders = {{namespace, name, devices, since}}}}
  example:
    for _, node in ipairs(k8s.nodes()) do print(node.name, node.cpu.asked <= node.cpu.all) end
]]
