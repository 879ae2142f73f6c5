-- SPDX-License-Identifier: MIT
-- fs: files and folders of this machine. What changes them is a local effect, which a resumed run verifies.
local core = ...

fs = {}

local function path_of(what, path)
  core.expect_type(what, path, "string", "a path")
  if path == "" then core.fail("error", what .. " expects a path, not \"\"") end
  return path
end

-- Up to `limit` bytes, in parts: Lua makes room for all that is asked for before it reads.
local PART <const> = 1 << 20
local function read_some(file, limit)
  local parts, left = {}, limit
  while left > 0 do
    local part, why = file:read(math.min(left, PART))
    if why then return nil, why end
    if not part then break end
    parts[#parts + 1], left = part, left - #part
  end
  return table.concat(parts)
end

-- what: the function in whose name errors are.
function core.read_file(what, path, limit)
  local file, why = io.open(path_of(what, path), "rb")
  if not file then core.fail("error", what .. ": " .. why) end
  local text, failed
  if limit then text, failed = read_some(file, limit) else text, failed = file:read "a" end
  file:close()
  if not text then core.fail("error", ("%s %s: %s"):format(what, path, failed)) end
  return text
end

function fs.read(path, options)
  return core.read_file("fs.read", path, core.check("fs.read", options).limit)
end

function fs.lines(path)
  local lines, text = {}, fs.read(path)
  if text ~= "" and not text:find "\n$" then text = text .. "\n" end
  for line in text:gmatch "([^\n]*)\n" do lines[#lines + 1] = line:gsub("\r$", "") end
  return lines
end

-- Bytes that are no text cannot be in an effect's arguments: they are written here, as a whole, too.
local parts = 0
local function write_bytes(path, bytes, append)
  local parent = path:match "^(.*)/[^/]*$"
  if parent and parent ~= "" then core.call("fs.mkdir", { path = parent }) end
  parts = parts + 1
  local part = append and path or ("%s.part-%d"):format(path, parts)
  local file, why = io.open(part, append and "ab" or "wb")
  local ok = file
  if file then
    ok, why = file:write(bytes)
    local closed, late = file:close()
    ok, why = ok and closed, why or late
  end
  if ok and not append then ok, why = os.rename(part, path) end
  if not ok then
    if not append then os.remove(part) end
    core.fail("error", ("fs.write %s: %s"):format(path, why))
  end
end

local function is_text(bytes)
  return utf8.len(bytes) and not bytes:find("\0", 1, true)
end

function fs.write(path, text, options)
  options = core.check("fs.write", options)
  if type(text) ~= "string" then core.expect_type("fs.write", text, "string", "the text of the file") end
  if not is_text(text) then return write_bytes(path_of("fs.write", path), text, options.append) end
  core.call("file.write", { path = path_of("fs.write", path), text = text, append = options.append or nil })
end

function fs.glob(pattern)
  local names = core.call("fs.glob", { pattern = path_of("fs.glob", pattern) })
  table.sort(names)
  local distinct = {}
  for _, name in ipairs(names) do
    if name ~= distinct[#distinct] then distinct[#distinct + 1] = name end
  end
  return distinct
end

function fs.stat(path) return core.call("fs.stat", { path = path_of("fs.stat", path) }) end
function fs.exists(path) return core.call("fs.stat", { path = path_of("fs.exists", path) }) ~= nil end
function fs.sha256(path) return core.call("fs.sha256", { path = path_of("fs.sha256", path) }) end
function fs.mkdir(path) core.call("fs.mkdir", { path = path_of("fs.mkdir", path) }) end

function fs.remove(path, options)
  local recursive = core.check("fs.remove", options).recursive
  return core.call("fs.remove", { path = path_of("fs.remove", path), recursive = recursive })
end

function fs.temp()
  core.gate "make a temporary folder"
  return core.call("fs.temp", { parent = core.getenv "TMPDIR" })
end

core.module("fs", fs)

core.api [[
fs: module -- Files and folders of this machine; relative names are below the working folder.
fs.read(path, {limit: integer=}) -> string
  The bytes of a file; a relative name may also be beside the notebook.
  limit: so many bytes at most
  errors: a file that is not there
  example:
    fs.write("note.txt", "hello")
    print(fs.read "note.txt") --> hello
fs.lines(path) -> list
  The lines of a file, without their ends.
  errors: a file that is not there
  example:
    fs.write("two.txt", "a\nb\n")
    print(#fs.lines "two.txt") --> 2
fs.write(path, text, {append=false})
  Writes a file as a whole: there is never half of it. Its folder is made, and a resumed run keeps a file that has this text.
  append: puts it behind what is there
  errors: a place that cannot be written
  effect: local
  example:
    fs.write("out/result.json", json.encode { loss = 0.25 })
fs.glob(pattern) -> list
  The names that match, sorted: *, ? and [a-z] within a name, ** for folders of any depth. Names with a dot in front need one in the
  pattern.
  example:
    fs.write("many/a/one.csv", "x")
    fs.write("many/two.csv", "x")
    print(table.concat(fs.glob "many/**/*.csv", " ")) --> many/a/one.csv many/two.csv
fs.exists(path) -> boolean
  Is anything there?
  example:
    print(fs.exists "nowhere") --> false
fs.stat(path) -> table
  What is there: {type = "file", "folder", "link" or "other", size, modified, mode}; nil when nothing is.
  example:
    fs.write("five.txt", "12345")
    print(fs.stat("five.txt").size, fs.stat("five.txt").type) --> 5	file
fs.mkdir(path)
  Makes a folder, and those above it; one that is there is no error.
  effect: local
  example:
    fs.mkdir "models/first"
fs.remove(path, {recursive=false})
  Removes a file or a folder; links are not followed.
  recursive: also what is in the folder
  result: whether it was there
  errors: a folder that is not empty, without recursive
  effect: local
  example:
    fs.write("old/file", "x")
    print(fs.remove("old", { recursive = true }), fs.exists "old") --> true	false
fs.sha256(path) -> string
  The digest of a file, in hexadecimal digits.
  errors: a file that is not there
  example:
    fs.write("abc", "abc")
    print(fs.sha256("abc"):sub(1, 16)) --> ba7816bf8f01cfea
fs.temp() -> string
  A new folder for this kernel alone; it is removed when the kernel ends. A resumed run gets another one.
  effect: local
  example:
    folder = fs.temp()
    fs.write(folder .. "/x", "1")
]]
