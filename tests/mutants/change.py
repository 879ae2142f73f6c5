# SPDX-License-Identifier: MIT
"""Changes of a line by chance: the places of a source that can be changed, and how (./check mutants --random).

A place is (line, kind, from, to, text): the characters from…to of the source become text. Comments, texts in quotes,
preprocessor lines, declarations and assertions have none, nor has what only frees or only costs time: such changes are
seldom seen by any test.
"""
import collections
import re

Place = collections.namedtuple("Place", "line kind start end text")
Token = collections.namedtuple("Token", "kind text start end")

C_TOKEN = re.compile(r"""
    (?P<blank>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFuUlL]*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign>->|\+\+|--|<<=|>>=|<<|>>|[<>=!]=|&&|\|\||[-+*/%&|^]=|\.\.\.|[^\s\w])""", re.X | re.S | re.M)
LUA_TOKEN = re.compile(r"""
    (?P<blank>\s+|--\[(?P<c>=*)\[.*?\](?P=c)\]|--[^\n]*)
  | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|\[(?P<t>=*)\[.*?\](?P=t)\])
  | (?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<sign>\.\.\.|\.\.|[<>=~]=|//|<<|>>|::|[^\s\w])""", re.X | re.S)

OPEN, CLOSE = {"(", "[", "{"}, {")", "]", "}"}
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+=": "-=", "-=": "+=", "|=": "&=", "&=": "|="}
BINARY = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "&": "|", "|": "&", "<<": ">>", ">>": "<<"}
LUA_SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "~=", "~=": "=="}
LUA_BINARY = {"+": "-", "-": "+", "*": "/", "/": "*"}
RETURNS = {"0": "-1", "-1": "0", "true": "false", "false": "true", "1": "0"}
KEYWORDS = set("if else for while do switch case default return goto break continue typedef static const struct enum union "
               "extern sizeof inline register volatile".split())
LUA_KEYWORDS = set("and break do else elseif end false for function goto if in local nil not or repeat return then true until "
                   "while".split())
# Lines of no use: nothing but memory that is not given back, or time, depends on them.
SPARED = re.compile(r"\b(?:assert|static_assert|_Static_assert|mem_trim|mem_leave|__builtin_(?:expect|prefetch|unreachable)"
                    r"|madvise|posix_fadvise)\b")
FREES = re.compile(r"(?:^|_)(?:free|done|close|closedir|unref|release|munmap|delete|forget|unlock|at)$|^(?:va_end|va_start|cJSON_Delete)$")
SIZES = re.compile(r"mem_(?:resize|array|alloc|try_array)|reserve|\bcap\b|\broom\b|_MS\b|timeout|sleep|\bcase\b|\[\w*\];|= \{0\}")


def tokens(text, lua=False):
    """All but blanks and comments."""
    found, at = [], 0
    pattern = LUA_TOKEN if lua else C_TOKEN
    while at < len(text):
        m = pattern.match(text, at)
        if not m:
            raise ValueError(f"what is {text[at:at + 20]!r}?")
        if m.lastgroup not in ("c", "t") and m.lastgroup != "blank" and not m["blank"]:
            found.append(Token(m.lastgroup, m[0], m.start(), m.end()))
        elif m["text"]:
            found.append(Token("text", m[0], m.start(), m.end()))
        at = m.end()
    return found


def pairs(found):
    """Of each bracket the other one, both by their numbers."""
    partner, open_ones = {}, []
    for i, t in enumerate(found):
        if t.kind == "sign" and t.text in OPEN:
            open_ones.append(i)
        elif t.kind == "sign" and t.text in CLOSE and open_ones:
            partner[i] = open_ones.pop()
            partner[partner[i]] = i
    return partner


