-- SPDX-License-Identifier: MIT
-- Numbers by chance for what is to be the same again: a generator of its own for each use, which neither takes from
-- math.random nor disturbs it. SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
local core = ...

local generator = {}
generator.__index = generator

function generator:bits()
  self.state = self.state + 0x9e3779b97f4a7c15
  local z = self.state
  z = (z ~ z >> 30) * 0xbf58476d1ce4e5b9
  z = (z ~ z >> 27) * 0x94d049bb133111eb
  return z ~ z >> 31
end

-- From 0 on, below 1.
function generator:float() return (self:bits() >> 11) * 0x1p-53 end

-- From low to high; each is as likely as another, to 1 in 2^32 for the ranges that there are here.
function generator:integer(low, high) return low + math.floor(self:float() * (high - low + 1)) end

function generator:shuffle(list)
  for i = #list, 2, -1 do
    local k = self:integer(1, i)
    list[i], list[k] = list[k], list[i]
  end
  return list
end

function core.random(seed)
  local g = setmetatable({ state = seed }, generator)
  g:bits() -- seeds that are neighbours begin alike in no other way
  return g
end
