// SPDX-License-Identifier: MIT
// Python by the python3 of the session: compiled, never run. One program for all texts.
#include "base/mem.h"
#include "base/str.h"
#include "script/api/language/language.h"

#include <string.h>

// Reads [{"text", "magics"}, …], prints a list of findings for each. Lines that IPython takes for
// itself become ones without effect.
static const char program[] =
    "import ast,json,re,sys,warnings\n"
    "def plain(text):\n"
    "  lines=text.split('\\n')\n"
    "  first=next((l for l in lines if l.strip()),'')\n"
    "  if first.startswith('%%'):\n"
    "    word=first[2:].split()[0] if first[2:].split() else ''\n"
    "    if word not in ('time','timeit','capture','prun'): return ''\n"
    "    lines[lines.index(first)]=''\n"
    "  out=[]; inside=None; depth=0\n"
    "  for l in lines:\n"
    "    if not inside and not depth:\n"
    "      s=l.lstrip(); pad=l[:len(l)-len(s)]\n"
    "      if s[:1] in ('%','!','?') or (s.rstrip().endswith('?') and '#' not in s):\n"
    "        out.append(pad+'pass'); continue\n"
    "      m=re.match(r'([\\w., \\[\\]]+?)\\s*=\\s*([!%])(?!=)',s)\n"
    "      if m: out.append(pad+m.group(1)+'=None'); continue\n"
    "    i=0\n"
    "    while i<len(l):\n"
    "      if inside:\n"
    "        if l[i]=='\\\\': i+=2; continue\n"
    "        if l.startswith(inside,i): i+=len(inside); inside=None; continue\n"
    "      elif l[i]=='#': break\n"
    "      elif l[i] in '\"\\'':\n"
    "        q=l[i]; inside=q*3 if l.startswith(q*3,i) else q; i+=len(inside); continue\n"
    "      elif l[i] in '([{': depth+=1\n"
    "      elif l[i] in ')]}': depth=max(0,depth-1)\n"
    "      i+=1\n"
    "    if inside and len(inside)==1 and not l.endswith('\\\\'): inside=None\n"
    "    out.append(l)\n"
    "  return '\\n'.join(out)\n"
    "def size(text,line,column):\n"
    "  lines=text.split('\\n')\n"
    "  return len(lines[line-1][:max(0,column)].encode()) if 0<line<=len(lines) else 0\n"
    "def check(t):\n"
    "  text=plain(t['text']) if t['magics'] else t['text']\n"
    "  flags=ast.PyCF_ONLY_AST|(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if t['magics'] else 0)\n"
    "  found=[]\n"
    "  with warnings.catch_warnings(record=True) as said:\n"
    "    warnings.simplefilter('always')\n"
    "    try:\n"
    "      compile(text,'cell','exec',flags)\n"
    "      compile(text,'cell','exec',flags&~ast.PyCF_ONLY_AST,True)\n"
    "    except SyntaxError as e:\n"
    "      line=e.lineno or 1; a=size(text,line,(e.offset or 1)-1)\n"
    "      end=getattr(e,'end_offset',None); same=getattr(e,'end_lineno',line)==line\n"
    "      b=size(text,line,end-1) if end and same else 0\n"
    "      found.append([line,a,max(b,a+1) if e.offset else 0,'error',e.msg])\n"
    "    except (ValueError,RecursionError,MemoryError,OverflowError) as e:\n"
    "      found.append([1,0,0,'error',str(e) or type(e).__name__])\n"
    "  seen=set()\n"
    "  for w in said:\n"
    "    one=(w.lineno,str(w.message))\n"
    "    if issubclass(w.category,(SyntaxWarning,DeprecationWarning)) and one not in seen:\n"
    "      seen.add(one); found.append([w.lineno or 1,0,0,'warning',str(w.message)])\n"
    "  return found\n"
    "json.dump([check(t) for t in json.load(sys.stdin)],sys.stdout)\n";

static bool is_python(const struct language_text *t)
{
    return str_eq(t->language, "python");
}

static cJSON *question(const struct language_text *texts, size_t n)
{
    cJSON *all = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        if (!is_python(&texts[i]))
            continue;
        bool partial;
        AUTO_FREE char *masked = texts[i].fills ? language_masked(texts[i].text, true, &partial)
                                                : mem_strdup(texts[i].text);
        cJSON *one = cJSON_CreateObject();
        json_set_str(one, "text", masked);
        json_set_bool(one, "magics", texts[i].magics);
        cJSON_AddItemToArray(all, one);
    }
    return all;
}

static int64_t number(const cJSON *list, int i)
{
    int64_t value;
    return json_int(cJSON_GetArrayItem(list, i), &value) && value > 0 ? value : 0;
}

static void take(const struct language_text *t, const cJSON *findings, cJSON *found)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, findings)
    {
        const char *severity = cJSON_GetStringValue(cJSON_GetArrayItem(one, 3));
        const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(one, 4));
        int64_t line = number(one, 0);
        const struct language_finding f = {
            {line ? (size_t)line - 1 : 0, (size_t)number(one, 1), (size_t)number(one, 2)},
            str_eq(severity, "error") ? LANGUAGE_ERROR : LANGUAGE_WARNING, "python"};
        if (text && !strchr(text, '\xee')) // not about what a template fills in
            language_add(found, t, &f, "%s", text);
    }
}

void language_python(
    const struct language_text *texts, size_t n, const struct language_world *w, cJSON *found)
{
    static const char *const argv[] = {"python3", "-I", "-S", "-c", program, NULL};
    AUTO_JSON *all = question(texts, n);
    AUTO_BUF out = {0}, said = {0};
    if (!all->child)
        return;
    AUTO_FREE char *input = json_to_str(all);
    if (language_program(argv, input, strlen(input), w, &out, &said) != 0)
        return;
    AUTO_JSON *answer = json_parse(buf_cstr(&out), out.len, NULL);
    const cJSON *one = answer ? answer->child : NULL;
    for (size_t i = 0; i < n && one; i++)
        if (is_python(&texts[i])) {
            take(&texts[i], one, found);
            one = one->next;
        }
}