class Source:
    """A source's tokens; what is the same for both languages."""

    def __init__(self, text, lua):
        self.text, self.lua = text, lua
        self.all = tokens(text, lua)
        self.partner = pairs(self.all)
        self.lines = [0] + [m.end() for m in re.finditer("\n", text)]
        self.places = []

    def line_of(self, at):
        low, high = 0, len(self.lines)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.lines[middle] <= at else (low, middle)
        return low

    def line_text(self, at):
        return self.text[self.lines[self.line_of(at)]:].partition("\n")[0]

    def is_sign(self, i, *texts):
        return 0 <= i < len(self.all) and self.all[i].text in texts and self.all[i].kind in ("sign", "word")

    def add(self, kind, start, end, text):
        if not SPARED.search(self.line_text(start)):
            self.places.append(Place(self.line_of(start), kind, start, end, text))

    def swap(self, kind, i, text):
        self.add(kind, self.all[i].start, self.all[i].end, text)

    def is_operand_end(self, i):
        """Can an operand end with this token? Then the next sign has one on either side."""
        t = self.all[i]
        return t.kind in ("number", "text") or t.text in (")", "]") or (t.kind == "word" and t.text not in KEYWORDS | LUA_KEYWORDS) \
            or (self.lua and t.text in ("}", "true", "false", "nil", "..."))

    def is_spaced(self, i):
        t = self.all[i]
        return self.text[t.start - 1:t.start].isspace() and self.text[t.end:t.end + 1].isspace()

    def clause(self, i, step, stops):
        """The last token of the operand beside token i, in the direction of step; None: it is not clear where it ends."""
        at = i
        while 0 <= at + step < len(self.all):
            t = self.all[at + step]
            if t.kind == "sign" and t.text in (OPEN if step > 0 else CLOSE):
                if at + step not in self.partner:
                    return None
                at = self.partner[at + step]
                continue
            if t.kind in ("sign", "word") and t.text in stops or t.kind == "sign" and t.text in OPEN | CLOSE:
                break
            if self.lua and (t.text == "function" or self.ends_statement(at, step)):
                return None if t.text == "function" else at if at != i else None
            at += step
        return at if at != i else None

    def ends_statement(self, at, step):
        """Lua: does a statement end between this token and its neighbour?"""
        first, second = (at, at + step) if step > 0 else (at + step, at)
        a, b = self.all[first], self.all[second]
        if "\n" not in self.text[a.end:b.start]:
            return False
        goes_on = a.text in ("and", "or", "not") or a.kind == "sign" and a.text not in CLOSE | {"..."}
        return not goes_on and not (b.text in ("and", "or") or b.kind == "sign" and b.text not in OPEN | {"..."})

    def drop_clauses(self, i, stops):
        """What is joined more closely, a && b in a || a && b, is one operand."""
        stops = stops - {"&&", "and"} if self.all[i].text in ("||", "or") else stops
        left, right = self.clause(i, -1, stops), self.clause(i, 1, stops)
        if left is None or right is None:
            return
        op = self.all[i]
        self.add(f"drop what is after {op.text}", self.all[i - 1].end, self.all[right].end, "")
        self.add(f"drop what is before {op.text}", self.all[left].start, self.all[i + 1].start, "")

    def number(self, i):
        t = self.all[i]
        if not re.fullmatch(r"0|[1-9]\d*[uUlL]*", t.text) or SIZES.search(self.line_text(t.start)):
            return
        digits = re.match(r"\d+", t.text)[0]
        for other in {int(digits) + 1, max(0, int(digits) - 1)} - {int(digits)}:
            self.swap(f"{digits} is {other}", i, str(other) + t.text[len(digits):])


