-- SPDX-License-Identifier: MIT
-- Gradients of functions of tensors, by reverse differentiation: what is computed of a variable is noted, step by step,
-- and the notes are gone through backwards. Losses of one's own are made of it (own_loss.c), and nn.value_and_grad.
--
--   y = f(a, b)   a note has y and, for each of a and b that is a variable, what makes dL/da and dL/db of dL/dy
--
-- A variable has the operators and methods of a tensor. Comparisons, argmax, sign and floor have no gradient (0), and give
-- plain tensors, as everything does that depends on no variable.
local nn, class, known, inner = ...
local ops = nn.ops
local raw = {}
for name, fn in pairs(ops) do raw[name] = fn end

local Variable = { __name = "variable" }
local methods = {}

local function is_variable(x) return getmetatable(x) == Variable end
local function value_of(x) return is_variable(x) and x.value or x end

local function scalar(x) return type(x) == "number" and raw.full({}, x) or x end

-- A note: the value, then pairs of what it depends on and the function from dL/dy to its gradient.
local serial = 0
local function note(value, ...)
  serial = serial + 1
  local self = { value = scalar(value), serial = serial }
  for i = 1, select("#", ...), 2 do
    local from, back = select(i, ...)
    if is_variable(from) then
      self[rawlen(self) + 1] = from
      self[rawlen(self) + 1] = back
    end
  end
  return setmetatable(self, Variable)
end

local function integers(list)
  return require "data".tensor(list, { dtype = "i64" })
end

local function count(t)
  local n = 1
  for _, size in ipairs(t.shape) do n = n * size end
  return n
end

-- Sums of a gradient where an operand of this shape was repeated.
local function fit(g, like)
  g = scalar(g)
  local shape = type(like) == "number" and {} or like.shape
  while #g.shape > #shape do g = scalar(g:sum(0)) end
  for i, size in ipairs(shape) do
    if size == 1 and g.shape[i] ~= 1 then g = g:sum(i - 1, true) end
  end
  return g
end

-- Binary operations: what dL/dy is multiplied with, from a, b and y.
local function binary(name, of_a, of_b)
  methods[name] = function(a, b)
    local x, z = value_of(a), value_of(b)
    local first = type(x) == "number" and scalar(x) or x
    local y = first[name](first, z)
    return note(y, a, function(g) return fit(of_a(g, first, z, y), x) end, b, function(g) return fit(of_b(g, first, z, y), z) end)
  end
end
binary("add", function(g) return g end, function(g) return g end)
binary("subtract", function(g) return g end, function(g) return -g end)
binary("multiply", function(g, _, b) return g * b end, function(g, a) return g * a end)
binary("divide", function(g, _, b) return g / b end, function(g, _, b, y) return -(g * y / b) end)
binary("power", function(g, a, b) return g * b * a ^ (b - 1) end, function(g, a, _, y) return g * y * a:log() end)
binary("maximum", function(g, a, b) return g * a:greater_equal(b) end, function(g, a, b) return g * a:less(b) end)
binary("minimum", function(g, a, b) return g * a:less_equal(b) end, function(g, a, b) return g * a:greater(b) end)

local function unary(name, back)
  methods[name] = function(a)
    local x = a.value
    local y = x[name](x)
    return note(y, a, function(g) return back(g, x, y) end)
  end
end
unary("negative", function(g) return -g end)
unary("abs", function(g, x) return g * x:sign() end)
unary("exp", function(g, _, y) return g * y end)
unary("log", function(g, x) return g / x end)
unary("sqrt", function(g, _, y) return g / (y * 2) end)
unary("square", function(g, x) return g * x * 2 end)
unary("sin", function(g, x) return g * x:cos() end)
unary("cos", function(g, x) return -(g * x:sin()) end)
unary("tanh", function(g, _, y) return g * (1 - y * y) end)
unary("sigmoid", function(g, _, y) return g * y * (1 - y) end)
unary("copy", function(g) return g end)

