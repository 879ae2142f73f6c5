-- SPDX-License-Identifier: MIT
-- The Lua part of the module `nn`: layers, optimizers and losses as plain objects with Keras's
-- names and defaults; callbacks.lua adds the callbacks. `core` is the part in C (script/worker/model/model.c), which reads the objects'
-- fields.
local core, inner = ...
local nn = core

local function known(allowed)
  local names = {}
  for name in pairs(allowed) do names[#names + 1] = name end
  table.sort(names)
  return table.concat(names, ", ")
end

-- What is said of an option that there is not.
local function unknown(what, key, allowed)
  if next(allowed) == nil then return ("%s takes no options, got '%s'"):format(what, tostring(key)) end
  local hint = type(key) == "string" and inner.hint("an option", key, allowed)
  if hint then return ("%s: unknown option '%s': %s"):format(what, key, hint) end
  local near = type(key) == "string" and inner.nearest(key, allowed)
  return ("%s: unknown option '%s'; %sknown are %s"):format(what, tostring(key), near and ("did you mean %s? "):format(near) or "", known(allowed))
end

-- A class whose objects are made by a call with a table: `order` names the positional items,
-- `fields` gives the types by name. The class is the metatable, so objects can be sent to ranks
-- with its name.
local function class(name, order, fields, check)
  local new = { class = name }
  new.__index = new
  new.__name = name
  return setmetatable(new, { __call = function(_, given)
    if given == nil then given = {} end
    if inner.is_node(given) then error(("%s: the layer is made first, and then called on the node: nn.%s { … } (node)"):format(name, name), 2) end
    if type(given) ~= "table" then given = { given } end
    local object = {}
    for key, value in pairs(given) do
      local positional = math.type(key) == "integer"
      local field = positional and (order[key] or order.rest) or key
      local kind = fields[field]
      if not kind then error(unknown(name, key, fields), 2) end
      if positional and field == order.rest then
        object[field] = object[field] or {}
        object[field][key] = value
      elseif kind == "rate" then
        if type(value) ~= "number" and not rawget(nn.optimizers.schedules, (getmetatable(value) or {}).class) then
          error(("%s: %s must be a number or a schedule, as nn.CosineDecay { 0.1, 1000 }"):format(name, field), 2)
        end
        object[field] = value
      elseif not (kind == "any" or type(value) == kind or math.type(value) == kind) then
        error(("%s: %s must be %s %s, got %s"):format(name, field, kind == "integer" and "an" or "a", kind, tostring(value)), 2)
      else
        object[field] = value
      end
    end
    object = setmetatable(object, new)
    if check then
      local problem = check(object)
      if problem then error(name .. ": " .. problem, 2) end
    end
    return object
  end })
end

-- What is declared of the classes that are written in Lua (workerclasses.lua): name -> { order =, fields =, default = }.
local declared = { declared = { nn = "" } }
load(inner.classes_source, "=workerclasses")(declared)
local own_classes = {}
local literal = { ["true"] = true, ["false"] = false }
for name, options in ("\n" .. declared.declared.nn):gmatch "\n    (%w+)(%b{})" do
  local is = { order = {}, fields = {}, default = {} }
  for option in (options:sub(2, -2) .. ", "):gmatch "(.-), " do
    local field, kind = option:match "^([%w_]+)", option:match "^[%w_]+: (%a+)"
    local text = option:match "=(.+)$"
    local default = text and (tonumber(text) or literal[text])
    if text and default == nil then default = text:match '^"(.*)"$' end
    if field then
      is.order[#is.order + 1], is.default[field] = field, default
      is.fields[field] = kind or default ~= nil and type(default) or "any"
    end
  end
  own_classes[name] = is
end

-- The class of that name: check(object, defaults) says what is wrong with an object. `kinds`: types of options that have no default.
function inner.own_class(name, check, kinds)
  local is = own_classes[name]
  for field, kind in pairs(kinds or {}) do is.fields[field] = kind end
  return class(name, is.order, is.fields, check and function(object) return check(object, is.default) end)
end

-- A node of a graph: the output of a layer that was called on others.
local Node = { __name = "node" }
function Node.__index(_, name)
  if inner.is_asked_by_file() then inner.no_such_name("a node", "a node", name, { layer = true, from = true }) end
end
function inner.is_node(x) return getmetatable(x) == Node end

-- What to write instead of a function of tensors, of nodes.
local layers_of = { add = "Add", subtract = "Subtract", multiply = "Multiply", maximum = "Maximum", minimum = "Minimum", average = "Average", dot = "Dot",
  matmul = "Dot", concatenate = "Concatenate" }
local activations = {}
for name in ("relu sigmoid tanh softmax gelu silu elu selu softplus"):gmatch "%S+" do activations[name] = true end
function inner.of_nodes(what, name)
  local layer = layers_of[name]
  local remedy = layer and rawget(nn, layer) and ("write nn.%s {} { a, b }"):format(layer)
    or activations[name] and ('write nn.Activation { "%s" } (node)'):format(name)
    or name == "reshape" and "write nn.Reshape { n, m } (node)"
    or "there is no layer that does it; compute it in the data, or in a loss or a metric of your own, which are functions of tensors"
  return ("%s: nodes have no numbers, layers are called on them: %s"):format(what, remedy)
end
-- scaled: the options of a Rescaling that does it of a node and a number, behind it or before it.
local function of_nodes(sign, name, scaled)
  return function(a, b)
    local before = type(a) == "number"
    local options = scaled and (before or type(b) == "number") and scaled[before and 2 or 1]
    if options then error(("%s of a node and a number: write nn.Rescaling { %s } (node)"):format(sign, options:format(before and a or b)), 2) end
    error(inner.of_nodes("a " .. sign .. " b", name), 2)
  end
end
Node.__add, Node.__sub = of_nodes("+", "add", { "1, offset = %s", "1, offset = %s" }), of_nodes("-", "subtract", { "1, offset = -(%s)", "-1, offset = %s" })
Node.__mul, Node.__div = of_nodes("*", "multiply", { "%s", "%s" }), of_nodes("/", "divide", { "1 / %s" })
Node.__pow, Node.__mod, Node.__idiv, Node.__concat = of_nodes("^", "power"), of_nodes("%", "mod"), of_nodes("//", "floor_divide"), of_nodes("..", "concatenate")
Node.__lt, Node.__le = of_nodes("<", "less"), of_nodes("<=", "less_equal")
Node.__unm = function() error("-node: write nn.Rescaling { -1 } (node)", 2) end
Node.__call = function() error("a node is not called: a layer is, on a node: nn.Dense { 8 } (node)", 2) end
Node.__len = function() error("a node has no length; model:summary() shows shapes", 2) end
local serial = 0

local function new_node(layer, from)
  serial = serial + 1
  return setmetatable({ layer = layer, from = from, serial = serial }, Node)
end

-- layer(node), layer { node, … }: Keras's functional form.
local function call_layer(layer, given, more)
  if more ~= nil then error(("%s: several nodes are given as a list: layer { a, b }"):format(layer.class), 2) end
  local list = getmetatable(given) == Node and { given } or given
  if type(given) == "userdata" then list = { given } end
  if type(list) ~= "table" or #list < 1 then
    error(("%s: a layer is called on a node, or on a list of them, such as nn.Input { 784 }"):format(layer.class), 2)
  end
  for i, node in ipairs(list) do
    if getmetatable(node) ~= Node then
      local what = (getmetatable(node) or {}).__name or type(node)
      local remedy = what == "tensor" and "; numbers go through a model: model:predict(x)" or what == "model" and "; call the layer on the node that the model's last layer was" or ""
      error(("%s: item %d of what it is called on is a %s, not a node%s"):format(layer.class, i, what, remedy), 2)
    end
  end
  local node = new_node(layer, list) -- no tail call: its errors name who called the layer
  return node
end

-- What all layers have beside their own options.
local shared = { input_shape = "table", name = "string", dtype = "string", trainable = "boolean" }

local find_said
local checks = {} -- of classes that have more to check than their attributes: name -> function

-- The class of a layer, as trainer/nn/op declares it.
local function layer(is)
  local fields, said, choices, name = is.fields, {}, {}, is.name
  for field, kind in pairs(shared) do fields[field] = kind end
  for field, kind in pairs(fields) do
    if kind == "initializer" or kind == "regularizer" then fields[field], said[#said + 1] = "any", { kind, field } end
    if kind == "choice" then fields[field], choices[#choices + 1] = "string", field end
  end
  table.sort(said, function(a, b) return a[2] < b[2] end)
  is.order.rest = is.rest
  local new = class(name, is.order, fields, function(self)
    for _, option in ipairs(said) do
      local problem = find_said(self, option[1], option[2])
      if problem then return problem end
    end
    for _, field in ipairs(choices) do self[field] = self[field] and self[field]:lower() end -- as Keras keeps it
    local problem = checks[name] and checks[name](self)
    if problem then return problem end
    local fine, why = pcall(inner.check_layer, self)
    return not fine and why:gsub("^" .. name .. ": ", "") or nil
  end)
  nn[name], new.__call = new, call_layer
  local what = (name:find "^[AEIOU]" and "an " or "a ") .. name
  function new.__index(_, key)
    local value = rawget(new, key)
    if value == nil and not fields[key] and inner.is_asked_by_file() then inner.no_such_name(what, "a layer", key, fields) end
    return value
  end
  function new.__newindex(object, key, value)
    local near = type(key) == "string" and not fields[key] and inner.nearest(key, fields)
    if near and inner.is_asked_by_file() then error(("%s has no option '%s'; did you mean %s?"):format(what, key, near), 2) end
    rawset(object, key, value)
  end
end

-- What is said of a layer's weights: kernel_initializer, kernel_regularizer. Both are told by their short names, too.
nn.initializers, nn.regularizers = {}, {}
local by_name = { initializer = {}, regularizer = {} }
local function said(what, name, short, order, fields, check)
  local new = class(name, order, fields, check)
  nn[what .. "s"][name] = new
  by_name[what][short], by_name[what][name] = new, new
  return new
end
for _, is in ipairs(inner.classes "regularizer") do
  nn[is.name] = said("regularizer", is.name, is.other, is.order, is.fields, function(self)
    for _, field in ipairs(is.order) do
      self[field] = self[field] or is.defaults[field]
      if not (self[field] >= 0 and self[field] < math.huge) then return ("%s must be 0 or more, got %s"):format(field, self[field]) end
    end
  end)
end
for _, is in ipairs(inner.classes "initializer") do said("initializer", is.name, is.other, is.order, is.fields) end

-- Keras's other names of some.
for other, name in pairs { uniform = "RandomUniform", normal = "RandomNormal", zero = "Zeros", one = "Ones" } do
  by_name.initializer[other] = nn.initializers[name]
end

-- Finds what an option names, and puts the object in its place.
function find_said(object, what, field)
  local given = object[field]
  local class_of = by_name[what][given]
  if class_of then
    object[field] = class_of {}
  elseif given ~= nil and not (type(given) == "table" and rawget(nn[what .. "s"], (getmetatable(given) or {}).class)) then
    return ("%s must be an object of nn.%ss or one of %s, got %s"):format(field, what, known(nn[what .. "s"]),
      type(given) == "string" and ('"%s"'):format(given) or tostring(given))
  end
end

for _, is in ipairs(inner.classes "layer") do
  if is.name ~= "InputLayer" then layer(is) end
end

-- Keras's layers that are others here, with options of their own.
local function other_layer(name, make)
  local options = inner.own_class(name)
  nn[name] = function(given) return make(setmetatable(options(given), nil), own_classes[name].default) end
end
other_layer("LeakyReLU", function(self, default)
  self.negative_slope = self.negative_slope or default.negative_slope
  return nn.ReLU(self)
end)
other_layer("Softmax", function(self)
  if self.axis and self.axis ~= -1 then error(("Softmax: axis must be -1, the last, got %d"):format(self.axis), 3) end
  self.axis, self.activation = nil, "softmax"
  return nn.Activation(self)
end)
-- Numbers that are given, or those of a tensor: normalization:adapt(x). They are looked at when a model is made of the layer.
local NORMALIZED_MOST = 65536
function checks.Normalization(self)
  if self.axis ~= nil and self.axis ~= -1 and self.axis ~= false then
    return ("axis must be -1, the last, or false (Keras's None): one mean of all numbers; got %s"):format(tostring(self.axis))
  end
  if not self.mean and not self.variance then return end
  for _, field in ipairs { "mean", "variance" } do
    if type(self[field]) == "number" then self[field] = { self[field] } end
    if type(self[field]) ~= "table" or #self[field] < 1 or #self[field] > NORMALIZED_MOST then
      return ("which mean and variance? nn.Normalization { mean = { 0.5, 0.5, 0.5 }, variance = { 0.1, 0.1, 0.1 } }: 1 to %d numbers each; or normalization:adapt(x)"):format(NORMALIZED_MOST)
    end
    for i, n in ipairs(self[field]) do
      if type(n) ~= "number" then return ("%s: item %d is a %s"):format(field, i, type(n)) end
    end
  end
  if #self.mean ~= #self.variance then return ("has %d means and %d variances"):format(#self.mean, #self.variance) end
  if self.axis == false and #self.mean > 1 then return ("has %d means, but axis = false wants one"):format(#self.mean) end
end
-- A model was made of it.
function nn.Normalization.taken(self)
  if not self.mean then
    error("Normalization: it has no mean and variance: call normalization:adapt(x) before the model is made, or give them as options", 0)
  end
  self.used = true
end
-- Sets mean and variance to those of a tensor: of each of its last dimension, or with axis = false of all.
function nn.Normalization:adapt(x)
  if self.used then error("adapt: a model was made of the layer already: call adapt before nn.Sequential or nn.Model", 2) end
  if type(x) ~= "userdata" then error(("adapt: expects a tensor, got a %s; of a table's columns t:numbers { … }"):format(type(x)), 2) end
  local shape = x.shape
  local wide = #shape > 1 and self.axis ~= false and shape[#shape] or 1
  local rows = x:cast("f32"):reshape { -1, wide }
  if #rows < 1 then error("adapt: the tensor has no rows", 2) end
  local mean = rows:mean(0)
  local variance = (rows - mean):square():mean(0)
  self.mean, self.variance = mean:totable(), variance:totable()
  for i, n in ipairs(self.variance) do
    if n ~= n or n == math.huge then
      self.mean, self.variance = nil, nil
      error(("adapt: column %d has nan or infinity: fill what is missing, or leave the column out"):format(i), 2)
    end
  end
  local problem = checks.Normalization(self)
  if problem then error("Normalization: " .. problem, 2) end
end

-- Outputs that are computed anew in backward: of one layer, and for a model's option remat.
function nn.remat(given)
  local kind = getmetatable(given)
  if type(given) ~= "table" or not kind or kind.__call ~= call_layer then
    error("remat: expects a layer, as nn.remat(nn.ReLU {}); a whole model has the option remat", 2)
  end
  given.remat = true
  return given
end
local modes = { full = true, activations = true, larger_than = true, list_of_layers = true }
nn.RematScope = class("RematScope", { "mode" }, { mode = "string", output_size_threshold = "integer", layer_names = "table" }, function(self)
  self.mode = self.mode or "full"
  if not modes[self.mode] then return ('mode must be one of %s, got "%s"'):format(known(modes), self.mode) end
  if self.output_size_threshold and (self.mode ~= "larger_than" or self.output_size_threshold < 0) then
    return 'output_size_threshold must be 0 or more, and goes with mode = "larger_than"'
  end
  if (self.mode == "list_of_layers") ~= (self.layer_names ~= nil and #self.layer_names > 0) then
    return 'layer_names must name layers, and goes with mode = "list_of_layers"'
  end
  for i, name in ipairs(self.layer_names or {}) do
    if type(name) ~= "string" then return ("layer_names: item %d is a %s, not a name"):format(i, type(name)) end
  end
end)

-- nn.Input { 28, 28 }: the node that a graph begins with; also the first item of a Sequential. Keras's options: those that say
-- what is so here anyway are taken, others are refused with what to do.
local input_dtypes = { float32 = true, f32 = true }
for name in ("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 u8 i16 i32 i64"):gmatch "%S+" do input_dtypes[name] = true end
local function input_shape(self)
  local given = self.shape or self.input_shape
  if type(given) == "number" then given = { given } end
  if self.batch_shape then
    if given then return "shape and batch_shape are both given" end
    given = {} -- without the rows, which may be nil, as Keras's None
    for i, size in pairs(self.batch_shape) do
      if math.type(i) == "integer" and i > 1 then given[i - 1] = size end
    end
  end
  if type(given) ~= "table" then return "which shape? nn.Input { 28, 28 }" end
  if #given == 1 and type(given[1]) == "table" then given = given[1] end
  local last = 0
  for i in pairs(given) do last = math.type(i) == "integer" and math.max(last, i) or last end
  for i = 1, last do
    local size = given[i]
    if math.type(size) ~= "integer" or size < 1 then
      return ("item %d of the shape is %s: each must be a positive integer, as all rows have one shape here; pad rows of several lengths"):format(i, tostring(size))
    end
  end
  self.shape, self.input_shape, self.batch_shape = given, nil, nil
end
local Input = class("Input", { rest = "shape" }, {
  shape = "any", input_shape = "any", batch_shape = "table", batch_size = "integer", name = "string", dtype = "string", trainable = "boolean",
}, function(self)
  if self.batch_size and self.batch_size < 1 then return ("batch_size must be positive, got %d"):format(self.batch_size) end
  if self.dtype and not input_dtypes[self.dtype] then
    return ('dtype must be "float32" or one of whole numbers, as "int32", got "%s"'):format(self.dtype)
  end
  return input_shape(self)
end)
Input.class = "InputLayer"
function nn.Input(given)
  local node = new_node(Input(given), {})
  return node
end

-- All nodes that the outputs need, in the order in which they were made: each comes after its inputs.
local function collect(outputs)
  local seen, list = {}, {}
  local function visit(node)
    if seen[node] then return end
    seen[node] = true
    list[#list + 1] = node
    for _, from in ipairs(node.from) do visit(from) end
  end
  for _, node in ipairs(outputs) do visit(node) end
  table.sort(list, function(a, b) return a.serial < b.serial end)
  return list
end

local function nodes_of(given, what)
  local list = getmetatable(given) == Node and { given } or given
  if type(list) ~= "table" or #list < 1 then error(("Model: %s must be a node or a list of nodes"):format(what), 3) end
  for i, node in ipairs(list) do
    if getmetatable(node) ~= Node then error(("Model: %s: item %d is a %s, not a node"):format(what, i, type(node)), 3) end
  end
  return list
end

-- nn.Model { inputs = , outputs = , seed = , name = , dtype = , remat = }
local graph = core.graph
core.graph = nil
function nn.Model(given)
  if type(given) ~= "table" then error("Model: expects { inputs = , outputs = }", 2) end
  local allowed = { inputs = true, outputs = true, seed = true, name = true, dtype = true, remat = true }
  for key in pairs(given) do
    if not allowed[key] then error(unknown("Model", key, allowed), 2) end
  end
  local inputs, outputs = nodes_of(given.inputs, "inputs"), nodes_of(given.outputs, "outputs")
  local list, number = collect(outputs), {}
  local first = {} -- of the calls of a layer, which share its weights
  local spec = { layers = {}, from = {}, shares = {}, inputs = {}, outputs = {}, seed = given.seed, name = given.name, dtype = given.dtype, remat = given.remat }
  for i, node in ipairs(list) do number[node] = i - 1 end
  for i, node in ipairs(list) do
    spec.layers[i], spec.from[i], spec.shares[i] = node.layer, {}, first[node.layer] or 0
    first[node.layer] = first[node.layer] or i
    for k, from in ipairs(node.from) do spec.from[i][k] = number[from] end
  end
  for i, node in ipairs(inputs) do
    if not number[node] then error(("Model: no output needs input %d"):format(i), 2) end
    spec.inputs[i] = number[node]
  end
  for i, node in ipairs(outputs) do spec.outputs[i] = number[node] end
  local ok, model = pcall(graph, spec)
  if not ok then error("Model: " .. tostring(model):gsub("^[^:]+:%d+: ", ""):gsub("^Model: ", ""), 2) end
  return model
end

-- Options that every optimizer has, and some of its own.
local apply, classes = core.apply, core.classes -- classes: where C finds those of what it makes
core.apply, core.classes = nil, nil
-- groups = { { "dense", "*/bias", learning_rate_multiplier = 0.1, weight_decay = 0, trainable = false }, … }
local group_fields = { learning_rate_multiplier = "number", weight_decay = "number", trainable = "boolean" }
local function check_groups(self)
  for i, group in ipairs(self.groups or {}) do
    if type(group) ~= "table" or #group < 1 then
      return ('group %d must be a table that begins with names of layers or weights, as { "dense", "*/bias", weight_decay = 0 }'):format(i)
    end
    local sets = false
    for key, value in pairs(group) do
      sets = sets or math.type(key) ~= "integer"
      local kind = math.type(key) == "integer" and "string" or group_fields[key]
      if not kind then return ("group %d: unknown option '%s'; known are %s"):format(i, tostring(key), known(group_fields)) end
      if type(value) ~= kind then return ("group %d: %s must be a %s, got %s"):format(i, kind == "string" and "a name" or key, kind, tostring(value)) end
    end
    if not sets then return ("group %d sets nothing; known are %s"):format(i, known(group_fields)) end
  end
end
nn.optimizers = { schedules = {} }
for _, is in ipairs(inner.classes "optimizer") do
  local name = is.name
  is.fields.name = "string"
  nn[name] = class(name, is.order, is.fields, check_groups)
  nn[name].apply = apply -- optimizer:apply(model, gradients)
  classes[name], nn.optimizers[name] = nn[name], nn[name]
end

-- Learning rates that follow the steps, by Keras's names.
for _, is in ipairs(inner.classes "schedule") do
  local name, order = is.name, is.order
  is.fields.name = "string"
  nn[name] = class(name, order, is.fields, function(self)
    for i = 1, 2 do
      if not self[order[i]] then return ("which %s? nn.%s { %s, %s, … }"):format(order[i], name, order[1], order[2]) end
    end
  end)
  nn.optimizers.schedules[name], classes[name] = nn[name], nn[name]
end

-- Losses as objects, for those with options; all are told by their names, too. compile reads the field `loss`.
for _, is in ipairs(inner.classes "loss") do
  for field, kind in pairs { name = "string", dtype = "string", reduction = "string" } do is.fields[field] = kind end
  if is.name ~= "" then -- the others are told by name alone
    nn[is.name] = class(is.name, is.order, is.fields, function(self)
      self.loss = is.other
      if self.dtype and self.dtype ~= "float32" then return ('dtype must be "float32", got "%s"'):format(self.dtype) end
      if self.reduction and self.reduction ~= "sum_over_batch_size" and self.reduction ~= "mean" then
        return ('reduction must be "sum_over_batch_size", the mean over the rows, got "%s"'):format(self.reduction)
      end
      if self.delta and not (self.delta > 0 and self.delta < math.huge) then return ("delta must be greater than 0, got %s"):format(self.delta) end
    end)
  end
end

function nn.read_checkpoint(path)
  local file, problem = io.open(path, "rb")
  if not file then error("cannot read the checkpoint " .. problem, 2) end
  local bytes = file:read("a")
  file:close()
  return bytes
end

return nn, class, known, inner