class C(Source):
    STOPS = {"&&", "||", "?", ":", ",", ";", "=", "+=", "-=", "|=", "&=", "return"}

    def __init__(self, text):
        super().__init__(text, False)
        for begin, end, is_bool in self.functions():
            self.function(begin, end, is_bool)

    def functions(self):
        """(first token, last, does it return bool?) of each body."""
        i, since = 0, 0
        while i < len(self.all):
            t = self.all[i]
            if t.text == "{" and i in self.partner:
                if self.is_sign(i - 1, ")") and i - 1 in self.partner:
                    head = self.all[since:self.partner[i - 1]]
                    yield i + 1, self.partner[i], any(h.text == "bool" for h in head) and not any(h.text == "*" for h in head)
                i = self.partner[i]
                since = i + 1
            elif t.text == ";":
                since = i + 1
            i += 1

    def function(self, begin, end, is_bool):
        i = begin
        while i < end:
            t = self.all[i]
            if t.text == "enum" and (brace := next((k for k in (i + 1, i + 2) if self.is_sign(k, "{")), None)):
                i = self.partner.get(brace, i)
            elif t.kind == "number":
                self.number_in(i)
            elif t.kind == "text":
                self.item(i)
            elif t.kind == "word":
                self.word(i, end, is_bool)
            else:
                self.sign(i)
            i += 1

    def number_in(self, i):
        declares = self.is_sign(i - 1, "[") and i > 2 and self.all[i - 2].kind == "word" and (
            self.all[i - 3].kind == "word" or self.all[i - 3].text == "*")
        alone = self.is_sign(i - 1, "{") and self.is_sign(i + 1, "}")
        if not declares and not alone and not self.is_sign(i - 1, "return"):
            self.number(i)

    def item(self, i):
        """One of a list of texts: {"a", "b"}."""
        if self.all[i].text[0] == '"' and self.is_sign(i + 1, ",") and self.is_sign(i - 1, "{", ",") and (
                self.all[i + 2].kind == "text") and (self.is_sign(i - 1, "{") or self.all[i - 2].kind == "text"):
            depth = next((k for k in range(i, -1, -1) if self.is_sign(k, "{", "(") and self.partner.get(k, -1) > i), None)
            if depth is not None and self.all[depth].text == "{":
                self.add("drop an item", self.all[i].start, self.all[i + 2].start, "")

    def word(self, i, end, is_bool):
        t = self.all[i]
        if t.text == "if" and self.is_sign(i + 1, "(") and i + 1 in self.partner:
            start, close = self.all[i + 1].start, self.all[self.partner[i + 1]]
            self.add("negate a condition", start, close.end, "(!" + self.text[start:close.end] + ")")
        elif t.text == "return":
            self.returns(i, is_bool)
        elif t.text in ("true", "false") and not self.is_sign(i - 1, "return"):
            self.swap(f"{t.text} is {RETURNS[t.text]}", i, RETURNS[t.text])
        elif t.text == "continue":
            self.swap("continue is break", i, "break")
        self.statement(i, end)

    def returns(self, i, is_bool):
        stop = i
        while not self.is_sign(stop, ";"):
            stop = self.partner.get(stop, stop) + 1 if self.all[stop].text in OPEN else stop + 1
            if stop >= len(self.all):
                return
        value = self.text[self.all[i].end:self.all[stop].start].strip()
        start = self.all[i].end
        if value in RETURNS:
            self.add(f"return {RETURNS[value]}", start, self.all[stop].start, " " + RETURNS[value])
        elif is_bool and value:
            self.add("return the opposite", start, self.all[stop].start, f" !({value})")

    def statement(self, i, end):
        """Deletes a call or an assignment."""
        before = self.all[i - 1].text if i else ""
        if before == ")" and self.partner.get(i - 1) is not None:
            head = self.all[self.partner[i - 1] - 1].text
            if head not in ("if", "for", "while"):
                return
        elif before not in (";", "{", "}", "else"):
            return
        if self.all[i].text in KEYWORDS or not self.is_sign(i + 1, "(", "=", "->", ".", "[", "+=", "-=", "|=", "&=", "++", "--"):
            return
        stop = i
        while stop < end and not self.is_sign(stop, ";"):
            if self.is_sign(stop, "{", "}"):
                return
            stop = self.partner.get(stop, stop) + 1 if self.all[stop].text in ("(", "[") else stop + 1
        called = next((t.text for t, u in zip(self.all[i:stop], self.all[i + 1:stop + 1]) if t.kind == "word" and u.text == "("), "")
        if stop < end and not FREES.search(called) and not re.fullmatch(r"[A-Z_]+", self.all[i].text):
            self.add("delete a statement", self.all[i].start, self.all[stop].end, ";")

    def sign(self, i):
        t = self.all[i]
        if t.text in ("&&", "||"):
            self.drop_clauses(i, self.STOPS)
            self.swap(f"{t.text} is {'||' if t.text == '&&' else '&&'}", i, "||" if t.text == "&&" else "&&")
        elif t.text in SWAPS:
            self.swap(f"{t.text} is {SWAPS[t.text]}", i, SWAPS[t.text])
        elif t.text in BINARY and self.is_spaced(i) and self.is_operand_end(i - 1) and not self.is_sign(i + 1, ")"):
            self.swap(f"{t.text} is {BINARY[t.text]}", i, BINARY[t.text])
        elif t.text == "?":
            self.branches(i)

    def branches(self, i):
        colon, depth, at = None, 0, i + 1
        while at < len(self.all) and not (self.is_sign(at, ";", ",", "}", ")", "]")):
            if self.is_sign(at, "?"):
                depth += 1
            elif self.is_sign(at, ":"):
                if depth == 0 and colon is None:
                    colon = at
                depth -= depth > 0
            at = self.partner.get(at, at) + 1 if self.all[at].text in OPEN else at + 1
        if colon and colon > i + 1 and at > colon + 1:
            a = self.text[self.all[i + 1].start:self.all[colon - 1].end]
            b = self.text[self.all[colon + 1].start:self.all[at - 1].end]
            if a != b:
                self.add("swap what ?: chooses", self.all[i + 1].start, self.all[at - 1].end, f"({b}) : ({a})")