-- What has no gradient.
for _, name in ipairs { "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "sign", "floor", "argmax", "totable" } do
  methods[name] = function(a, ...)
    local x, args = scalar(value_of(a)), table.pack(...)
    args[1] = value_of(args[1])
    return x[name](x, table.unpack(args, 1, args.n))
  end
end
function methods.item(a) return a.value:item() end
function methods.cast(a, dtype)
  local y = a.value:cast(dtype)
  return dtype == "f32" and note(y, a, function(g) return g end) or y
end
function methods.clip(a, least, most)
  local x = a.value
  return note(x:clip(least, most), a, function(g)
    return g * x:greater_equal(least or -math.huge) * x:less_equal(most or math.huge)
  end)
end

-- Reductions: y and g with the dimension that went, as size 1.
local function reduction(name, back)
  methods[name] = function(a, axis, keep)
    local x = a.value
    local y = x[name](x, axis, keep)
    return note(y, a, function(g)
      local wide, shape, n = scalar(y), {}, count(x)
      if axis then
        for i, size in ipairs(x.shape) do shape[i] = size end
        local at = axis < 0 and axis + #shape or axis
        n, shape[at + 1] = shape[at + 1], 1
        g, wide = g:reshape(shape), wide:reshape(shape)
      end
      return back(g, x, wide, n, axis) + raw.zeros_like(x)
    end)
  end
end
local function of_extreme(g, x, y, _, axis)
  local chosen = x:equal(y)
  local ties = axis and chosen:sum(axis, true) or chosen:sum()
  return g * chosen / ties
end
reduction("sum", function(g) return g end)
reduction("mean", function(g, _, _, n) return g / n end)
reduction("std", function(g, x, y, n, axis) return g * (x - (axis and x:mean(axis, true) or x:mean())) / (y * n) end)
reduction("max", of_extreme)
reduction("min", of_extreme)

function methods.reshape(a, shape)
  local x = a.value
  return note(x:reshape(shape), a, function(g) return g:reshape(x.shape) end)
end
function methods.transpose(a, axes)
  local back, y = axes and {}, a.value:transpose(axes)
  for i, axis in ipairs(axes or {}) do back[(axis < 0 and axis + #axes or axis) + 1] = i - 1 end
  return note(y, a, function(g) return g:transpose(back) end)
end

local function matrix(t, as_row)
  return #t.shape == 1 and t:reshape(as_row and { 1, t.shape[1] } or { t.shape[1], 1 }) or t
end
function methods.matmul(a, b)
  local x, z = value_of(a), value_of(b)
  local left, right = matrix(x, true), matrix(z, false)
  local function turned(g) return g:reshape { left.shape[1], right.shape[2] } end
  return note(x:matmul(z), a, function(g) return turned(g):matmul(right:transpose()):reshape(x.shape) end,
    b, function(g) return left:transpose():matmul(turned(g)):reshape(z.shape) end)
end

-- The gradient of a part is 0 around it: `from` to `to` along the dimension.
local function zeros_beside(g, axis, n)
  local shape = {}
  for i, size in ipairs(g.shape) do shape[i] = i == axis + 1 and n or size end
  return raw.zeros(shape)
end
local function padded(g, axis, before, after)
  local list = { g }
  if before > 0 then table.insert(list, 1, zeros_beside(g, axis, before)) end
  if after > 0 then list[#list + 1] = zeros_beside(g, axis, after) end
  return #list > 1 and raw.concatenate(list, axis) or g
end
-- The rows of g, added to row rows[i] of n rows of zeros.
local function spread(g, rows, n)
  local numbers = {}
  for i = 1, n do numbers[i] = { i - 1 } end
  local which = integers(numbers):equal(rows:reshape { 1, #rows }):cast "f32"
  local shape = g.shape
  shape[1] = n
  return which:matmul(g:reshape { #rows, -1 }):reshape(shape)
end
local function range(n)
  local list = {}
  for i = 1, n do list[i] = i - 1 end
  return integers(list)
end
function methods.take(a, rows)
  local x, y = a.value, a.value:take(rows)
  local from_front = range(#x):take(rows)
  return note(y, a, function(g) return spread(g, from_front, #x) end)
end
function methods.slice(a, from, to, step)
  local x = a.value
  local rows = range(#x):slice(from, to, step)
  return note(x:slice(from, to, step), a, function(g) return spread(g, rows, #x) end)
end
function methods.columns(a, from, to)
  local x = a.value
  local y, all, first = x:columns(from, to), x.shape[2], from or 0
  local width = y.shape[2]
  first = math.max(0, math.min(first < 0 and first + all or first, all))
  return note(y, a, function(g) return padded(g, 1, first, all - first - width) end)
end

Variable.__index = function(self, key)
  if key == "shape" or key == "dtype" then return self.value[key] end
  if methods[key] then return methods[key] end
  if not inner.is_asked_by_file() then return nil end -- we look what it is
  error(("y_pred has no '%s' that has a gradient; it has the tensor's arithmetic, sum, mean, std, max, min, clip, reshape, "):format(tostring(key))
    .. "transpose, matmul, columns, slice, take", 2)
end
Variable.__add, Variable.__sub, Variable.__mul, Variable.__div = methods.add, methods.subtract, methods.multiply, methods.divide
Variable.__pow, Variable.__unm = methods.power, function(a) return methods.negative(a) end
Variable.__len = function(self) return #self.value end
Variable.__tostring = function(self) return tostring(self.value) end
-- tensor + variable: the tensor is asked first, and hands it to this.
Variable.__operate = function(name, a, b) return methods[name](a, b) end

-- nn.ops.exp(v), nn.ops.maximum(1, v), as of tensors; of nodes there are layers.
for name in pairs(raw) do
  ops[name] = function(...)
    local a, b = ...
    if inner.is_node(a) or inner.is_node(b) or (type(a) == "table" and not getmetatable(a) and inner.is_node(a[1])) then error(inner.of_nodes("nn.ops." .. name, name), 2) end
    if methods[name] and (is_variable(a) or is_variable(b)) then return methods[name](...) end
    if is_variable(a) then return raw[name](a.value, select(2, ...)) end -- zeros_like, ones_like
    return raw[name](...)
  end
end
function ops.concatenate(list, axis)
  if type(list) == "table" and inner.is_node(list[1]) then error(inner.of_nodes("nn.ops.concatenate", "concatenate"), 2) end
  local plain, has, pairs_of = {}, false, {}
  for i, one in ipairs(list) do plain[i], has = value_of(one), has or is_variable(one) end
  local y = raw.concatenate(plain, axis)
  if not has then return y end
  local at, from = axis or -1, 0
  if at < 0 then at = at + #y.shape end
  for i, one in ipairs(plain) do
    local first, width = from, one.shape[at + 1]
    from = from + width
    pairs_of[2 * i - 1], pairs_of[2 * i] = list[i], function(g)
      local order, back = { at }, {} -- the dimension goes to the front, where rows can be cut
      for d = 0, #y.shape - 1 do if d ~= at then order[#order + 1] = d end end
      for k, d in ipairs(order) do back[d + 1] = k - 1 end
      return g:transpose(order):slice(first, first + width):transpose(back)
    end
  end
  return note(y, table.unpack(pairs_of, 1, 2 * #plain))
end

-- dL/d of each variable that L depends on, as a table by variable.
local function backward(from)
  local gradient, list, seen = { [from] = raw.ones_like(from.value) }, {}, {}
  local waiting = { from }
  while #waiting > 0 do -- no recursion: a chain of notes may be long
    local v = table.remove(waiting)
    if not seen[v] then
      seen[v], list[#list + 1] = true, v
      for i = 1, rawlen(v), 2 do waiting[#waiting + 1] = v[i] end
    end
  end
  table.sort(list, function(a, b) return a.serial > b.serial end)
  for _, v in ipairs(list) do
    for i = 1, rawlen(v), 2 do
      local more = v[i + 1](gradient[v])
      gradient[v[i]] = gradient[v[i]] and gradient[v[i]] + more or more
    end
  end
  return gradient
end

-- nn.value_and_grad(fn): a function that returns what fn does, a number, and its gradient after the first argument, a
-- tensor or a list of them; JAX's name.
function nn.value_and_grad(fn)
  if type(fn) ~= "function" then error("value_and_grad: expects a function, got " .. type(fn), 2) end
  return function(first, ...)
    local list = type(first) == "table" and not is_variable(first)
    local given, variables = list and first or { first }, {}
    for i, t in ipairs(given) do
      if is_variable(t) or type(t) ~= "userdata" then error(("value_and_grad: argument %d is a %s, not a tensor"):format(i, type(t)), 2) end
      variables[i] = note(t:cast "f32")
    end
    local out = fn(list and variables or variables[1], ...)
    local value = value_of(out)
    if type(value) ~= "number" and (type(value) ~= "userdata" or count(value) ~= 1) then
      error("value_and_grad: the function must return one number, as a sum or a mean is", 2)
    end
    local of, gradients = is_variable(out) and backward(out) or {}, {}
    for i, v in ipairs(variables) do gradients[i] = of[v] or raw.zeros_like(v.value) end
    return type(value) == "number" and value or value:item(), list and gradients or gradients[1]
  end
end

-- What C calls for a loss of one's own: the sum of the rows' losses, each by its weight, and the gradient of their mean.
inner.own_loss(function(fn, y, p, weights)
  local variable = note(p)
  local out = fn(y, variable)
  if not is_variable(out) then
    error(("must compute its value from y_pred with functions of tensors, but returned a %s that does not depend on it"):format(type(out)), 0)
  end
  local rows, shape = #p, out.shape
  local n = count(out.value)
  if #shape > 0 and shape[1] ~= rows then
    error(("must return a number, or a tensor with one for each of the %d rows; its shape is (%s)"):format(rows, table.concat(shape, ", ")), 0)
  end
  if #shape == 0 and weights then out = methods.multiply(out, weights:cast("f32"):mean()) end -- as Keras does
  if #shape > 1 then out = methods.mean(methods.reshape(out, { rows, n // rows }), 1) end
  if weights and #shape > 0 then out = methods.multiply(out, weights:reshape { rows }:cast "f32") end
  local total = #out.shape > 0 and methods.mean(out) or out
  return total.value:item() * rows, backward(total)[variable] or raw.zeros_like(p)
end)

return nn, class, known, inner
