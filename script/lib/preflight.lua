-- SPDX-License-Identifier: MIT
-- Preflight of a whole notebook: before its first cell runs on a cluster, looks at the manifests that
-- it is going to apply, as far as its parameters determine them.
local core = ...

-- What expressions of templates may use besides the parameters: nothing that has effects.
local plain = { ipairs = ipairs, math = math, next = next, pairs = pairs, select = select, string = string,
  table = table, tonumber = tonumber, tostring = tostring, type = type, utf8 = utf8 }

-- Stands for what is known only when a cell has run; a word that YAML, and names, take anywhere.
local open = "known-later"

-- Fills in what the parameters determine.
local function render(text, parameters)
  local env = setmetatable({}, { __index = function(_, name)
    if parameters[name] ~= nil then return parameters[name] end
    return plain[name]
  end })
  return (text:gsub("(%$*)%$(%b{})", function(before, braces)
    if before ~= "" then return nil end -- "$${": literal
    local fn = load("return " .. braces:sub(2, -2), "=template", "t", env)
    local ok, value = pcall(fn or error)
    if ok and (type(value) == "string" or type(value) == "number" or type(value) == "boolean") then
      return tostring(value)
    end
    return open
  end))
end

local function is_manifest(path)
  return path:find "%.ya?ml$" or path:find "%.json$"
end

-- The files that k8s.create and k8s.apply are called with, as far as they are written out.
local function applied(cells)
  local files = {}
  for _, cell in ipairs(cells) do
    for verb, _, file in cell.text:gmatch "k8s%.(%a+)%s*%(?%s*(['\"])([^'\"\n]+)%2" do
      if (verb == "create" or verb == "apply") and not files[file] and is_manifest(file) then
        files[file] = true
        files[#files + 1] = file
      end
    end
  end
  return files
end

-- Does the notebook itself make objects of this kind, in a way that cannot be read here?
local function makes(cells, kind)
  for _, cell in ipairs(cells) do
    if not cell.path and cell.text:find(kind, 1, true) then return true end
  end
  return false
end

local function objects_of(file, cells, parameters)
  for _, cell in ipairs(cells) do
    if cell.path == file then
      local ok, objects = pcall(core.call, "k8s.manifest", { text = render(cell.text, parameters) })
      return ok and objects or nil
    end
  end
  local ok, objects = pcall(core.call, "k8s.manifest", { file = file })
  return ok and objects or nil
end

-- A namespace, an account or a secret that the notebook makes is not missing.
local function soften(findings, objects, cells)
  for _, finding in ipairs(findings) do
    for kind, word in pairs { Namespace = "namespace", ServiceAccount = "service account", Secret = "secret" } do
      local here = makes(cells, kind)
      for _, o in ipairs(objects) do here = here or o.kind == kind end
      if here and finding.level == "error" and finding.what:find("no " .. word, 1, true) then
        finding.level = "note"
        finding.next = "the notebook seems to make it"
      end
    end
  end
end

-- { cells = { { text =, path = or nil } }, parameters = {…} }: raises when something stands in the way.
function core.hooks.preflight(args)
  local objects, unread = {}, {}
  for _, file in ipairs(applied(args.cells)) do
    local found = objects_of(file, args.cells, args.parameters)
    for _, o in ipairs(found or {}) do objects[#objects + 1] = o end
    if not found then unread[#unread + 1] = file end
  end
  if #objects == 0 then return end
  local flight = core.call("k8s.preflight", { objects = objects, open = open })
  soften(flight.findings, objects, args.cells)
  local errors, lines = 0, {}
  for _, finding in ipairs(flight.findings) do
    if finding.level == "error" then errors = errors + 1 end
    lines[#lines + 1] = ("preflight: %s: %s"):format(finding.level, finding.what)
    if finding.next then lines[#lines + 1] = "  next: " .. finding.next end
  end
  for _, file in ipairs(unread) do
    lines[#lines + 1] = ("preflight: note: %s is known when its cell has run"):format(file)
  end
  if #lines == 0 then
    lines[1] = ("preflight: nothing stands in the way of %d object%s on context %s"):format(#objects,
      #objects == 1 and "" or "s", flight.context)
  end
  core.output("stderr", table.concat(lines, "\n") .. "\n")
  if errors > 0 then
    core.fail("error", ("%d thing%s in the way of this run on context %s, so no cell was run (--no-preflight runs them anyway)")
      :format(errors, errors == 1 and " stands" or "s stand", flight.context))
  end
end