class Lua(Source):
    STOPS = {"and", "or", ",", ";", "=", "return", "if", "elseif", "while", "until", "then", "do", "in", "else", "end", "local",
             "repeat", "for"}

    def __init__(self, text):
        super().__init__(text, True)
        depth = 0
        for i, t in enumerate(self.all):
            depth += (t.kind == "sign") * ((t.text in OPEN) - (t.text in CLOSE))
            if t.kind == "number":
                self.number(i)
            elif t.kind == "word":
                self.word(i, depth)
            elif t.text in LUA_SWAPS:
                self.swap(f"{t.text} is {LUA_SWAPS[t.text]}", i, LUA_SWAPS[t.text])
            elif t.text in LUA_BINARY and i and self.is_spaced(i) and self.is_operand_end(i - 1):
                self.swap(f"{t.text} is {LUA_BINARY[t.text]}", i, LUA_BINARY[t.text])

    def word(self, i, depth):
        t = self.all[i]
        if t.text in ("and", "or"):
            self.drop_clauses(i, self.STOPS)
            self.swap(f"{t.text} is {'or' if t.text == 'and' else 'and'}", i, "or" if t.text == "and" else "and")
        elif t.text in ("if", "elseif"):
            self.condition(i)
        elif t.text in ("true", "false"):
            self.swap(f"{t.text} is {RETURNS[t.text]}", i, RETURNS[t.text])
        elif t.text == "not":
            self.add("drop not", t.start, self.all[i + 1].start, "")
        elif t.text not in LUA_KEYWORDS and depth == 0:
            self.statement(i)

    def condition(self, i):
        stop = i + 1
        while stop < len(self.all) and not self.is_sign(stop, "then"):
            if self.is_sign(stop, "function"):
                return
            stop = self.partner.get(stop, stop) + 1 if self.all[stop].text in OPEN else stop + 1
        if stop < len(self.all):
            start, end = self.all[i + 1].start, self.all[stop - 1].end
            self.add("negate a condition", start, end, f"not ({self.text[start:end]})")

    def statement(self, i):
        """Deletes a call or an assignment that has its line for itself."""
        line = self.line_of(self.all[i].start)
        start = self.lines[line]
        end = self.lines[line + 1] - 1 if line + 1 < len(self.lines) else len(self.text)
        last = i
        while last + 1 < len(self.all) and self.all[last + 1].start < end:
            last += 1
        own = self.all[i:last + 1]
        if self.text[start:self.all[i].start].strip() or not self.is_sign(i + 1, "(", "=", ".", ":", "[", ","):
            return
        balanced = all(self.partner.get(k, -1) in range(i, last + 1) for k in range(i, last + 1) if self.is_sign(k, *OPEN, *CLOSE))
        alone = (i == 0 or self.ends_statement(i - 1, 1)) and (last + 1 == len(self.all) or self.ends_statement(last, 1))
        if balanced and alone and not any(t.text in ("function", "then", "do", "end", "return") for t in own):
            self.add("delete a statement", self.all[i].start, self.all[last].end, "")


def places(path, text):
    """All that can be changed in a source."""
    return (Lua if path.endswith(".lua") else C)(text).places


def apply(text, place):
    return text[:place.start] + place.text + text[place.end:]


def difference(text, place):
    """The lines that a change takes away and those that it puts there."""
    first = text.rfind("\n", 0, place.start) + 1
    behind = text.find("\n", place.end)
    behind = len(text) if behind < 0 else behind
    before = text[first:behind]
    after = text[first:place.start] + place.text + text[place.end:behind]
    return before.split("\n"), after.split("\n")
