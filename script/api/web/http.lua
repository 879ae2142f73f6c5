-- SPDX-License-Identifier: MIT
-- http: requests to any server, with verified certificates. Reading is no effect; all else is one of class cluster.
local core = ...

http = {}

local answer = { __name = "answer" }
answer.__index = answer
answer.__tostring = function(a) return a.body or ("%d bytes in %s"):format(a.size, a.file) end
answer.__display = function(a) return ("%d\n%s"):format(a.status, tostring(a)) end

function answer:json() return core.parse(self.body or "") end

local REDIRECTS = 5
local SECRET = { authorization = 1, cookie = 1, ["proxy-authorization"] = 1 }
-- What another host may see, too, when it is redirected to.
local PUBLIC = { accept = 1, ["accept-language"] = 1, ["content-type"] = 1, ["user-agent"] = 1 }

-- What is in such a header reaches no journal and no report: the whole, and the part after "Bearer".
local function mask_header(name, value)
  if not SECRET[name:lower()] and not core.secret_name(name) then return end
  core.mask(value)
  local token = value:match "^%a+ (.+)$"
  if token then core.mask(token) end
end

local function escaped(text)
  return (tostring(text):gsub("[^%w%-._~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function form_of(values)
  local names, parts = {}, {}
  for name in pairs(values) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    for _, value in ipairs(type(values[name]) == "table" and values[name] or { values[name] }) do
      parts[#parts + 1] = escaped(name) .. "=" .. escaped(value)
    end
  end
  return table.concat(parts, "&")
end

local function headers_of(what, options)
  local headers = {}
  for name, value in pairs(options.headers or {}) do
    if type(name) ~= "string" then core.fail("error", what .. ": headers are names and values") end
    headers[name] = tostring(value)
    mask_header(name, headers[name])
  end
  if options.auth then
    local user, password = options.auth[1], options.auth[2]
    if type(user) ~= "string" or type(password) ~= "string" then core.fail("error", what .. ": auth is { name, password }") end
    core.mask(password)
    headers.Authorization = "Basic " .. core.base64(user .. ":" .. password)
    mask_header("Authorization", headers.Authorization)
  end
  return headers
end

-- The body, and its type: of json = value, form = {…} or body = text.
local function body_of(what, options, headers)
  local given = 0
  for _, name in ipairs { "json", "form", "body" } do given = given + (options[name] ~= nil and 1 or 0) end
  if given > 1 then core.fail("error", what .. ": one of json, form and body") end
  local function typed(kind, text)
    for name in pairs(headers) do
      if name:lower() == "content-type" then return text end
    end
    headers["Content-Type"] = kind
    return text
  end
  if options.json ~= nil then return typed("application/json", core.json(options.json)) end
  if options.form then return typed("application/x-www-form-urlencoded", form_of(options.form)) end
  return options.body
end

local function arguments_of(what, method, url, options)
  core.expect_type(what, url, "string", "an address")
  local headers = headers_of(what, options)
  local body = body_of(what, options, headers)
  if options.query then url = url .. (url:find("?", 1, true) and "&" or "?") .. form_of(options.query) end
  return { method = method, url = url, headers = headers, body = body, timeout = core.duration(options.timeout or 60),
    file = options.file, check = options.check, ca = options.ca, insecure = options.insecure, verify = options.verify }
end

local function origin_of(url) return url:match "^%a+://[^/?#]+" end

-- Where a Location leads from an address.
local function followed(url, location)
  if location:find "^https?://" then return location end
  if location:find "^//" then return url:match "^%a+:" .. location end
  if location:find "^/" then return origin_of(url) .. location end
  return (url:match "^(%a+://[^/?#]+/[^?#]*/)" or url:match "^(%a+://[^/?#]+/)" or origin_of(url) .. "/") .. location
end

-- Reads follow redirects: never from https to http, and to another host without credentials.
local function read(args)
  for _ = 0, REDIRECTS do
    local got = core.call("http.get", args)
    local location = got.headers.location
    if got.status < 300 or got.status >= 400 or not location then return got end
    local to = followed(args.url, location)
    if args.url:find "^https" and not to:find "^https" then core.fail("error", "http: redirected from https to " .. origin_of(to)) end
    if origin_of(to) ~= origin_of(args.url) then
      for name in pairs(args.headers) do
        if not PUBLIC[name:lower()] then args.headers[name] = nil end
      end
    end
    args.url = to
  end
  core.fail("error", ("http: %s redirects more than %d times"):format(origin_of(args.url), REDIRECTS))
end

function http.get(url, options)
  return setmetatable(read(arguments_of("http.get", "GET", url, core.check("http.get", options))), answer)
end

function http.head(url, options)
  return setmetatable(read(arguments_of("http.head", "HEAD", url, core.check("http.head", options))), answer)
end

local function send(what, method, url, options)
  local args = arguments_of(what, method, url, core.check(what, options))
  return setmetatable(core.call("http.send", args), answer)
end

function http.post(url, options) return send("http.post", "POST", url, options) end
function http.put(url, options) return send("http.put", "PUT", url, options) end
function http.patch(url, options) return send("http.patch", "PATCH", url, options) end
function http.delete(url, options) return send("http.delete", "DELETE", url, options) end

core.types.answer = answer
core.module("http", http)

-- The words of an option are the same in all of these.
local READS = [[
  query: what is added to the address, { name = value }
  headers: { Accept = "text/csv" }; those with credentials are masked
  auth: { name, password }, masked
  timeout: of the whole request
  file: writes the body there, as a whole, and not into the answer
  check: whether a status of 400 and more is an error
  ca: a file with the only authorities to trust, instead of the system's
  insecure: trusts any certificate]]
local SENDS = [[
  json: a value for the body, as JSON
  form: fields for the body, as a form
  body: a text for the body
  verify: an address to look at when the run is resumed: if it answers 2xx, the request holds and is not sent again
]] .. READS
local READ_OPTIONS = "{query: table=, headers: table=, auth: list=, timeout: duration=60, file: string=, check=true, ca: string=, insecure=false}"
local SEND_OPTIONS = "{json: any=, form: table=, body: string=, verify: string=, " .. READ_OPTIONS:sub(2)

local function sends(name, method, words, example)
  return ([[
http.%s(url, %s) -> answer
  %s
%s
  errors: a server that does not answer, and a status of 400 and more
  effect: cluster; a resumed run that cannot verify it asks for --redo
  example:
    %s
]]):format(name, SEND_OPTIONS, words, SENDS, example)
end

core.api([[
http: module -- Requests to servers, with verified certificates. What only reads is no effect.
http.get(url, ]] .. READ_OPTIONS .. [[) -> answer
  Reads from an address; up to five redirects are followed, to other hosts without credentials.
]] .. READS .. "\n" .. [[
  result: {status, headers by small names, body}, or file and size instead of body; :json() reads the body
  errors: a server that does not answer or that cannot be trusted, a status of 400 and more, a body that is no text without file
  example:
    ok, why = pcall(http.get, "http://127.0.0.1:1/x?key=1", { timeout = "1s" })
    print(ok, why:find "key") --> false	nil
http.head(url, ]] .. READ_OPTIONS .. [[) -> answer
  The same for the headers alone.
]] .. READS .. "\n" .. [[
  example:
    ok, why = pcall(http.head, "http://127.0.0.1:1/x")
]] .. sends("post", "POST", "Sends something new to an address.",
  'ok, why = pcall(http.post, "http://127.0.0.1:1/runs", { json = { loss = 0.25 } })')
  .. sends("put", "PUT", "Replaces what is at an address.", 'ok, why = pcall(http.put, "http://127.0.0.1:1/runs/7", { body = "text" })')
  .. sends("patch", "PATCH", "Changes what is at an address.", 'ok, why = pcall(http.patch, "http://127.0.0.1:1/runs/7", { json = { note = "x" } })')
  .. sends("delete", "DELETE", "Removes what is at an address.", 'ok, why = pcall(http.delete, "http://127.0.0.1:1/runs/7")')
  .. [[
answer: type -- What a server answered: status, headers, body. As a text it is its body.
answer:json() -> any
  The value of a body that is JSON.
  errors: a body that is none
  example:
    ok, why = pcall(function() return http.get("http://127.0.0.1:1/x"):json() end)
]])
