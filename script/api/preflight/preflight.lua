-- SPDX-License-Identifier: MIT
-- Preflight of a whole notebook: before its first cell runs, looks whether the secrets that it names are there, and, on a
-- cluster, at the manifests that it is going to apply, as far as its parameters determine them.
local core = ...

-- Stands for what is known only when a cell has run; the kernel's word for it.
local open = "known-later"

local function is_manifest(path)
  return path:find "%.ya?ml$" or path:find "%.json$"
end

local function makes_objects(verb)
  return verb == "create" or verb == "apply"
end

-- The files that k8s.create and k8s.apply are called with, as far as they are written out: { { file =, verb = } }
local function applied(cells)
  local files = {}
  for _, cell in ipairs(cells) do
    for verb, _, file in cell.text:gmatch "k8s%.(%a+)%s*%(?%s*(['\"])([^'\"\n]+)%2" do
      if makes_objects(verb) and not files[file] and is_manifest(file) then
        files[file] = true
        files[#files + 1] = { file = file, verb = verb }
      end
    end
  end
  return files
end

-- Is a call made whenever its cell runs? It is if nothing, or a variable for the handle, stands before it.
local function is_plain(before)
  return before == "" or before == "return " or before:find "^local%s+[%a_][%w_]*%s*=%s*$" or before:find "^[%a_][%w_%.]*%s*=%s*$"
end

-- The object of a Lua table in the source. If the parameters do not suffice to compute it, only those of kind, version and
-- namespace that are written out are returned; nil: they are not.
local function object_of(source, parameters)
  local object = core.known(parameters, nil, source)
  if type(object) == "table" and object.kind and object.apiVersion then return object end
  local outer = source:sub(2, -2):gsub("%b{}", "{}")
  local kind, version = outer:match "%f[%w_]kind%s*=%s*['\"](%w+)['\"]", outer:match "%f[%w_]apiVersion%s*=%s*['\"]([%w%./]+)['\"]"
  local metadata = source:match "%f[%w_]metadata%s*=%s*(%b{})" or ""
  local namespace = metadata:match "%f[%w_]namespace%s*=%s*['\"]([%w-]+)['\"]"
  if not kind or not version or (not namespace and metadata:find "%f[%w_]namespace%s*=") then return nil end
  return { apiVersion = version, kind = kind, metadata = { name = open, namespace = namespace } }
end

-- The tables and texts in brackets with which k8s.create and k8s.apply are called outside of loops, functions and conditions:
-- { { object =, verb = } }. The second result is the number of calls that take anything else.
local function tables(cells, parameters)
  local found, unread = {}, 0
  for _, cell in ipairs(cells) do
    local text = cell.path and "" or "\n" .. cell.text
    for before, verb, at in text:gmatch "\n([^\n]-)k8s%.(%a+)%s*%(?%s*()%{" do
      local source = makes_objects(verb) and text:match("^%b{}", at)
      local object = source and is_plain(before) and object_of(source, parameters)
      if object then
        found[#found + 1] = { object = object, verb = verb }
      elseif makes_objects(verb) then
        unread = unread + 1
      end
    end
    for before, verb, manifest in text:gmatch "\n([^\n]-)k8s%.(%a+)%s*%(?%s*%[%[(.-)%]%]" do
      local ok, objects = pcall(core.call, "k8s.manifest", { text = manifest })
      for _, object in ipairs(ok and makes_objects(verb) and is_plain(before) and objects or {}) do
        found[#found + 1] = { object = object, verb = verb }
      end
    end
  end
  return found, unread
end

-- The expression that is assigned to a variable, if that happens once, at the start of a line, in a cell that always runs.
local function assigned(cells, name)
  local found
  for _, cell in ipairs(cells) do
    for space, expression in ("\n" .. (cell.lua and cell.text or "")):gmatch("\n([^\n]-)%f[%w_]" .. name .. "[ \t]*=[ \t]*([^=\n][^\n]*)") do
      if found or not (space == "" or space == "local ") or not cell.always then return nil end
      found = expression
    end
  end
  return found
end

-- The value of an expression as far as parameters, the server's version and variables of cells determine it; nil: they do not, or
-- it is nil; then the second result is true.
local function value_of(args, expression, deep)
  local source = expression:gsub("%s%-%-.*$", ""):gsub("k8s%.version%s*%(%s*%)", "known_version")
  local values = {}
  for name, value in pairs(args.parameters) do values[name] = value end
  if source:find("known_version", 1, true) then
    args.version = args.version or select(2, pcall(core.call, "k8s.version", {}))
    values.known_version = args.version
  end
  for name in source:gmatch "%f[%w_.]([%a_][%w_]*)" do
    local from = values[name] == nil and (deep or 0) < 4 and assigned(args.cells, name)
    if from then
      local value, is_nil = value_of(args, from, (deep or 0) + 1)
      values[name] = is_nil and core.null or value
    end
  end
  local value = core.known(values, nil, source)
  return value, value == nil and core.known(values, nil, ("(%s) == nil"):format(source)) == true
end

-- The named fields of a table in the source: { name = expression }.
local function fields_of(source)
  local fields, depth, from, quote = {}, 0, 2, nil
  local function take(to)
    local name, expression = source:sub(from, to):match "^%s*([%a_][%w_]*)%s*=%s*(.-)%s*$"
    if name and expression:sub(1, 1) ~= "=" then fields[name] = expression end
    from = to + 2
  end
  for at = 2, #source - 1 do
    local c = source:sub(at, at)
    if quote then
      quote = c ~= quote and quote or nil
    elseif c == '"' or c == "'" then
      quote = c
    elseif c:find "[%(%[{]" then
      depth = depth + 1
    elseif c:find "[%)%]}]" then
      depth = depth - 1
    elseif depth == 0 and c:find "[,;]" then
      take(at - 1)
    end
  end
  take(#source - 1)
  return fields
end

-- Is an engine certainly asked for, behind this text of its line? "engine = on == 'jobs' and " is, if the parameters say so.
local function is_chosen(args, before)
  local condition = before:match "^[%a_][%w_]*%s*=%s*(.-)%s+and%s*$"
  return is_plain(before) or (condition and value_of(args, condition) == true) or before:find "^[%a_][%w_]*%s*=%s*hvd%.run%s*%(.*on%s*=%s*$"
    or before:find "^[%a_][%w_]*%s*=%s*k8s%.%a+%s*%(%s*$"
end

-- Options of engines that tell what pods ask for, and where.
local ASKS = { executors = true, cores = true, cpu = true, memory = true, gpu = true, namespace = true, queue = true, priority = true,
  workers = true, head_cpu = true, head_memory = true, name = true, entrypoint = true, service_account = true, pull_secrets = true, node_selector = true, tolerations = true, network_policy = true, labels = true }

-- What engines of hvd.run are going to make, as far as parameters determine it.
local function of_engines(args)
  local found = {}
  for _, cell in ipairs(args.cells) do
    local text = "\n" .. (cell.lua and cell.always and cell.text or "")
    for before, engine, at in text:gmatch "\n([^\n]-)k8s%.(%a+)%s*()%{" do
      local source = is_chosen(args, before) and text:match("^%b{}", at)
      local options = { image = open }
      for name, expression in pairs(source and fields_of(source) or {}) do
        if ASKS[name] then options[name] = value_of(args, expression) end
      end
      local ok, objects = pcall(core.hvd_objects, engine, options, open)
      for _, object in ipairs(ok and source and objects or {}) do found[#found + 1] = object end
    end
  end
  return found
end

-- Does the notebook itself make objects of this kind, in a way that cannot be read here? ("imagePullSecrets" makes no Secret.)
local function makes(cells, words)
  for _, cell in ipairs(cells) do
    for _, word in ipairs(words) do
      if not cell.path and cell.text:find("%f[%w_]" .. word:gsub("%.", "%%.") .. "%f[^%w_]") then return true end
    end
  end
  return false
end

-- For each kind: the words that tell a cell which makes such an object (the kind and the functions that apply one), and what
-- a finding says when the object is missing.
local made_by = {
  Namespace = { says = "there is no namespace", "Namespace", "k8s.namespace" },
  ServiceAccount = { says = "has no service account", "ServiceAccount", "k8s.account", "k8s.namespace" },
  Secret = { says = "has no secret", "Secret" },
  CustomResourceDefinition = { says = "the cluster has no kind", "CustomResourceDefinition" },
}

local function objects_of(file, cells, parameters)
  for _, cell in ipairs(cells) do
    if cell.path == file then
      local ok, objects = pcall(core.call, "k8s.manifest", { text = core.known(parameters, cell.text) })
      return ok and objects or nil
    end
  end
  local ok, objects = pcall(core.call, "k8s.manifest", { file = file })
  return ok and objects or nil
end

-- A namespace, an account or a secret that the notebook makes is not missing.
local function soften(findings, objects, cells)
  for _, finding in ipairs(findings) do
    for kind, words in pairs(made_by) do
      local here = makes(cells, words)
      for _, o in ipairs(objects) do here = here or o.kind == kind end
      if here and finding.level == "error" and finding.what:find(words.says, 1, true) then
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
      local fields = fields_of(build)
      local tag = value_of(args, fields.tag or "nil")
      local from, is_nil = value_of(args, fields.from or "nil")
      if pushes and type(tag) == "string" then
        local ok, why = pcall(core.call, "image.resolve", { ref = tag })
        if not ok then found { level = "error", what = "the image cannot be pushed: " .. tostring(why) } end
      end
      if from == nil and not is_nil then
        found { level = "note", what = ("whether the base image (from = %s) is to be had is known when %s runs"):format(fields.from, cell.name) }
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

-- Does a cell set this variable, or one whose name is known later?
local function sets(cells, name)
  for _, cell in ipairs(cells) do
    for given in (cell.lua and cell.text or ""):gmatch "magic%.env%s*%(%s*([^,)]+)," do
      if given:sub(2, -2) == name or not given:find "^['\"]" then return true end
    end
  end
  return false
end

-- Has the notebook a secret() of its own?
local function has_own_secret(cells)
  for _, cell in ipairs(cells) do
    local text = cell.lua and "\n" .. cell.text or ""
    if text:find "function%s+secret%s*%(" or text:find "\n%s*local%s+secret%f[^%w_]" or text:find "\nsecret%s*=" then return true end
  end
  return false
end

-- What a cell computes, in pieces: the lines of Lua without what is in long brackets, or the expressions of a template.
local function pieces(cell)
  if cell.template then return cell.text:gsub("%$%$", ""):gmatch "%$(%b{})" end
  return (cell.lua and cell.text or ""):gsub("%[(=*)%[.-%]%1%]", "[[]]"):gmatch "[^\n]+"
end

-- Secrets that are named as texts: does the environment have them? Nobody can be asked for one.
local function look_at_secrets(cells, found)
  for _, cell in ipairs(has_own_secret(cells) and {} or cells) do
    for piece in pieces(cell) do
      for at, _, name in piece:gmatch "%f[%w_]()secret%s*%(?%s*(['\"])([^'\"]+)%2" do
        local before = piece:sub(1, at - 1)
        local ours = not before:find "%-%-" and not before:find "[.:'\"]$"
        if ours and not core.getenv(name) and not sets(cells, name) then
          local plain = cell.always and (is_plain(before) or (cell.template and before:find "^{%s*$"))
          found { level = plain and "error" or "note", refused = true, what = ("%s %s the secret %s, which is not in the environment"):format(
            cell.name, plain and "needs" or "may need", name) }
        end
      end
    end
  end
end

-- Objects, on a cluster: what is found, and which manifests could not be read.
local function look_at_objects(args)
  local objects, verbs, unread = {}, {}, {}
  local function add(object, verb)
    objects[#objects + 1], verbs[#verbs + 1] = object, verb
  end
  for _, one in ipairs(applied(args.cells)) do
    local found = objects_of(one.file, args.cells, args.parameters)
    for _, o in ipairs(found or {}) do add(o, one.verb) end
    if not found then unread[#unread + 1] = one.file end
  end
  local written, others = tables(args.cells, args.parameters)
  for _, one in ipairs(written) do add(one.object, one.verb) end
  for _, object in ipairs(of_engines(args)) do add(object, "run") end
  local flight = { findings = {}, context = "" }
  if #objects > 0 then flight = core.call("k8s.preflight", { objects = objects, verbs = verbs, open = open }) end
  look_at_images(args, function(finding) flight.findings[#flight.findings + 1] = finding end)
  soften(flight.findings, objects, args.cells)
  flight.objects, flight.unread, flight.others = #objects, unread, others
  return flight
end

-- { cells = { { name =, text =, path = or nil, lua =, template =, always = } }, parameters = {…}, cluster = }: raises when
-- something stands in the way.
function core.hooks.preflight(args)
  local flight = args.cluster and look_at_objects(args) or { findings = {}, objects = 0, unread = {}, others = 0 }
  look_at_secrets(args.cells, function(finding) flight.findings[#flight.findings + 1] = finding end)
  local errors, lines, first, others = 0, {}, nil, flight.others
  for _, finding in ipairs(flight.findings) do
    if finding.level == "error" then errors, first = errors + 1, first or finding end
    lines[#lines + 1] = ("preflight: %s: %s"):format(finding.level, finding.what)
    if finding.next then lines[#lines + 1] = "  next: " .. finding.next end
  end
  for _, file in ipairs(flight.unread) do
    lines[#lines + 1] = ("preflight: note: %s is known when its cell has run"):format(file)
  end
  if others > 0 then
    lines[#lines + 1] = ("preflight: note: what %d call%s of k8s.create and k8s.apply make%s is known when %s"):format(others,
      others == 1 and "" or "s", others == 1 and "s" or "", others == 1 and "its cell runs" or "their cells run")
  end
  if #lines == 0 and flight.objects > 0 then
    lines[1] = ("preflight: nothing stands in the way of %d object%s on context %s"):format(flight.objects,
      flight.objects == 1 and "" or "s", flight.context)
  end
  if #lines > 0 then core.output("stderr", table.concat(lines, "\n") .. "\n") end
  if errors == 0 then return end
  core.fail(first.refused and "refused" or "error", ("%s%s (no cell was run; --no-preflight runs them anyway)"):format(
    errors > 1 and ("%d things stand in the way; the first: "):format(errors) or "", first.what))
end
