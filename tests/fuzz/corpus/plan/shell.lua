!ls {x.y[1]} $NAME ${HOME} $$ {{a}} {print $1} {f(a, 'b')} {1..3} {-x} {#t + 2 // 3}
x = !cat "file" \
  | grep x
local a, b = %env HOME
%env A=b {c}
s = [==[
%d
]==] --[[
!x
]]
