-- SPDX-License-Identifier: MIT
-- display.image, display.html, display.json: what documents show as it is, and terminals as text.
local core = ...
local LARGEST = 4 << 20 -- bytes of an image in the journal
local DEPTH, ITEMS = 6, 50 -- of a tree that is shown

local function big(bytes, at) return (">I4"):unpack(bytes, at) end

-- The size of a JPEG stands in its frame header, behind other segments.
local function jpeg_size(bytes)
  local at = 3
  while at + 9 <= #bytes and bytes:byte(at) == 0xFF do
    local mark, length = bytes:byte(at + 1), (">I2"):unpack(bytes, at + 2)
    if mark >= 0xC0 and mark <= 0xCF and mark ~= 0xC4 and mark ~= 0xC8 and mark ~= 0xCC then
      return (">I2"):unpack(bytes, at + 7), (">I2"):unpack(bytes, at + 5)
    end
    at = at + 2 + length
  end
end

-- The type, width and height of an image by its first bytes.
local function look(bytes)
  if bytes:sub(1, 8) == "\x89PNG\r\n\x1a\n" and #bytes >= 24 then return "image/png", big(bytes, 17), big(bytes, 21) end
  if bytes:find "^GIF8[79]a" and #bytes >= 10 then return "image/gif", ("<I2I2"):unpack(bytes, 7) end
  if bytes:sub(1, 3) == "\xFF\xD8\xFF" then return "image/jpeg", jpeg_size(bytes) end
  if bytes:find "^RIFF....WEBP" then return "image/webp" end
  if bytes:find "^%s*<svg[%s>]" or bytes:find "^%s*<%?xml.-<svg[%s>]" then return "image/svg+xml" end
end

local function size_text(n)
  return n < 1000 and n .. " bytes" or n < 999500 and ("%.0f kB"):format(n / 1000) or ("%.1f MB"):format(n / 1e6)
end

function display.image(source, options)
  core.expect_type("display.image", source, "string", "the name of a file, or an image's bytes")
  options = core.check("display.image", options)
  local bytes, name = source, options.alt
  if not look(source) then bytes, name = core.read_file("display.image", source, LARGEST + 1), name or source:match "[^/]+$" end
  local kind, width, height = look(bytes)
  if not kind then core.fail("error", ("display.image: %s is no PNG, JPEG, GIF, WebP or SVG"):format(name or "that")) end
  if #bytes > LARGEST then
    core.fail("error", ("display.image: %s has more than %s; make it smaller, or keep it with run.artifact"):format(name or "it", size_text(LARGEST)))
  end
  local text = ("image %s(%s%s)"):format(name and name .. " " or "", width and ("%d×%d, "):format(width, height) or "", size_text(#bytes))
  core.display { ["text/plain"] = text, [kind] = kind == "image/svg+xml" and bytes or core.base64(bytes) }
end

function display.html(html, options)
  core.expect_type("display.html", html, "string", "a text")
  core.display { ["text/plain"] = core.check("display.html", options).text or core.html_text(html), ["text/html"] = html }
end

local function is_list(value) return #value > 0 or getmetatable(value) == getmetatable(core.array {}) end

local function keys_of(value)
  local keys = {}
  if is_list(value) then
    for i = 1, #value do keys[i] = i end
    return keys
  end
  for key in pairs(value) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

local function leaf(value)
  if value == core.null then return "null" end
  return type(value) == "string" and core.json(value) or tostring(value)
end

local function add_tree(lines, label, value, prefix, mark, depth)
  if type(value) ~= "table" then
    lines[#lines + 1] = prefix .. mark .. label .. leaf(value)
    return
  end
  local keys = keys_of(value)
  local kind = (is_list(value) and "[%d]" or "{%d}"):format(#keys)
  lines[#lines + 1] = prefix .. mark .. label .. kind .. (depth >= DEPTH and #keys > 0 and " …" or "")
  if depth >= DEPTH then return end
  local below = mark == "" and "" or prefix .. (mark == "└ " and "  " or "│ ")
  for i, key in ipairs(keys) do
    if i > ITEMS then
      lines[#lines + 1] = ("%s└ … and %d more"):format(below, #keys - ITEMS)
      break
    end
    local last = i == #keys
    add_tree(lines, is_list(value) and "" or tostring(key) .. ": ", value[key], below, last and "└ " or "├ ", depth + 1)
  end
end

function display.json(value)
  local lines = {}
  core.json(value) -- raises what JSON cannot say
  add_tree(lines, "", value, "", "", 0)
  core.display { ["text/plain"] = table.concat(lines, "\n"), ["application/json"] = value == nil and core.null or value }
end

core.api [[
display.image(source, {alt: string=})
  Shows a PNG, JPEG, GIF, WebP or SVG: a file by its name, or its bytes. The workbench shows PNG and JPEG, and SVG where rsvg-convert is installed, as pictures (doc/terminal.md); other terminals and types are a line with name and size; reports have the image.
  alt: what it is called
  errors: what is no image, and one of more than 4 MB
  example:
    fs.write("dot.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><circle r='4' cx='4' cy='4'/></svg>")
    display.image("dot.svg", { alt = "a dot" })
display.html(html, {text: string=})
  Shows HTML: reports have it in a frame that runs nothing, a terminal shows its text.
  text: what a terminal shows instead
  example:
    display.html "<b>bold</b> and <i>brave</i>"
display.json(value)
  Shows a value as a tree, with how many items each part has.
  errors: what JSON cannot say
  example:
    display.json { name = "a", layers = { 64, 10 } }
]]
