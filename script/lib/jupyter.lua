-- SPDX-License-Identifier: MIT
-- Cells in other languages, which a Jupyter kernel runs.
local core = ...

-- Runs a cell: by the kernel of that name, or (a wish, or no name) by another one with the language.
function core.hooks.kernel(code, language, kernel, wish)
  core.call("jupyter.cell", { code = code, language = language, kernel = kernel, wish = wish or nil })
end

-- Jupyter counts characters. What is no UTF-8 has none.
local function characters(text, bytes) return utf8.len(text, 1, bytes) or bytes end
local function bytes(text, count)
  local next_one = utf8.offset(text, count + 1)
  return next_one and next_one - 1 or #text
end

local function ask(kind, request, content)
  content.code, content.cursor_pos = request.source, characters(request.source, request.cursor)
  return core.look("jupyter.names", { type = kind .. "_request", content = content,
    language = request.language, kernel = request.kernel, wish = request.wish })
end

-- Names at the cursor, as core.hooks.complete gives them: those that begin as what is typed.
function core.complete_in_kernel(request)
  local source, names, kinds = request.source, core.array {}, core.array {}
  local reply = ask("complete", request, {}) or {}
  local from = bytes(source, reply.cursor_start or 0)
  local typed = source:sub(from + 1, request.cursor)
  local types = (reply.metadata or {})._jupyter_types_experimental or {}
  for i, name in ipairs(reply.matches or {}) do
    if name:sub(1, #typed) == typed then
      names[#names + 1] = name
      kinds[#kinds + 1] = types[i] and types[i].type or "value"
    end
  end
  return { matches = names, kinds = kinds, start = reply.cursor_start and from or request.cursor, ["end"] = request.cursor }
end

-- What the name at the cursor is, without colours.
function core.inspect_in_kernel(request)
  local reply = ask("inspect", request, { detail_level = 0 }) or {}
  local text = reply.found and (reply.data or {})["text/plain"]
  if not text then return { found = false } end
  return { found = true, data = { ["text/plain"] = (text:gsub("\27%[[%d;]*m", "")) } }
end
