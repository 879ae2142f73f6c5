-- SPDX-License-Identifier: MIT
-- Preflight of a whole notebook: before its first cell runs on a cluster, looks at the manifests that
-- it is going to apply, as far as its parameters determine them.
local core = ...

-- What expressions of templates may use besides the parameters: nothing that has effects.
local plain = { ipairs = ipairs, math = math, next = next, pairs = pairs, select = select, string = string,
  table = table, tonumber = tonumber, tostring = tostring, type = type, utf8 = utf8 }

-- Stands for what is known only when a cell has run; a word that YAML, and names, take anywhere.
local open = "known-later"

-- The value of an expression, if the parameters determine it.
local function value_of(expression, parameters)
  local env = setmetatable({}, { __index = function(_, name)
    if parameters[name] ~= nil then return parameters[name] end
    return plain[name]
  end })
  local ok, value = pcall(load("return " .. expression, "=template", "t", env) or error)
  if ok and (type(value) == "string" or type(value) == "number" or type(value) == "boolean") then return value end
end

-- Fills in what the parameters determine.
local function render(text, parameters)
  return (text:gsub("(%$*)%$(%b{})", function(before, braces)
    if before ~= "" then return nil end -- "$${": literal
    local value = value_of(braces:sub(2, -2), parameters)
    return value == nil and open or tostring(value)
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

-- Is the image in the local store?
local function here(name)
  for _, image in ipairs(core.call("image.list", {})) do
    if image.ref == name then return true end
  end
  return false
end

-- Images: does the registry of what is pushed answer, and is the base to be had?
local function look_at_images(args, found)
  local pushes = false -- a push with options has a registry of its own
  for _, cell in ipairs(args.cells) do pushes = pushes or (not cell.path and cell.text:find ":push%s*%(%s*%)") end
  for _, cell in ipairs(args.cells) do
    for build in (cell.path and "" or cell.text):gmatch "image%.build%s*(%b{})" do
      local tag = value_of(build:match "tag%s*=%s*([^,}]+)" or "nil", args.parameters)
      local from = value_of(build:match "from%s*=%s*([^,}]+)" or "nil", args.parameters)
      if pushes and type(tag) == "string" then
        local ok, why = pcall(core.call, "image.resolve", { ref = tag })
        if not ok then found { level = "error", what = "the image cannot be pushed: " .. tostring(why) } end
      end
      if type(from) == "string" and not here(from) then
        local ok, image = pcall(core.call, "image.resolve", { ref = from })
        if not (ok and image.digest) and not from:find "^[^/]*[.:][^/]*/" then -- a build tries Docker Hub next
          ok, image = pcall(core.call, "image.resolve", { ref = "docker.io/" .. from })
        end
        if not ok then
          found { level = "error", what = ("the base image %s is not here, and cannot be pulled: %s"):format(from, image) }
        elseif not image.digest then
          found { level = "error", what = ("there is no base image %s, neither here nor in its registry"):format(from) }
        end
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
  local flight = { findings = {}, context = "" }
  if #objects > 0 then flight = core.call("k8s.preflight", { objects = objects, open = open }) end
  look_at_images(args, function(finding) flight.findings[#flight.findings + 1] = finding end)
  soften(flight.findings, objects, args.cells)
  local errors, lines, first = 0, {}, nil
  for _, finding in ipairs(flight.findings) do
    if finding.level == "error" then errors, first = errors + 1, first or finding.what end
    lines[#lines + 1] = ("preflight: %s: %s"):format(finding.level, finding.what)
    if finding.next then lines[#lines + 1] = "  next: " .. finding.next end
  end
  for _, file in ipairs(unread) do
    lines[#lines + 1] = ("preflight: note: %s is known when its cell has run"):format(file)
  end
  if #lines == 0 and #objects > 0 then
    lines[1] = ("preflight: nothing stands in the way of %d object%s on context %s"):format(#objects,
      #objects == 1 and "" or "s", flight.context)
  end
  if #lines > 0 then core.output("stderr", table.concat(lines, "\n") .. "\n") end
  if errors == 0 then return end
  core.fail("error", ("%s%s (no cell was run; --no-preflight runs them anyway)"):format(
    errors > 1 and ("%d things stand in the way; the first: "):format(errors) or "", first))
end
