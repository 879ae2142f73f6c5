-- SPDX-License-Identifier: MIT
-- print, io and os for cells: output goes below the cell, effects go through the gate, and nothing
-- can end or block the kernel.
local core = ...
local stock_io, stock_os = io, os
local open, file_type, tmpfile = stock_io.open, stock_io.type, stock_io.tmpfile
local next, pairs, ipairs, sort, type, tostring = next, pairs, ipairs, table.sort, type, tostring

print = core.print

-- Standard streams.
local stream = {}
stream.__index = stream
stream.__name = "FILE*"

local function output_stream(name)
  return setmetatable({ name = name }, stream)
end

function stream:write(...)
  for i = 1, select("#", ...) do
    local piece = select(i, ...)
    if type(piece) ~= "string" and type(piece) ~= "number" then
      error("bad argument #" .. i .. " to 'write' (string expected, got " .. type(piece) .. ")", 2)
    end
    core.output(self.name, tostring(piece))
  end
  return self
end

function stream:flush() return self end
function stream:setvbuf() return true end
function stream:close() return nil, "a cell's output stays open" end
function stream:seek() return nil, "a cell's output cannot seek" end
function stream:read() return nil, "a cell's output cannot be read" end
function stream:__tostring() return "file (" .. self.name .. ")" end
stream.__display = function() return nil end -- a cell ending with io.write has shown its text

local stdout, stderr = output_stream "stdout", output_stream "stderr"

local no_input = "a cell has no standard input; ask with input \"question\""
local stdin = setmetatable({}, {
  __index = function() return function() core.fail("error", no_input) end end,
  __name = "FILE*",
  __tostring = function() return "file (stdin)" end,
})

local function is_relative(name)
  return name:sub(1, 1) ~= "/"
end

-- Lua takes a number as the name of a file.
local function file_name(name)
  return type(name) == "number" and tostring(name) or name
end

-- What this execution may have written: names, with whether it has for sure; and handles of files that may be open still.
local written, writing = {}, setmetatable({}, { __mode = "k" })

-- Is there a handle of it already? Then what the file is like now may be of this cell's making.
local function is_ours(name)
  if written[name] ~= nil then return true end
  for file, its_name in pairs(writing) do
    if its_name == name and file_type(file) == "file" then return true end
  end
  return false
end

-- A file was opened to be written. A pipe or a device is no result, and may block who flushes it.
local function note_opened(file, name, mode)
  local fresh, other = core.opened(name)
  if fresh == nil then return end
  local changed = other and is_ours(name)
  writing[file] = name
  written[name] = written[name] or fresh or changed or not mode:find "r"
end

-- The cell ends: what it has written is on the disk, and recorded.
function core.hooks.left()
  if not next(written) and not next(writing) then return end
  local names, sure = {}, written
  written = {}
  for file, name in pairs(writing) do
    if file_type(file) == "file" then
      file:flush()
      sure[name] = sure[name] or false
    else
      writing[file] = nil
    end
  end
  for name in pairs(sure) do names[#names + 1] = name end
  sort(names)
  for _, name in ipairs(names) do core.left(name, sure[name]) end
end

-- Opens a file; a relative name to be read may also be beside the notebook.
local function open_file(name, mode)
  name, mode = file_name(name), mode or "r"
  if mode:find "[wa+]" then core.gate("write " .. tostring(name)) end
  local file, message, code = open(name, mode)
  if not file and is_relative(name) and not mode:find "[wa+]" and core.notebook_dir then
    name = core.notebook_dir .. "/" .. name
    file = open(name, mode)
  end
  if file and not mode:find "[wa]" then core.input(name) end
  if file and mode:find "[wa+]" then note_opened(file, name, mode) end
  if file then return file end
  return nil, message, code
end

io = {
  stdout = stdout,
  stderr = stderr,
  stdin = stdin,
  open = open_file,
  write = function(...) return stdout:write(...) end,
  flush = function() return stdout:flush() end, -- what is written is on its way at once
  read = function() core.fail("error", no_input) end,
  tmpfile = tmpfile,
}

function io.lines(name, ...)
  if name == nil then core.fail("error", no_input) end
  local file, message = open_file(name)
  if not file then error(message, 2) end
  local formats = table.pack(...)
  return function()
    if not file then return nil end
    local values = table.pack(file:read(table.unpack(formats, 1, formats.n)))
    if values[1] == nil then
      file:close()
      file = nil
    end
    return table.unpack(values, 1, values.n)
  end, nil, nil, nil
end

function io.close(file)
  return (file or stdout):close()
end

function io.type(value)
  local meta = getmetatable(value)
  if value == stdin or meta == stream then return "file" end
  return file_type(value)
end

function io.output(file)
  if file == nil or file == stdout then return stdout end
  core.fail("error", "io.output cannot be changed in a cell; open a file and write to it")
end

function io.input(file)
  if file == nil then return stdin end
  core.fail("error", "io.input cannot be changed in a cell; open a file and read from it")
end

-- A pipe from a command: the command runs to its end first; then its output can be read.
function io.popen(command, mode)
  if mode and mode:find "w" then
    core.fail("error", "io.popen for writing is not there; use sh(command, {input = text})")
  end
  local result = core.call("sh", { command = command, check = false, quiet = true })
  local file = tmpfile()
  file:write(result.output)
  file:seek("set")
  local handle = setmetatable({}, {
    __name = "FILE*",
    __index = function(_, key)
      if key == "close" then
        return function()
          file:close()
          return result.code == 0 or nil, "exit", result.code
        end
      end
      return function(_, ...) return file[key](file, ...) end
    end,
  })
  return handle
end

-- os, without the functions that would end the kernel.
os = {
  clock = stock_os.clock,
  date = stock_os.date,
  difftime = stock_os.difftime,
  time = stock_os.time,
  getenv = core.readenv,
}

function os.exit()
  core.fail("error", "os.exit would end the kernel; a cell ends with `return`, and fails with error()")
end

function os.setlocale(locale)
  return (locale == nil or locale == "" or locale == "C") and "C" or nil
end

function os.execute(command)
  if command == nil then return true end
  local result = core.call("sh", { command = command, check = false })
  if result.code == 0 then return true, "exit", 0 end
  return nil, result.signal and "signal" or "exit", result.signal or result.code
end

function os.remove(name)
  core.gate("remove " .. tostring(name))
  return stock_os.remove(name)
end

function os.rename(from, to)
  from, to = file_name(from), file_name(to)
  core.gate("rename " .. tostring(from))
  local ok, why, code = stock_os.rename(from, to)
  if ok and from ~= to then written[to] = true end -- to itself: only whether it is there
  return ok, why, code
end

function os.tmpname()
  core.gate "make a temporary file"
  return stock_os.tmpname()
end

package.loaded.io, package.loaded.os = io, os
package.path = "./?.lua;./?/init.lua;" ..
  (core.notebook_dir and core.notebook_dir ~= core.cwd and core.notebook_dir .. "/?.lua;" or "") .. package.path

-- What hvd.lua says of the modules of ranks.
for _, name in ipairs { "hvd", "nn", "data", "args" } do
  package.preload[name] = function()
    core.more "hvd"
    return package.loaded[name]
  end
end

-- Files of Lua are inputs, too.
local search, load_file, do_file = package.searchers[2], loadfile, dofile
package.searchers[2] = function(name)
  local loader, file = search(name)
  if type(loader) == "function" then core.input(file) end
  return loader, file
end

function loadfile(name, ...)
  if type(name) == "string" then core.input(name) end
  return load_file(name, ...)
end

function dofile(name)
  if type(name) == "string" then core.input(name) end
  return do_file(name)
end
